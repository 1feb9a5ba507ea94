/**
 * `npm run reliability -- bytes`: files that mean harm. Every reader either gives a result or
 * throws a typed error, within a bounded time and within a bounded multiple of the file in host
 * memory. Runs on the null device.
 */
import { TenureError, init, memory, shutdown } from "tenure";
import type { Pieces } from "../pieces.ts";
import { Random } from "../random.ts";
import { type ErrorClass, type Format, type Reader, formats } from "./formats.ts";

/** What was seen of one format. */
export interface BytesRow {
  readonly format: string;
  inputs: number;
  accepted: number;
  refused: number;
  slowestMs: number;
  /** Largest multiple of the file that reading allocated, beside the free 64 KiB. */
  multiple: number;
  readonly problems: string[];
}

/** One input may take so many milliseconds of the processor. */
const patience = 500;
/** An input that takes so many by the clock is read again, by the processor's time. */
const suspicious = 20;
/** Inputs between two looks at what is left; a reader serves as many. */
const batch = 100;
/** Bytes that reading may allocate whatever the size of the file. */
const free = 2 ** 16;

/** Counts the bytes of typed arrays and buffers that are made by length. */
class Allocations implements Disposable {
  bytes = 0;
  readonly #real = new Map<string, unknown>();

  constructor() {
    for (const name of Allocations.#names) {
      const real = (globalThis as Record<string, unknown>)[name] as new (...args: unknown[]) => {
        byteLength: number;
      };
      this.#real.set(name, real);
      const proxy: unknown = new Proxy(real, {
        construct: (target, args, made) => {
          const size = (target as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
          if (typeof args[0] === "number") this.bytes += args[0] * size;
          return Reflect.construct(target, args, made === proxy ? target : made) as object;
        },
      });
      (globalThis as Record<string, unknown>)[name] = proxy;
    }
  }

  [Symbol.dispose](): void {
    for (const [name, real] of this.#real) (globalThis as Record<string, unknown>)[name] = real;
  }

  static readonly #names = [
    "ArrayBuffer",
    "Uint8Array",
    "Int8Array",
    "Uint16Array",
    "Int16Array",
    "Uint32Array",
    "Int32Array",
    "Float32Array",
    "Float64Array",
  ];
}

/** Feeds `count` files of each format to its reader; the k-th depends on `seed + k` alone. */
export async function feed(count: number, seed: number, only?: string): Promise<BytesRow[]> {
  await shutdown();
  await init({ device: "null" });
  const rows: BytesRow[] = [];
  for (const format of await formats()) {
    if (only !== undefined && !format.name.includes(only)) continue;
    rows.push(await feedFormat(format, count, seed));
    memory.verify();
  }
  await shutdown();
  return rows;
}

async function feedFormat(format: Format, count: number, seed: number): Promise<BytesRow> {
  const row: BytesRow = {
    format: format.name,
    inputs: 0,
    accepted: 0,
    refused: 0,
    slowestMs: 0,
    multiple: 0,
    problems: [],
  };
  using allocations = new Allocations();
  for (let from = seed; from < seed + count; from += batch) {
    const end = Math.min(from + batch, seed + count);
    const live = memory.stats().threadTotalLiveCount;
    {
      using reader = format.reader();
      for (let k = from; k < end; k++) await feedOne(format, reader, k, row, allocations);
    }
    const left = memory.stats().threadTotalLiveCount - live;
    if (left !== 0) row.problems.push(`seeds ${from} to ${end - 1}: ${left} tensors are left`);
  }
  return row;
}

async function feedOne(
  format: Format,
  reader: Reader,
  seed: number,
  row: BytesRow,
  allocations: Allocations,
): Promise<void> {
  const bytes = format.make(new Random(seed));
  const problem = (text: string): void => {
    if (row.problems.length < 20)
      row.problems.push(`seed ${seed} (${bytes.length} bytes): ${text}`);
  };
  row.inputs++;
  allocations.bytes = 0;
  const started = performance.now();
  let failure: unknown;
  try {
    await reader.read(bytes);
    row.accepted++;
  } catch (error) {
    row.refused++;
    failure = error ?? "nothing";
  }
  let took = performance.now() - started;
  let allocated = allocations.bytes;
  if (took > suspicious || allocated > free) {
    const again = await readAgain(reader, bytes, allocations);
    took = Math.min(took, again.took);
    allocated = Math.min(allocated, again.allocated);
  }
  const multiple = Math.max(0, (allocated - free) / Math.max(1, bytes.length));
  row.slowestMs = Math.max(row.slowestMs, took);
  row.multiple = Math.max(row.multiple, multiple);
  const wrong = failure === undefined ? undefined : wrongError(failure, format.errors);
  if (wrong !== undefined) problem(wrong);
  if (took > patience) problem(`took ${took.toFixed(0)} ms`);
  if (multiple > format.factor) problem(`allocated ${allocated} bytes`);
}

/**
 * Milliseconds of the processor and bytes that reading takes when it is done once more: others may
 * be at work on the machine, and what the library keeps for all grows now and then.
 */
async function readAgain(
  reader: Reader,
  bytes: Uint8Array,
  allocations: Allocations,
): Promise<{ took: number; allocated: number }> {
  allocations.bytes = 0;
  const started = process.cpuUsage();
  try {
    await reader.read(bytes);
  } catch {
    // known from the first time
  }
  const { user, system } = process.cpuUsage(started);
  return { took: (user + system) / 1000, allocated: allocations.bytes };
}

/** What is wrong with an error that a reader threw. */
function wrongError(error: unknown, typed: ErrorClass = TenureError): string | undefined {
  if (!(error instanceof typed)) return `threw ${String(error).slice(0, 200)}`;
  const { message } = error;
  if (message.includes("internal:")) return message.slice(0, 200);
  return message.length > 2000 ? `a message of ${message.length} characters` : undefined;
}

/** One row for each format, and below the table what went wrong. */
export function bytesTable(rows: readonly BytesRow[]): string {
  const lines = [
    "| format | inputs | accepted | refused | slowest | most memory beside 64 KiB | wrong |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
  ];
  for (const row of rows) {
    const { format, inputs, accepted, refused, slowestMs, multiple, problems } = row;
    const most = `${multiple.toFixed(1)} × the file`;
    lines.push(
      `| ${format} | ${inputs} | ${accepted} | ${refused} | ` +
        `${slowestMs.toFixed(0)} ms | ${most} | ${problems.length} |`,
    );
  }
  for (const { format, problems } of rows)
    for (const problem of problems) lines.push("", `- ${format}, ${problem}`);
  return lines.join("\n");
}

/** Rows of several pieces as one row for each format. */
function addRows(pieces: readonly (readonly BytesRow[])[]): BytesRow[] {
  const rows = new Map<string, BytesRow>();
  for (const piece of pieces.flat()) {
    const row = rows.get(piece.format);
    if (row === undefined) {
      rows.set(piece.format, { ...piece, problems: [...piece.problems] });
      continue;
    }
    row.inputs += piece.inputs;
    row.accepted += piece.accepted;
    row.refused += piece.refused;
    row.slowestMs = Math.max(row.slowestMs, piece.slowestMs);
    row.multiple = Math.max(row.multiple, piece.multiple);
    row.problems.push(...piece.problems);
  }
  return [...rows.values()];
}

/** For `npm run reliability`. */
export const pieces: Pieces<BytesRow[]> = {
  total: 1_000_000,
  size: 20_000,
  heapMiB: 256,
  run: ({ count, seed, kind }) => feed(count, seed, kind),
  report: (results) => bytesTable(addRows(results)),
};

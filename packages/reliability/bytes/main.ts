/**
 * `npm run reliability -- bytes`: files that mean harm. Every reader either gives a result or
 * throws a typed error, within a bounded time and within a bounded multiple of the file in host
 * memory. Runs on the null device.
 */
import { TenureError, init, memory, shutdown } from "tenure";
import type { HarnessOptions } from "../main.ts";
import { Random } from "../random.ts";
import { type Format, formats } from "./formats.ts";

/** What was seen of one format. */
export interface BytesRow {
  readonly format: string;
  inputs: number;
  accepted: number;
  refused: number;
  slowestMs: number;
  /** Largest multiple of the file that reading allocated, beside the free megabyte. */
  multiple: number;
  readonly problems: string[];
}

/** One input may take so many milliseconds of the processor. */
const patience = 500;
/** Bytes that reading may allocate whatever the size of the file. */
const free = 2 ** 20;

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

/** Feeds `count` files of each format to its reader. */
export async function feed(count: number, seed: number, only?: string): Promise<BytesRow[]> {
  await shutdown();
  await init({ device: "null" });
  const rows: BytesRow[] = [];
  for (const format of await formats()) {
    if (only !== undefined && !format.name.includes(only)) continue;
    rows.push(await feedFormat(format, count, new Random(seed)));
    memory.verify();
  }
  await shutdown();
  return rows;
}

async function feedFormat(format: Format, count: number, random: Random): Promise<BytesRow> {
  const row: BytesRow = {
    format: format.name,
    inputs: 0,
    accepted: 0,
    refused: 0,
    slowestMs: 0,
    multiple: 0,
    problems: [],
  };
  const live = memory.stats().threadTotalLiveCount;
  using allocations = new Allocations();
  for (let k = 0; k < count; k++) await feedOne(format, format.make(random), row, allocations);
  const left = memory.stats().threadTotalLiveCount - live;
  if (left !== 0) row.problems.push(`${left} tensors are left`);
  return row;
}

async function feedOne(
  format: Format,
  bytes: Uint8Array,
  row: BytesRow,
  allocations: Allocations,
): Promise<void> {
  allocations.bytes = 0;
  const problem = (text: string): void => {
    if (row.problems.length < 20)
      row.problems.push(`input ${row.inputs} (${bytes.length} bytes): ${text}`);
  };
  row.inputs++;
  const started = process.cpuUsage();
  try {
    await format.read(bytes);
    row.accepted++;
  } catch (error) {
    row.refused++;
    if (!(error instanceof TenureError)) problem(`threw ${String(error).slice(0, 200)}`);
    else if (error.message.includes("internal:")) problem(error.message.slice(0, 200));
    else if (error.message.length > 2000)
      problem(`a message of ${error.message.length} characters`);
  }
  const { user, system } = process.cpuUsage(started);
  const took = (user + system) / 1000;
  const multiple = (allocations.bytes - free) / Math.max(1, bytes.length);
  if (took > row.slowestMs) row.slowestMs = took;
  if (multiple > row.multiple) row.multiple = multiple;
  if (took > patience) problem(`took ${took.toFixed(0)} ms`);
  if (multiple > format.factor) problem(`allocated ${allocations.bytes} bytes`);
}

/** One row for each format, and below the table what went wrong. */
export function bytesTable(rows: readonly BytesRow[]): string {
  const lines = [
    "| format | inputs | accepted | refused | slowest | most memory beside 1 MiB | wrong |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
  ];
  for (const row of rows) {
    const { format, inputs, accepted, refused, slowestMs, multiple, problems } = row;
    const most = `${Math.max(0, multiple).toFixed(1)} × the file`;
    lines.push(
      `| ${format} | ${inputs} | ${accepted} | ${refused} | ` +
        `${slowestMs.toFixed(0)} ms | ${most} | ${problems.length} |`,
    );
  }
  for (const { format, problems } of rows)
    for (const problem of problems) lines.push("", `- ${format}, ${problem}`);
  return lines.join("\n");
}

/** For `npm run reliability`. */
export async function run({ count = 1_000_000, seed, kind }: HarnessOptions): Promise<string> {
  return bytesTable(await feed(count, seed, kind));
}

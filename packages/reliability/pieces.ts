/**
 * Long runs in pieces: each piece of a harness is a process of its own, which frees what drivers
 * and compilers keep; several run beside each other, and what they found adds up. Finished pieces
 * can be kept in a file, so that a run that was stopped goes on where it was. Used by `main.ts`.
 */
import { fork } from "node:child_process";
import { appendFile, readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { HarnessOptions } from "./main.ts";

/** A harness whose cases do not depend on each other: case k is decided by `seed + k` alone. */
export interface Pieces<T> {
  /** Cases of the record. */
  readonly total: number;
  /** Cases for one process. */
  readonly size: number;
  /** Room for objects in such a process: who takes more dies, and that is a finding. */
  readonly heapMiB?: number;
  /** Runs cases. What it gives is JSON. */
  run(options: HarnessOptions & { readonly count: number }): Promise<T>;
  /** All that was found, as Markdown. */
  report(results: readonly T[], options: HarnessOptions): string;
}

/** How pieces are run. */
export interface PiecesOptions {
  /** Processes beside each other. */
  readonly workers: number;
  /** File of finished pieces, one JSON a line; created when it is not there. */
  readonly resume?: string | undefined;
}

/** What became of a piece. */
interface Done {
  readonly harness: string;
  readonly options: HarnessOptions;
  readonly result?: unknown;
  /** How the process ended that gave none. */
  readonly died?: string;
}

/** Runs all pieces of a harness. @returns its report */
export async function runPieces<T>(
  harness: string,
  pieces: Pieces<T>,
  options: HarnessOptions,
  { workers, resume }: PiecesOptions,
): Promise<string> {
  const count = options.count ?? pieces.total;
  const done = resume !== undefined && existsSync(resume) ? await finished(resume) : [];
  const results: Done[] = [];
  const todo: HarnessOptions[] = [];
  for (let from = 0; from < count; from += pieces.size) {
    const size = Math.min(pieces.size, count - from);
    const piece = { ...options, seed: options.seed + from, count: size };
    const known = done.find((d) => d.harness === harness && sameOptions(d.options, piece));
    if (known === undefined) todo.push(piece);
    else results.push(known);
  }
  const started = performance.now();
  let cases = 0;
  const worker = async (): Promise<void> => {
    for (let piece = todo.shift(); piece !== undefined; piece = todo.shift()) {
      const result = await inProcess(harness, piece, pieces.heapMiB);
      results.push(result);
      if (resume !== undefined && result.died === undefined)
        await appendFile(resume, `${JSON.stringify(result)}\n`);
      cases += piece.count ?? 0;
      const each = ((performance.now() - started) / cases).toFixed(2);
      console.error(`${harness}: ${cases} of ${count} cases, ${each} ms each`);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  results.sort((a, b) => a.options.seed - b.options.seed);
  const found = results.filter((r) => r.died === undefined).map(({ result }) => result as T);
  const deaths = results
    .filter((r) => r.died !== undefined)
    .map((r) => `\n- the process of seeds from ${r.options.seed} on ${String(r.died)}`);
  return [pieces.report(found, options), ...deaths].join("\n");
}

async function finished(file: string): Promise<Done[]> {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Done);
}

function sameOptions(a: HarnessOptions, b: HarnessOptions): boolean {
  return (
    a.seed === b.seed &&
    a.count === b.count &&
    a.every === b.every &&
    a.mode === b.mode &&
    a.kind === b.kind
  );
}

/** One piece in a process of its own. */
function inProcess(
  harness: string,
  options: HarnessOptions,
  heapMiB: number | undefined,
): Promise<Done> {
  return new Promise((resolve) => {
    const child = fork(join(import.meta.dirname, "main.ts"), [harness, "--piece"], {
      env: { ...process.env, RELIABILITY_PIECE: JSON.stringify(options) },
      execArgv: [
        ...process.execArgv,
        ...(heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`]),
      ],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let said = "";
    let result: unknown;
    child.stderr?.on("data", (text: Buffer) => (said = (said + String(text)).slice(-2000)));
    child.on("message", (message) => (result = message));
    child.on("exit", (code, signal) => {
      const died = `ended with ${String(signal ?? code)}: ${said.trim().slice(-500)}`;
      resolve(result === undefined ? { harness, options, died } : { harness, options, result });
    });
  });
}

/** What `inProcess` asked this process for. */
export function pieceOptions(): HarnessOptions & { readonly count: number } {
  const text = process.env["RELIABILITY_PIECE"] ?? "{}";
  return JSON.parse(text) as HarnessOptions & { readonly count: number };
}

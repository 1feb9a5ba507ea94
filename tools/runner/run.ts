/**
 * Runs a selection of tests in a few processes at once, prints each file as it ends and closes with
 * the tally. Called by `tools/test.ts` and, again and again, by `watch.ts`. Owns no process:
 * `batch.ts` does.
 */
import { type BatchLimits, runBatch } from "./batch.ts";
import { batches, type Selection } from "./select.ts";
import type { FileResult } from "./trial.ts";

/** How to run. */
export interface RunOptions {
  readonly root: string;
  /** Processes at a time. */
  readonly jobs: number;
  readonly limits: BatchLimits;
  /** Print what tests print, though they pass. */
  readonly verbose: boolean;
}

/** Files named at the end of a run, when they took longest. */
const SLOWEST = 8;
/** A file below this is not worth a line. */
const SLOW_MS = 1_000;

/** Runs the selection. Returns whether all of it passed, and that there was something to pass. */
export async function runTests(selection: Selection, options: RunOptions): Promise<boolean> {
  const { files, names } = selection;
  const results: FileResult[] = [];
  const verbose = options.verbose || files.length === 1;
  const width = Math.max(...files.map((file) => file.length), 0);
  const waiting = batches(options.root, selection);
  const worker = async (): Promise<void> => {
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift())
      await runBatch(batch, options.limits, (result) => {
        results.push(result);
        if (!isUnnamed(result)) print(result, width, verbose);
      });
  };
  await Promise.all(Array.from({ length: Math.max(1, options.jobs) }, worker));
  const missing = files.filter((file) => !results.some((result) => result.file === file));
  for (const file of missing) console.log(`✗ ${file}  was never run`);
  return conclude(results, missing.length, names);
}

/** Whether no test of the file has one of the wanted names, and nothing went wrong in it. */
function isUnnamed({ passed, failed, skipped, unnamed }: FileResult): boolean {
  return unnamed > 0 && passed + failed + skipped === 0;
}

/** Prints what is left to say when all files have ended. */
function conclude(results: readonly FileResult[], missing: number, names: readonly string[]) {
  const bad = results.filter(({ failed }) => failed > 0);
  if (bad.length > 0) console.log("\nfailing files:");
  for (const { file, failed } of bad) console.log(`  ${file} (${failed})`);
  printSlowest(results);

  const sum = (key: "passed" | "failed" | "skipped" | "unnamed"): number =>
    results.reduce((total, result) => total + result[key], 0);
  const passed = sum("passed");
  const failed = sum("failed") + missing;
  const run = results.filter((result) => !isUnnamed(result)).length;
  const parts = [`${run} files`];
  if (sum("skipped") > 0) parts.push(`${sum("skipped")} tests skipped`);
  if (names.length > 0) parts.push(`${sum("unnamed")} tests have other names`);
  if (run === 0) console.log(nothingRun(names));
  console.log(`\n${parts.join(", ")}`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0;
}

function nothingRun(names: readonly string[]): string {
  return names.length === 0
    ? "no test file has such a path"
    : `no test file has such a path, and no test is called ${names.join(" or ")}`;
}

function printSlowest(results: readonly FileResult[]): void {
  const slow = [...results].sort((a, b) => b.ms - a.ms).filter(({ ms }) => ms >= SLOW_MS);
  if (results.length < 2 || slow.length === 0) return;
  const total = results.reduce((sum, { ms }) => sum + ms, 0);
  console.log(`\nslowest files, of ${(total / 1000).toFixed(0)} s in all:`);
  for (const { file, ms } of slow.slice(0, SLOWEST))
    console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
}

function print(result: FileResult, width: number, verbose: boolean): void {
  const { file, passed, failed, skipped, ms, failures, output } = result;
  const mark = failed > 0 ? "✗" : "✓";
  const parts = [`${mark} ${file.padEnd(width)}`, `${String(passed).padStart(4)} passed`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (skipped > 0) parts.push(`${skipped} skipped`);
  console.log([...parts, `${ms.toFixed(0)} ms`].join("  "));
  for (const text of failures) console.log(indent(text.trim(), "    "));
  if ((failed > 0 || verbose) && output.trim() !== "")
    console.log(indent(output.trimEnd(), "  | "));
}

function indent(text: string, prefix: string): string {
  return text
    .split("\n")
    .map((line) => prefix + line)
    .join("\n");
}

/**
 * The test runner behind `npm test`: finds every `*.test.ts`, runs them in a few child processes
 * and closes with the line `N passed, N failed`, alone. It cannot pass by accident: a file without
 * tests, a suite that was not run, a test that never settles, an early exit, a crash, a hang, a
 * stray rejection and a process that does not end by itself all count as failures. Owns its
 * children and ends them when it ends.
 *
 *     npm test -- [part of a path]… [--jobs 2] [--timeout 300] [--exit-timeout 15] [--root folder] [--verbose]
 *
 * Files of one package share processes, so that a device is set up once. A file whose first line is
 * `// node: --expose-gc` gets a process of its own with these flags.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Batch, type FileResult, killAll, runBatch } from "./runner/batch.ts";

/** Folders of the repository that hold tests. */
const PLACES = ["packages", "eslint-plugin", "examples", "tools"];
/** Folders never looked into. */
const SKIPPED = new Set(["node_modules", "dist", "fixtures"]);
/** Files per process at most: a crash costs a restart, and two processes share the work evenly. */
const BATCH = 12;

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: "string", default: String(Math.min(2, availableParallelism())) },
    timeout: { type: "string", default: "300" },
    "exit-timeout": { type: "string", default: "15" },
    root: { type: "string" },
    verbose: { type: "boolean", default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const root = resolve(options.root ?? fileURLToPath(new URL("..", import.meta.url)));
  const places = options.root === undefined ? PLACES : ["."];
  const all = places
    .flatMap((place) => findTests(join(root, place)))
    .map((path) => relative(root, path).split(sep).join("/"))
    .sort();
  const files = all.filter(
    (file) => filters.length === 0 || filters.some((part) => file.includes(part)),
  );
  const results: FileResult[] = [];
  if (files.length === 0)
    console.log(
      `no test file ${filters.length === 0 ? `in ${root}` : `matches ${filters.join(", ")}; ${all.length} files have other names`}`,
    );

  const verbose = options.verbose || files.length === 1;
  const width = Math.max(...files.map((file) => file.length), 0);
  const limits = { silenceMs: seconds("timeout"), exitMs: seconds("exit-timeout") };
  const waiting = batches(root, files);
  process.once("exit", killAll);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.exit(130));
  const worker = async (): Promise<void> => {
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
      await runBatch(batch, limits, (result) => {
        results.push(result);
        print(result, width, verbose);
      });
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Number(options.jobs)) }, worker));

  const missing = files.filter((file) => !results.some((result) => result.file === file));
  for (const file of missing) console.log(`✗ ${file}  was never run`);
  const bad = results.filter(({ failed }) => failed > 0);
  if (bad.length > 0)
    console.log(
      `\nfailing files:\n${bad.map(({ file, failed }) => `  ${file} (${failed})`).join("\n")}`,
    );
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const failed = results.reduce((sum, result) => sum + result.failed, 0) + missing.length;
  const skipped = results.reduce((sum, result) => sum + result.skipped, 0);
  console.log(`\n${files.length} files${skipped > 0 ? `, ${skipped} tests skipped` : ""}`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

/** All `*.test.ts` below a folder, which may be absent. */
function findTests(folder: string): string[] {
  const found: string[] = [];
  if (!existsSync(folder)) return found;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED.has(entry.name) && !entry.name.startsWith("."))
      found.push(...findTests(path));
    else if (entry.isFile() && entry.name.endsWith(".test.ts")) found.push(path);
  }
  return found;
}

/**
 * Groups by package (`packages/tenure`, `tools`, …); files with flags of their own stay alone. Long
 * batches first, so that no process ends far behind.
 */
function batches(root: string, files: readonly string[]): Batch[] {
  const alone: Batch[] = [];
  const groups = new Map<string, string[]>();
  for (const file of files) {
    const flags = /^\/\/ node: (.+)/
      .exec(readFileSync(join(root, file), "utf8"))?.[1]
      ?.trim()
      .split(/\s+/);
    if (flags !== undefined) {
      alone.push({ root, files: [file], flags });
      continue;
    }
    const [first = "", second = ""] = file.split("/");
    const group = first === "packages" || first === "examples" ? `${first}/${second}` : first;
    groups.set(group, [...(groups.get(group) ?? []), file]);
  }
  const shared: Batch[] = [];
  for (const group of groups.values()) {
    const parts = Math.ceil(group.length / BATCH);
    const size = Math.ceil(group.length / parts);
    for (let at = 0; at < group.length; at += size)
      shared.push({ root, files: group.slice(at, at + size), flags: [] });
  }
  return [...shared.sort((a, b) => b.files.length - a.files.length), ...alone];
}

function print(result: FileResult, width: number, verbose: boolean): void {
  const { file, passed, failed, skipped, ms, failures, output } = result;
  const skips = skipped > 0 ? `${skipped} skipped  ` : "";
  console.log(
    `${failed > 0 ? "✗" : "✓"} ${file.padEnd(width)}  ${String(passed).padStart(4)} passed  ${failed > 0 ? `${failed} failed  ` : ""}${skips}${ms.toFixed(0)} ms`,
  );
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

function seconds(name: "timeout" | "exit-timeout"): number {
  const value = Number(options[name]);
  if (!(value > 0))
    throw new RangeError(`test: expected --${name} in seconds, got ${options[name]}`);
  return value * 1000;
}

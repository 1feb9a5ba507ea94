/**
 * The process that runs a batch of test files, one after the other:
 * `child.ts <root> <names> <file>…`, where `<names>` is a JSON list of parts of names, empty for
 * all tests. Started by `batch.ts`, which owns it and reads its reports. It never calls
 * `process.exit()` after the last file: that the process ends by itself is part of what is tested.
 *
 * Libraries may add checks that run after each file: async functions in the array
 * `globalThis.__tenureTestHooks`, called with the file's path; each message they return is a
 * failure of that file.
 */
import { register } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { describe, report } from "./protocol.ts";
import type { Registered } from "./uvu.ts";

/**
 * What uvu queues for each `run()`: returns its errors as text (or true), and how many tests
 * passed, were skipped, and were to run.
 */
type SuiteRun = () => Promise<
  [errors: string | true, passed: number, skipped: number, total: number]
>;

/** A check after each file. Returns one message per failure. */
export type FileHook = (file: string) => Promise<readonly string[]> | readonly string[];

const shared = globalThis as typeof globalThis & {
  UVU_DEFER?: number;
  UVU_QUEUE?: SuiteRun[][];
  UVU_INDEX?: number;
  __tenureTestHooks?: FileHook[];
};

/** How long a process may live after its last file before it says what holds it. */
const GRACE_MS = 2_000;

const [root = "", names = "[]", ...files] = process.argv.slice(2);
let current = "";
let doing = "loading";
let ended = false;

shared.UVU_DEFER = 1;
shared.UVU_QUEUE = [];
process.on("unhandledRejection", (error) => {
  stray("unhandled rejection", error);
});
process.on("uncaughtException", (error) => {
  stray("uncaught exception", error);
});
process.on("beforeExit", () => {
  if (ended) return;
  report({ kind: "stalled", file: current, doing });
  process.exit(1);
});
quietUvu();
redirectUvu();
void main().catch((error: unknown) => {
  stray("internal: the runner", error);
  process.exit(1);
});

async function main(): Promise<void> {
  const { beginFile, wantNames } = await import("./uvu.ts");
  wantNames(JSON.parse(names) as string[]);
  for (const [index, file] of files.entries()) await runFile(file, index, beginFile);
  ended = true;
  report({ kind: "end" });
  setTimeout(() => {
    report({ kind: "held", resources: process.getActiveResourcesInfo() });
  }, GRACE_MS).unref();
}

async function runFile(file: string, index: number, beginFile: () => Registered): Promise<void> {
  const started = performance.now();
  const queue: SuiteRun[] = [];
  current = file;
  doing = "loading";
  report({ kind: "file", file });
  const found = beginFile();
  (shared.UVU_QUEUE ??= [])[index] = queue;
  shared.UVU_INDEX = index;

  const loaded = await load(file);
  const waiting = [...found.waiting.values()];
  const neverRun = waiting.reduce((sum, { tests }) => sum + tests, 0);
  if (loaded) judgeRegistered(found);
  const { passed, total, skipped } = await runSuites(queue);
  for (const text of found.hookFailures) fail(text);
  if (found.only > 0) fail(`.only hides ${found.tests - found.only} tests; remove it`);
  else if (total + neverRun !== found.tests)
    fail(`${found.tests} tests were registered, ${total + neverRun} reported`);
  if (found.tests > 0 || found.unnamed === 0) await runFileHooks(file);
  report({
    kind: "done",
    file,
    passed,
    skipped: Math.max(skipped, found.skipped),
    unnamed: found.unnamed,
    ms: performance.now() - started,
  });
}

async function load(file: string): Promise<boolean> {
  try {
    await import(pathToFileURL(join(root, file)).href);
    return true;
  } catch (error) {
    fail(`failed to load: ${describe(error)}`);
    return false;
  }
}

/** Fails for tests that nobody will run, and where there are none. */
function judgeRegistered({ waiting, tests: all, unnamed }: Registered): void {
  for (const { name, tests } of waiting.values())
    fail(`${name}: ${tests} registered, but run() was never called`, tests);
  if (all + unnamed === 0) fail("registers no test");
}

async function runSuites(queue: readonly SuiteRun[]) {
  const sums = { passed: 0, total: 0, skipped: 0 };
  for (const run of queue) {
    try {
      const [errors, ok, left, all] = await run();
      sums.passed += ok;
      sums.total += all;
      sums.skipped += left;
      if (errors !== true) fail(errors, Math.max(1, all - ok));
      else if (ok < all) fail(`${all - ok} of ${all} tests of a suite did not report`, all - ok);
    } catch (error) {
      fail(`a suite ended with ${describe(error)}`);
    }
  }
  return sums;
}

async function runFileHooks(file: string): Promise<void> {
  doing = "checks after the file";
  report({ kind: "start", name: doing });
  for (const hook of shared.__tenureTestHooks ?? []) {
    try {
      for (const message of await hook(file)) fail(message);
    } catch (error) {
      fail(`a check after the file ended with ${describe(error)}`);
    }
  }
}

function fail(text: string, count = 1): void {
  report({ kind: "failure", file: current, text, count });
}

function stray(what: string, error: unknown): void {
  fail(`${what}${ended ? " after the last test" : ""}: ${describe(error)}`);
}

/** uvu draws dots and suite names on stdout; here only the output of tests is wanted. */
function quietUvu(): void {
  const original: unknown = process.stdout.write.bind(process.stdout);
  const write = original as (...args: unknown[]) => boolean;
  const drawn = /^(?:[•✘] | {2}\(\d+ \/ \d+\)\n| .* {2})$/;
  process.stdout.write = (chunk: unknown, ...rest: unknown[]) =>
    (typeof chunk === "string" && drawn.test(chunk)) || write(chunk, ...rest);
}

/** Lets every `import … from "uvu"` but that of the stand-in itself reach the stand-in. */
function redirectUvu(): void {
  const standIn = JSON.stringify(new URL("./uvu.ts", import.meta.url).href);
  const hooks = `export const resolve = (name, context, next) =>
    next(name === "uvu" && context.parentURL !== ${standIn} ? ${standIn} : name, context);`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
}

/**
 * The test runner behind `npm test`: finds every `*.test.ts`, runs them in a few child processes
 * and closes with the line `N passed, N failed`, alone. It cannot pass by accident: a file without
 * tests, a suite that was not run, a test that never settles, an early exit, a crash, a hang, a
 * stray rejection and a process that does not end by itself all count as failures, and so does a
 * word that nothing is called by. Ends its children when it ends.
 *
 *     npm test -- [part of a path, or of a test's name]… [--name text]… [--watch] [--jobs 2]
 *                 [--timeout 300] [--exit-timeout 15] [--root folder] [--verbose] [--variant 2]
 *
 * `--name` is for names that are also part of a path. `--watch` stays and runs again what an edit
 * touches. Files of one package share processes, so that a device is set up once. A file whose
 * first line is `// node: --expose-gc` gets a process of its own with these flags. `--variant n`
 * forces the n-th way of writing every kernel that can be written in several; it is for the ops:
 *
 *     npm test -- packages/tenure/test/gpu/ops/values --variant 2
 */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { REPOSITORY } from "./files.ts";
import { killAll } from "./runner/batch.ts";
import { type RunOptions, runTests } from "./runner/run.ts";
import { findTests, select, type Selection } from "./runner/select.ts";

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    name: { type: "string", multiple: true, default: [] },
    watch: { type: "boolean", default: false },
    jobs: { type: "string", default: String(Math.min(2, availableParallelism())) },
    timeout: { type: "string", default: "300" },
    "exit-timeout": { type: "string", default: "15" },
    root: { type: "string" },
    verbose: { type: "boolean", default: false },
    variant: { type: "string" },
  },
});

// What somebody tuned on this machine must not decide which kernels are tested.
process.env["TENURE_TUNED"] = "off";
if (options.variant !== undefined) process.env["TENURE_VARIANT"] = options.variant;
process.once("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
process.exitCode = (await main()) ? 0 : 1;

async function main(): Promise<boolean> {
  const root = resolve(options.root ?? REPOSITORY);
  const settings: RunOptions = {
    root,
    jobs: Number(options.jobs),
    limits: { silenceMs: seconds("timeout"), exitMs: seconds("exit-timeout") },
    verbose: options.verbose,
  };
  const selection = (): Selection => {
    const { files, names } = select(root, findTests(root, options.root === undefined), words);
    return { files, names: [...names, ...options.name] };
  };
  const passed = await runTests(selection(), settings);
  if (options.watch) {
    const { watchTests } = await import("./runner/watch.ts"); // it loads TypeScript: slow
    await watchTests(selection, settings);
  }
  return passed;
}

function seconds(name: "timeout" | "exit-timeout"): number {
  const value = Number(options[name]);
  if (!(value > 0))
    throw new RangeError(`test: expected --${name} in seconds, got ${options[name]}`);
  return value * 1000;
}

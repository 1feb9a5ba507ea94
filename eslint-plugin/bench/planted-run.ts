/**
 * Proves that what is planted leaks: runs a program of `planted/` and each of its edits on the null
 * device and prints how many tensors are left, or the error of the library. Run by hand, from the
 * root: `node --import tsx --conditions=tenure:source eslint-plugin/bench/planted-run.ts [name…]`.
 * Each program runs in a process of its own; it fails when a program leaks or an edit does not.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { currentDisposeScope, init, memory, setWarnSink } from "tenure";
import { folder, lots, readProgram } from "./planted-edits.ts";

const here = fileURLToPath(import.meta.url);
const given = process.argv.slice(2);
if (given[0] === "--one") await runAll(given[1] ?? "", given[2] ?? "");
else {
  const target = mkdtempSync(join(tmpdir(), "tenure-planted-"));
  try {
    cpSync(folder, target, { recursive: true });
    symlinkSync(join(here, "../../../node_modules"), join(target, "node_modules"));
    writeFileSync(join(target, "package.json"), '{ "type": "module" }');
    for (const name of given.length > 0 ? given : lots.flat()) {
      const { status } = spawnSync(
        process.execPath,
        [...process.execArgv, here, "--one", name, target],
        { stdio: "inherit", env: { ...process.env, TENURE_DEVICE: "null", TENURE_TRACK: "off" } },
      );
      if (status !== 0) process.exitCode = 1;
    }
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

async function runAll(name: string, target: string): Promise<void> {
  setWarnSink(() => undefined);
  await init();
  const { text, edits } = readProgram(name);
  const texts = [{ kind: "as it is", text }, ...edits];
  for (const [i, one] of texts.entries()) {
    // not `.js`: in plain JavaScript Node 20 knows no `using`
    const file = join(target, `${name}.${String(i)}.ts`);
    writeFileSync(file, one.text);
    const { left, error } = await leftBy(file);
    const isRight = (left > 0 || error.startsWith("DisposedError")) === i > 0;
    if (!isRight) process.exitCode = 1;
    const verdict = isRight ? "" : i > 0 ? " DOES NOT LEAK" : " LEAKS";
    console.warn(`${name} ${String(i)}, ${one.kind}: ${String(left)} left ${error}${verdict}`);
  }
}

async function leftBy(file: string): Promise<{ left: number; error: string }> {
  const before = alive();
  let error = "";
  try {
    const { run } = (await import(pathToFileURL(file).href)) as { run: () => Promise<unknown> };
    await run();
  } catch (thrown) {
    error = String(thrown).slice(0, 60);
  }
  await new Promise((resolve) => setTimeout(resolve, 10)); // what was not awaited
  for (let scope = currentDisposeScope(); scope; scope = currentDisposeScope()) scope.dispose();
  return { left: alive() - before, error };
}

/** Tensors not ended by anybody but the garbage collector. */
function alive(): number {
  const { threadTotalLiveCount, finalized } = memory.stats();
  return threadTotalLiveCount + finalized;
}

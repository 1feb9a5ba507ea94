/**
 * Runs modules made of snippets, one after the other in one process, and prints what went wrong as
 * JSON. Those that say what they print run on the device of the tests, the others on the one that
 * computes nothing, which compiles no kernels. Started by the snippet test with the list of
 * modules; the current folder is theirs to write to. Owns the device until it ends.
 */
import { readFileSync } from "node:fs";
import { format } from "node:util";
import { init, shutdown, sync } from "tenure";

/** A module and what to call it. */
export interface Runnable {
  readonly path: string;
  /** `docs/lint.md`. */
  readonly page: string;
  /** Line of its first line. */
  readonly line: number;
  /** Lines on which it says what is printed. */
  readonly says: readonly number[];
}

const [list = ""] = process.argv.slice(2);
const problems: string[] = [];
const said = new Set<number>();
let current: Runnable | undefined;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const silent = (): void => undefined;
Object.assign(console, { log: silent, warn: silent });
Object.assign(globalThis, {
  snippetSays: (line: number, expected: string, ...printed: unknown[]): void => {
    said.add(line);
    const got = format(...printed);
    if (got !== expected)
      problems.push(`${current?.page}:${line} says it prints ${expected}, got ${got}`);
  },
});
process.on("unhandledRejection", failed);

function failed(error: unknown): void {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  problems.push(`${current?.page}:${current?.line} failed: ${what}`);
}

async function run(module: Runnable): Promise<void> {
  current = module;
  said.clear();
  try {
    await import(module.path);
    await sync();
  } catch (error) {
    failed(error);
  }
  for (const line of module.says)
    if (!said.has(line)) problems.push(`${module.page}:${line} never prints`);
}

const modules = JSON.parse(readFileSync(list, "utf8")) as Runnable[];
await init({ device: "null" });
for (const module of modules) if (module.says.length === 0) await run(module);
await shutdown();
await init();
for (const module of modules) if (module.says.length > 0) await run(module);
print(JSON.stringify(problems));
process.exit(0);

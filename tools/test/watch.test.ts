/**
 * What an edit touches, and the runner that waits for edits in a folder made here. Owns the folder
 * and the runner, and ends both.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ImportGraph } from "../runner/graph.ts";

const RUNNER = fileURLToPath(new URL("../test.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");

function test(name: string, imported: string): string {
  return `import { test } from "uvu"; ${imported} test("${name}", () => {}); test.run();\n`;
}

const TREE: Record<string, string> = {
  "package.json": `{ "type": "module" }`,
  "lib/package.json": JSON.stringify({
    name: "lib",
    type: "module",
    exports: { "./nn": { "tenure:source": "./nn.ts" } },
  }),
  "lib/nn.ts": `export * from "./deep.ts";`,
  "lib/deep.ts": "export const x = 1;",
  "lib/alone.ts": "export const y = 1;",
  "test/by-name.test.ts": test("by name", `import type { x } from "lib/nn";`),
  "test/by-path.test.ts": test("by path", `import "../lib/deep.ts";`),
  "test/lazy.test.ts": test("lazy", `void (() => import("../lib/deep.ts"));`),
  "test/other.test.ts": test("other", ""),
};
const TESTS = Object.keys(TREE).filter((path) => path.endsWith(".test.ts"));

interface Context {
  folder: string;
  runner: ChildProcess | undefined;
}

const watching = suite<Context>("watching", { folder: "", runner: undefined });

watching.before.each((context) => {
  context.folder = mkdtempSync(join(tmpdir(), "tenure-watch-"));
  for (const [path, text] of Object.entries(TREE)) write(context.folder, path, text);
});

watching.after.each(({ folder, runner }) => {
  runner?.kill("SIGTERM");
  rmSync(folder, { recursive: true });
});

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

watching("an edit touches the tests that import the file by any number of steps", ({ folder }) => {
  const graph = new ImportGraph(folder);
  const touched = (...changed: string[]): string[] => graph.testsOf(new Set(changed), TESTS);
  assert.equal(touched("lib/deep.ts"), TESTS.slice(0, 3));
  assert.equal(touched("lib/nn.ts"), ["test/by-name.test.ts"]);
  assert.equal(touched("test/other.test.ts"), ["test/other.test.ts"]);
  assert.equal(touched("lib/alone.ts"), []);
  write(folder, "test/other.test.ts", `import "../lib/alone.ts";`);
  graph.update("test/other.test.ts");
  assert.equal(touched("lib/alone.ts"), ["test/other.test.ts"]);
});

watching("runs everything, then what edits touch", async (context) => {
  const args = ["--import", TSX, RUNNER, "--watch", "--root", context.folder];
  const runner = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  context.runner = runner;
  let output = "";
  const says = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!output.includes(text)) return;
        runner.stdout.off("data", look);
        resolve(output.slice(0, output.indexOf(text)));
        output = output.slice(output.indexOf(text) + text.length);
      };
      runner.stdout.on("data", look);
      look();
    });
  runner.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));

  assert.match(await says("waiting for edits"), /4 passed, 0 failed/);
  write(context.folder, "lib/deep.ts", "export const x = 2;");
  const first = await says("waiting for edits");
  assert.match(first, /edited: lib\/deep\.ts\n[^]*3 files\n3 passed, 0 failed/);
  assert.not.match(first, /other\.test\.ts/);
  write(context.folder, "lib/alone.ts", "export const y = 2;");
  assert.match(await says("waiting for edits"), /edited: lib\/alone\.ts\nno test imports it/);
  write(context.folder, "test/other.test.ts", "export {};");
  assert.match(await says("waiting for edits"), /registers no test[^]*0 passed, 1 failed/);
});

watching.run();

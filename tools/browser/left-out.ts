/**
 * The GPU test files that take no part in `npm run test:browser`, and why. Read by
 * `tools/test-browser.ts`; a test compares the list with what the files import, so that none is
 * left out silently. Owns nothing.
 */
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import ts from "typescript";
import { REPOSITORY } from "../files.ts";
import { importsOf, resolveImport } from "../imports.ts";
import { tools } from "./bundle.ts";

/** Where the test files are that compute on a device. */
export const FOLDER = "packages/tenure/test/gpu";

const kernels = "it opens the driver of Node itself";
/** Files of tests that need Node for what a page does without. */
const replaced = /\/test\/(helpers|op-files)\.ts$/;
const peer = "TensorFlow.js is loaded as Node's";

/** File below {@link FOLDER} → why a page cannot run it. */
export const leftOut: ReadonlyMap<string, string> = new Map([
  ["browser.test.ts", "it starts a browser itself"],
  ["data/checkpoint.test.ts", "it writes files"],
  ["data/numpy.test.ts", "it packs archives with Node's zlib"],
  ["kernels/conv.test.ts", kernels],
  ["kernels/elementwise.test.ts", kernels],
  ["kernels/half.test.ts", kernels],
  ["kernels/matmul.test.ts", kernels],
  ["kernels/normalize.test.ts", kernels],
  ["kernels/philox.test.ts", kernels],
  ["kernels/pool.test.ts", kernels],
  ["kernels/reduce.test.ts", kernels],
  ["kernels/softmax.test.ts", kernels],
  ["ops/functions.test.ts", peer],
  ["peer-rows.test.ts", peer],
  ["runtime-device.test.ts", "it starts processes"],
  ["scheduler/waits.test.ts", "it starts processes"],
  ["tune.test.ts", "it keeps what it measured in files"],
]);

/**
 * The test files that need Node, each with the module of Node or the package that works there only:
 * it, or a file of tests that it imports, imports that. What `test/helpers.ts` imports is for
 * goldens, which a page does not have; the op files come as a list.
 */
export function needsOf(paths: readonly string[]): Map<string, string> {
  const imports = new Map<string, readonly string[]>();
  const importsOfFile = (file: string): readonly string[] => {
    let known = imports.get(file);
    if (known === undefined) {
      const text = readFileSync(join(REPOSITORY, file), "utf8");
      const found = importsOf(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
      known = found.filter(({ kind }) => kind !== "type").map(({ target }) => target);
      imports.set(file, known);
    }
    return known;
  };
  const needs = new Map<string, string>();
  for (const path of paths) {
    const seen = new Set([path]);
    for (const file of seen) {
      for (const target of importsOfFile(file)) {
        if (isBuiltin(target) || tools.test(target)) needs.set(path, target);
        const next = target.startsWith(".") ? resolveImport(file, target) : "";
        if (next.includes("/test/") && !replaced.test(next)) seen.add(next);
      }
    }
  }
  return needs;
}

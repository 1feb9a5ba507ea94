/**
 * Which tests an edit touches, by a graph of who imports whom. Called by `watch.ts`; reads files,
 * owns nothing.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { filesBelow } from "../files.ts";
import { resolveImport } from "../imports.ts";

const SOURCE = /\.[cm]?tsx?$/;
/** The condition under which packages of this repository are imported as source. */
const CONDITION = "tenure:source";

/** The imports of a source tree, read anew when a file changes. */
export class ImportGraph {
  readonly #root: string;
  /** File → files it imports. */
  readonly #imports = new Map<string, readonly string[]>();
  /** `tenure/nn` → `packages/tenure/src/nn/index.ts`. */
  readonly #packages: ReadonlyMap<string, string>;

  constructor(root: string) {
    this.#root = root;
    this.#packages = packageEntries(root);
    for (const file of filesBelow(root, "", SOURCE)) this.update(file);
  }

  /** Reads a file again that was written, added or removed. */
  update(file: string): void {
    const path = join(this.#root, file);
    if (!SOURCE.test(file) || !existsSync(path)) {
      this.#imports.delete(file);
      return;
    }
    const { importedFiles } = ts.preProcessFile(readFileSync(path, "utf8"), true, true);
    const targets = importedFiles.map(({ fileName }) =>
      fileName.startsWith(".") ? resolveImport(file, fileName) : this.#packages.get(fileName),
    );
    this.#imports.set(
      file,
      targets.filter((target) => target !== undefined),
    );
  }

  /** Those of the test files that are, or import by any number of steps, one of the given files. */
  testsOf(changed: ReadonlySet<string>, tests: readonly string[]): string[] {
    const touched = new Set(changed);
    for (let before = -1; before < touched.size;) {
      before = touched.size;
      for (const [file, targets] of this.#imports)
        if (targets.some((target) => touched.has(target))) touched.add(file);
    }
    return tests.filter((file) => touched.has(file));
  }
}

/** What the names of the packages in this repository lead to, by their `exports`. */
function packageEntries(root: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const file of filesBelow(root, "", /^package\.json$/)) {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, file), "utf8")) as {
      name?: string;
      exports?: Record<string, Record<string, string> | string>;
    };
    for (const [path, target] of Object.entries(exports)) {
      const source = typeof target === "string" ? target : target[CONDITION];
      if (name !== undefined && source !== undefined)
        entries.set(posix.join(name, path), posix.join(posix.dirname(file), source));
    }
  }
  return entries;
}

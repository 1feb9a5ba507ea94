/**
 * Runs tests again when a file they are made of is edited: the test itself, or anything it imports.
 * Called by `tools/test.ts --watch`. Owns the watch on the folder; ends with the process.
 */
import { watch } from "node:fs";
import { sep } from "node:path";
import { ImportGraph } from "./graph.ts";
import type { RunOptions } from "./run.ts";
import { runTests } from "./run.ts";
import type { Selection } from "./select.ts";

/** Editors write in several steps: edits so close together are one. */
const SETTLE_MS = 150;
const IGNORED = /(?:^|\/)(?:node_modules|dist|\.[^/]+)(?:\/|$)/;

/**
 * Waits for edits and runs what they touch, for ever. `selectAll` gives the tests that may be run
 * at all, and is asked anew each time, as tests come and go.
 */
export async function watchTests(selectAll: () => Selection, options: RunOptions): Promise<void> {
  const graph = new ImportGraph(options.root);
  const edits = new Edits(options.root);
  console.log("\nwaiting for edits");
  for (;;) {
    const changed = await edits.next();
    for (const file of changed) graph.update(file);
    const { files, names } = selectAll();
    const touched = graph.testsOf(changed, files);
    console.log(`\nedited: ${[...changed].join(", ")}`);
    if (touched.length === 0) console.log("no test imports it");
    else await runTests({ files: touched, names }, options);
    console.log("\nwaiting for edits");
  }
}

/** Collects the names of edited files until somebody asks. */
class Edits {
  #changed = new Set<string>();
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(root: string) {
    watch(root, { recursive: true }, (_, name) => {
      const file = name?.split(sep).join("/") ?? "";
      if (file === "" || IGNORED.test(file)) return;
      this.#changed.add(file);
      this.#settle();
    });
  }

  /** The files edited since the last call, as soon as there are any. */
  async next(): Promise<ReadonlySet<string>> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#changed.size > 0) this.#settle();
    });
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#wake?.();
      this.#wake = undefined;
    }, SETTLE_MS);
  }
}

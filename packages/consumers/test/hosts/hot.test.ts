/**
 * Vite's dev server replaces a module of a page while its tensors live, as docs/hosts.md says to
 * write it: weights go on with the next version, all else ends with the one that made it, and the
 * library stays one copy. Reports name lines of that module although Vite spreads the library over
 * several files. In Chromium, on the device that computes nothing.
 */
import { type LaunchedChromium, launchChromium } from "tenure-software-gpu/chromium";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createServer } from "vite";
import { pack, Project } from "../../packed.ts";

const test = suite("hot replacement");
const project = new Project();
let chromium: LaunchedChromium | undefined;
test.before(async () => {
  project.install("tenure", await pack("tenure"));
});
test.after(async () => {
  await chromium?.close();
  project[Symbol.dispose]();
});

/** A module of a page, which keeps a model and makes an input. */
const part = (version: number): string => `
  import { memory, ones } from "tenure";
  import { Linear } from "tenure/nn";
  const model = import.meta.hot?.data.model ?? new Linear(2, 2);
  const input = ones([4, 2]);
  globalThis.versions = [...(globalThis.versions ?? []), ${version}];
  globalThis.told = () => ({
    lines: memory.live().map(({ key }) => key.replace(/.*\\/|\\?.*?(?=:)/g, "")).sort(),
    live: memory.stats().threadTotalLiveCount,
    isDisposed: model.weight.isDisposed,
    model: (globalThis.model ??= model) === model,
  });
  import.meta.hot?.accept();
  import.meta.hot?.dispose((data) => {
    input.dispose();
    data.model = model;
  });`;

test("a module that disposes and hands on leaves nothing behind", async () => {
  project.write("index.html", '<!doctype html><script type="module" src="/main.js"></script>');
  project.write(
    "main.js",
    'import { init } from "tenure"; await init({ device: "null" }); import("./part.js");',
  );
  project.write("part.js", part(0));
  const server = await createServer({
    root: project.folder,
    configFile: false,
    logLevel: "error",
    server: { host: "127.0.0.1", port: 0, watch: null },
  });
  try {
    await server.listen();
    chromium = await launchChromium();
    const page = await chromium.browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => {
      errors.push(String(error));
    });
    await page.goto(server.resolvedUrls!.local[0]!);
    const has = (count: number): Promise<unknown> =>
      page.waitForFunction(`globalThis.versions?.length === ${count}`);
    await has(1);
    const first = await page.evaluate("told()");
    const lines = ["part.js:4:48", "part.js:5:17"]; // of the page's module, not of the library
    assert.equal(first, { lines, live: 3, isDisposed: false, model: true });
    for (let version = 1; version <= 3; version++) {
      project.write("part.js", part(version));
      // told here: how soon a host reports what is written is no matter of this test
      server.watcher.emit("change", join(project.folder, "part.js"));
      await has(version + 1);
      assert.equal(await page.evaluate("told()"), first);
    }
    assert.equal(await page.evaluate("versions"), [0, 1, 2, 3]);
    assert.equal(errors, []);
  } finally {
    await server.close();
  }
});

test.run();

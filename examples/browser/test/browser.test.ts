/**
 * The page as it is built, in Chromium: it trains, names the line that leaks, reads what is drawn,
 * serves people without WebGPU, and says nothing on the console; and the digits that ship are
 * MNIST's. One browser for all tests.
 */
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import {
  type LaunchedChromium,
  launchChromium,
  type PageRoute,
  type PageServer,
  servePages,
} from "tenure-software-gpu/chromium";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { build } from "vite";
import { centred } from "../centre.ts";
import { gridStep } from "../chart.ts";
import { subset } from "../subset.ts";

const folder = join(import.meta.dirname, "..");
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".map": "application/json",
  ".gz": "application/gzip",
};

const test = suite("examples/browser");
let chromium: LaunchedChromium, pages: PageServer;

test.before(async () => {
  const outDir = await mkdtemp(join(tmpdir(), "tenure-browser-"));
  try {
    const [started] = await Promise.all([
      launchChromium(),
      build({ root: folder, logLevel: "error", build: { outDir, emptyOutDir: true } }),
    ]);
    chromium = started;
    const routes: Record<string, PageRoute> = {};
    for (const file of await readdir(outDir, { recursive: true, withFileTypes: true }))
      if (file.isFile()) {
        const path = join(file.parentPath, file.name),
          url = path.slice(outDir.length).replaceAll("\\", "/");
        const type = types[extname(path)] ?? "application/octet-stream";
        routes[url === "/index.html" ? "/" : url] = { type, body: await readFile(path) };
      }
    pages = await servePages(routes);
  } finally {
    await rm(outDir, { recursive: true });
  }
});
test.after(async () => {
  await pages?.close();
  await chromium?.close();
});

/** Opens the page, with scripts `before` its own, and fails when it complains on the console. */
async function withPage(
  use: (page: Page) => Promise<void>,
  before: { readonly page?: string; readonly worker?: string } = {},
): Promise<void> {
  const page = await chromium.browser.newPage();
  const said: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") said.push(message.text());
  });
  page.on("pageerror", (error) => said.push(String(error)));
  if (before.page !== undefined) await page.addInitScript(before.page);
  if (before.worker !== undefined)
    await page.route(/worker-[^/]*\.js$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `${before.worker}${await response.text()}` });
    });
  await page.goto(`${pages.url}/`);
  await use(page);
  await page.close();
  assert.equal(said, []);
}

const label = (page: Page, id: string): Promise<string> =>
  page.locator(`#${id}`).evaluate((e) => e.getAttribute("aria-label") ?? "");
/** The number behind a word in the spoken text of a chart. */
const spoken = (text: string, word: string): number =>
  Number(new RegExp(`${word} ([\\d.]+)`).exec(text)?.[1]);

test("trains, names the line that leaks, and reads what is drawn", async () => {
  await withPage(async (page) => {
    await page.locator("#run:enabled").click();
    await page.waitForFunction("/^[1-9]/.test(document.getElementById('step').textContent)");
    await page.waitForFunction("/step \\d/.test(document.getElementById('loss').ariaLabel)");
    const early = spoken(await label(page, "loss"), "training");
    await page.waitForFunction("parseInt(document.getElementById('step').textContent) > 60");

    await page.getByRole("switch", { name: "Forget to dispose" }).check();
    await page.locator("#leak:not([hidden])").waitFor();
    assert.match(
      await page.locator("#leak-title").innerText(),
      /^Leak found: training\.ts, line \d+$/,
    );
    assert.match(
      await page.locator("#leak-text").innerText(),
      /leaves 1 tensor \(0\.16 MB\) behind/,
    );
    assert.match(
      await page.locator("#leak-code mark").innerText(),
      "this.#album.push(scope.detach(",
    );
    await page.getByRole("switch", { name: "Forget to dispose" }).uncheck();
    assert.ok(await page.locator("#leak").isHidden());

    await drawSeven(page);
    await page.waitForFunction(
      "/looks like a 7/.test(document.getElementById('answer').textContent)",
    );
    await page.waitForTimeout(1100); // the charts speak once a second
    const [loss, accuracy, memory] = [
      await label(page, "loss"),
      await label(page, "accuracy"),
      await label(page, "memory"),
    ];
    assert.ok(spoken(loss, "training") < early, `${early}, then ${loss}`);
    assert.ok(spoken(accuracy, "training") > 60, accuracy);
    assert.match(memory, /model 0\.81 MB, optimizer 1\.63 MB, gradients 0\.81 MB, batch 0\.16 MB/);
    assert.match(memory, /forgotten 0,/);
  });
});

async function drawSeven(page: Page): Promise<void> {
  await page.locator("#pad").scrollIntoViewIfNeeded();
  const box = (await page.locator("#pad").boundingBox()) ?? { x: 0, y: 0 };
  const at = (x: number, y: number): [number, number] => [box.x + x, box.y + y];
  await page.mouse.move(...at(80, 60));
  await page.mouse.down();
  await page.mouse.move(...at(200, 60), { steps: 4 });
  await page.mouse.move(...at(130, 230), { steps: 6 });
  await page.mouse.up();
}

test("the keyboard draws and clears, and test images say what they are", async () => {
  await withPage(async (page) => {
    await page.locator("#run:enabled").waitFor();
    await page.locator("#pad").focus();
    for (const key of ["Space", ...new Array<string>(8).fill("ArrowDown"), "Space"])
      await page.keyboard.press(key);
    await page.waitForFunction(
      "/^It looks like a \\d/.test(document.getElementById('answer').textContent)",
    );
    await page.keyboard.press("Delete");
    assert.is(await page.locator("#answer").innerText(), "Nothing drawn yet.");
    await page.getByRole("button", { name: "A digit from the test set" }).click();
    await page.waitForFunction(
      "/(That is right|It is a \\d)\\.$/.test(document.getElementById('answer').textContent)",
    );
  });
});

test("without WebGPU the page says what to do", async () => {
  await withPage(
    async (page) => {
      assert.is(
        await page.getByRole("heading", { level: 2 }).first().innerText(),
        "This browser shows the page no GPU",
      );
      assert.ok(await page.locator("#app").isHidden());
    },
    { page: 'Object.defineProperty(Navigator.prototype, "gpu", { value: undefined })' },
  );
});

test("no adapter is told apart from one that was lost", async () => {
  const lose =
    "const get = GPUAdapter.prototype.requestDevice; GPUAdapter.prototype.requestDevice = " +
    "async function () { const device = await get.call(this); " +
    "setTimeout(() => device.destroy(), 300); return device; };";
  for (const [prefix, title] of [
    ["GPU.prototype.requestAdapter = async () => null;", "This browser shows the page no GPU"],
    [lose, "The training has stopped"],
  ] as const)
    await withPage(
      async (page) => {
        await page.waitForFunction(
          "document.getElementById('run').disabled === false || " +
            "document.getElementById('problem').hidden === false",
        );
        if (await page.locator("#run").isVisible()) await page.locator("#run").click();
        await page.locator("#problem:not([hidden])").waitFor();
        assert.is(await page.locator("#problem-title").innerText(), title);
      },
      { worker: prefix },
    );
});

test("what ships is the beginning of MNIST, and is small", async () => {
  let total = 0;
  for (const set of ["train", "test"] as const)
    for (const [name, bytes] of Object.entries(await subset(set))) {
      const file = await readFile(join(folder, "data", name));
      total += file.length;
      assert.ok(gunzipSync(file).equals(bytes), name);
    }
  assert.ok(total < 1e6, `${total} bytes`);
});

test("a drawing is scaled into 20×20 and centred by its weight", () => {
  const ink = new Float32Array(100 * 100);
  for (let y = 10; y < 50; y++) for (let x = 70; x < 80; x++) ink[y * 100 + x] = 1;
  const image = centred(ink, 100);
  const rows = Array.from({ length: 28 }, (_, y) => image.slice(y * 28, (y + 1) * 28)),
    marked = rows.flatMap((row, y) => (row.some((v) => v > 0.5) ? [y] : []));
  assert.equal([marked[0], marked.at(-1)], [4, 23]);
  const weight = image.reduce((sum, v) => sum + v, 0),
    middle = image.reduce((sum, v, i) => sum + v * ((i % 28) + 0.5), 0) / weight;
  assert.ok(Math.abs(middle - 14) <= 0.5, String(middle));
  assert.ok(Math.abs(weight - 20 * 5) < 1, String(weight)); // a bar of 5×20
  assert.ok(centred(new Float32Array(100), 10).every((v) => v === 0));
});

test("grid lines stand at round numbers", () => {
  assert.equal([1, 2.4, 100, 7e5].map(gridStep), [0.2, 0.5, 20, 2e5]);
});

test.run();

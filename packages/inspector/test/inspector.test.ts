/** The page in Chromium: what it draws is what memory.stats() says; keys zoom; no text is HTML. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LaunchedChromium, launchChromium } from "tenure-software-gpu/chromium";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type EventKind,
  type TracedEvent,
  init,
  memory,
  newDisposeScope,
  ones,
  zeros,
} from "tenure";
import { Linear } from "tenure/nn";
import { Adam } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { after, before } from "../../tenure/src/ownership/page.ts";
import { MODULE, buildPage, pageModule } from "../../../tools/page.ts";
import { columnsOf, rectanglesOf, staysOf } from "../src/page/columns.ts";
import { happeningsOf } from "../src/page/happenings.ts";
import { type Model, aliveAt, blockAt, modelOf } from "../src/page/model.ts";
import { axisOf, hasLongWait } from "../src/page/zoom.ts";
import { inspectorHTML } from "../src/render.ts";
import { longTrace } from "./long-trace.ts";

type Page = Awaited<ReturnType<LaunchedChromium["browser"]["newPage"]>>;
type File = ReturnType<typeof memory.chromeTrace>;

const test = suite("inspector");
const page = await buildPage();
let chromium: LaunchedChromium;
test.before(async () => {
  chromium = await launchChromium();
});
test.after(() => chromium.close());

/** A trace as its reader gets it. */
function recorded(): File {
  return JSON.parse(JSON.stringify(memory.chromeTrace())) as File;
}

/** Three steps of training, and a tensor that nobody disposes. */
async function train(): Promise<void> {
  await init({ device: "null" });
  memory.track("full");
  const model = new Linear(256, 256);
  const optimizer = new Adam(model.parameters());
  const scheduler = new Scheduler({ budgetBytes: 8 << 20 });
  for (let i = 0; i < 3; i++) {
    using loss = await scheduler.step(() => {
      using _ = newDisposeScope("</script><b>forward");
      const loss = model
        .call(ones([512, 256]))
        .relu()
        .square()
        .mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss.moveToOuter();
    });
    await loss.item();
    zeros([64 * 1024]).detachFromScope();
  }
}

async function open(html: string, width: number, scheme: "light" | "dark"): Promise<Page> {
  const page = await chromium.browser.newPage({
    viewport: { width, height: 1000 },
    colorScheme: scheme,
  });
  const wrong: string[] = [];
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("console", (m) => wrong.push(m.text()));
  page.on("request", (r) => wrong.push(r.url()));
  await page.setContent(html);
  await page.waitForFunction("document.documentElement.dataset.painted !== undefined");
  assert.equal(wrong, []);
  return page;
}

test("aliases count once, and a byte knows its line", async () => {
  await init({ device: "null" });
  memory.track("full");
  using t = zeros([1 << 18]);
  const aliases = Array.from({ length: 9 }, () => t.alias());
  const model = modelOf(recorded().tenure);
  const last = model.at.length - 1;
  const rows = aliveAt(model, last, []).filter((r) => r.place.includes("inspector.test.ts"));
  assert.equal([rows.length, rows[0]?.count, rows[0]?.bytes], [1, 1, 1 << 20]);
  const block = blockAt(model, last, 1000);
  assert.is(block?.bytes, 1 << 20);
  for (const a of aliases) a.dispose();
});

test("bands sum up to the bytes that are owned, after every event", async () => {
  await train();
  const { tenure } = recorded();
  const { liveBytes } = memory.stats();
  const model = modelOf(tenure);
  for (const [i, row] of tenure.events.entries())
    assert.is((model.sum[i] ?? 0) - (model.bytes.at(-1)?.[i] ?? 0), row[8], `event ${i}`);
  assert.is(tenure.events.at(-1)?.[8], liveBytes);
  checkStays(model);
});

/** What the chart draws of single blocks, at some moments, against what the replay counted. */
function checkStays(model: Model): void {
  const stays = staysOf(model);
  for (let i = 0; i < model.at.length; i += 7)
    for (const [kind, list] of stays.entries()) {
      const here = list.filter(({ from, to }) => from <= i && i < to);
      const bytes = here.reduce((sum, { block }) => sum + block.bytes, 0);
      if (list.length > 0) assert.is(bytes, model.bytes[kind]?.[i], `kind ${kind}, event ${i}`);
    }
}

test("a hundred thousand events: every column shows its peak, blocks lie in their bands", () => {
  const model = modelOf(longTrace(100_000));
  const axis = axisOf(model, "ms");
  assert.is(hasLongWait(model), false);
  const columns = columnsOf(model, axis, axis.whole, 1000);
  let most = 0;
  for (const i of columns.shown) most = Math.max(most, model.sum[i] ?? 0);
  assert.is(most, Math.max(...model.sum));
  const stays = staysOf(model);
  const rectangles = rectanglesOf(model, stays, columns, 3e5, null);
  assert.ok(rectangles.length > 500);
  const some = rectangles.filter((_, k) => k % Math.ceil(rectangles.length / 20) === 0);
  for (const { block, below, from, to } of some) {
    assert.ok(block.bytes >= 3e5 && from < to && to <= 1000);
    const i = columns.shown[from] ?? -1;
    assert.is(blockAt(model, i, below + block.bytes / 2), block);
  }
});

test("lines hold for their step; swaps and recomputes are marks", () => {
  const row = (kind: EventKind, at: number, text: number): TracedEvent => [
    kind,
    at,
    0,
    512,
    0,
    text,
    -1,
    -1,
    0,
    0,
    0,
  ];
  const events = [
    row("begin", 10, 0),
    row("swapOut", 14, 2),
    row("recompute", 15, 3),
    row("run", 16, 1),
    row("run", 19, 1),
    row("end", 20, 0),
  ];
  const said = (from: number, budgetBytes: number): Record<string, unknown> => ({
    from,
    budgetBytes,
    lowerBoundBytes: null,
  });
  const figures = [[3, said(12, 700)] as const, [4, said(17, 900)] as const];
  const texts = ["step 1", "2 dispatches", "s1", "matmul"];
  const { levels, marks, stretches } = happeningsOf({ ...longTrace(0), events, texts, figures });
  const pieces = [
    { from: 10, to: 17, bytes: 700 },
    { from: 17, to: 20, bytes: 900 },
  ];
  assert.equal(
    levels.map(({ name, pieces }) => ({ name, pieces })),
    [{ name: "budget", pieces }],
  );
  assert.equal(marks, [
    { kind: "swapOut", at: 14, text: "s1", bytes: 512 },
    { kind: "recompute", at: 15, text: "matmul", bytes: 512 },
  ]);
  assert.equal(
    stretches.map((s) => [s.row, s.from, s.to]),
    [
      ["step", 10, 20],
      ["run", 12, 16],
      ["run", 17, 19],
    ],
  );
});

test("the page draws at both widths and schemes, and keys zoom", async () => {
  await train();
  const file = recorded();
  const html = inspectorHTML(file, { page });
  const sizes = file.tenure.plans.map(({ steps }) => steps.length);
  const { liveBytes } = memory.stats(); // now: the collector may take the model later
  assert.not.match(html, "</script><b>");
  const shots = process.env["INSPECTOR_SHOTS"];
  for (const width of [1280, 420])
    for (const scheme of ["light", "dark"] as const) {
      // Two of the four tell what the others would; pictures are taken of all.
      if (shots === undefined && (width === 1280) !== (scheme === "light")) continue;
      const page = await open(html, width, scheme);
      const owned = await page.evaluate("document.documentElement.dataset.owned");
      assert.is(Number(owned), liveBytes);
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      assert.is(wide, width);
      assert.is(sizes[Number(await page.inputValue("#plans"))], Math.max(...sizes));
      const bytes = await page.locator("th", { hasText: "bytes" }).boundingBox();
      assert.ok(bytes !== null && bytes.x + bytes.width <= width, "bytes are in view");
      if (shots !== undefined) {
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: join(shots, `${width}-${scheme}.png`), fullPage: true });
      }
      const picture = (): Promise<unknown> =>
        page.evaluate("document.querySelector('#chart').toDataURL()");
      const frame = (): Promise<unknown> =>
        page.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))");
      const whole = await picture();
      await page.focus("#chart");
      await page.keyboard.press("+");
      await frame();
      assert.is.not(await picture(), whole);
      await page.keyboard.press("0");
      await frame();
      assert.is(await picture(), whole);
      await page.click("#chart", { position: { x: width - 60, y: 292 } });
      assert.match(
        String(await page.textContent("#detail")),
        /MB\nmade at [^]*owner here: (module|optimizer)\n[^]*inspector\.test\.ts/,
      );
      await page.close();
    }
});

test("tenure carries the page of these sources; else run npm run page", async () => {
  assert.is(readFileSync(MODULE, "utf8"), await pageModule());
  const inside = before + JSON.stringify(recorded().tenure).replaceAll("<", "\\u003c") + after;
  assert.is(inspectorHTML(recorded(), { page }), inside);
  assert.is(memory.timelineHTML(), inside);
});

test("anything but a trace is refused", () => {
  assert.throws(
    () => inspectorHTML({ traceEvents: [] }, { page }),
    /expected a trace of version 1/,
  );
  assert.throws(() => inspectorHTML(null, { page }), /expected a trace of version 1/);
});

test.run();

/** What the event log says as data: bytes once per storage, owners, steps, phases, runs, plans. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, init, memory, newDisposeScope, ones, scoped } from "tenure";
import { sync, tensor, zeros } from "tenure";
import { Linear, Sequential } from "tenure/nn";
import { Adam } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { eventLog } from "../../../src/ownership/log.ts";
import type { TraceData, TracedEvent } from "../../../src/ownership/trace-data.ts";
import { runtime } from "../../../src/runtime/runtime.ts";
import { setup, takeWarnings } from "./harness.ts";

const test = suite("trace");
test.before(setup);
test.before.each(() => {
  memory.track("full");
  eventLog().clear();
});
test.after.each(() => {
  memory.track("sampled");
  assert.equal(takeWarnings(), []);
  memory.verify();
});

/** The data as a reader of the file gets it. */
function data(): TraceData {
  return (JSON.parse(JSON.stringify(memory.chromeTrace())) as { tenure: TraceData }).tenure;
}

/** Bytes alive after all events, each storage once. */
function alive(events: readonly TracedEvent[]): number {
  const storages = new Map<number, number>();
  for (const [kind, , , bytes, storage] of events)
    if (kind === "create" || kind === "revive") storages.set(storage, bytes);
    else if (kind === "free") storages.delete(storage);
  return [...storages.values()].reduce((sum, bytes) => sum + bytes, 0);
}

test("a storage with nine aliases counts once, and until the last of them goes", () => {
  const before = memory.stats().liveBytes;
  const t = zeros([1 << 18]);
  const aliases = Array.from({ length: 9 }, () => t.alias());
  const { events } = data();
  assert.is(events.filter(([kind]) => kind === "create").length, 10);
  assert.is(new Set(events.map(([, , , , storage]) => storage)).size, 1);
  assert.is(alive(events), 1 << 20);
  assert.is(memory.stats().liveBytes - before, 1 << 20);
  assert.is(events.at(-1)![8] - before, 1 << 20);
  t.dispose();
  for (const a of aliases.slice(1)) a.dispose();
  assert.is(alive(data().events), 1 << 20);
  aliases[0]!.dispose();
  const after = data().events;
  assert.is(after.at(-1)![0], "free");
  assert.is(after.at(-1)![8], before);
  assert.is(alive(after), 0);
});

test("owners: scope, nobody, module, optimizer, and the graph after the last handle", async () => {
  const model = new Linear(4, 4);
  const optimizer = new Adam(model.parameters(), { lr: 0.1 });
  let kept: Tensor;
  {
    using _ = newDisposeScope("train");
    const hidden = model.call(ones([2, 4])).relu();
    kept = hidden.mul(hidden).sum().detachFromScope();
    kept.backward();
    optimizer.step();
  }
  await sync();
  const { events, texts } = data();
  const owners = events.map((e) => texts[e[7]] ?? "");
  assert.ok(owners.some((o) => o.startsWith('scope "train" (opened at ')));
  assert.ok(owners.includes("module Linear"));
  assert.ok(owners.includes("optimizer Adam"));
  const own = events.filter(([kind]) => kind === "own");
  assert.ok(own.some((e) => texts[e[7]] === "" && texts[e[5]]!.startsWith("detached at ")));
  const phases = events.filter(([kind]) => kind === "begin").map((e) => texts[e[5]]);
  assert.equal(phases, ["backward", "optimizer"]);
  kept.dispose();
  optimizer.dispose();
  model.dispose();
  assert.is(alive(data().events), 0);
});

test("a step is a band with a run in it, the run has figures, the plan rectangles", async () => {
  await init({ device: "null" });
  using w = ones([64, 64]);
  using scheduler = new Scheduler({ budgetBytes: 1 << 20 });
  using _ = await scheduler.step(() => w.matmul(w).exp().matmul(w).sum());
  const trace = memory.chromeTrace();
  const { tenure, traceEvents } = JSON.parse(JSON.stringify(trace)) as typeof trace;
  const report = scheduler.report();
  const figures = tenure.figures.at(-1)![1];
  assert.is(figures["predictedPeakBytes"], report.predictedPeakBytes);
  assert.is(figures["measuredPeakBytes"], report.measuredPeakBytes);
  assert.is(figures["budgetBytes"], 1 << 20);
  const of = (cat: string): (typeof traceEvents)[number] =>
    traceEvents.findLast((e) => e.cat === cat)!;
  const step = of("step");
  const run = of("run");
  assert.is(step.name, "step 1");
  assert.ok(run.ts >= step.ts && run.ts + run.dur! <= step.ts + step.dur! + 1);
  assert.ok(traceEvents.some((e) => e.ph === "M" && e.args?.["name"] === "programs on the device"));
  const plan = tenure.plans[0]!;
  assert.is(plan.plannedBytes, report.plannedBytes);
  for (const [slot, offset, bytes, from, to] of plan.boxes) {
    assert.ok(offset + bytes <= plan.slots[slot]!);
    assert.ok(from <= to && to < plan.steps.length);
  }
  const overlap = plan.boxes.some((a, i) =>
    plan.boxes.some(
      (b, k) =>
        i < k &&
        a[0] === b[0] &&
        a[1] < b[1] + b[2] &&
        b[1] < a[1] + a[2] &&
        a[3] < b[4] &&
        b[3] < a[4],
    ),
  );
  assert.is(overlap, false);
});

/** Trains under three quarters of what it wants, each op timed. @returns the trace, as read */
async function squeezed(): Promise<ReturnType<typeof memory.chromeTrace>> {
  await init({ device: "null" });
  runtime().settings.planningMs = 60_000;
  using x = ones([512, 128]);
  using model = new Sequential(...Array.from({ length: 4 }, () => new Linear(128, 128)));
  const step = (): Tensor =>
    scoped(() => {
      const loss = model.call(x).square().mean();
      loss.backward();
      return loss.detach();
    });
  using free = new Scheduler();
  using _ = await free.step(step);
  const budgetBytes = Math.floor(free.report().predictedPeakBytes * 0.75);
  using scheduler = new Scheduler({ budgetBytes, profile: "ops" });
  using __ = await scheduler.step(step);
  return JSON.parse(JSON.stringify(memory.chromeTrace())) as ReturnType<typeof memory.chromeTrace>;
}

/** Asserts that viewers of the Trace Event Format take it. */
function checkFormat(trace: ReturnType<typeof memory.chromeTrace>): void {
  const { traceEvents, otherData, displayTimeUnit } = trace;
  assert.is(displayTimeUnit, "ms");
  assert.match(String(otherData["startedAt"]), /^\d{4}-\d\d-\d\dT/);
  const threads = new Set(traceEvents.filter((e) => e.ph === "M").map((e) => e.tid));
  let last = 0;
  for (const e of traceEvents) {
    assert.ok(["X", "b", "e", "C", "i", "M"].includes(e.ph), e.ph);
    assert.ok(e.ts >= last, `${e.name} at ${e.ts} after ${last}`);
    last = e.ts;
    assert.ok(e.pid === 1 && threads.has(e.tid) && typeof e.name === "string");
    if (e.ph === "X") assert.ok(e.dur! >= 0, e.name);
    if (e.ph === "b" || e.ph === "e") assert.type(e.id, "number");
    if (e.ph === "i") assert.ok(e.s === "p" || e.s === "t");
    if (e.ph === "C") assert.ok(Object.values(e.args!).every((n) => Number.isFinite(n)));
  }
}

test("swaps, recomputes and timed ops stand inside their run, as often as it says", async () => {
  const trace = await squeezed();
  checkFormat(trace);
  const { tenure, traceEvents } = trace;
  const [index, figures] = tenure.figures.findLast(([, f]) => f["budgetBytes"] != null)!;
  const run = tenure.events[index]!;
  const inside = tenure.events.filter(([, at]) => at >= Number(figures["from"]) && at <= run[1]);
  const count = (kind: string): number => inside.filter((e) => e[0] === kind).length;
  assert.ok(count("swapOut") + count("recompute") > 0);
  assert.is(count("swapOut"), figures["swapOuts"]);
  assert.is(count("swapIn"), figures["swapIns"]);
  assert.is(count("recompute"), figures["recomputedOps"]);
  assert.is(count("op"), figures["dispatches"]);
  const again = inside.filter(([kind]) => kind === "swapIn" || kind === "swapOut");
  assert.ok(again.every(([, , , bytes]) => bytes > 0));

  const timed = traceEvents.filter((e) => e.cat === "op");
  assert.is(timed.length, figures["dispatches"]);
  const ran = traceEvents.findLast((e) => e.cat === "run")!;
  for (const { ts, dur = NaN } of timed)
    assert.ok(ts >= ran.ts - 1 && ts + dur <= ran.ts + ran.dur! + 1);
  const ops = figures["ops"] as Record<string, number>;
  const names = timed.map((e) => e.name.replace(" (recompute)", ""));
  for (const [name, n] of Object.entries(ops)) assert.is(names.filter((t) => t === name).length, n);
});

test("with tracking off nothing is logged but what went wrong", async () => {
  memory.track("off");
  using t = tensor([1, 2]);
  using scheduler = new Scheduler();
  using _ = await scheduler.step(() => t.add(1));
  assert.equal(data().events, []);
});

test.run();

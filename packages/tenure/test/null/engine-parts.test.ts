/**
 * Parts of the engine come when something needs them: once, again after they did not come, and
 * never where the program brings them. What was recorded waits, in order, and is not lost.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { DeviceLostError, init, ones, profile, shutdown, sync, tensor, tune } from "tenure";
import { functional as F } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { current, setCurrent } from "../../src/base/realm.ts";
import { compose } from "../../src/compose.ts";
import { nullGPU } from "../../src/device/null.ts";
import { Engine } from "../../src/runtime/engine.ts";
import { EngineParts, type PartName, type Parts } from "../../src/runtime/engine-parts.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import { everyPart } from "../../src/runtime/every-part.ts";
import { rejects } from "../helpers.ts";
import { allOps } from "../op-records.ts";

const test = suite("parts of the engine");
const former = current();
test.after.each(async () => {
  await shutdown();
  setCurrent(former);
});

/** A library of its own, as on a page: parts come late, all but one `failures` times in vain. */
function page(failures = 0): { readonly loads: PartName[]; readonly runtime: Runtime } {
  const loads: PartName[] = [];
  const part =
    <P extends PartName>(name: P) =>
    async (): Promise<Parts[P]> => {
      loads.push(name);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (name !== "main" && loads.filter((n) => n === name).length <= failures)
        throw new TypeError("Failed to fetch");
      return everyPart[name];
    };
  class PageEngine extends Engine {
    override readonly parts = {
      main: part("main"),
      functions: part("functions"),
      images: part("images"),
      resizing: part("resizing"),
      sequences: part("sequences"),
      transformers: part("transformers"),
      devices: () => Promise.resolve(everyPart.devices), // of tests only
      products: part("products"),
      convolutions: part("convolutions"),
      lending: part("lending"),
      inspection: part("inspection"),
      budgets: part("budgets"),
    };
    override find(choice: Parameters<Engine["find"]>[0]): ReturnType<Engine["find"]> {
      return super.find(typeof choice === "string" ? "null" : choice);
    }
  }
  const runtime = new Runtime(() => Promise.resolve(PageEngine), new EngineParts([]));
  setCurrent(compose(runtime));
  return { loads, runtime };
}

const image = (): ReturnType<typeof ones> => ones([1, 1, 4, 4]);

test("a family comes with the first program that holds one of its ops, once", async () => {
  const { loads } = page();
  await init({ device: "null" });
  using x = image();
  using w = ones([1, 1, 3, 3]);
  assert.is((await x.add(1).relu().sum().data()).length, 1);
  assert.equal(loads, ["main"]);
  assert.is((await F.conv2d(x, w).data()).length, 4);
  assert.is((await F.maxPool2d(x, 2).data()).length, 4);
  assert.equal(loads, ["main", "images"]);
});

test("rare functions come with the first op that calls one, fused or not", async () => {
  const { loads } = page();
  await init({ device: "null" });
  using x = ones([8]);
  assert.is((await x.tanh().exp().add(1).data()).length, 8);
  assert.equal(loads, ["main"]);
  assert.is((await x.sin().add(1).sum().data()).length, 1);
  assert.is((await x.pow(0.5).data()).length, 8);
  assert.equal(loads, ["main", "functions"]);
});

test("where a read finds the device, only what was recorded is loaded", async () => {
  const { loads } = page();
  using x = ones([8]);
  assert.is((await x.add(1).relu().data()).length, 8);
  assert.equal(loads, []);
  assert.is((await x.sum().data()).length, 1);
  assert.equal(loads, ["main"]);
});

test("what was recorded before there is a device comes beside it", async () => {
  const { loads } = page();
  using x = ones([8]);
  using y = x.cumSum(0);
  assert.equal(loads, []);
  await init({ device: "null" });
  assert.equal(loads, ["sequences", "main"]);
  assert.is((await y.data()).length, 8);
  assert.equal(loads, ["sequences", "main"]);
});

test("what is recorded meanwhile waits, and reads come in order", async () => {
  const { loads, runtime } = page();
  await init({ device: "null" });
  using x = ones([8]);
  const order: string[] = [];
  const late = x
    .cumSum(0)
    .data()
    .then(() => order.push("late"));
  await Promise.resolve();
  await Promise.resolve();
  assert.ok(runtime.submission.isBusy);
  const later = x
    .add(1)
    .data()
    .then(() => order.push("later"));
  await Promise.all([late, later]);
  assert.equal(order, ["late", "later"]);
  assert.equal(loads, ["main", "sequences"]);
});

const notCome = /^flush: expected to load .* got TypeError: Failed to fetch; read again, .*engine"/;

test("what does not come fails the read, and the next one asks again", async () => {
  const { loads } = page(2);
  await init({ device: "null" });
  using x = ones([8]);
  using y = x.cumSum(0);
  await rejects(() => y.data(), DeviceLostError, notCome);
  await rejects(() => sync(), DeviceLostError, notCome);
  assert.is((await x.data()).length, 8);
  assert.is((await y.data()).length, 8);
  assert.equal(loads, ["main", "sequences", "sequences", "sequences"]);
  await sync();
});

test("on software adapters, and tuned ones, kernels come in every way", async () => {
  const { loads, runtime } = page(1);
  await init({ device: "null" });
  runtime.parts.wantEveryWay();
  using x = ones([2, 2]);
  using y = x.matmul(x);
  await rejects(() => y.data(), DeviceLostError, notCome);
  assert.is((await y.data()).length, 4);
  assert.is(runtime.parts.kernels.matmulKernel, everyPart.products.matmulKernel);
  assert.equal(loads, ["main", "products", "products"]);
});

test("tuning asks for every way first", async () => {
  const { loads } = page();
  const tuned = await tune(async () => {
    using x = ones([64, 64]);
    using y = x.matmul(x);
    await y.data();
  });
  assert.equal(loads, ["products", "convolutions", "main"]);
  assert.equal(
    tuned.kernels.map(({ kernel }) => kernel),
    ["matmul"],
  );
});

test("what a device of the program takes comes with it, or init() fails", async () => {
  const adapter = await nullGPU().requestAdapter();
  const gpuDevice = await adapter?.requestDevice();
  if (gpuDevice === undefined) throw new Error("no null device");
  const { loads, runtime } = page(1);
  await rejects(() => init({ gpuDevice }), DeviceLostError, notCome);
  await init({ gpuDevice });
  assert.equal(loads, ["main", "lending", "lending"]);
  assert.is(runtime.device?.gpu, gpuDevice);
  assert.is(runtime.lent("test").device, runtime.device);
});

test("a scheduler's budgets come with its first step", async () => {
  const { loads } = page();
  await init({ device: "null" });
  using scheduler = new Scheduler();
  using x = tensor([1, 2, 3], { requiresGrad: true });
  assert.equal(loads, ["main", "budgets"]);
  const loss = await scheduler.step(() => x.cumSum(0).mean());
  assert.is((await loss.data()).length, 1);
  assert.is(scheduler.report().steps, 1);
  assert.equal(loads, ["main", "budgets", "sequences"]);
  loss.dispose();
});

test("a profile comes with what runs plans piece by piece", async () => {
  const { loads } = page();
  await init({ device: "null" });
  using x = ones([8]);
  const { kernels } = await profile(() => x.relu().data());
  assert.is(kernels.length, 1);
  assert.equal(loads, ["main", "budgets"]);
});

test("a step whose part does not come has not run, and the next one does", async () => {
  const { loads } = page(1);
  await init({ device: "null" });
  using scheduler = new Scheduler();
  using x = tensor([1, 2, 3], { requiresGrad: true });
  using optimizer = new SGD([x], { lr: 0.1, momentum: 0.9 });
  const step = (): Promise<void> =>
    scheduler.step(() => {
      x.square().mean().backward();
      optimizer.step();
      optimizer.zeroGrad();
    });
  await rejects(step, DeviceLostError, notCome);
  assert.is(x.grad, null);
  assert.throws(() => scheduler.report(), /a step that has run/);
  await step();
  assert.is(scheduler.report().steps, 1);
  assert.equal(loads, ["main", "budgets", "budgets"]);
});

test("a step waits for what was recorded before it, with its parts", async () => {
  const { loads } = page();
  await init({ device: "null" });
  using scheduler = new Scheduler();
  using x = ones([8]);
  using before = x.cumSum(0);
  const after = await scheduler.step(() => before.add(1));
  assert.is((await after.data()).length, 8);
  assert.equal(new Set(loads), new Set(["main", "budgets", "sequences"]));
  after.dispose();
});

test("where each op runs at once, all parts come with the device", async () => {
  const { loads, runtime } = page();
  await init({ device: "null", flush: "eachOp" });
  assert.equal([...loads].sort(), [
    "budgets",
    "convolutions",
    "functions",
    "images",
    "main",
    "products",
    "resizing",
    "sequences",
    "transformers",
  ]);
  using x = ones([8]);
  using y = x.cumSum(0);
  assert.not.ok(runtime.submission.isBusy);
  assert.is(y.size, 8);
});

test("a program that brings the engine loads no part", async () => {
  const { loads, runtime } = page();
  runtime.bring(Engine, everyPart);
  await init({ device: "null" });
  using scheduler = new Scheduler();
  using x = ones([8]);
  using y = await scheduler.step(() => x.cumSum(0));
  assert.is((await y.data()).length, 8);
  assert.equal(loads, []);
});

test("records call the generators of their family", () => {
  for (const op of allOps()) {
    if (op.kernel === undefined) continue;
    const called = [...op.kernel.toString().matchAll(/\bkernels\.(\w+)/g)].map(
      ([, name = ""]) => name,
    );
    assert.ok(called.length > 0, op.name);
    assert.ok(op.family !== undefined, op.name);
    const known = everyPart[op.family];
    for (const name of called) assert.ok(name in known, `${op.name} calls ${name}`);
  }
});

test.run();

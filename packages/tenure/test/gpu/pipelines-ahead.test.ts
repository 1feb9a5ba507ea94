// node: --expose-gc
/**
 * Pipelines that are made ahead, while the host goes on: as on GPUs, here asked of the software
 * adapter. The same values, the same order of what runs, the same errors. In a process of its own,
 * since it takes the device away.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Scheduler } from "tenure/scheduler";
import { type Tensor, init, memory, shutdown, sync, tensor } from "tenure";
import type { Device } from "../../src/device/device.ts";
import { runtime } from "../../src/runtime/runtime.ts";

const test = suite("pipelines ahead");

/** A device that makes pipelines ahead, and which calls it got. */
async function aheadDevice(): Promise<{ device: Device; calls: { now: number; ahead: number } }> {
  await shutdown();
  await init({ device: "software" });
  const { device } = runtime();
  if (device === null) throw new Error("no device");
  device.pipelines.makesAhead = true;
  const { gpu } = device;
  const calls = { now: 0, ahead: 0 };
  const now = gpu.createComputePipeline.bind(gpu);
  const ahead = gpu.createComputePipelineAsync.bind(gpu);
  gpu.createComputePipeline = (descriptor) => (calls.now++, now(descriptor));
  gpu.createComputePipelineAsync = (descriptor) => (calls.ahead++, ahead(descriptor));
  return { device, calls };
}

/** Two kernels at least: a product, and a sum of what it makes. */
const compute = (x: Tensor): Tensor => x.matmul(x).sum();

const square = (): Tensor => tensor([1, 2, 3, 4], { shape: [2, 2] });

test("who waits for a value waits for its pipelines, made all at once", async () => {
  const { calls } = await aheadDevice();
  using x = square();
  {
    using y = compute(x);
    const first = y.item();
    using z = y.mul(2); // recorded while the pipelines are made
    assert.is(await first, 54);
    assert.is(await z.item(), 108);
  }
  assert.is(calls.now, 0);
  assert.is(calls.ahead, memory.debug().pipelines);
  assert.ok(calls.ahead >= 2, `${calls.ahead} pipelines`);
  using again = compute(x);
  assert.is(await again.item(), 54);
  assert.is(calls.ahead, memory.debug().pipelines, "a plan that is known waits for nothing");
});

test("who does not wait gets them at once", async () => {
  const { calls } = await aheadDevice();
  using x = square();
  using y = compute(x);
  runtime().submission.flush();
  assert.not(runtime().submission.isBusy);
  assert.ok(calls.now >= 1);
  assert.is(calls.ahead, 0);
  assert.is(await y.item(), 54);
});

test("steps of a scheduler wait for theirs", async () => {
  const { calls } = await aheadDevice();
  using scheduler = new Scheduler();
  using x = square();
  const value = await scheduler.step(async () => {
    using y = compute(x);
    return await y.item();
  });
  assert.is(value, 54);
  assert.is(calls.now, 0);
  assert.ok(calls.ahead >= 1);
});

test("one that cannot be made says so as ever, and is made anew", async () => {
  const { device } = await aheadDevice();
  using x = square();
  const { gpu } = device;
  const create = gpu.createShaderModule.bind(gpu);
  gpu.createShaderModule = (descriptor) => create({ ...descriptor, code: "no shader" });
  using broken = compute(x);
  let message = "";
  await broken.item().catch((error: unknown) => (message = String(error)));
  assert.match(message, /matmul|sum/);
  await sync().catch(() => undefined);
  gpu.createShaderModule = create;
  using y = compute(x);
  assert.is(await y.item(), 54);
  device.errorLog.length = 0;
});

test.after(async () => {
  await shutdown();
});

test.run();

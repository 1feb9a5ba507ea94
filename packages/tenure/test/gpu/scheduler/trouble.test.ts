/**
 * Steps that meet trouble from outside: a device that goes away, a device without room for a while,
 * and promises that nobody hears because the step failed.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DeviceError,
  DeviceLostError,
  OutOfMemoryError,
  type Tensor,
  init,
  memory,
  shutdown,
  sync,
  tensor,
  zeros,
} from "tenure";
import { Linear } from "tenure/nn";
import { GradScaler, SGD } from "tenure/optim";
import { BudgetError, Scheduler } from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { rejects, setup, takeDeviceErrors } from "../../helpers.ts";
import { models } from "./models.ts";

const test = suite("steps in trouble");
test.before(async () => {
  await setup();
});

test("a scaler's step inside a step that fails is no stray rejection", async () => {
  using model = new Linear(4, 4);
  using optimizer = new SGD(model.parameters(), { lr: 0.1 });
  using scaler = new GradScaler();
  using scheduler = new Scheduler({ budgetBytes: 300 });
  const stray: unknown[] = [];
  const hear = (error: unknown): void => {
    stray.push(error);
  };
  process.on("unhandledRejection", hear);
  using x = zeros([8, 4]);
  await sync();
  await rejects(
    () =>
      scheduler.step(() => {
        scaler.scale(model.call(x).square().mean()).backward();
        void scaler.step(optimizer);
      }),
    BudgetError,
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", hear);
  assert.equal(stray, []);
});

test("a kernel that the device refuses fails its step alone", async () => {
  using scheduler = new Scheduler();
  using x = zeros([4]);
  await sync();
  const step = async (): Promise<number> => {
    using out = await scheduler.step(() => x.cos().mul(3).atan().sub(x.sin()).sum());
    return await out.item();
  };
  const { gpu } = runtime().device!;
  const make = gpu.createShaderModule.bind(gpu);
  gpu.createShaderModule = (descriptor) => make({ ...descriptor, code: "fn broken(" });
  await rejects(step, DeviceError);
  gpu.createShaderModule = make;
  assert.ok(Math.abs((await step()) - 4 * Math.atan(3)) < 1e-5);
  assert.ok(takeDeviceErrors().length > 1);
});

test("after a lack of memory the step runs, and the full budget is tried again", async () => {
  using scheduler = new Scheduler();
  using x = zeros([4096]);
  await sync();
  const step = async (): Promise<void> => {
    using out = await scheduler.step(() => x.add(1).mul(2).sum());
    await out.item();
  };
  await step();
  const device = runtime().device;
  assert.ok(device);
  const { pool } = device;
  const acquire = pool.acquire.bind(pool);
  pool.trim();
  pool.acquire = () => {
    throw new OutOfMemoryError("allocate", "expected room, got none; wait");
  };
  await rejects(step, OutOfMemoryError, /room for the step/);
  pool.acquire = acquire;
  takeDeviceErrors();
  await step();
  assert.is(scheduler.report().budgetBytes, Infinity);
});

test("a budget that was lowered for want of room comes back after some steps", async () => {
  using t = models["MLP"]!();
  using scheduler = new Scheduler({ budgetBytes: 2 ** 20 });
  const step = async (): Promise<void> => {
    using loss = await scheduler.step(() => t.step());
    assert.ok(Number.isFinite(await loss.item()));
  };
  for (let k = 0; k < 2; k++) await step();
  const device = runtime().device;
  assert.ok(device);
  const { pool } = device;
  const acquire = pool.acquire.bind(pool);
  pool.trim();
  let refusals = 1;
  pool.acquire = (bytes) => {
    if (refusals-- > 0) throw new OutOfMemoryError("allocate", "expected room, got none; wait");
    return acquire(bytes);
  };
  await step();
  pool.acquire = acquire;
  takeDeviceErrors();
  assert.ok(scheduler.report().budgetBytes < 2 ** 20);
  for (let k = 0; k < 10; k++) await step();
  assert.is(scheduler.report().budgetBytes, 2 ** 20);
});

test("shutdown while a step is under way rejects it, and nothing leaks", async () => {
  using scheduler = new Scheduler();
  const { threadTotalLiveCount: live } = memory.stats();
  let kept: Tensor | undefined;
  await rejects(
    () =>
      scheduler.step(async () => {
        kept = tensor([1]).add(1);
        await shutdown();
        return kept;
      }),
    DeviceLostError,
    /shut down/,
  );
  assert.is(kept?.isDisposed, true);
  assert.is(memory.stats().threadTotalLiveCount, live);
  await init();
  using out = await scheduler.step(() => tensor([1]).add(1));
  assert.is(await out.item(), 2);
});

test.run();

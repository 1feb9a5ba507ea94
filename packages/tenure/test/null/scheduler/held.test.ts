// node: --expose-gc
/**
 * What the device holds, counted by the test itself where buffers are made and destroyed: it is
 * what reports say, and never more than the budget, whatever comes and goes on the way.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { memory, sync } from "tenure";
import { BudgetError, Scheduler, type SchedulerOptions } from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { mulberry } from "../../helpers.ts";
import { setup } from "../ownership/harness.ts";
import { optimizers, policies, randomTraining } from "./training.ts";

const test = suite("held bytes");

/** Bytes that are neither staging nor uniforms, as the device sees them; what it will refuse. */
const seen = { bytes: 0, peak: 0, made: 0, refuseAt: Infinity };

test.before(async () => {
  await setup();
  runtime().settings.verifyPlans = false;
  const { gpu } = runtime().device!;
  const createBuffer = gpu.createBuffer.bind(gpu);
  gpu.createBuffer = (descriptor) => {
    const { MAP_READ, MAP_WRITE, UNIFORM, QUERY_RESOLVE } = GPUBufferUsage;
    const others = MAP_READ | MAP_WRITE | UNIFORM | QUERY_RESOLVE;
    const tensors = (descriptor.usage & others) === 0;
    if (tensors && ++seen.made === seen.refuseAt) throw new RangeError("no room, says the test");
    const buffer = createBuffer(descriptor);
    if (!tensors) return buffer;
    let live = true;
    seen.bytes += descriptor.size;
    seen.peak = Math.max(seen.peak, seen.bytes);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      if (live) seen.bytes -= descriptor.size;
      live = false;
      destroy();
    };
    return buffer;
  };
});

/** Steps of a model; what was reported and what was seen in each. */
async function train(seed: number, optimizer: string, options: SchedulerOptions): Promise<number> {
  using t = randomTraining(seed, optimizer);
  await sync();
  using scheduler = new Scheduler(options);
  const { budgetBytes = Infinity } = options;
  const where = `${t.text}, ${JSON.stringify(options)}`;
  let most = 0;
  for (let k = 0; k < 4; k++) {
    seen.peak = 0;
    const before = seen.made;
    using _ = await scheduler.step(() => t.step());
    const { measuredPeakBytes, predictedPeakBytes, outOfMemory } = scheduler.report();
    assert.is(measuredPeakBytes, predictedPeakBytes, `step ${k}: predicted, ${where}`);
    assert.ok(seen.peak <= budgetBytes, `step ${k}: ${seen.peak} bytes held, ${where}`);
    if (seen.made > before && outOfMemory === 0)
      assert.is(seen.peak, measuredPeakBytes, `step ${k}: measured, ${where}`);
    assert.is(seen.bytes, runtime().device!.held.bytes, "what is held now");
    most = Math.max(most, measuredPeakBytes);
  }
  return most;
}

for (const name of Object.keys(optimizers))
  test(`${name}: the device holds what is reported, and never more than the budget`, async () => {
    const random = mulberry(name.length);
    let fitted = 0;
    for (let seed = 1; seed <= 6; seed++) {
      const options = policies[seed % policies.length]!;
      const peak = await train(seed, name, { placement: options.placement ?? "slots" });
      for (let tries = 0; tries < 3; tries++) {
        const budgetBytes = Math.floor(peak * (0.5 + 0.6 * random()));
        try {
          assert.ok((await train(seed, name, { ...options, budgetBytes })) <= budgetBytes);
          fitted++;
        } catch (error) {
          if (!(error instanceof BudgetError)) throw error;
        }
      }
    }
    assert.ok(fitted >= 6, `${fitted} budgets were large enough`);
  });

test("a device that refuses a buffer does not make the next plans exceed the budget", async () => {
  const peak = await train(3, "Adam", {});
  for (let at = 1; at < 40; at += 5) {
    await memory.trim();
    seen.refuseAt = seen.made + at;
    try {
      await train(3, "Adam", { budgetBytes: peak });
    } catch (error) {
      assert.match(String(error), /OutOfMemoryError: \w+: expected the device to have/);
    }
    seen.refuseAt = Infinity;
    await sync().catch(() => undefined);
    runtime().device!.errorLog.length = 0;
  }
});

test("the peak of the device is the highest that was seen since the beginning", async () => {
  const { devicePeakBytes } = memory.stats();
  seen.peak = 0;
  using t = randomTraining(90, "SGD");
  await sync();
  using scheduler = new Scheduler({ placement: "none" });
  using _ = await scheduler.step(() => t.step());
  assert.is(memory.stats().devicePeakBytes, Math.max(devicePeakBytes, seen.peak));
});

test.run();

/**
 * What a step that fails leaves of what the host remembers: gradients, counts of optimizers,
 * schedules and scalers, random streams. And that keeping it takes no byte of a step that succeeds.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, TenureError, manualSeed, memory, noGrad, rand, sync, tensor } from "tenure";
import { Linear } from "tenure/nn";
import { GradScaler, ReduceLROnPlateau, SGD, StepLR, clipGradNorm } from "tenure/optim";
import { BudgetError, Scheduler, trace } from "tenure/scheduler";
import { generatorState } from "../../../src/tensor/generator.ts";
import { runtime } from "../../../src/runtime/runtime.ts";
import { gate, rejects, setup, takeDeviceErrors } from "../../helpers.ts";

const test = suite("discarded steps");
test.before(async () => {
  await setup();
});

/** A layer with gradients that are as many as its weights. */
class Trained implements Disposable {
  readonly layer = new Linear(64, 64, { bias: false });
  readonly optimizer = new SGD(this.layer.parameters(), { lr: 0.1 });
  readonly x = tensor([Array.from({ length: 64 }, (_, i) => i / 64)]);

  /** Drops the gradients, makes new ones, and uses them. */
  train(): void {
    this.optimizer.zeroGrad();
    const loss = this.layer.call(this.x).square().mean();
    loss.backward();
    this.optimizer.step();
  }

  async gradient(): Promise<number[]> {
    using g = this.layer.weight.grad as Tensor;
    return [...(await g.data())];
  }

  [Symbol.dispose](): void {
    this.x.dispose();
    this.optimizer.dispose();
    this.layer.dispose();
  }
}

test("gradients that a step dropped are back when it throws", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  await scheduler.step(() => t.train());
  const before = await t.gradient();
  const { storages, liveBytes } = memory.stats();
  for (const when of ["before", "after"] as const) {
    await rejects(
      () =>
        scheduler.step(async () => {
          if (when === "before") t.optimizer.zeroGrad();
          else t.train();
          await Promise.resolve();
          t.layer.weight.grad = null;
          throw new Error("mine");
        }),
      Error,
      /^mine$/,
    );
    assert.equal(await t.gradient(), before);
    assert.equal([memory.stats().storages, memory.stats().liveBytes], [storages, liveBytes]);
  }
});

test("a gradient written to and set again in a step that throws is as before", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  await scheduler.step(() => t.train());
  const before = await t.gradient();
  for (const clears of [false, true]) {
    await rejects(
      () =>
        scheduler.step(() => {
          clipGradNorm(t.layer.parameters(), 1e-3).dispose();
          clipGradNorm(t.layer.parameters(), 1e-4).dispose();
          if (clears) t.optimizer.zeroGrad();
          throw new Error("mine");
        }),
      Error,
      /^mine$/,
    );
    assert.equal(await t.gradient(), before);
    memory.verify();
  }
});

test("gradients are back when no plan fits", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  using small = new Scheduler({ budgetBytes: 24_000 });
  await scheduler.step(() => t.train());
  const before = await t.gradient();
  await rejects(() => small.step(() => t.train()), BudgetError);
  assert.equal(await t.gradient(), before);
});

/** The next submit throws, or goes to the device with a command that it refuses. */
function spoilSubmit(how: "throws" | "refused"): void {
  const { gpu } = runtime().device!;
  const { queue } = gpu;
  const submit = queue.submit.bind(queue);
  queue.submit = (commands) => {
    queue.submit = submit;
    if (how === "throws") throw new Error("no submit");
    const encoder = gpu.createCommandEncoder();
    encoder.popDebugGroup(); // there is none: finish() gives what no queue takes
    gpu.pushErrorScope("validation");
    const refused = encoder.finish();
    void gpu.popErrorScope();
    return submit([...commands, refused]);
  };
}

for (const how of ["throws", "refused"] as const) {
  test(`gradients are back when the submit of their step ${how}`, async () => {
    using t = new Trained();
    using scheduler = new Scheduler();
    const weights = async (): Promise<number[]> => [...(await t.layer.weight.data())];
    await scheduler.step(() => t.train());
    const before = [await t.gradient(), await weights()];
    const { settings } = runtime();
    settings.poison = false; // else the pool's buffers, and so the gradients', are overwritten
    for (const times of [1, 2]) {
      spoilSubmit(how);
      await rejects(async () => {
        await scheduler.step(() => {
          for (let k = 0; k < times; k++) t.train();
          noGrad(() => t.layer.weight.add_(1).dispose());
        });
        await sync();
      }, TenureError);
      assert.equal([await t.gradient(), await weights()], before);
    }
    settings.poison = true;
    takeDeviceErrors();
    await scheduler.step(() => t.train());
    assert.not.equal(await weights(), before[1]);
    memory.verify();
  });
}

test("a parameter without a gradient has none after a step that failed", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  await rejects(
    () =>
      scheduler.step(() => {
        t.train();
        throw new Error("mine");
      }),
    Error,
    /^mine$/,
  );
  assert.not(t.layer.weight.hasGrad);
});

test("a gradient whose parameter ends in the step that fails is freed", async () => {
  using scheduler = new Scheduler();
  const { storages } = memory.stats();
  const t = new Trained();
  await scheduler.step(() => t.train());
  await sync();
  await rejects(
    () =>
      scheduler.step(() => {
        t.optimizer.zeroGrad();
        t[Symbol.dispose]();
        throw new Error("mine");
      }),
    Error,
    /^mine$/,
  );
  assert.is(memory.stats().storages, storages);
  assert.is(runtime().device?.pool.usedBytes, 0);
});

test("a trace leaves gradients as they were", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  await scheduler.step(() => t.train());
  const before = await t.gradient();
  trace(() => t.train());
  trace(() => t.optimizer.zeroGrad());
  assert.equal(await t.gradient(), before);
});

test("schedules and scalers count no step that failed", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  using scaler = new GradScaler({ growthInterval: 1 });
  const schedule = new StepLR(t.optimizer, { stepSize: 1, gamma: 0.5 });
  const plateau = new ReduceLROnPlateau(t.optimizer, { patience: 0, factor: 0.1 });
  const state = (): unknown => [
    t.optimizer.lr,
    t.optimizer.steps,
    schedule.stateDict(),
    plateau.stateDict(),
    scaler.stateDict(),
  ];
  const train = (fails: boolean): Promise<void> =>
    scheduler.step(() => {
      t.train();
      scaler.unscale(t.optimizer);
      schedule.step();
      plateau.step(1);
      plateau.step(2);
      void scaler.step(t.optimizer);
      scaler.update();
      if (fails) throw new Error("mine");
    });
  const before = state();
  await rejects(() => train(true), Error, /^mine$/);
  assert.equal(state(), before);
  await train(false);
  assert.not.equal(state(), before);
});

for (const fails of ["throws", "is refused"] as const) {
  test(`gradients unscaled before a step that ${fails} are not divided again`, async () => {
    using t = new Trained();
    using scheduler = new Scheduler();
    using scaler = new GradScaler({ initialScale: 8 });
    await scheduler.step(() => t.train());
    scaler.unscale(t.optimizer);
    const before = [
      await t.gradient(),
      memory.stats().threadTotalLiveCount,
      memory.stats().storages,
    ];
    if (fails === "is refused") spoilSubmit("throws");
    await rejects(
      () =>
        scheduler.step(async () => {
          await scaler.step(t.optimizer);
          if (fails === "throws") throw new Error("mine");
        }),
      Error,
      /mine|no submit/,
    );
    const { threadTotalLiveCount, storages } = memory.stats();
    assert.equal([await t.gradient(), threadTotalLiveCount, storages], before);
    await rejects(async () => scaler.unscale(t.optimizer), TenureError, /still scaled/);
    assert.ok(await scaler.step(t.optimizer));
    assert.equal(await t.gradient(), before[0]);
    memory.verify();
  });
}

test("a schedule's step beside a step that fails stays", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  const schedule = new StepLR(t.optimizer, { stepSize: 1, gamma: 0.5 });
  const begun = gate();
  const step = scheduler.step(async () => {
    t.train();
    await begun.passed;
    throw new Error("mine");
  });
  schedule.step();
  begun.open();
  await rejects(() => step, Error, /^mine$/);
  assert.is(t.optimizer.lr, 0.05);
});

test("random streams of a step that failed are drawn again, those of others are not", async () => {
  using scheduler = new Scheduler();
  const draw = (): Promise<number> => {
    using drawn = rand([]);
    return drawn.item();
  };
  const run = async (beside: boolean): Promise<number[]> => {
    manualSeed(7);
    const drawn = [await draw()];
    const begun = gate();
    const step = scheduler.step(async () => {
      rand([2]);
      rand([2]);
      await begun.passed;
      throw new Error("mine");
    });
    if (beside) drawn.push(await draw());
    begun.open();
    await rejects(() => step, Error, /^mine$/);
    drawn.push(await draw(), await draw());
    return drawn;
  };
  manualSeed(7);
  const streams = [
    await draw(),
    await draw(),
    await draw(),
    await draw(),
    await draw(),
    await draw(),
  ];
  assert.equal(await run(false), streams.slice(0, 3));
  assert.equal(await run(true), [streams[0], streams[3], streams[4], streams[5]]);
});

test("a seed set in a step that failed is taken back", async () => {
  using scheduler = new Scheduler();
  manualSeed(7);
  rand([]).dispose();
  const before = generatorState();
  for (const fn of [() => manualSeed(8), () => (rand([]), manualSeed(8), rand([]), undefined)])
    await rejects(
      () =>
        scheduler.step(() => {
          fn();
          throw new Error("mine");
        }),
      Error,
      /^mine$/,
    );
  assert.equal(generatorState(), before);
});

test("dropped gradients take no byte of a step that succeeds", async () => {
  using t = new Trained();
  using scheduler = new Scheduler();
  const peaks: number[] = [];
  for (let k = 0; k < 4; k++) {
    await scheduler.step(() => {
      t.train();
    });
    const { predictedPeakBytes, measuredPeakBytes, planCache } = scheduler.report();
    assert.is(measuredPeakBytes, predictedPeakBytes);
    assert.is(planCache.misses, 1);
    peaks.push(measuredPeakBytes);
  }
  assert.is(new Set(peaks).size, 1, peaks.join());
  await sync();
  memory.verify();
});

test.run();

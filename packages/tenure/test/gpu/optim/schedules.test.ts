/**
 * Schedules against PyTorch's documented numbers and closed forms, and clipping against a float64
 * reference.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, type Tensor, newDisposeScope, scopedAsync, tensor } from "tenure";
import {
  Adam,
  CosineAnnealingLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  MultiStepLR,
  OneCycleLR,
  ReduceLROnPlateau,
  SGD,
  type Schedule,
  SequentialLR,
  StepLR,
  clipGradNorm,
  clipGradValue,
} from "tenure/optim";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("schedules and clipping");

/** Something with rates, without a device. */
const rated = (...rates: number[]): { groups: { lr: number }[] } => ({
  groups: rates.map((lr) => ({ lr })),
});
function close(actual: readonly number[], expected: readonly number[], what = ""): void {
  assert.is(actual.length, expected.length, what);
  actual.forEach((v, i) => {
    assert.ok(
      Math.abs(v - expected[i]!) <= 1e-12 + 1e-9 * Math.abs(expected[i]!),
      `${what} step ${i}: ${v}, not ${expected[i]}`,
    );
  });
}
/** The first group's rate at steps 0 … n - 1. */
const course = (schedule: Schedule, n: number): number[] =>
  Array.from({ length: n }, (_, i) => {
    if (i > 0) schedule.step();
    return schedule.rates[0]!;
  });

test("closed forms", () => {
  close(
    course(new StepLR(rated(0.05), { stepSize: 3 }), 7),
    [0.05, 0.05, 0.05, 0.005, 0.005, 0.005, 0.0005],
    "step",
  );
  close(
    course(new MultiStepLR(rated(1), { milestones: [1, 3, 3], gamma: 0.5 }), 5),
    [1, 0.5, 0.5, 0.125, 0.125],
    "multiStep",
  );
  close(
    course(new ExponentialLR(rated(2), { gamma: 0.9 }), 4),
    [2, 1.8, 1.62, 1.458],
    "exponential",
  );
  close(
    course(new CosineAnnealingLR(rated(1), { tMax: 4, etaMin: 0.2 }), 6),
    [0, 1, 2, 3, 4, 5].map((t) => 0.2 + 0.4 * (1 + Math.cos((Math.PI * t) / 4))),
    "cosine",
  );
  // From PyTorch's documentation: 0.05 with start_factor 0.5 and total_iters 4.
  close(
    course(new LinearLR(rated(0.05), { startFactor: 0.5, totalIters: 4 }), 6),
    [0.025, 0.03125, 0.0375, 0.04375, 0.05, 0.05],
    "linear",
  );
  close(course(new LambdaLR(rated(2), (t) => 0.5 ** t), 3), [2, 1, 0.5], "lambda");
  const two = rated(1, 0.1);
  const both = new ExponentialLR(two, { gamma: 0.5 });
  both.step();
  close(both.rates, [0.5, 0.05]);
});

test("one cycle, as PyTorch computes it", () => {
  const cos = (a: number, b: number, t: number): number =>
    b + ((a - b) / 2) * (1 + Math.cos(Math.PI * t));
  const optimizer = rated(9),
    cycle = new OneCycleLR(optimizer, { maxLr: 1, totalSteps: 10 });
  const expected = Array.from({ length: 10 }, (_, t) =>
    t <= 2 ? cos(0.04, 1, t / 2) : cos(1, 0.04 / 1e4, (t - 2) / 7),
  );
  close(course(cycle, 10), expected, "one cycle");
  const linear = new OneCycleLR(rated(9), {
    maxLr: 1,
    totalSteps: 10,
    annealStrategy: "linear",
    threePhase: true,
    pctStart: 0.4,
    divFactor: 10,
    finalDivFactor: 10,
  });
  close(
    course(linear, 10),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((t) =>
      t <= 3 ? 0.1 + (0.9 * t) / 3 : t <= 6 ? 1 - (0.9 * (t - 3)) / 3 : 0.1 - (0.09 * (t - 6)) / 3,
    ),
    "three phases",
  );
  linear.step();
  assert.throws(() => linear.step(), /at most 10 steps/);
});

test("one cycle moves momentum the other way", () => {
  using _ = newDisposeScope("momentum");
  const p = tensor([1], { requiresGrad: true });
  using adam = new Adam([p]);
  using sgd = new SGD([p], { lr: 1, momentum: 0.9 });
  using plain = new SGD([p], { lr: 1 });
  const [a, b, c] = [adam, sgd, plain].map(
    (o) => new OneCycleLR(o as SGD, { maxLr: 1, totalSteps: 10, annealStrategy: "linear" }),
  );
  close(
    [adam.groups[0]!.betas[0], sgd.groups[0]!.momentum, plain.groups[0]!.momentum],
    [0.95, 0.95, 0],
  );
  for (const s of [a!, b!, c!]) {
    s.step();
    s.step();
  }
  close(
    [
      adam.groups[0]!.betas[0],
      adam.groups[0]!.betas[1],
      sgd.groups[0]!.momentum,
      plain.groups[0]!.momentum,
    ],
    [0.85, 0.999, 0.85, 0],
  );
});

test("one after the other", () => {
  const optimizer = rated(1),
    warm = new LinearLR(optimizer, { startFactor: 0.1, totalIters: 2 }),
    cosine = new CosineAnnealingLR(optimizer, { tMax: 4 });
  const both = new SequentialLR(optimizer, [warm, cosine], { milestones: [2] });
  close(
    course(both, 7),
    [0.1, 0.55, 1, ...[1, 2, 3, 4].map((t) => (1 + Math.cos((Math.PI * t) / 4)) / 2)],
    "sequence",
  );
  const sgd = rated(1),
    cycle = new SequentialLR(
      sgd,
      [
        new LinearLR(sgd, { startFactor: 0.5, totalIters: 2 }),
        new OneCycleLR(sgd, { maxLr: 3, totalSteps: 10 }),
      ],
      { milestones: [2] },
    );
  close(course(cycle, 4).slice(0, 3), [0.5, 0.75, 0.12], "one cycle after warm-up");
});

test("a schedule on top of another starts where the first did", () => {
  const optimizer = rated(1);
  new LinearLR(optimizer, { startFactor: 0.1 });
  close(course(new ExponentialLR(optimizer, { gamma: 0.5 }), 2), [1, 0.5]);
  optimizer.groups[0]!.lr = 7;
  close(course(new ExponentialLR(optimizer, { gamma: 0.5 }), 2), [7, 3.5]);
});

test("saving and resuming", () => {
  const make = (): Schedule => new MultiStepLR(rated(1), { milestones: [2, 4], gamma: 0.1 });
  const first = make();
  for (let i = 0; i < 3; i++) first.step();
  const second = make();
  second.loadStateDict(
    JSON.parse(JSON.stringify(first.stateDict())) as ReturnType<Schedule["stateDict"]>,
  );
  assert.equal(second.rates, first.rates);
  first.step();
  second.step();
  assert.equal(second.rates, first.rates);
  assert.throws(() => second.loadStateDict({ steps: 1, base: [1, 2] }), /rates of 1 groups/);
  assert.throws(() => second.loadStateDict({ steps: 0.5, base: [1] }), /whole number/);
});

test("plateaus", () => {
  const optimizer = rated(1),
    plateau = new ReduceLROnPlateau(optimizer, {
      patience: 1,
      factor: 0.5,
      cooldown: 1,
      minLr: 0.2,
    });
  const rates = [3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1].map((metric) => {
    plateau.step(metric);
    return optimizer.groups[0]!.lr;
  });
  assert.equal(rates, [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]);
  const copy = new ReduceLROnPlateau(optimizer);
  copy.loadStateDict(plateau.stateDict());
  assert.equal(copy.stateDict(), plateau.stateDict());
  assert.throws(() => plateau.step(tensor as never), /await loss\.item/);
});

test("options are checked", async () => {
  const o = rated(1);
  await rejects(
    () => new StepLR(o, { stepSize: 0 }),
    ArgumentError,
    /StepLR: expected a step size/,
  );
  await rejects(() => new MultiStepLR(o, { milestones: [1.5] }), ArgumentError, /milestone/);
  await rejects(() => new CosineAnnealingLR(o, { tMax: 0 }), ArgumentError, /tMax/);
  await rejects(() => new LinearLR(o, { startFactor: 2 }), ArgumentError, /startFactor/);
  await rejects(
    () => new OneCycleLR(o, { maxLr: [1, 2], totalSteps: 4 }),
    ArgumentError,
    /one for each of 1 groups/,
  );
  await rejects(
    () => new SequentialLR(o, [new StepLR(o, { stepSize: 1 })], { milestones: [1] }),
    ArgumentError,
    /one milestone between/,
  );
  await rejects(() => new ReduceLROnPlateau(o, { factor: 1 }), ArgumentError, /factor/);
});

// === Clipping ===

const shapes = [[2, 3], [4], [5, 1]];
const values = shapes.map((s, i) =>
  numbers(
    s.reduce((a, b) => a * b, 1),
    30 + i,
  ),
);

function parameters(): Tensor[] {
  const list = shapes.map((shape, i) => {
    const p = tensor(new Array<number>(values[i]!.length).fill(0), { shape, requiresGrad: true });
    p.grad = tensor(values[i]!, { shape });
    return p;
  });
  return [...list, tensor([0], { requiresGrad: true })]; // one without a gradient
}

for (const [type, norm] of [
  [2, (v: number[]) => Math.hypot(...v)],
  [1, (v: number[]) => v.reduce((a, x) => a + Math.abs(x), 0)],
  [Infinity, (v: number[]) => Math.max(...v.map(Math.abs))],
  [3, (v: number[]) => v.reduce((a, x) => a + Math.abs(x) ** 3, 0) ** (1 / 3)],
] as const) {
  test(`clipGradNorm, norm ${type}`, async () => {
    await assertNoLeaks(async () => {
      for (const max of [0.7, 1e6]) {
        const checks: Promise<void>[] = [];
        {
          using _ = newDisposeScope("clip");
          const ps = parameters(),
            total = clipGradNorm(ps, max, type),
            expected = norm(values.flat()),
            k = Math.min(1, max / (expected + 1e-6));
          checks.push(assertClose(total, expected, 1e-5));
          ps.forEach((p, i) => {
            if (values[i] !== undefined)
              checks.push(
                assertClose(
                  p.grad!,
                  values[i].map((v) => v * k),
                  1e-5,
                ),
              );
          });
          assert.not(ps[3]!.hasGrad);
        }
        await Promise.all(checks);
      }
    });
  });
}

test("clipGradNorm and what is not finite", () =>
  scopedAsync(async () => {
    const p = tensor([0, 0], { requiresGrad: true });
    p.grad = tensor([NaN, 1]);
    await assertClose(clipGradNorm([p], 1), NaN);
    await assertClose(p.grad, [NaN, NaN]);
    await assertClose(clipGradNorm([tensor([1], { requiresGrad: true })], 1), 0);
    await rejects(() => clipGradNorm([p], -1), ArgumentError, /largest norm/);
    await rejects(() => clipGradNorm([p], 1, 0), ArgumentError, /norm type/);
  }));

test("clipGradValue", async () => {
  await assertNoLeaks(async () => {
    const checks: Promise<void>[] = [];
    {
      using _ = newDisposeScope("clip");
      const ps = parameters(),
        odd = tensor([0, 0, 0], { requiresGrad: true });
      odd.grad = tensor([NaN, Infinity, -Infinity]);
      clipGradValue([...ps, odd], 0.5);
      ps.forEach((p, i) => {
        if (values[i] !== undefined)
          checks.push(
            assertClose(
              p.grad!,
              values[i].map((v) => Math.min(0.5, Math.max(-0.5, v))),
              0,
            ),
          );
      });
      checks.push(assertClose(odd.grad, [NaN, 0.5, -0.5], 0));
    }
    await Promise.all(checks);
    await rejects(() => clipGradValue([], NaN), ArgumentError, /largest value/);
  });
});

test("clipped gradients accumulate, step and share nothing", () =>
  scopedAsync(async () => {
    const p = tensor([1, 2], { requiresGrad: true }),
      q = tensor([3, 4], { requiresGrad: true });
    p.add(q).sum().backward(); // both gradients come from one value
    clipGradValue([p], 0.25);
    await Promise.all([assertClose(p.grad!, [0.25, 0.25]), assertClose(q.grad!, [1, 1])]);
    p.mul(2).sum().backward();
    await assertClose(p.grad!, [2.25, 2.25]);
    clipGradNorm([p, p], 0.5);
    using optimizer = new SGD([p], { lr: 1 });
    optimizer.step();
    await assertClose(p, [1 - 0.5 / Math.SQRT2, 2 - 0.5 / Math.SQRT2], 1e-5);
  }));

test.run();

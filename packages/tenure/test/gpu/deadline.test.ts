/**
 * Planning that takes too long: with a clock that runs ahead, programs run unfused and in order,
 * say so once, and give the same bits; under a budget they still fit.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, debug, newDisposeScope, tensor } from "tenure";
import { BudgetError, Scheduler } from "tenure/scheduler";
import { defined } from "../../src/base/access.ts";
import { setWarnSink } from "../../src/runtime/lifecycle.ts";
import { Deadline, PlanningTooLong } from "../../src/planner/deadline.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import { setup } from "../helpers.ts";

await setup();
const test = suite("deadline");

/** Each op reads the two before it. */
function fibonacci(x: Tensor, count: number): Tensor {
  let former = x;
  let value = x.mul(1.25);
  for (let k = 0; k < count; k++) [former, value] = [value, value.sin().add(former)];
  return value;
}

/** Runs `fn` with a clock that moves on by so many milliseconds each time it is read. */
async function withClock<T>(step: number, fn: () => Promise<T>): Promise<T> {
  const { settings } = runtime();
  const { planningClock, planningMs } = settings;
  let now = 0;
  settings.planningClock = () => (now += step);
  settings.planningMs = 2000;
  try {
    return await fn();
  } finally {
    Object.assign(settings, { planningClock, planningMs });
  }
}

async function run(count: number): Promise<Uint32Array> {
  using _scope = newDisposeScope();
  const x = tensor([0.5, -3, 1e-8, 7]);
  return new Uint32Array(Float32Array.from(await fibonacci(x, count).data()).buffer);
}

test("the same bits, unfused and in order, and one warning", async () => {
  const warnings: string[] = [];
  const former = setWarnSink((message) => warnings.push(message));
  try {
    const expected = await run(20);
    assert.is(debug.lastPlan()?.tookTooLong, false);
    assert.ok((debug.lastPlan()?.kernels.length ?? 0) < 41);
    runtime().caches.clear();
    // With 3 s at each look the first one is too late; with 5 ms it is somewhere on the way.
    for (const step of [3000, 300, 90, 5]) {
      assert.equal(await withClock(step, () => run(20)), expected);
      runtime().caches.clear();
      if (step < 90) continue;
      const plan = debug.lastPlan();
      assert.is(plan?.tookTooLong, true);
      assert.is(plan?.kernels.length, 41);
      assert.match(String(plan), "planning took too long: unfused, in order");
    }
  } finally {
    setWarnSink(former);
  }
  const told = warnings.filter((text) => text.startsWith("planning a program"));
  assert.is(told.length, 1, warnings.join());
  assert.match(told[0] ?? "", "planning a program of 41 ops took more than 2000 ms");
});

for (const [what, share] of [
  ["that keeps everything", 4],
  ["that recomputes or swaps", 0.55],
] as const)
  test(`under a budget ${what}, the same bits in as much`, async () => {
    using w = tensor(
      new Float32Array(64 * 64).map((_, k) => Math.sin(k)),
      {
        shape: [64, 64],
        requiresGrad: true,
      },
    );
    await w.data();
    const training = (): Tensor => {
      let value = w.mul(0.5);
      for (let k = 0; k < 6; k++) value = value.sin().matmul(w).mul(0.125);
      return value.mul(value).sum();
    };
    const gradient = async (budgetBytes: number): Promise<Float32Array> => {
      using scheduler = new Scheduler({ budgetBytes });
      using loss = await scheduler.step(() => {
        const made = training();
        made.backward();
        return made;
      });
      await loss.data();
      using grad = defined(w.grad ?? undefined);
      w.grad = null;
      return Float32Array.from(await grad.data());
    };
    const bytes = 20 * 64 * 64 * 4;
    const expected = await gradient(share * bytes);
    const found = await withClock(3000, () => gradient(share * bytes));
    assert.is(debug.lastPlan()?.tookTooLong, true);
    assert.ok((debug.lastPlan()?.report.plannedBytes ?? Infinity) <= share * bytes);
    assert.equal(found, expected);
  });

test("a hopeless budget is refused without a search, another one after it", async () => {
  using w = tensor(new Float32Array(4096), { requiresGrad: true });
  await w.data();
  /** How often the clock is looked at until a step is refused. */
  const looks = async (budgetBytes: number): Promise<number> => {
    using scheduler = new Scheduler({ budgetBytes, swap: "off" });
    const { settings } = runtime();
    return await withClock(3000, async () => {
      const before = settings.planningClock();
      const refused = await scheduler
        .step(() => {
          let value = w.mul(0.5);
          for (let k = 0; k < 8; k++) value = value.sin().mul(w);
          value.sum().backward();
        })
        .catch((error: unknown) => error);
      w.grad = null;
      assert.instance(refused, BudgetError);
      return (settings.planningClock() - before) / 3000 - 1;
    });
  };
  const hopeless = await looks(4 * w.size - 4);
  const open = await looks(8 * w.size);
  assert.is(hopeless, 2, "when it begins, and when it is late");
  assert.ok(open > 2, `${open} looks`);
});

test("a deadline stops", () => {
  let now = 0;
  const deadline = new Deadline(() => now, 10);
  deadline.check();
  now = 11;
  assert.throws(
    () => {
      deadline.check();
    },
    (error: unknown) => error instanceof PlanningTooLong,
  );
});

test.run();

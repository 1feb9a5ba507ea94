/**
 * What may happen in and around a step: results, reads, async functions, exceptions, other shapes
 * and orders, profiles, reports.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DisposedError,
  TenureError,
  type Tensor,
  memory,
  newDisposeScope,
  ones,
  scoped,
  sync,
  tensor,
  zeros,
} from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { BudgetError, Scheduler, trace } from "tenure/scheduler";
import { rejects, setup, takeDeviceErrors } from "../../helpers.ts";
import { models } from "./models.ts";

const test = suite("scheduler step");
test.before(async () => {
  await setup();
});

const numbersOf = async (t: Tensor): Promise<number[]> => [...(await t.data())];

test("tensors in the result move to the caller's scope, all others are freed", async () => {
  using scheduler = new Scheduler();
  using scope = newDisposeScope();
  const a = tensor([1, 2, 3]),
    { threadTotalLiveCount: live } = memory.stats();
  const out = await scheduler.step(() => {
    const b = a.add(1),
      c = b.mul(2);
    c.neg();
    return { b, list: [c], map: new Map([["s", c.sum()]]) };
  });
  assert.is(memory.stats().threadTotalLiveCount - live, 3);
  assert.equal(await numbersOf(out.b), [2, 3, 4]);
  assert.equal(await numbersOf(out.list[0]!), [4, 6, 8]);
  assert.is(await out.map.get("s")!.item(), 18);
  assert.ok(scope.count >= 4);
});

test("a step may return a read, which does not split it", async () => {
  using t = models["MLP"]!();
  using scheduler = new Scheduler();
  for (let k = 0; k < 3; k++) {
    const value = await scheduler.step(() => {
      using loss = t.step();
      return loss.item();
    });
    assert.ok(value > 0);
  }
  const r = scheduler.report();
  assert.is(r.splits, 0);
  assert.equal(
    r.planCache,
    { hits: 1, misses: 2 },
    "the first step also makes the optimizer's state",
  );
});

test("from the third step on nothing is created", async () => {
  using t = models["CNN"]!();
  using scheduler = new Scheduler({ budgetBytes: 330_000, swap: "off" });
  const step = async (): Promise<void> => {
    using loss = await scheduler.step(() => t.step());
    await loss.item();
  };
  for (let k = 0; k < 3; k++) await step();
  const before = memory.debug();
  for (let k = 0; k < 5; k++) await step();
  const after = memory.debug();
  for (const key of ["buffers", "pipelines", "bindGroups", "shaderModules", "planMisses"] as const)
    assert.is(after[key], before[key], key);
});

test("an async step: a read splits the program, is counted, and is right", async () => {
  using scheduler = new Scheduler({ budgetBytes: 1e6 });
  using a = tensor([1, 2, 3]);
  using out = await scheduler.step(async () => {
    const b = a.mul(3),
      n = await b.sum().item();
    await sync();
    return b.add(n);
  });
  assert.equal(await numbersOf(out), [21, 24, 27]);
  assert.is(scheduler.report().splits, 1);
});

test("what a step throws comes out, and everything recorded in it is released", async () => {
  using t = models["MLP"]!();
  using scheduler = new Scheduler();
  (await scheduler.step(() => t.step())).dispose();
  const before: number[][] = [];
  for (const p of t.model.parameters()) before.push(await numbersOf(p));
  const { threadTotalLiveCount: live } = memory.stats();
  await rejects(
    () =>
      scheduler.step(() => {
        t.step();
        throw new Error("mine");
      }),
    Error,
    /^mine$/,
  );
  await rejects(
    () =>
      scheduler.step(async () => {
        t.step();
        await Promise.resolve();
        throw new Error("later");
      }),
    Error,
    /^later$/,
  );
  assert.is(memory.stats().threadTotalLiveCount, live);
  let k = 0;
  for (const p of t.model.parameters())
    assert.equal(await numbersOf(p), before[k++], "updates of a step that threw never happened");
  using loss = await scheduler.step(() => t.step());
  assert.ok(Number.isFinite(await loss.item()));
});

test("a step that threw, found no plan or was only traced leaves all as it was", async () => {
  const train = async (fail: boolean): Promise<number[]> => {
    using t = models["MLP"]!(); // Adam, dropout
    using scheduler = new Scheduler();
    using small = new Scheduler({ budgetBytes: 100_000 });
    const losses: number[] = [];
    for (let k = 0; k < 3; k++) {
      if (fail) {
        trace(() => t.step());
        await rejects(
          () =>
            scheduler.step(() => {
              t.step();
              throw new Error("mine");
            }),
          Error,
          /^mine$/,
        );
        await rejects(() => small.step(() => t.step()), BudgetError);
        if (k > 0) assert.is(scheduler.report().steps, k);
      }
      using loss = await scheduler.step(() => t.step());
      losses.push(await loss.item());
    }
    return losses;
  };
  assert.equal(await train(true), await train(false));
});

test("a read that nobody awaits, since its step failed, is no stray rejection", async () => {
  using scheduler = new Scheduler({ budgetBytes: 1000 });
  using x = zeros([1024]);
  await x.data();
  await rejects(() => scheduler.step(() => ({ sum: x.mul(2).sum().item() })), BudgetError);
  await rejects(
    () =>
      scheduler.step(() => {
        void x.mul(2).sum().item();
        throw new Error("mine");
      }),
    Error,
    /^mine$/,
  );
  await sync();
});

test("ops beside a first step have its budget, and nothing else in it", async () => {
  using scheduler = new Scheduler({ budgetBytes: 50_000 });
  using x = zeros([1024]);
  let done = false;
  const step = scheduler
    .step(() => x.add(1))
    .finally(() => {
      done = true;
    });
  while (!done) {
    // also while the device is measured
    using beside = x.add(2);
    using most = beside.max();
    assert.is(await most.item(), 2);
  }
  (await step).dispose();
});

test("a tensor kept from a step that threw says so", async () => {
  using scheduler = new Scheduler();
  let kept: Tensor | undefined;
  await rejects(
    () =>
      scheduler.step(() => {
        kept = ones([3]).add(1).detachFromScope();
        throw new Error("mine");
      }),
    Error,
    /mine/,
  );
  await rejects(() => kept!.data(), TenureError, /made in a step that threw/);
  kept!.dispose();
  takeDeviceErrors();
});

test("steps are not nested, traced, or run by a disposed scheduler", async () => {
  using scheduler = new Scheduler();
  using other = new Scheduler();
  using a = tensor([1]);
  await rejects(
    () => scheduler.step(() => other.step(() => a.add(1))),
    TenureError,
    /expected no step inside another/,
  );
  let inner: Promise<unknown> | undefined;
  trace(() => {
    inner = scheduler.step(() => a.add(1));
  });
  await rejects(() => inner, TenureError, /inside trace/);
  const gone = new Scheduler();
  gone.dispose();
  gone.dispose();
  await rejects(() => gone.step(() => a.add(1)), DisposedError, /make a new one/);
});

test("bad options and calls", async () => {
  await rejects(
    () => new Scheduler({ budget: 5 } as never),
    ArgumentError,
    /Scheduler: expected the options budgetBytes/,
  );
  await rejects(() => new Scheduler({ budgetBytes: -1 }), ArgumentError, /budgetBytes/);
  await rejects(() => new Scheduler({ profile: "all" as never }), ArgumentError, /profile/);
  await rejects(() => new Scheduler({ recompute: "always" as never }), ArgumentError, /recompute/);
  await rejects(() => new Scheduler(3 as never), ArgumentError, /options/);
  await rejects(
    () => new Scheduler({ recompute: null as never }),
    ArgumentError,
    /recompute to be "off" or "auto", got null/,
  );
  await rejects(
    () => new Scheduler({ saveHostMemory: "yes" as never }),
    ArgumentError,
    /saveHostMemory to be true or false/,
  );
  await rejects(
    () => new Scheduler({ rates: { flops: 1 } as never }),
    ArgumentError,
    /flopsPerSecond/,
  );
  await rejects(
    () => new Scheduler({ rates: { flopsPerSecond: -1 } }),
    ArgumentError,
    /flopsPerSecond in \(0, Infinity\], got -1; pass what was measured/,
  );
  using scheduler = new Scheduler();
  await rejects(() => scheduler.step(3 as never), ArgumentError, /a function/);
  await rejects(() => scheduler.report(), TenureError, /expected a step that has run/);
  await rejects(() => scheduler.explain(), TenureError, /await scheduler\.step/);
});

test("off schedule: other shapes, missing, extra, reordered ops are planned anew", async () => {
  using model = new Linear(8, 4);
  using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  using reference = new Linear(8, 4);
  scoped(() => {
    reference.loadStateDict(model.stateDict());
  });
  using referenceOptimizer = new SGD(reference.parameters(), { lr: 0.1, momentum: 0.9 });
  using scheduler = new Scheduler({ budgetBytes: 20_000 });
  const variants: ((m: Linear, x: Tensor) => Tensor)[] = [
    (m, x) => m.call(x).square().mean(),
    (m, x) => m.call(x).square().mean(),
    (m, x) => m.call(x).square().mean(),
    (m, x) => m.call(x).mean(),
    (m, x) => m.call(x.mul(2)).relu().square().mean(),
    (m, x) => {
      const p = x.exp(),
        q = x.neg();
      return m.call(q.add(p)).square().mean();
    },
    (m, x) => {
      const q = x.neg(),
        p = x.exp();
      return m.call(q.add(p)).square().mean();
    },
  ];
  for (const [k, batch] of [16, 16, 16, 16, 5, 16, 16, 33, 16].entries()) {
    const step = (m: Linear, o: SGD, x: Tensor): Tensor => {
      o.zeroGrad();
      const loss = variants[k % variants.length]!(m, x);
      loss.backward();
      o.step();
      return loss;
    };
    using x = tensor(
      Array.from({ length: batch * 8 }, (_, i) => Math.sin(i + k)),
      { shape: [batch, 8] },
    );
    using got = await scheduler.step(() => step(model, optimizer, x));
    using scope = newDisposeScope();
    const want = step(reference, referenceOptimizer, x),
      [a, b] = [got.item(), want.item()];
    scope.dispose();
    assert.is(await a, await b);
  }
  assert.equal(await numbersOf(model.weight), await numbersOf(reference.weight));
  assert.ok(scheduler.report().offSchedule >= 3, String(scheduler.report().offSchedule));
});

test("tensors may be disposed while a step with swaps runs", async () => {
  using scheduler = new Scheduler({ budgetBytes: 45_000, recompute: "off", rates: {} });
  const a = tensor(new Float32Array(2048).fill(2)),
    kept: Tensor[] = [];
  const running = scheduler.step(() => {
    const x = a.mul(3),
      y = a.add(1),
      z = y.mul(y),
      w = z.add(y),
      v = w.mul(z),
      u = v.sub(w);
    return x.add(u).add(y).add(z).add(w).add(v);
  });
  a.dispose();
  using out = await running;
  const want = 2 * 3 + (9 * 12 - 12) + 3 + 9 + 12 + 9 * 12;
  assert.is((await out.data())[5], want);
  assert.is(kept.length, 0);
});

test("other programs run before and after, not in between", async () => {
  using scheduler = new Scheduler();
  using a = tensor([1, 2]);
  using before = a.mul(10);
  using during = await scheduler.step(() => before.add(1));
  using after = during.add(1);
  assert.equal(await numbersOf(after), [12, 22]);
});

test("profile: times by phase and by op", async () => {
  using t = models["MLP"]!();
  using scheduler = new Scheduler({ profile: "ops" });
  for (let k = 0; k < 2; k++) (await scheduler.step(() => t.step())).dispose();
  const { phaseSeconds, opSeconds } = scheduler.report();
  for (const phase of ["forward", "calcGradient", "calcDerivative", "apply"])
    assert.ok(phaseSeconds[phase]! > 0, phase);
  assert.ok(Object.keys(opSeconds).length > 3);
  using coarse = new Scheduler({ profile: "phases" });
  (await coarse.step(() => t.step())).dispose();
  assert.ok(coarse.report().phaseSeconds["forward"]! > 0);
  assert.match(scheduler.explain(), /phase +count +milliseconds/);
});

test("explain reads like a report", async () => {
  using t = models["MLP"]!();
  using scheduler = new Scheduler({ budgetBytes: 700_000 });
  for (let k = 0; k < 2; k++) (await scheduler.step(() => t.step())).dispose();
  const text = scheduler.explain();
  assert.match(text, /^step +2 so far, /);
  assert.match(text, /\npeak +predicted (\S+ \S+), measured \1 of 700\.00 kB/);
  assert.match(text, /\nmemory +naive .* → planned .* \(lower bound .*, efficiency .* %\)/);
  assert.match(text, /\nlayer +forward +calcGradient +calcDerivative/);
});

test.run();

/**
 * The planner on thousands of random programs, without a GPU: plans compute what the program
 * computes, keep within bounds and budgets, and pass the checker. The oracles here share no code
 * with the passes.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { BudgetError, type PlanOptions, plan } from "tenure/scheduler";
import { chainPlans } from "../../../src/planner/recompute/chain-plans.ts";
import { recomputeFamily } from "../../../src/planner/recompute/family.ts";
import { defaultRates, opCost } from "../../../src/planner/cost.ts";
import { orderOps } from "../../../src/planner/passes/order.ts";
import { planProgram } from "../../../src/planner/pipeline.ts";
import { droppable, rematerialise } from "../../../src/planner/recompute/rematerialise.ts";
import { type Action, contextOf, livePeak } from "../../../src/planner/schedule.ts";
import { takeBack } from "../../../src/planner/recompute/take-back.ts";
import {
  Builder,
  anyPrograms,
  chain,
  execute,
  interpret,
  programOf,
  seesTheSame,
  trainingPrograms,
} from "./programs.ts";
import { check } from "./check-plan.ts";

const test = suite("plans");

test("plans compute what the program computes, within the bounds, and pass the checker", () => {
  fc.assert(
    fc.property(anyPrograms, (program) => {
      check(program);
    }),
    { numRuns: 1000, seed: 1 },
  );
  fc.assert(
    fc.property(
      trainingPrograms(20),
      fc.constantFrom<PlanOptions>(
        {},
        { recompute: "auto" },
        { recompute: { thresholdBytes: 2000 } },
        { placement: "none" },
      ),
      (program, options) => {
        check(program, options);
      },
    ),
    { numRuns: 400, seed: 2 },
  );
});

test("so they do with buffers that some storages bring along", () => {
  fc.assert(
    fc.property(anyPrograms, fc.nat(7), (program, which) => {
      const made = planProgram(
        program,
        {},
        {
          atEntry: (s) =>
            s % 8 === which || (s % 3 === 0 && program.storages[s]!.role !== "activation"),
        },
      );
      made.verify();
      const want = interpret(program);
      for (const [storage, value] of execute(made)) assert.is(value, want[storage]);
    }),
    { numRuns: 500, seed: 3 },
  );
});

test("any budget: a plan within it, or the least that works", () => {
  fc.assert(
    fc.property(
      fc.oneof(anyPrograms, trainingPrograms(12)),
      fc.integer({ min: 15, max: 100 }),
      fc.constantFrom<PlanOptions>(
        {},
        { swap: "off" },
        { recompute: "off" },
        { saveHostMemory: true },
        { prefetchBytes: 0 },
      ),
      (program, share, options) => {
        const budgetBytes = Math.max(
          1,
          Math.floor((plan(program).report().plannedBytes * share) / 100),
        );
        try {
          check(program, { ...options, budgetBytes });
        } catch (error) {
          if (!(error instanceof BudgetError)) throw error;
          assert.ok(error.leastBytes > budgetBytes);
          assert.ok(error.op.length > 0);
          check(program, { ...options, budgetBytes: error.leastBytes });
        }
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

test("what runs again sees the parameters it saw before, however early they are updated", () => {
  for (let n = 4; n <= 16; n += 4) {
    const b = new Builder(),
      layers: { x: number; w: number; bias: number; y: number }[] = [];
    let x = b.storage("input", 4096, true);
    for (let k = 0; k < n; k++) {
      const w = b.storage("param", 256, true),
        bias = b.storage("param", 256, true),
        product = b.storage("activation", 4096, false),
        sum = b.storage("activation", 4096, false),
        y = b.storage("activation", 4096, false);
      b.op([x, w], [product], { layer: `l${k}`, flops: 1e6 });
      b.op([product, bias], [sum], { layer: `l${k}`, flops: 1000 });
      b.op([sum], [y], { layer: `l${k}`, flops: 1000 });
      layers.push({ x, w, bias, y });
      x = y;
    }
    let g = b.storage("grad", 4096, false);
    b.op([x], [g], { phase: "calcDerivative" });
    const updates: [number, number][] = [];
    for (const { x: input, w, bias, y } of layers.reverse()) {
      const gs = b.storage("grad", 4096, false),
        gw = b.storage("grad", 256, false),
        gb = b.storage("grad", 256, false),
        gx = b.storage("grad", 4096, false);
      b.op([g, y], [gs], { phase: "calcDerivative" });
      b.op([gs], [gb], { phase: "calcGradient" });
      b.op([input, gs], [gw], { phase: "calcGradient", flops: 1e6 });
      b.op([gs, w], [gx], { phase: "calcDerivative", flops: 1e6 });
      updates.push([w, gw], [bias, gb]);
      g = gx;
    }
    for (const [param, gradient] of updates)
      b.op([param, gradient], [param], { phase: "apply", recomputable: false });
    const program = b.build(),
      context = contextOf(program),
      order = orderOps(context),
      all = new Set(droppable(context, order));
    const chains = chainPlans(context, order, all)!.plans;
    assert.ok(chains.length > 3, `${chains.length} chain plans`);
    for (const made of [
      ...chains.map((c) => c.actions()),
      ...recomputeFamily(context, order, all, defaultRates).map((c) => c.actions),
    ])
      assert.ok(seesTheSame(program, made));
    const most = plan(program).report().plannedBytes;
    for (const share of [0.9, 0.6, 0.4, 0.3])
      for (const options of [{}, { swap: "off" }] as const)
        try {
          check(program, { ...options, budgetBytes: most * share });
        } catch (error) {
          if (!(error instanceof BudgetError)) throw error;
        }
  }
});

test("a bigger budget never costs more", () => {
  fc.assert(
    fc.property(
      trainingPrograms(10, 3),
      fc.constantFrom<PlanOptions>({}, { swap: "off" }, { recompute: "off" }),
      (program, options) => {
        let least = 1;
        const most = plan(program).report().plannedBytes;
        try {
          plan(program, { ...options, budgetBytes: 1 });
        } catch (error) {
          least = (error as BudgetError).leastBytes;
        }
        let last = Infinity;
        for (let k = 0; k <= 8; k++) {
          const { seconds } = plan(program, {
            ...options,
            budgetBytes: Math.floor(least + ((most - least) * k) / 8),
          }).extra;
          assert.ok(seconds <= last * (1 + 1e-9), `${seconds} after ${last}`);
          last = seconds;
        }
        assert.is(last, 0);
      },
    ),
    { numRuns: 25, seed: 5 },
  );
});

test("a recompute costs less than a swap, or the other way round", () => {
  const slow = chain(12),
    r = plan(slow, { budgetBytes: 8 * 1024 }).report(),
    s = plan(slow, { budgetBytes: 8 * 1024, rates: { flopsPerSecond: 1e-3 } }).report();
  assert.ok(r.recomputedOps > 0 && r.swapIns === 0);
  assert.ok(s.swapIns > 0 && s.recomputedOps === 0);
});

test("ops nobody can observe are left out, and no others", () => {
  fc.assert(
    fc.property(anyPrograms, (program) => {
      const wanted = new Set(program.storages.flatMap((s, i) => (s.pinned ? [i] : []))),
        expected = new Set<number>();
      for (let i = program.ops.length - 1; i >= 0; i--) {
        const o = program.ops[i]!;
        if (!o.writes.some((w) => wanted.has(w))) continue;
        expected.add(i);
        for (const w of o.writes) if (!o.reads.includes(w)) wanted.delete(w);
        for (const r of o.reads) wanted.add(r);
      }
      assert.equal(
        new Set(plan(program).steps.flatMap((s) => (s.kind === "dispatch" ? [s.op!] : []))),
        expected,
      );
    }),
    { numRuns: 250, seed: 6 },
  );
});

test("updates move behind their gradients when that saves memory", () => {
  const b = new Builder(),
    n = 8,
    w = Array.from({ length: n }, () => b.storage("param", 4096, true)),
    g: number[] = [];
  const x = b.storage("input", 4);
  for (let k = 0; k < n; k++) {
    g.push(b.storage("grad", 4096));
    b.op([x, w[k]!], [g[k]!], { phase: "calcGradient" });
  }
  for (let k = 0; k < n; k++)
    b.op([w[k]!, g[k]!], [w[k]!], { phase: "apply", recomputable: false });
  const r = check(b.build()).report();
  assert.is(r.plannedBytes, (n + 1) * 4096 + 4);
  assert.is(r.naiveBytes, 2 * n * 4096 + 4);
});

test("a layer never runs again once its parameters are updated, at any budget", () => {
  // The gradient of a bias needs nothing of its layer: the update could come before the layer runs
  // again.
  for (const n of [4, 9, 16]) {
    const b = new Builder(),
      one = 1024,
      bias = Array.from({ length: n }, (_, k) => b.storage("param", 64, true, `b${k}`)),
      a = [b.storage("input", one, true)];
    const x: number[] = [];
    for (let k = 0; k < n; k++) {
      x.push(b.storage("activation", one));
      b.op([a[k]!, bias[k]!], [x[k]!], { layer: `l${k}`, flops: 100 });
      a.push(b.storage("activation", one));
      b.op([x[k]!, a[k]!], [a[k + 1]!], { layer: `l${k}`, flops: 100 });
    }
    let g = b.storage("grad", one);
    b.op([a[n]!], [g], { phase: "calcDerivative", layer: "loss" });
    for (let k = n - 1; k >= 0; k--) {
      const gb = b.storage("grad", 64),
        next = b.storage("grad", one);
      b.op([g], [gb], { phase: "calcGradient", layer: `l${k}` });
      b.op([bias[k]!, gb], [bias[k]!], { phase: "apply", layer: `l${k}`, recomputable: false });
      b.op([g, x[k]!], [next], { phase: "calcDerivative", layer: `l${k}` });
      g = next;
    }
    const out = b.storage("output", 4, true),
      program = (b.op([g], [out], { phase: "calcDerivative" }), b.build()),
      most = plan(program).plannedBytes;
    let recomputed = 0;
    for (let budgetBytes = most; ; budgetBytes -= one) {
      try {
        recomputed = check(program, { budgetBytes, swap: "off" }).report().recomputedOps;
      } catch (error) {
        if (!(error instanceof BudgetError)) throw error;
        break;
      }
    }
    assert.ok(recomputed >= n - 2, `${recomputed} of ${n}`);
  }
});

test("a long program is planned in a blink", () => {
  const n = 4000,
    storages = Array.from({ length: n + 1 }, (_, i) => ({
      id: `s${i}`,
      bytes: 256 * (1 + ((i * 7) % 13)),
      role: i === 0 ? ("input" as const) : ("activation" as const),
      pinned: i === n,
    }));
  const program = programOf(
    storages,
    Array.from({ length: n }, (_, i) => ({
      name: `f${i}`,
      reads: i > 2 ? [i, i - 2] : [i],
      writes: [i + 1],
      phase: "forward" as const,
      layer: "",
      flops: 1,
      recomputable: true,
    })),
  );
  const started = performance.now();
  plan(program).verify();
  assert.ok(performance.now() - started < 5000, `${performance.now() - started} ms`);
});

test("recomputations the peak does not ask for are taken back", () => {
  let fewer = 0;
  fc.assert(
    fc.property(trainingPrograms(10, 3), (program) => {
      const context = contextOf(program),
        order = orderOps(context),
        actions = rematerialise(context, order, new Set(droppable(context, order)));
      const less = takeBack(context, actions, opCost),
        again = (list: readonly Action[]): number =>
          list.filter((a) => a.kind === "recompute").length;
      assert.ok(livePeak(context, less) <= livePeak(context, actions));
      assert.equal(
        less.filter((a) => a.kind === "dispatch"),
        actions.filter((a) => a.kind === "dispatch"),
      );
      assert.ok(seesTheSame(program, less) && again(less) <= again(actions));
      if (again(less) < again(actions)) fewer++;
    }),
    { numRuns: 100, seed: 12 },
  );
  assert.ok(fewer > 20, `only ${fewer} had any`);
  // Where one op needs most of all, nothing has to run again.
  const b = new Builder(),
    x = b.storage("input", 8, true),
    a = b.storage("activation", 8),
    c = b.storage("activation", 8),
    big = b.storage("activation", 1000),
    g = b.storage("output", 8, true);
  b.op([x], [a]);
  b.op([a], [big]);
  b.op([big], [c]);
  b.op([a, c], [g], { phase: "calcDerivative" });
  const program = b.build(),
    context = contextOf(program),
    run = (op: number, kind: Action["kind"] = "dispatch"): Action => ({ kind, op, storage: -1 });
  assert.equal(
    takeBack(
      context,
      [run(0), run(1), run(2), run(1, "recompute"), run(2, "recompute"), run(3)],
      opCost,
    ),
    [run(0), run(1), run(2), run(3)],
  );
});

test.run();

/**
 * The planner on thousands of random programs, without a GPU: plans compute what the program
 * computes, keep within bounds and budgets, and pass the checker, which notices every way of
 * breaking one. The oracles here share no code with the passes.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, OutOfMemoryError } from "tenure";
import {
  BudgetError,
  type Plan,
  type PlanOptions,
  Program,
  plan,
  programFromJSON,
  searchPlan,
} from "tenure/scheduler";
import { chainPlans } from "../../../src/planner/recompute/chain-plans.ts";
import { recomputeFamily } from "../../../src/planner/recompute/family.ts";
import { defaultRates, opCost } from "../../../src/planner/cost.ts";
import { orderOps } from "../../../src/planner/passes/order.ts";
import { planProgram } from "../../../src/planner/pipeline.ts";
import { droppable, rematerialise } from "../../../src/planner/recompute/rematerialise.ts";
import { type Action, contextOf, livePeak } from "../../../src/planner/schedule.ts";
import { takeBack } from "../../../src/planner/recompute/take-back.ts";
import { verifyPlan } from "../../../src/planner/verify.ts";
import { golden, rejects } from "../../helpers.ts";
import {
  Builder,
  anyPrograms,
  chain,
  execute,
  interpret,
  programOf,
  seesTheSame,
  stepPeak,
  trainingPrograms,
} from "./programs.ts";

const test = suite("plans");

/** Everything that must hold for any plan. */
function check(program: Program, options: PlanOptions = {}): Plan {
  const made = plan(program, options);
  made.verify();
  const want = interpret(program);
  for (const [storage, value] of execute(made))
    assert.is(value, want[storage], program.storages[storage]!.id);
  const { lowerBoundBytes, plannedBytes, naiveBytes, predictedPeakBytes } = made.report();
  assert.ok(
    lowerBoundBytes <= plannedBytes && plannedBytes <= naiveBytes,
    `${lowerBoundBytes} <= ${plannedBytes} <= ${naiveBytes}`,
  );
  // A lifespan may reserve memory before its first value is there.
  if (program.storages.every((s) => s.lifespan === undefined))
    assert.is(stepPeak(made), lowerBoundBytes);
  else assert.ok(stepPeak(made) <= lowerBoundBytes);
  assert.is(predictedPeakBytes, plannedBytes);
  if (options.budgetBytes !== undefined) assert.ok(plannedBytes <= options.budgetBytes);
  return made;
}

test("plans compute what the program computes, within the bounds, and pass the checker", () => {
  fc.assert(
    fc.property(anyPrograms, (program) => {
      check(program);
    }),
    { numRuns: 2000, seed: 1 },
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
    { numRuns: 1000, seed: 3 },
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
    const chains = chainPlans(context, order, all)!;
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
    { numRuns: 500, seed: 6 },
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

// === memonger ===

test("memonger's plan keeps one value per threshold; its search finds the square-root law", () => {
  const n = 400,
    program = chain(n),
    one = 1024,
    r = plan(program, { recompute: { thresholdBytes: 20 * one } });
  r.verify();
  const { mirror, plannedBytes } = r.report();
  assert.is(mirror!.largestSegmentBytes, 21 * one);
  assert.is(mirror!.savedBytes, Math.floor(n / 21) * one);
  assert.ok(plannedBytes <= (n / 21 + 21 + 6) * one, `${plannedBytes / one}`);
  const best = searchPlan(program, { trials: 6 });
  best.verify();
  assert.ok(
    best.report().plannedBytes <= 2.3 * Math.sqrt(n) * one,
    `${best.report().plannedBytes / one}`,
  );
  assert.ok(best.report().recomputedOps <= n);
  fc.assert(
    fc.property(trainingPrograms(16), (p) => {
      const found = searchPlan(p);
      found.verify();
      assert.ok(
        found.report().plannedBytes <=
          plan(p, { recompute: { thresholdBytes: 0 } }).report().plannedBytes,
      );
    }),
    { numRuns: 100, seed: 7 },
  );
});

test("named stages are kept or recomputed together", () => {
  const b = new Builder(),
    x = b.storage("input", 64, true);
  const states: [number, number][] = [];
  let last: readonly number[] = [x];
  for (let t = 0; t < 6; t++) {
    const h = b.storage("activation", 1000, false, `h${t}`),
      c = b.storage("activation", 1000, false, `c${t}`);
    b.op(last, [c], { stage: `t${t}` });
    b.op([...last, c], [h], { stage: `t${t}` });
    states.push([h, c]);
    last = [h, c];
  }
  let g = b.storage("grad", 1000);
  b.op(last, [g], { phase: "calcDerivative" });
  for (const [h, c] of states.reverse()) {
    const next = b.storage("grad", 1000);
    b.op([g, h, c], [next], { phase: "calcDerivative" });
    g = next;
  }
  const out = b.storage("output", 4, true);
  b.op([g], [out], { phase: "calcDerivative" });
  const made = check(b.build(), { recompute: { thresholdBytes: 2500 } }),
    again = new Set(
      made.steps.flatMap((s) => (s.kind === "recompute" ? [made.program.ops[s.op!]!.stage!] : [])),
    );
  for (let t = 0; t < 6; t++)
    assert.is(
      made.steps.filter((s) => s.kind === "recompute" && made.program.ops[s.op!]!.stage === `t${t}`)
        .length % 2,
      0,
      `stage t${t} of ${[...again].join()}`,
    );
  assert.ok(again.size > 0 && again.size < 6);
});

// === Lifespans ===

test("lifespans only extend", () => {
  const make = (lifespan?: string): Program => {
    const base = { role: "activation", pinned: false };
    return programFromJSON({
      version: 1,
      storages: [
        { id: "x", bytes: 100, role: "input", pinned: true },
        { id: "y", bytes: 100, ...base, ...(lifespan === undefined ? {} : { lifespan }) },
        { id: "z", bytes: 100, ...base },
        { id: "u", bytes: 100, ...base },
        { id: "v", bytes: 100, ...base },
        { id: "o", bytes: 100, role: "output", pinned: true },
      ],
      ops: [
        {
          name: "f",
          reads: ["x"],
          writes: ["y"],
          phase: "forward",
          layer: "a",
          flops: 1,
          recomputable: true,
        },
        {
          name: "g",
          reads: ["y"],
          writes: ["z"],
          phase: "forward",
          layer: "b",
          flops: 1,
          recomputable: true,
        },
        {
          name: "h",
          reads: ["z"],
          writes: ["u"],
          phase: "forward",
          layer: "a",
          flops: 1,
          recomputable: true,
        },
        {
          name: "k",
          reads: ["u"],
          writes: ["v"],
          phase: "calcDerivative",
          layer: "a",
          flops: 1,
          recomputable: true,
        },
        {
          name: "l",
          reads: ["v"],
          writes: ["o"],
          phase: "calcDerivative",
          layer: "b",
          flops: 1,
          recomputable: true,
        },
      ],
    });
  };
  const released = (p: Program): number =>
    check(p)
      .steps.filter((s) => s.op !== undefined || (s.kind === "release" && s.storage === "y"))
      .findIndex((s) => s.kind === "release");
  assert.is(released(make()), 2);
  assert.is(released(make("forward")), 3);
  assert.is(released(make("backward")), 4);
  assert.is(released(make("iteration")), 4);
  assert.is(released(make("epoch")), 5);
  assert.is(released(make("max")), 5);
  assert.is(plan(make("max"), { budgetBytes: 400 }).report().recomputedOps, 0);
  fc.assert(
    fc.property(
      trainingPrograms(10),
      fc.constantFrom("forward", "backward", "iteration", "epoch", "max"),
      fc.nat(),
      (p, lifespan, n) => {
        const json = p.toJSON(),
          free = json.storages.filter((s) => !s.pinned),
          s = free[n % free.length]!,
          before = plan(p).report().lowerBoundBytes;
        const longer = programFromJSON({
          ...json,
          storages: json.storages.map((x) => (x === s ? { ...x, lifespan } : x)),
        });
        assert.ok(check(longer).report().lowerBoundBytes >= before);
        try {
          check(longer, { budgetBytes: before });
        } catch (error) {
          if (!(error instanceof BudgetError)) throw error;
        }
      },
    ),
    { numRuns: 150, seed: 8 },
  );
});

test("the 3-way and the 4-way order of layers are NNTrainer's", () => {
  const b = new Builder(),
    w = [0, 1, 2].map((k) => b.storage("param", 4, true, `w${k}`)),
    a = [b.storage("input", 4)];
  for (let k = 0; k < 3; k++) {
    a.push(b.storage("activation", 4));
    b.op([a[k]!, w[k]!], [a[k + 1]!], { layer: `n${k}` });
  }
  for (let k = 2; k >= 0; k--) {
    const g = b.storage("grad", 4);
    b.op([a[k + 1]!, a[k]!], [g], { layer: `n${k}`, phase: "calcGradient" });
    b.op([w[k]!, g], [w[k]!], { layer: `n${k}`, phase: "apply", recomputable: false });
  }
  assert.equal(
    plan(b.build())
      .report()
      .layers.map((l) => [
        l.name,
        l.forward,
        l.calcGradient,
        l.calcDerivative,
        l.order4.calcGradient,
        l.order4.calcDerivative,
        l.order4.applyGradient,
      ]),
    [
      ["n0", 0, 10, 11, 9, 10, 11],
      ["n1", 1, 8, 9, 6, 7, 8],
      ["n2", 2, 6, 7, 3, 4, 5],
    ],
  );
});

// === Formats ===

test("programs and plans survive JSON", () => {
  fc.assert(
    fc.property(trainingPrograms(8), (program) => {
      const again = programFromJSON(JSON.parse(JSON.stringify(program)));
      assert.equal(JSON.stringify(again), JSON.stringify(program));
      assert.equal(JSON.stringify(plan(again)), JSON.stringify(plan(program)));
    }),
    { numRuns: 50, seed: 9 },
  );
});

test("what plans say of themselves", () => {
  const program = chain(6, "both");
  golden("plan-chain.txt", `${plan(program).explain()}\n`);
  golden(
    "plan-chain-budget.txt",
    `${plan(program, { budgetBytes: 6 * 1024 }).explain()}\n\n${plan(program, {
      budgetBytes: 6 * 1024,
    })
      .steps.map((s) => JSON.stringify(s))
      .join("\n")}\n`,
  );
  const step = fc.sample(trainingPrograms(7, 7), { numRuns: 1, seed: 13 })[0]!,
    whole = plan(step);
  const four = [
    whole,
    plan(step, { recompute: { thresholdBytes: 2000 } }),
    plan(step, { budgetBytes: 0.8 * whole.plannedBytes }),
    plan(step, { budgetBytes: 0.8 * whole.plannedBytes, recompute: "off" }),
  ];
  golden("plan-training.txt", `${four.map((p) => p.explain()).join("\n\n")}\n`);
  golden(
    "plan-chain-swap.txt",
    `${plan(program, { budgetBytes: 6 * 1024, recompute: "off" }).explain()}\n\n${plan(program, {
      budgetBytes: 6 * 1024,
      recompute: "off",
    })
      .steps.map((s) => JSON.stringify(s))
      .join("\n")}\n`,
  );
});

// === Bad input ===

const good = {
  version: 1,
  storages: [
    { id: "x", bytes: 4, role: "input", pinned: false },
    { id: "y", bytes: 4, role: "activation", pinned: true },
  ],
  ops: [
    {
      name: "f",
      reads: ["x"],
      writes: ["y"],
      phase: "forward",
      layer: "l",
      flops: 1,
      recomputable: true,
    },
  ],
};

test("malformed programs are refused by name", async () => {
  const bad: [unknown, RegExp][] = [
    [null, /an object/],
    [[], /an object/],
    [{ ...good, version: 2 }, /version 1/],
    [{ ...good, storages: {} }, /`storages`/],
    [{ ...good, ops: undefined }, /`ops`/],
    [{ ...good, storages: [{ ...good.storages[0], bytes: 0 }] }, /bytes of storage x .* got 0/],
    [{ ...good, storages: [{ ...good.storages[0], bytes: 2 ** 60 }] }, /bytes of storage x/],
    [{ ...good, storages: [{ ...good.storages[0], bytes: 1.5 }] }, /bytes of storage x/],
    [{ ...good, storages: [good.storages[0], good.storages[0]] }, /unique/],
    [{ ...good, storages: [{ ...good.storages[0], role: "weight" }] }, /role of storage x/],
    [{ ...good, storages: [{ ...good.storages[0], lifespan: "always" }] }, /lifespan of storage x/],
    [{ ...good, storages: [{ ...good.storages[0], pinned: 1 }] }, /pinned of storage x/],
    [
      { ...good, ops: [{ ...good.ops[0], reads: ["q"] }] },
      /op 0 f to name existing storages, got "q"/,
    ],
    [{ ...good, ops: [{ ...good.ops[0], writes: "y" }] }, /op 0 f to list storages/],
    [{ ...good, ops: [{ ...good.ops[0], phase: "backward" }] }, /phase of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], flops: -1 }] }, /flops of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], flops: NaN }] }, /flops of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], recomputable: "yes" }] }, /recomputable of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], name: 3 }] }, /name of op 0/],
    [{ ...good, ops: [7] }, /an op object/],
  ];
  for (const [json, pattern] of bad)
    await rejects(() => programFromJSON(json), ArgumentError, pattern);
});

test("contradictions are refused by name", async () => {
  const with_ = (over: Record<string, unknown>): Program => programFromJSON({ ...good, ...over });
  await rejects(
    () =>
      plan(with_({ storages: [{ ...good.storages[0], role: "activation" }, good.storages[1]] })),
    ArgumentError,
    /activation x, which nothing writes/,
  );
  await rejects(
    () =>
      plan(
        with_({
          storages: [...good.storages, { id: "z", bytes: 4, role: "activation", pinned: false }],
          ops: [
            { ...good.ops[0], reads: ["x", "z"] },
            { ...good.ops[0], name: "g", reads: ["y"], writes: ["z"] },
          ],
        }),
      ),
    ArgumentError,
    /a cycle: it reads activation z, whose first writer is op 1 g/,
  );
  await rejects(
    () =>
      plan(with_({ storages: [good.storages[0], { ...good.storages[1], lifespan: "forward" }] })),
    ArgumentError,
    /a lifespan of y/,
  );
  await rejects(
    () => plan(with_({}), { maxStorageBytes: 2 }),
    OutOfMemoryError,
    /at most 2 bytes .* got x with 4/,
  );
  await rejects(() => plan(with_({}), { budgetBytes: 0 }), ArgumentError, /budgetBytes/);
  await rejects(
    () => plan(with_({}), { recompute: "on" as "auto" }),
    ArgumentError,
    /recompute to be one of off, auto/,
  );
  await rejects(() => plan(with_({}), { budget: 3 } as PlanOptions), ArgumentError, /"budget"/);
  await rejects(
    () => plan(with_({}), { budgetBytes: 7 }),
    BudgetError,
    /^f: expected the program to fit into a budget of 7 bytes, got at least 8/,
  );
});

// === The checker ===

type Parts = Pick<
  Plan,
  "program" | "steps" | "slots" | "entrySlot" | "budgetBytes" | "plannedBytes"
>;
const parts = ({ program, steps, slots, entrySlot, budgetBytes, plannedBytes }: Plan): Parts => ({
  program,
  steps,
  slots,
  entrySlot,
  budgetBytes,
  plannedBytes,
});
const pick = <T>(list: readonly T[], n: number): T | undefined =>
  list[n % Math.max(1, list.length)];
const runs = (p: Parts): number[] => p.steps.flatMap((s, i) => (s.op === undefined ? [] : [i]));
const replaceStep = (p: Parts, at: number, ...by: Parts["steps"][number][]): Parts => ({
  ...p,
  steps: [...p.steps.slice(0, at), ...by, ...p.steps.slice(at + 1)],
});

/** Ways to spoil a plan. Undefined when a plan offers no occasion. */
const mutations: Readonly<Record<string, (p: Parts, n: number) => Parts | undefined>> = {
  "an op is left out": (p, n) => {
    const at = pick(runs(p), n);
    return at === undefined ? undefined : replaceStep(p, at);
  },
  "an op runs twice": (p, n) => {
    const at = pick(runs(p), n);
    return at === undefined ? undefined : replaceStep(p, at, p.steps[at]!, p.steps[at]!);
  },
  "a slot is too small": (p, n) => {
    const at = pick(
      runs(p).filter((i) => p.steps[i]!.writes!.length > 0),
      n,
    );
    if (at === undefined) return undefined;
    const slot = p.steps[at]!.writes![0]!,
      s = p.program.storages[p.program.ops[p.steps[at]!.op!]!.writes[0]!]!;
    return { ...p, slots: p.slots.map((x, i) => (i === slot ? { ...x, bytes: s.bytes - 1 } : x)) };
  },
  "an op writes over what it reads": (p, n) => {
    const at = pick(
      runs(p).filter((i) => {
        const { reads, writes } = p.program.ops[p.steps[i]!.op!]!;
        return reads.length > 0 && writes.length > 0 && !reads.includes(writes[0]!);
      }),
      n,
    );
    return at === undefined
      ? undefined
      : replaceStep({ ...p, slots: p.slots.map((s) => ({ ...s, bytes: 1e9 })) }, at, {
          ...p.steps[at]!,
          writes: [p.steps[at]!.reads![0]!],
        });
  },
  "a value is released too early": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) =>
        s.kind === "release" && i > 0 && p.steps[i - 1]!.reads?.includes(s.slot!) === true
          ? [i]
          : [],
      ),
      n,
    );
    return at === undefined
      ? undefined
      : {
          ...p,
          steps: [
            ...p.steps.slice(0, at - 1),
            p.steps[at]!,
            p.steps[at - 1]!,
            ...p.steps.slice(at + 1),
          ],
        };
  },
  "a pinned value is given away": (p, n) => {
    const at = pick(
      p.slots.flatMap((s, i) => (s.exit !== -1 ? [i] : [])),
      n,
    );
    return at === undefined
      ? undefined
      : { ...p, slots: p.slots.map((s, i) => (i === at ? { ...s, exit: -1 } : s)) };
  },
  "a read looks in another slot": (p, n) => {
    const at = pick(
      runs(p).filter((i) => p.steps[i]!.reads!.length > 0),
      n,
    );
    return at === undefined || p.slots.length < 2
      ? undefined
      : replaceStep(p, at, {
          ...p.steps[at]!,
          reads: p.steps[at]!.reads!.map((r, k) => (k === 0 ? (r + 1) % p.slots.length : r)),
        });
  },
  "the budget is smaller": (p) =>
    p.plannedBytes === 0 ? undefined : { ...p, budgetBytes: p.plannedBytes - 1 },
  "a slot is opened late": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "open" ? [i] : [])),
      n,
    );
    return at === undefined
      ? undefined
      : { ...p, steps: [...p.steps.slice(0, at), ...p.steps.slice(at + 1), p.steps[at]!] };
  },
  "a slot is closed early": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) =>
        s.kind === "close" && p.steps[i - 1]?.kind === "release" && p.steps[i - 1]!.slot === s.slot
          ? [i]
          : [],
      ),
      n,
    );
    return at === undefined
      ? undefined
      : {
          ...p,
          steps: [
            ...p.steps.slice(0, at - 1),
            p.steps[at]!,
            p.steps[at - 1]!,
            ...p.steps.slice(at + 1),
          ],
        };
  },
  "a slot is opened twice": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "open" ? [i] : [])),
      n,
    );
    return at === undefined ? undefined : replaceStep(p, at, p.steps[at]!, p.steps[at]!);
  },
  "nobody waits for the host": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "wait" ? [i] : [])),
      n,
    );
    return at === undefined ? undefined : replaceStep(p, at);
  },
  "a copy to the host is left out": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "swapOut" ? [i] : [])),
      n,
    );
    return at === undefined ? undefined : replaceStep(p, at);
  },
  "a recomputed op may not run again": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "recompute" ? [i] : [])),
      n,
    );
    return at === undefined
      ? undefined
      : {
          ...p,
          program: new Program(
            p.program.storages,
            p.program.ops.map((o, i) =>
              i === p.steps[at]!.op ? { ...o, recomputable: false } : o,
            ),
          ),
        };
  },
};

/** The least budget that works: there, buffers come and go. */
function leastFor(program: Program, options: PlanOptions): number {
  try {
    plan(program, { ...options, budgetBytes: 1 });
    return 1;
  } catch (error) {
    return (error as BudgetError).leastBytes;
  }
}

for (const [name, spoil] of Object.entries(mutations)) {
  test(`the checker notices when ${name}`, () => {
    let seen = 0;
    fc.assert(
      fc.property(
        trainingPrograms(8, 4),
        fc.nat(),
        fc.constantFrom<PlanOptions>({ recompute: "off" }, { swap: "off" }),
        (program, n, options) => {
          let made: Plan;
          const budgetBytes = plan(program).report().plannedBytes * 0.8;
          try {
            made = plan(program, {
              ...options,
              budgetBytes: /opened|closed/.test(name) ? leastFor(program, options) : budgetBytes,
            });
          } catch {
            made = plan(program);
          }
          const spoilt = spoil(parts(made), n);
          if (spoilt === undefined) return;
          seen++;
          assert.throws(() => {
            verifyPlan(spoilt);
          }, /^internal: /);
        },
      ),
      { numRuns: 40, seed: 10 },
    );
    assert.ok(seen > 5, `only ${seen} occasions`);
  });
}

test.run();

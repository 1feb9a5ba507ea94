/**
 * memonger's plans and its search, named stages, lifespans and the order of layers: what the older
 * systems promise, kept by the planner.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { BudgetError, type Program, plan, programFromJSON, searchPlan } from "tenure/scheduler";
import { Builder, chain, trainingPrograms } from "./programs.ts";
import { check } from "./check-plan.ts";

const test = suite("memonger and lifespans");

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

/** A layer that runs twice forward and once backward, whose first result has a lifespan. */
function withLifespan(lifespan?: string): Program {
  const base = { role: "activation", pinned: false };
  const op = (name: string, read: string, write: string, layer: string, phase = "forward") => ({
    name,
    reads: [read],
    writes: [write],
    phase,
    layer,
    flops: 1,
    recomputable: true,
  });
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
      op("f", "x", "y", "a"),
      op("g", "y", "z", "b"),
      op("h", "z", "u", "a"),
      op("k", "u", "v", "a", "calcDerivative"),
      op("l", "v", "o", "b", "calcDerivative"),
    ],
  });
}

test("lifespans only extend", () => {
  const released = (p: Program): number =>
    check(p)
      .steps.filter((s) => s.op !== undefined || (s.kind === "release" && s.storage === "y"))
      .findIndex((s) => s.kind === "release");
  assert.is(released(withLifespan()), 2);
  assert.is(released(withLifespan("forward")), 3);
  assert.is(released(withLifespan("backward")), 4);
  assert.is(released(withLifespan("iteration")), 4);
  assert.is(released(withLifespan("epoch")), 5);
  assert.is(released(withLifespan("max")), 5);
  assert.is(plan(withLifespan("max"), { budgetBytes: 400 }).report().recomputedOps, 0);
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
    { numRuns: 75, seed: 8 },
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

test.run();

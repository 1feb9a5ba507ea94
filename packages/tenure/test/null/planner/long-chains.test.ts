/**
 * Chains of up to a thousand ops: as few recomputations as Griewank's formula says, predicted
 * peaks that are true, and a table by lengths that agrees with the table of all ranges. Work is
 * counted, not timed.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { BudgetError, plan } from "tenure/scheduler";
import { at } from "../../../src/base/access.ts";
import { defaultRates } from "../../../src/planner/cost.ts";
import { neededOps } from "../../../src/planner/dependencies.ts";
import { EvenRotor, isEven } from "../../../src/planner/recompute/even-rotor.ts";
import { recomputeFamily } from "../../../src/planner/recompute/family.ts";
import { droppable } from "../../../src/planner/recompute/rematerialise.ts";
import { Rotor } from "../../../src/planner/recompute/rotor.ts";
import type { StageBytes, StageCosts } from "../../../src/planner/recompute/stage-costs.ts";
import type { Stage } from "../../../src/planner/recompute/stages.ts";
import { contextOf, livePeak } from "../../../src/planner/schedule.ts";
import { revolve } from "./brute.ts";
import { chain } from "./programs.ts";

const test = suite("long chains");

for (const [n, budgets] of [
  [13, [5, 6, 8, 12]],
  [50, [5, 7, 26]],
  [100, [5, 9, 50]],
  [400, [5, 200]],
  [1000, [501]],
] as const)
  test(`${n} ops: as few recomputations as the closed form`, () => {
    const program = chain(n);
    for (const units of budgets) {
      const made = plan(program, { budgetBytes: units * 1024, swap: "off" });
      if (n <= 100) made.verify();
      // Three units are for the gradients and the value at hand.
      assert.is(made.extra.recomputeFlops, revolve(n, units - 3), `${units} units`);
      assert.ok(made.plannedBytes <= units * 1024);
    }
  });

test("what would run again too often is not offered, and the least is named", () => {
  try {
    plan(chain(150), { budgetBytes: 4 * 1024, swap: "off" });
    assert.unreachable();
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    assert.is(error.leastBytes, 5 * 1024);
  }
});

test("schedules that are written down later have the peak and the cost they promise", () => {
  for (const reads of ["input", "output", "both"] as const) {
    const program = chain(60, reads);
    const context = contextOf(program);
    const order = neededOps(program);
    const all = new Set(droppable(context, order));
    const found = recomputeFamily(context, order, all, defaultRates);
    assert.ok(found.length > 25, `${found.length} schedules`);
    for (const { peak, extra, actions } of found) {
      assert.is(livePeak(context, actions), peak, `${reads}, ${extra.recomputedOps} again`);
      const again = actions.filter((a) => a.kind === "recompute").length;
      assert.is(extra.recomputedOps, again);
    }
  }
});

// === The table by lengths ===

/** What the stages of a chain need, all alike but the first and the last. */
const chains = fc.record({
  n: fc.integer({ min: 4, max: 20 }),
  levels: fc.integer({ min: 3, max: 40 }),
  boundary: fc.integer({ min: 1, max: 3 }),
  needs: fc.array(
    fc.record({
      group: fc.integer({ min: 0, max: 5 }),
      pending: fc.integer({ min: 0, max: 3 }),
      run: fc.integer({ min: 1, max: 3 }),
      cost: fc.integer({ min: 1, max: 5 }),
      readsBoundary: fc.boolean(),
    }),
    { minLength: 3, maxLength: 3 },
  ),
});

type Drawn = typeof chains extends fc.Arbitrary<infer T> ? T : never;

function stagesOf({ n, boundary, needs }: Drawn): {
  stages: Stage[];
  units: StageBytes;
  costs: StageCosts;
} {
  const kind = (k: number): Drawn["needs"][number] => at(needs, k === 0 ? 0 : k === n - 1 ? 2 : 1);
  const all = Array.from({ length: n }, (_, k) => kind(k));
  const stages = all.map(({ readsBoundary }, k): Stage => {
    const none: number[] = [];
    return {
      ops: none,
      toBoundary: none,
      toAll: none,
      toNeeded: none,
      group: none,
      boundary: k === n - 1 ? -1 : k,
      inside: new Set(),
      readsBoundary: readsBoundary && k < n - 1,
    };
  });
  const units = {
    boundary: all.map((_, k) => (k === n - 1 ? 0 : boundary)),
    inside: all.map(() => 0),
    group: all.map((s) => s.group),
    pending: all.map((s) => s.pending),
    toBoundary: all.map((s) => boundary + s.run),
    toAll: all.map((s) => boundary + s.run),
    toNeeded: all.map((s) => s.run),
  };
  const run = all.map((s) => s.cost);
  return { stages, units, costs: { toBoundary: run, toAll: run, toNeeded: run } };
}

test("the table by lengths has the costs of the table of all ranges", () => {
  let cheaper = 0;
  fc.assert(
    fc.property(chains, (drawn) => {
      const { stages, units, costs } = stagesOf(drawn);
      const { n, levels } = drawn;
      assert.ok(isEven(stages, units, costs));
      const even = new EvenRotor(stages, units, costs, levels);
      const rotor = new Rotor(stages, units, costs, levels);
      even.fill();
      rotor.fill();
      for (let m = 0; m <= levels; m++) {
        const cost = rotor.cost(0, 0, n, m);
        assert.is(even.cost(0, 0, n, m), cost, `${m} units`);
        if (m > 0 && cost < rotor.cost(0, 0, n, m - 1)) cheaper++;
      }
    }),
    { numRuns: 150, seed: 5 },
  );
  assert.ok(cheaper > 150, `${cheaper} steps of memory make a difference`);
});

test("on long chains it need not weigh every choice", () => {
  const inner = { group: 3, pending: 2, run: 1, cost: 2 };
  for (const readsBoundary of [false, true])
    for (const last of [inner, { ...inner, group: 2, pending: 1 }]) {
      const levels = 30;
      const needs = [inner, inner, last].map((s) => ({ ...s, readsBoundary }));
      const { stages, units, costs } = stagesOf({ n: 80, levels, boundary: 1, needs });
      const even = new EvenRotor(stages, units, costs, levels);
      const rotor = new Rotor(stages, units, costs, levels);
      even.fill();
      rotor.fill();
      for (let m = 0; m <= levels; m++)
        assert.is(even.cost(0, 0, 80, m), rotor.cost(0, 0, 80, m), `${m} units`);
    }
});

test("the table takes a few looks for each length and amount of memory", () => {
  const needs = { group: 3, pending: 2, run: 0, cost: 1, readsBoundary: false };
  for (const n of [100, 200, 800]) {
    const levels = n + 4;
    const drawn = { n, levels, boundary: 1, needs: [needs, needs, needs] };
    const { stages, units, costs } = stagesOf(drawn);
    const table = new EvenRotor(stages, units, costs, levels);
    table.fill();
    // Five kinds of ranges; see how far the best choice moves.
    assert.ok(table.steps <= 5 * 8 * n * levels, `${table.steps} steps for ${n} stages`);
  }
});

test.run();

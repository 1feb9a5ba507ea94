/**
 * The planner's passes one by one: the checker holds after each of them, on random programs and
 * budgets, notices what a pass could get wrong, and the dump names what was decided.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { BudgetError, type PlanOptions } from "tenure/scheduler";
import type { Program } from "../../../src/graph/program.ts";
import { checkState } from "../../../src/planner/check.ts";
import { formatState } from "../../../src/planner/dump.ts";
import { comparePlacements } from "../../../src/planner/place/compare.ts";
import { Plan } from "../../../src/planner/plan.ts";
import { verifyPlan } from "../../../src/planner/verify.ts";
import { budgetPlanner, plan, searchPlan } from "../../../src/planner/pipeline.ts";
import { plainPlanner } from "../../../src/planner/plain-planner.ts";
import type { PlanState } from "../../../src/planner/plan-state.ts";
import { anyPrograms, chain, trainingPrograms } from "./programs.ts";

const test = suite("passes");

test("the checker holds after each pass", () => {
  const programs = fc.oneof(anyPrograms, trainingPrograms(8, 2));
  const options = fc.constantFrom<PlanOptions>({}, { swap: "off" }, { recompute: "off" });
  fc.assert(
    fc.property(programs, options, fc.integer({ min: 40, max: 110 }), (program, more, share) => {
      const most = plan(program).plannedBytes;
      const budgetBytes = Math.max(1, Math.floor((most * share) / 100));
      try {
        plan(program, { ...more, budgetBytes }, { afterPass: checkState });
      } catch (error) {
        if (!(error instanceof BudgetError)) throw error;
      }
      plan(program, { recompute: "auto" }, { afterPass: checkState });
    }),
    { numRuns: 60, seed: 21 },
  );
});

/** The state after each pass of a plan, by the pass's name. */
function statesOf(program: Program, options: PlanOptions): Map<string, PlanState> {
  const states = new Map<string, PlanState>();
  plan(program, options, { afterPass: (pass, state) => states.set(pass, state) });
  return states;
}

test("passes come in their order, each adding to what is known", () => {
  const states = statesOf(chain(8), { budgetBytes: 7 * 1024 });
  assert.equal(
    [...states.keys()],
    ["order", "in core", "threshold", "recompute", "swap", "choose", "overlap", "place", "emit"],
  );
  assert.is(states.get("in core")?.chosen, null, "eight values do not fit");
  assert.ok((states.get("recompute")?.candidates.length ?? 0) > 1);
  assert.ok((states.get("choose")?.chosen?.extra.recomputedOps ?? 0) > 0);
  const search: string[] = [];
  searchPlan(chain(8), {}, { afterPass: (pass) => search.push(pass) });
  assert.equal(search, ["order", "thresholds", "least", "overlap", "place", "emit"]);
});

test("without a budget both planners make the same plan", () => {
  fc.assert(
    fc.property(fc.oneof(anyPrograms, trainingPrograms(8, 2)), (program) => {
      const plain = plainPlanner.plan(program, program, {}, { afterPass: checkState });
      const budgeted = budgetPlanner.plan(program, program, {}, {});
      const json = ({ parts }: typeof plain): unknown =>
        new Plan(parts, comparePlacements).toJSON();
      assert.equal(json(plain), json(budgeted));
      const hasty = plainPlanner.planInHaste([program], {}, { afterPass: checkState });
      verifyPlan(hasty);
      const { steps } = budgetPlanner.planInHaste([program], {}, {});
      assert.equal(hasty.steps, steps);
    }),
    { numRuns: 100, seed: 22 },
  );
});

test("the checker notices a schedule that computes something else", () => {
  const state = statesOf(chain(8), { budgetBytes: 7 * 1024 }).get("choose");
  const chosen = state?.chosen;
  if (state === undefined || chosen === null || chosen === undefined)
    throw new Error("no schedule");
  const spoilt = (actions: (typeof chosen)["actions"]): PlanState => ({
    ...state,
    chosen: { ...chosen, actions },
  });
  const [first, ...others] = chosen.actions;
  assert.ok(first);
  assert.throws(() => {
    checkState("choose", spoilt(others));
  }, /^internal: choose/);
  assert.throws(() => {
    checkState("choose", spoilt([...others, first]));
  }, /sees other values/);
  assert.throws(() => {
    checkState("choose", { ...state, chosen: { ...chosen, peak: chosen.peak + 1 } });
  }, /another peak/);
});

test("the dump says what was found, chosen and placed", () => {
  const states = statesOf(chain(8), { budgetBytes: 7 * 1024 });
  const text = (pass: string): string => {
    const state = states.get(pass);
    return state === undefined ? "" : formatState(pass, state);
  };
  assert.match(text("order"), /^=== after order\norder {6}17 of 17 ops: 0 f1, 1 f2/);
  assert.match(text("recompute"), /candidates \d+\n {2}in core: /);
  assert.match(text("choose"), /chosen {5}recompute/);
  assert.match(text("emit"), /placed .* in \d+ slots\n {2}\{"kind":"dispatch","op":0/);
});

test.run();

/**
 * Planning as users and the runtime ask for it: with what a developer wants to see. The planner
 * itself is pure and prints nothing; here `TENURE_DEBUG=passes` shows its state after each pass on
 * stderr. Called by compile.ts and by users of `tenure/scheduler`. Owns nothing.
 */
import { debugs } from "../base/debug.ts";
import type { Program } from "../graph/program.ts";
import { formatState } from "../planner/dump.ts";
import * as pipeline from "../planner/pipeline.ts";
import type { Plan } from "../planner/plan.ts";
import type { PlanOptions } from "../planner/plan-options.ts";

/** What looks at the planner's state after each pass: nothing, unless somebody asked. */
export function passWatcher(): Pick<pipeline.PlanInputs, "afterPass"> {
  if (!debugs("passes")) return {};
  return {
    afterPass: (pass, state) => {
      console.error(formatState(pass, state));
    },
  };
}

/**
 * Plans a program, checked first. @throws BudgetError when no plan fits into the budget;
 * ArgumentError for a program or options that contradict themselves
 */
export function plan(program: Program, options: PlanOptions = {}): Plan {
  return pipeline.plan(program, options, passWatcher());
}

/**
 * memonger's search (Chen et al. 2016, arXiv 1604.06174) with the planner's own peak as cost: the
 * plan of the threshold, in bytes, that needs least memory.
 */
export function searchPlan(program: Program, options: { readonly trials?: number } = {}): Plan {
  return pipeline.searchPlan(program, options, passWatcher());
}

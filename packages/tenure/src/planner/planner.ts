/**
 * What a planner is to the runtime: something that makes plans of programs. There are two, so that
 * a bundle without schedulers has no code for budgets. Called on a plan-cache miss. Owns nothing.
 */
import type { Program } from "../graph/program.ts";
import type { PlanOptions } from "./plan-options.ts";
import type { PlanInputs } from "./run-passes.ts";
import type { RunnablePlan } from "./runnable-plan.ts";

/** Makes plans. */
export interface Planner {
  /** Whether a plan of a program may fit into the budget; false where none ever can. */
  mayFit(program: Program, options: PlanOptions): boolean;
  /** Plans a program whose ops were fused, or the same before that. @throws BudgetError */
  plan(fused: Program, unfused: Program, options: PlanOptions, inputs: PlanInputs): RunnablePlan;
  /** The plan that takes least time to make, of one of several programs that do the same. */
  planInHaste(
    programs: readonly [Program, ...Program[]],
    options: PlanOptions,
    inputs: PlanInputs,
  ): RunnablePlan;
}

/**
 * Everything users import from `tenure/scheduler`: planning programs, from JSON or traced, with and
 * without a GPU. Named re-exports only.
 * @module tenure/scheduler
 */

export {
  Program,
  formatProgram,
  type Lifespan,
  type Access,
  type AccessJSON,
  type FuseFacts,
  type FuseFactsJSON,
  type Phase,
  type ProgramJSON,
  type ProgramOp,
  type ProgramStorage,
  type Role,
} from "../graph/program.ts";
export { programFromJSON } from "../graph/from-json.ts";
export { plan, searchPlan, type SearchOptions } from "../runtime/planning.ts";
export { Plan, type PlanJSON } from "../planner/plan.ts";
export type { ComparePlacements } from "../planner/plan-figures.ts";
export type { PlanParts, RunnablePlan } from "../planner/runnable-plan.ts";
export type { PlanReport } from "../planner/plan-report.ts";
export type { Item as PlacedItem } from "../planner/place/items.ts";
export type { Slot, Step } from "../planner/steps.ts";
export type { PlanOptions } from "../planner/plan-options.ts";
export type { LayerOrder } from "../planner/layer-order.ts";
export type { Extra as PlanExtra, Rates } from "../planner/cost.ts";
export { BudgetError } from "../planner/budget-error.ts";
export { trace } from "../runtime/trace.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler.ts";
export type { Profile } from "../runtime/execution/figures.ts";
export type { SchedulerReport } from "./step-report.ts";

/**
 * Everything users import from `tenure/scheduler`: planning programs, from JSON or traced, with and
 * without a GPU. Named re-exports only.
 */
export {
  Program,
  programFromJSON,
  formatProgram,
  type Lifespan,
  type Access,
  type FuseFacts,
  type Phase,
  type ProgramJSON,
  type ProgramOp,
  type ProgramStorage,
  type Role,
} from "./graph/program.ts";
export { plan, searchPlan } from "./scheduler/pipeline.ts";
export { Plan, type PlanJSON, type PlanReport, type Slot, type Step } from "./scheduler/plan.ts";
export type { PlanOptions } from "./scheduler/options.ts";
export type { LayerOrder } from "./scheduler/layers.ts";
export type { Rates } from "./scheduler/cost.ts";
export { BudgetError } from "./scheduler/errors.ts";
export { trace } from "./runtime/trace.ts";
export { Scheduler, type SchedulerOptions, type SchedulerReport } from "./runtime/scheduler.ts";

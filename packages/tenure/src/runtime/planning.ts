/**
 * Planning as users of `tenure/scheduler` ask for it: options and programs are checked first, and
 * `TENURE_DEBUG=passes` shows what the passes do. Owns nothing.
 */
import { ArgumentError } from "../base/errors.ts";
import { type OptionTable, describeValue, readOptions } from "../base/options.ts";
import { Program } from "../graph/program.ts";
import { formatState } from "../planner/dump.ts";
import * as pipeline from "../planner/pipeline.ts";
import type { Plan } from "../planner/plan.ts";
import type { PlanOptions } from "../planner/plan-options.ts";
import { passWatcher } from "./pass-watcher.ts";

/** Options of `searchPlan`. */
export interface SearchOptions {
  /** How many thresholds are tried. */
  readonly trials?: number;
}

const searchOptions = {
  trials: { type: "integer", range: "[1, 1000]" },
} satisfies OptionTable<SearchOptions>;

/** @throws ArgumentError for anything but a program */
function checkProgram(op: string, program: unknown): void {
  if (!(program instanceof Program))
    throw new ArgumentError(
      op,
      "a program",
      describeValue(program),
      "make one with trace(fn) or programFromJSON(json)",
    );
}

/**
 * Plans a program, checked first. @throws BudgetError when no plan fits into the budget;
 * ArgumentError for a program or options that contradict themselves
 */
export function plan(program: Program, options: PlanOptions = {}): Plan {
  checkProgram("plan", program);
  return pipeline.plan(program, options, passWatcher(formatState));
}

/**
 * memonger's search (Chen et al. 2016, arXiv 1604.06174) with the planner's own peak as cost: the
 * plan of the threshold, in bytes, that needs least memory.
 * @throws ArgumentError as `plan` does
 */
export function searchPlan(program: Program, options?: SearchOptions): Plan {
  checkProgram("searchPlan", program);
  const given = readOptions("searchPlan", options, searchOptions);
  return pipeline.searchPlan(program, given, passWatcher(formatState));
}

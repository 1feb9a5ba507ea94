/**
 * The passes in order: reads as a table of contents. Called by schedulers on a plan-cache miss, and
 * by anyone with a program read from JSON; pure, needs no GPU.
 */
import { internal } from "../base/errors.ts";
import type { Program } from "../graph/program.ts";
import { BudgetError } from "./budget-error.ts";
import { PlanningTooLong } from "./deadline.ts";
import { leastPossible } from "./least-possible.ts";
import { chooseCheapest } from "./passes/choose.ts";
import { fuse } from "./passes/fuse.ts";
import { tryFew, tryInOrder } from "./passes/haste.ts";
import { runInCore } from "./passes/in-core.ts";
import { putInOrder } from "./passes/order.ts";
import { runSideBySide } from "./passes/overlap.ts";
import { placeUnderBudget } from "./passes/place-under-budget.ts";
import { tryRecompute } from "./passes/recompute.ts";
import { chooseLeast, tryThresholds } from "./passes/search-mirrors.ts";
import { trySwap } from "./passes/swap.ts";
import { applyThreshold } from "./passes/threshold.ts";
import { Plan } from "./plan.ts";
import { reportOf } from "./plan-figures.ts";
import { comparePlacements } from "./place/compare.ts";
import { fewItems, searchSlots } from "./place/search.ts";
import type { Search } from "./place/slot-planners.ts";
import { type PlanOptions, resolveOptions } from "./plan-options.ts";
import { type Pass, initialState } from "./plan-state.ts";
import type { Planner } from "./planner.ts";
import type { PlanReport } from "./plan-report.ts";
import { type PlanInputs, emitting, runPasses } from "./run-passes.ts";
import type { PlanParts, RunnablePlan } from "./runnable-plan.ts";
import { validate } from "./validate.ts";

/** What a program goes through. */
const passes: readonly Pass[] = [
  { name: "order", run: putInOrder }, // ops nobody needs go; updates follow their gradients
  { name: "in core", run: runInCore }, // every op once, everything kept: often that is all
  { name: "threshold", run: applyThreshold }, // memonger's plan instead, where that was asked for
  { name: "recompute", run: tryRecompute }, // values are dropped and made again
  { name: "swap", run: trySwap }, // values wait on the host
  { name: "choose", run: chooseCheapest }, // the cheapest schedule that fits into the budget
  { name: "overlap", run: runSideBySide }, // independent ops next to each other
  { name: "place", run: placeUnderBudget }, // who shares a buffer, which buffers come and go
  emitting, // what to do, step by step
];

/** What is tried besides where the items are few. */
const search: Search = (items, best) =>
  items.length <= fewItems ? searchSlots(items, best) : best;

/** The same when there was no time for all of that. */
const hastyPasses: readonly Pass[] = [
  { name: "issued", run: tryInOrder },
  { name: "few schedules", run: tryFew },
  { name: "choose", run: chooseCheapest },
  { name: "place", run: placeUnderBudget },
  emitting,
];

/** The same for memonger's search, whose cost is memory alone. */
const searchPasses = (trials: number): readonly Pass[] => [
  { name: "order", run: putInOrder },
  { name: "thresholds", run: tryThresholds(trials) },
  { name: "least", run: chooseLeast },
  { name: "overlap", run: runSideBySide },
  { name: "place", run: placeUnderBudget },
  emitting,
];

/**
 * Plans a program. @throws BudgetError when no plan fits into the budget; ArgumentError for a
 * program or options that contradict themselves
 */
export function planProgram(
  program: Program,
  options: PlanOptions = {},
  { atEntry, afterPass, deadline }: PlanInputs = {},
): Plan {
  const policy = resolveOptions("plan", options);
  const initial = initialState(program, policy, atEntry, { deadline, search });
  return planOf(runPasses(passes, initial, afterPass));
}

/**
 * The plan that takes least time to make, of programs whose planning took too long: ops in the
 * order they were issued, everything kept; where that does not fit into the budget, the cheapest of
 * a few schedules that do. Of several programs that do the same the first that fits, unless
 * another costs less. @throws BudgetError when none of them fits
 */
export function planInHaste(
  programs: readonly [Program, ...Program[]],
  options: PlanOptions,
  { atEntry, afterPass }: PlanInputs,
): Plan {
  const policy = resolveOptions("plan", options);
  const planned = (program: Program): Plan =>
    planOf(
      runPasses(
        hastyPasses,
        initialState(program, policy, atEntry, { quick: true, search }),
        afterPass,
      ),
    );
  return cheapestOf([...new Set(programs)].map((program) => () => planned(program)));
}

/**
 * Plans a program whose ops were fused; under a budget that asks for more than that, also as it was
 * before, where single values can be dropped that kernels of several ops hold together. The cheaper
 * plan wins. Its `program` says which it is.
 */
export function planFused(
  fused: Program,
  unfused: Program,
  options: PlanOptions = {},
  inputs: PlanInputs = {},
): Plan {
  if (fused === unfused || options.budgetBytes === undefined || options.budgetBytes === Infinity)
    return planProgram(fused, options, inputs);
  return cheapestOf([fused, unfused].map((program) => () => planProgram(program, options, inputs)));
}

/**
 * The cheapest of several plans; the first that costs nothing. What was found when it is late is
 * taken. @throws BudgetError with the least budget that any of them needs
 */
function cheapestOf(attempts: readonly (() => Plan)[]): Plan {
  let best: Plan | undefined;
  let refusal: BudgetError | undefined;
  for (const attempt of attempts)
    try {
      const made = attempt();
      if (best === undefined || made.extra.seconds < best.extra.seconds) best = made;
      if (made.extra.seconds === 0) return made;
    } catch (error) {
      if (error instanceof PlanningTooLong && best !== undefined) return best;
      if (!(error instanceof BudgetError)) throw error;
      if (refusal === undefined || error.leastBytes < refusal.leastBytes) refusal = error;
    }
  if (best !== undefined) return best;
  throw refusal ?? internal("plan: no program to plan");
}

/**
 * `planProgram` for programs from outside, which are checked first; with `fuse`, chains become one
 * op.
 */
export function plan(program: Program, options: PlanOptions = {}, inputs: PlanInputs = {}): Plan {
  validate(program, resolveOptions("plan", options).maxStorageBytes);
  return options.fuse === true
    ? planFused(fuse(program).program, program, options, inputs)
    : planProgram(program, options, inputs);
}

/**
 * memonger's search with the planner's own peak as cost: the plan of the threshold, in bytes, that
 * needs least memory.
 */
export function searchPlan(
  program: Program,
  options: { readonly trials?: number } = {},
  { atEntry, afterPass }: PlanInputs = {},
): Plan {
  validate(program, Infinity);
  const state = initialState(program, resolveOptions("searchPlan", {}), atEntry, { search });
  return planOf(runPasses(searchPasses(options.trials ?? 6), state, afterPass));
}

const planOf = (parts: PlanParts): Plan => new Plan(parts, comparePlacements);

/** Whether a budget is as large as what every schedule needs. */
function mayFit(program: Program, { budgetBytes = Infinity }: PlanOptions): boolean {
  return budgetBytes === Infinity || leastPossible(program) <= budgetBytes;
}

/**
 * A plan that drops values or sends them away, checked: wrong numbers would be worse than no plan,
 * and the check takes less time than the planning.
 */
function checked(plan: Plan): Plan {
  if (plan.extra.recomputedOps > 0 || plan.extra.swapIns > 0) plan.verify();
  return plan;
}

/** The figures of a plan that ran. */
export function figuresOf(plan: RunnablePlan): PlanReport {
  return reportOf(plan, comparePlacements);
}

/** Plans under a budget, with everything there is to save memory: how schedulers plan. */
export const budgetPlanner: Planner = {
  plan: (...args) => checked(planFused(...args)),
  planInHaste: (...args) => checked(planInHaste(...args)),
  mayFit,
};

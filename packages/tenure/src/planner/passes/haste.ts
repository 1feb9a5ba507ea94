/**
 * The passes for programs whose planning took too long: one schedule, and when that does not fit
 * into the budget a few more, each made in one walk. They ask no deadline. Called by `planInHaste`.
 * Pure.
 */
import { BudgetError } from "../budget-error.ts";
import { type Candidate, candidateOf, leastBy, without } from "../candidate.ts";
import { neededOps } from "../dependencies.ts";
import type { PlanState } from "../plan-state.ts";
import { mirrorPlan, searchThresholds } from "../recompute/memonger.ts";
import { mirrored } from "../recompute/mirrors.ts";
import { droppable, rematerialise } from "../recompute/rematerialise.ts";
import { runsOf } from "../schedule.ts";
import { levelsFor } from "../swap/levels.ts";
import { insertSwaps } from "../swap/offload.ts";
import { orderOps } from "./order.ts";

/** Thresholds of memonger's grid, and levels of memory for swaps, that are tried. */
const trials = 4;

/** The pass: every op once in the order issued, chosen at once when it fits. */
export function tryInOrder(state: PlanState): PlanState {
  const { context, policy, placements } = state;
  const order = neededOps(context.program);
  const base = baseOf(state, order, "in order");
  const fits = base.peak <= policy.budgetBytes && placements.bytes(base) <= policy.budgetBytes;
  return { ...state, order, candidates: [base], chosen: fits ? base : null };
}

/** The pass: where that does not fit, the usual order, memonger's plans, and swaps on both. */
export function tryFew(state: PlanState): PlanState {
  if (state.chosen !== null) return state;
  const { context, policy } = state;
  const order = orderOps(context);
  const found: [Candidate, ...Candidate[]] = [baseOf(state, order, "in core")];
  if (policy.recompute === "auto") {
    const all = new Set(droppable(context, order));
    for (const t of searchThresholds((t) => mirrorPlan(context, order, all, t), trials)) {
      const { kept } = mirrorPlan(context, order, all, t);
      const actions = rematerialise(context, order, without(all, kept));
      found.push(candidateOf(context, policy.rates, "recompute in haste", actions));
    }
  }
  const [inCore] = found;
  const least = leastBy(found, (c) => c.peak);
  if (policy.swap === "auto")
    for (const base of new Set([inCore, least])) found.push(...swapped(state, base));
  return { ...state, order, candidates: found };
}

function baseOf({ context, policy }: PlanState, order: readonly number[], how: string): Candidate {
  return typeof policy.recompute === "object"
    ? mirrored(context, order, policy.recompute.thresholdBytes, policy.rates)
    : candidateOf(context, policy.rates, how, runsOf(order));
}

/** A schedule with swaps at the budget, and at some levels that do not depend on it. */
function swapped({ context, policy }: PlanState, base: Candidate): Candidate[] {
  const { rates, saveHostMemory, budgetBytes } = policy;
  const found: Candidate[] = [];
  for (const level of new Set([budgetBytes, ...levelsFor(context, base, trials)]))
    try {
      const options = { budgetBytes: level, prefetchBytes: 0, saveHostMemory };
      const actions = insertSwaps(context, base.actions, options);
      found.push(candidateOf(context, rates, "swap in haste", actions));
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error; // some op needs more than this level
    }
  return found;
}

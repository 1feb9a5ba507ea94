/**
 * memonger's search with the planner's own peak as cost, in place of the passes that know a budget.
 * Called by `searchPlan`. Pure.
 */
import { internal } from "../../base/errors.ts";
import { leastBy } from "../candidate.ts";
import { searchMirrors } from "../recompute/mirrors.ts";
import type { PlanState } from "../plan-state.ts";

/** A pass that tries thresholds; as many as `trials` says in its last round. */
export function tryThresholds(trials: number): (state: PlanState) => PlanState {
  return (state) => ({
    ...state,
    candidates: searchMirrors(state.context, state.order, trials, state.policy.rates),
  });
}

/** The pass: chooses the candidate that takes least memory. */
export function chooseLeast(state: PlanState): PlanState {
  const [first, ...others] = state.candidates;
  if (first === undefined) throw internal("searchPlan: no threshold was tried");
  return { ...state, chosen: leastBy([first, ...others], (c) => state.placements.bytes(c)) };
}

/**
 * The pass that runs every op once and keeps everything: the schedule that all others are measured
 * against. Pure.
 */
import { type Candidate, candidateOf } from "../candidate.ts";
import { runsOf } from "../schedule.ts";
import type { PlanState } from "../plan-state.ts";

/** The pass: the first candidate, chosen at once when nothing asks for another. */
export function runInCore(state: PlanState): PlanState {
  const { policy, context, order } = state;
  return beginWith(state, candidateOf(context, policy.rates, "in core", runsOf(order)));
}

/** A state whose first candidate is `base`, chosen at once when nothing asks for another. */
export function beginWith(state: PlanState, base: Candidate): PlanState {
  return { ...state, candidates: [base], chosen: suffices(state, base) ? base : null };
}

function suffices({ policy, placements }: PlanState, base: Candidate): boolean {
  if (policy.budgetBytes === Infinity) return policy.recompute !== "auto";
  const { budgetBytes } = policy;
  return (
    base.extra.seconds === 0 && base.peak <= budgetBytes && placements.bytes(base) <= budgetBytes
  );
}

/**
 * The pass that decides which buffers are shared and, where no fixed set of buffers fits into the
 * budget, which come and go. Pure; the planners are in place/.
 */
import { placeSpans } from "../place/spans.ts";
import { transient } from "../place/under-budget.ts";
import { type PlanState, chosenOf } from "../plan-state.ts";
import { placeChosen } from "./place.ts";

/** The pass: sets the placement of the chosen schedule, and adds what transient buffers cost. */
export function placeUnderBudget(state: PlanState): PlanState {
  const { placements, policy, context } = state;
  const chosen = chosenOf(state);
  const { items, placed } = placements.of(chosen);
  const cost = placed.bytes > policy.budgetBytes ? transient(placements, chosen) : null;
  if (cost === null) return placeChosen(state);
  const { extra, actions } = chosen;
  return {
    ...state,
    chosen: { ...chosen, extra: { ...extra, seconds: extra.seconds + cost.seconds } },
    placement: {
      items,
      placed: placeSpans(items, actions.length, policy.budgetBytes, context.deadline),
    },
  };
}

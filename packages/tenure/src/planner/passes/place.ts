/**
 * The pass that decides which buffers are shared and, where no fixed set of buffers fits into the
 * budget, which come and go. Pure; the planners are in place/.
 */
import { placeSpans } from "../place/spans.ts";
import { type PlanState, chosenOf } from "../plan-state.ts";

/** The pass: sets the placement of the chosen schedule, and adds what transient buffers cost. */
export function placeChosen(state: PlanState): PlanState {
  const { placements, policy } = state;
  const chosen = chosenOf(state);
  const { items, placed } = placements.of(chosen);
  const transient = placed.bytes > policy.budgetBytes ? placements.transient(chosen) : null;
  if (transient === null) return { ...state, placement: { items, placed } };
  const { extra, actions } = chosen;
  return {
    ...state,
    chosen: { ...chosen, extra: { ...extra, seconds: extra.seconds + transient.seconds } },
    placement: {
      items,
      placed: placeSpans(items, actions.length, policy.budgetBytes, state.context.deadline),
    },
  };
}

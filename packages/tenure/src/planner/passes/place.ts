/**
 * The pass that decides which buffers are shared, all of them there from the first step to the
 * last. Pure; the planners are in place/.
 */
import { type PlanState, chosenOf } from "../plan-state.ts";

/** The pass: sets the placement of the chosen schedule. */
export function placeChosen(state: PlanState): PlanState {
  return { ...state, placement: state.placements.of(chosenOf(state)) };
}

/**
 * What schedules take where it has to fit into a budget: with an exact search, and with buffers
 * that come and go. Called by the passes that weigh schedules under a budget. Pure.
 */
import type { Candidate } from "../candidate.ts";
import type { Placements } from "./placements.ts";
import { fewItems, searchSlots } from "./search.ts";
import { openingSeconds, placeSpans } from "./spans.ts";

/** Bytes a schedule takes when an exact search is tried too, however far from the budget. */
export function leastBytes(placements: Placements, candidate: Candidate): number {
  const { items, placed } = placements.of(candidate);
  const search = placements.kind === "slots" && items.length <= fewItems;
  return search ? searchSlots(items, placed).bytes : placed.bytes;
}

/**
 * Bytes a schedule takes with transient buffers, and the seconds that costs; neither depends on the
 * budget. Null where buffers may not come and go.
 */
export function transient(
  placements: Placements,
  candidate: Candidate,
): { readonly bytes: number; readonly seconds: number } | null {
  const { actions, peak } = candidate;
  const { kind, context } = placements;
  if (kind === "none" || actions.length === 0) return null;
  const { items } = placements.of(candidate);
  return {
    bytes: placeSpans(items, actions.length, peak, context.deadline).bytes,
    seconds: items.reduce((sum, i) => (i.entry ? sum : sum + openingSeconds), 0),
  };
}

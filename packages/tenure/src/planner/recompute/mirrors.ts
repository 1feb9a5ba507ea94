/**
 * memonger's plans as candidates: the values that its walk does not keep are recomputed. Called by
 * the passes for a given threshold, and by the search over thresholds. Pure.
 */
import { type Candidate, candidateOf, without } from "../candidate.ts";
import type { Rates } from "../cost.ts";
import type { Context } from "../schedule.ts";
import { mirrorPlan, searchThresholds } from "./memonger.ts";
import { droppable, rematerialise } from "./rematerialise.ts";

/** memonger's plan at one threshold. */
export function mirrored(
  context: Context,
  order: readonly number[],
  thresholdBytes: number,
  rates: Rates,
): Candidate {
  const all = new Set(droppable(context, order));
  const mirror = mirrorPlan(context, order, all, thresholdBytes);
  const actions = rematerialise(context, order, without(all, mirror.kept));
  return candidateOf(
    context,
    rates,
    `memonger, threshold ${thresholdBytes} bytes`,
    actions,
    mirror,
  );
}

/** memonger's search: the thresholds it tries, each as a candidate. */
export function searchMirrors(
  context: Context,
  order: readonly number[],
  trials: number,
  rates: Rates,
): Candidate[] {
  const all = new Set(droppable(context, order));
  const thresholds = searchThresholds((t) => mirrorPlan(context, order, all, t), trials);
  return thresholds.map((t) => mirrored(context, order, t, rates));
}

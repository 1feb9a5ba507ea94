/**
 * The pass for a threshold given by the user, which makes the first schedule memonger's plan. Pure.
 */
import type { PlanState } from "../plan-state.ts";
import { mirrored } from "../recompute/mirrors.ts";
import { beginWith } from "./in-core.ts";

/** The pass: replaces the first candidate where `recompute` is a threshold. */
export function applyThreshold(state: PlanState): PlanState {
  const { policy, context, order } = state;
  if (typeof policy.recompute !== "object") return state;
  const { thresholdBytes } = policy.recompute;
  return beginWith(state, mirrored(context, order, thresholdBytes, policy.rates));
}

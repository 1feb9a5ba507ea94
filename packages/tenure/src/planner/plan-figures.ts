/**
 * What a plan amounts to, in numbers: worked out when somebody asks, from its steps and from what
 * was placed. Called by plans, schedulers and whoever looks inside. Pure.
 */
import { layerOrder } from "./layer-order.ts";
import type { Item } from "./place/items.ts";
import type { PlanReport } from "./plan-report.ts";
import type { RunnablePlan } from "./runnable-plan.ts";
import type { Step } from "./steps.ts";
import { wavesOf } from "./waves.ts";

/** Bytes that other placements of some items would take, by name. */
export type ComparePlacements = (items: readonly Item[]) => Record<string, number>;

/** A plan's figures, some of which are computed on each call. */
export function reportOf(plan: RunnablePlan, compare: ComparePlacements): PlanReport {
  const { plannedBytes, lowerBoundBytes, program, steps, extra, how } = plan;
  const { naiveBytes, mirror, items } = plan.parts;
  const count = (kind: Step["kind"]): number =>
    steps.reduce((n, s) => (s.kind === kind ? n + 1 : n), 0);
  const ops = count("dispatch");
  return {
    ops,
    dispatches: ops + count("recompute"),
    waves: wavesOf(steps),
    naiveBytes,
    plannedBytes,
    lowerBoundBytes,
    predictedPeakBytes: plannedBytes,
    efficiency: plannedBytes === 0 ? 1 : lowerBoundBytes / plannedBytes,
    recomputedOps: extra.recomputedOps,
    recomputeFlops: extra.recomputeFlops,
    flops: plan.flops,
    swapInBytes: extra.swapInBytes,
    swapOutBytes: extra.swapOutBytes,
    swapIns: extra.swapIns,
    swapOuts: extra.swapOuts,
    stalls: count("wait"),
    layers: layerOrder(program),
    how,
    placements: compare(items),
    mirror,
  };
}

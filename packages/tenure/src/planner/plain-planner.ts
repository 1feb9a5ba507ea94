/**
 * How programs outside schedulers are planned: every op once, everything kept, buffers shared.
 * There is no budget, so nothing is recomputed or swapped. Called by the runtime; pure.
 */
import { neededOps } from "./dependencies.ts";
import { runInCore } from "./passes/in-core.ts";
import { putInOrder } from "./passes/order.ts";
import { runSideBySide } from "./passes/overlap.ts";
import { placeChosen } from "./passes/place.ts";
import { resolveOptions } from "./plan-options.ts";
import { type Pass, type PlanState, initialState } from "./plan-state.ts";
import type { Planner } from "./planner.ts";
import { emitting, runPasses } from "./run-passes.ts";
import { RunnablePlan } from "./runnable-plan.ts";

/** What a program goes through. */
const passes: readonly Pass[] = [
  { name: "order", run: putInOrder },
  { name: "in core", run: runInCore },
  { name: "overlap", run: runSideBySide },
  { name: "place", run: placeChosen },
  emitting,
];

/** The same when there was no time for that. */
const hastyPasses: readonly Pass[] = [
  { name: "issued", run: keepOrder },
  { name: "in core", run: runInCore },
  { name: "place", run: placeChosen },
  emitting,
];

/** The pass: the ops that somebody needs, in the order they were issued. */
function keepOrder(state: PlanState): PlanState {
  return { ...state, order: neededOps(state.context.program) };
}

/** Plans without a budget. */
export const plainPlanner: Planner = {
  mayFit: () => true,
  plan(fused, _, options, { atEntry, afterPass, deadline }) {
    const policy = resolveOptions("plan", options);
    const initial = initialState(fused, policy, atEntry, { deadline });
    return new RunnablePlan(runPasses(passes, initial, afterPass));
  },
  planInHaste([program], options, { atEntry, afterPass }) {
    const policy = resolveOptions("plan", options);
    const initial = initialState(program, policy, atEntry, { quick: true });
    return new RunnablePlan(runPasses(hastyPasses, initial, afterPass));
  },
};

/**
 * Runs a list of passes over a program and hands on what the last of them left. Called by
 * the planners; pure.
 */
import { internal } from "../base/errors.ts";
import { bytesOf } from "../graph/program.ts";
import type { Deadline } from "./deadline.ts";
import { emitSteps } from "./passes/emit.ts";
import { type Pass, type PlanState, chosenOf, placementOf } from "./plan-state.ts";
import type { MirrorPlan } from "./recompute/memonger.ts";
import type { PlanParts } from "./runnable-plan.ts";
import { livePeak, runsOf, segmentsOf } from "./schedule.ts";

/** The last pass of every list. */
export const emitting: Pass = { name: "emit", run: emitSteps };

/** How a plan is asked for by those who have more than a program. */
export interface PlanInputs {
  /**
   * Storages that arrive with a buffer of their own; the default is all that are resident at entry.
   * Uploads are resident but bring no buffer.
   */
  readonly atEntry?: (storage: number) => boolean;
  /** Looks at the state after each pass: to print it, or to check it. */
  readonly afterPass?: (pass: string, state: PlanState) => void;
  /** When planning should be done. */
  readonly deadline?: Deadline;
}

/** One pass after the other. @returns the plan that the last state describes, in its parts */
export function runPasses(
  list: readonly Pass[],
  initial: PlanState,
  afterPass: PlanInputs["afterPass"],
): PlanParts {
  let state = initial;
  for (const pass of list) {
    state = pass.run(state);
    afterPass?.(pass.name, state);
  }
  return partsOf(state);
}

function partsOf(state: PlanState): PlanParts {
  const { context, order, placements, policy, emitted } = state;
  const { program, resident } = context;
  if (emitted === null) throw internal("plan: the passes wrote no steps");
  const { actions, extra, how, mirror } = chosenOf(state);
  const { items } = placementOf(state);
  const used = segmentsOf(context, runsOf(order)).filter(
    (s) => s.begin < s.end || placements.brings(s.storage),
  );
  return {
    program,
    ...emitted,
    resident,
    budgetBytes: policy.budgetBytes,
    extra,
    how,
    lowerBoundBytes: livePeak(context, actions),
    naiveBytes: bytesOf(program, new Set(used.map((s) => s.storage))),
    mirror: mirror === undefined ? null : mirrorInfo(mirror),
    items,
  };
}

function mirrorInfo(mirror: MirrorPlan): PlanParts["mirror"] {
  const { thresholdBytes, savedBytes, largestSegmentBytes } = mirror;
  return { thresholdBytes, savedBytes, largestSegmentBytes };
}

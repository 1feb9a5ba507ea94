/**
 * Runs a list of passes over a program and makes a plan of what the last of them left. Called by
 * the planners; pure.
 */
import { internal } from "../base/errors.ts";
import { bytesOf } from "../graph/program.ts";
import type { Deadline } from "./deadline.ts";
import { emitSteps } from "./passes/emit.ts";
import { arenaPlanners } from "./place/arena.ts";
import type { Item } from "./place/items.ts";
import { sharingPlanners } from "./place/slot-planners.ts";
import { Plan } from "./plan.ts";
import type { PlanReport } from "./plan-report.ts";
import { type Pass, type PlanState, chosenOf, placementOf } from "./plan-state.ts";
import type { MirrorPlan } from "./recompute/memonger.ts";
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

/** One pass after the other. @returns the plan that the last state describes */
export function runPasses(
  list: readonly Pass[],
  initial: PlanState,
  afterPass: PlanInputs["afterPass"],
): Plan {
  let state = initial;
  for (const pass of list) {
    state = pass.run(state);
    afterPass?.(pass.name, state);
  }
  return planOf(state);
}

/** The plan that the last state describes. */
function planOf(state: PlanState): Plan {
  const { context, order, placements, policy, emitted } = state;
  const { program, resident } = context;
  if (emitted === null) throw internal("plan: the passes wrote no steps");
  const { actions, extra, how, mirror } = chosenOf(state);
  const { items } = placementOf(state);
  const used = segmentsOf(context, runsOf(order)).filter(
    (s) => s.begin < s.end || placements.brings(s.storage),
  );
  return new Plan({
    program,
    ...emitted,
    resident,
    budgetBytes: policy.budgetBytes,
    extra,
    how,
    lowerBoundBytes: livePeak(context, actions),
    naiveBytes: bytesOf(program, new Set(used.map((s) => s.storage))),
    mirror: mirror === undefined ? null : mirrorInfo(mirror),
    placements: () => otherPlacements(items),
  });
}

function mirrorInfo(mirror: MirrorPlan): PlanReport["mirror"] {
  const { thresholdBytes, savedBytes, largestSegmentBytes } = mirror;
  return { thresholdBytes, savedBytes, largestSegmentBytes };
}

/** Items up to which the planners of arenas are tried for reports. */
const manyItems = 2000;

/** Bytes that each planner would take, by its name. */
function otherPlacements(items: readonly Item[]): Record<string, number> {
  const arenas = items.length <= manyItems ? Object.values(arenaPlanners) : [];
  const placed = [...arenas, ...sharingPlanners].map((planner) => planner(items));
  return Object.fromEntries(placed.map((p) => [p.name, p.bytes]));
}

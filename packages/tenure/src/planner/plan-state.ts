/**
 * What the passes hand to each other: the program with everything that was found out and decided
 * about it so far. Begun by pipeline.ts; every pass returns a new state and changes none. Owns
 * nothing but the memory of placements that were tried.
 */
import { internal } from "../base/errors.ts";
import { type Program, residentAtEntry } from "../graph/program.ts";
import type { Candidate } from "./candidate.ts";
import type { Deadline } from "./deadline.ts";
import { extensions } from "./place/lifespan.ts";
import { type Placement, Placements } from "./place/placements.ts";
import type { Search } from "./place/slot-planners.ts";
import type { Policy } from "./plan-options.ts";
import type { Context } from "./schedule.ts";
import type { Emitted } from "./steps.ts";
import { OpRuns } from "./op-runs.ts";
import { Touches } from "./touches.ts";

/** Everything that is known of a program while it is planned. */
export interface PlanState {
  readonly policy: Policy;
  readonly context: Context;
  /** Remembers the placements of schedules. */
  readonly placements: Placements;
  /** The ops that run, in order; empty before the first pass. */
  readonly order: readonly number[];
  /** Schedules under consideration. */
  readonly candidates: readonly Candidate[];
  /** The schedule that will run; null while that is open. */
  readonly chosen: Candidate | null;
  /** Where its values will be; null before it is placed. */
  readonly placement: Placement | null;
  /** What to do, step by step; null before the last pass. */
  readonly emitted: Emitted | null;
}

/** One pass: a pure function from state to state, and its name. */
export interface Pass {
  readonly name: string;
  readonly run: (state: PlanState) => PlanState;
}

/** The state before the first pass. @throws ArgumentError for lifespans that cannot be */
export function initialState(
  program: Program,
  policy: Policy,
  atEntry?: (storage: number) => boolean,
  {
    deadline,
    ...how
  }: {
    readonly deadline?: Deadline | undefined;
    readonly quick?: boolean;
    readonly search?: Search;
  } = {},
): PlanState {
  const resident = residentAtEntry(program);
  const touches = new Touches(program);
  const runs = new OpRuns(program.ops.length);
  const extended = extensions(program);
  const context: Context = { program, resident, extended, touches, runs, deadline };
  const brings = atEntry ?? ((s: number) => resident[s] === true);
  return {
    policy,
    context,
    placements: new Placements(context, policy, brings, how),
    order: [],
    candidates: [],
    chosen: null,
    placement: null,
    emitted: null,
  };
}

/** The chosen schedule. @throws Error (internal) before there is one */
export function chosenOf({ chosen }: PlanState): Candidate {
  if (chosen === null) throw internal("plan: no schedule was chosen");
  return chosen;
}

/** The placement of the chosen schedule. @throws Error (internal) before there is one */
export function placementOf({ placement }: PlanState): Placement {
  if (placement === null) throw internal("plan: the schedule was not placed");
  return placement;
}

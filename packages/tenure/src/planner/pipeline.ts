/**
 * The passes in order: reads as a table of contents. Called by the runtime on a plan-cache miss,
 * and by anyone with a program read from JSON; pure, needs no GPU.
 */
import { internal } from "../base/errors.ts";
import { bytesOf, type Program } from "../graph/program.ts";
import { BudgetError } from "./budget-error.ts";
import { candidateOf } from "./candidate.ts";
import type { Deadline } from "./deadline.ts";
import { neededOps } from "./dependencies.ts";
import { chooseCheapest } from "./passes/choose.ts";
import { emitSteps } from "./passes/emit.ts";
import { fuse } from "./passes/fuse.ts";
import { runInCore } from "./passes/in-core.ts";
import { putInOrder } from "./passes/order.ts";
import { runSideBySide } from "./passes/overlap.ts";
import { placeChosen } from "./passes/place.ts";
import { tryRecompute } from "./passes/recompute.ts";
import { chooseLeast, tryThresholds } from "./passes/search-mirrors.ts";
import { trySwap } from "./passes/swap.ts";
import { arenaPlanners } from "./place/arena.ts";
import { type Item, itemsOf } from "./place/items.ts";
import { sharingPlanners, slotPlanners } from "./place/slot-planners.ts";
import { Plan } from "./plan.ts";
import { type PlanOptions, resolveOptions } from "./plan-options.ts";
import type { MirrorPlan } from "./recompute/memonger.ts";
import type { PlanReport } from "./plan-report.ts";
import { livePeak, runsOf, segmentsOf } from "./schedule.ts";
import { type Pass, type PlanState, chosenOf, initialState, placementOf } from "./plan-state.ts";
import { validate } from "./validate.ts";

/** The last pass of every list. */
const emitting: Pass = { name: "emit", run: emitSteps };

/** What a program goes through. */
const passes: readonly Pass[] = [
  { name: "order", run: putInOrder }, // ops nobody needs go; updates follow their gradients
  { name: "in core", run: runInCore }, // every op once, everything kept: often that is all
  { name: "recompute", run: tryRecompute }, // values are dropped and made again
  { name: "swap", run: trySwap }, // values wait on the host
  { name: "choose", run: chooseCheapest }, // the cheapest schedule that fits into the budget
  { name: "overlap", run: runSideBySide }, // independent ops next to each other
  { name: "place", run: placeChosen }, // who shares a buffer, which buffers come and go
  emitting, // what to do, step by step
];

/** The same for memonger's search, whose cost is memory alone. */
const searchPasses = (trials: number): readonly Pass[] => [
  { name: "order", run: putInOrder },
  { name: "thresholds", run: tryThresholds(trials) },
  { name: "least", run: chooseLeast },
  { name: "overlap", run: runSideBySide },
  { name: "place", run: placeChosen },
  emitting,
];

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

/**
 * Plans a program. @throws BudgetError when no plan fits into the budget; ArgumentError for a
 * program or options that contradict themselves
 */
export function planProgram(
  program: Program,
  options: PlanOptions = {},
  { atEntry, afterPass, deadline }: PlanInputs = {},
): Plan {
  const policy = resolveOptions("plan", options);
  return planOf(run(passes, initialState(program, policy, atEntry, deadline), afterPass));
}

/**
 * The plan that takes least time to make: ops in the order they were issued, everything kept. Null
 * where that does not fit into the budget. For programs whose planning took too long.
 */
export function planInOrder(
  program: Program,
  options: PlanOptions,
  inputs: PlanInputs,
): Plan | null {
  const { atEntry, afterPass, deadline } = inputs;
  const policy = resolveOptions("plan", options);
  const state = initialState(program, policy, atEntry, deadline);
  const base = candidateOf(state.context, policy.rates, "in order", runsOf(neededOps(program)));
  const items = itemsOf(state.context, base.actions, state.placements.brings);
  const placed =
    policy.placement === "none" ? slotPlanners.own(items) : slotPlanners.inOrder(items);
  if (placed.bytes > policy.budgetBytes) return null;
  const order = base.actions.map((a) => a.op);
  const placement = { items, placed };
  return planOf(run([emitting], { ...state, order, chosen: base, placement }, afterPass));
}

/**
 * Plans a program whose ops were fused; under a budget that asks for more than that, also as it was
 * before, where single values can be dropped that kernels of several ops hold together. The cheaper
 * plan wins. Its `program` says which it is.
 */
export function planFused(
  fused: Program,
  unfused: Program,
  options: PlanOptions = {},
  inputs: PlanInputs = {},
): Plan {
  if (fused === unfused || options.budgetBytes === undefined || options.budgetBytes === Infinity)
    return planProgram(fused, options, inputs);
  inputs.deadline?.check();
  const first = attempt(fused, options, inputs);
  if (first instanceof Plan && first.extra.seconds === 0) return first;
  const second = attempt(unfused, options, inputs);
  if (first instanceof Plan)
    return second instanceof Plan && second.extra.seconds < first.extra.seconds ? second : first;
  if (second instanceof Plan) return second;
  throw second.leastBytes < first.leastBytes ? second : first;
}

function attempt(program: Program, options: PlanOptions, inputs: PlanInputs): Plan | BudgetError {
  try {
    return planProgram(program, options, inputs);
  } catch (error) {
    if (error instanceof BudgetError) return error;
    throw error;
  }
}

/**
 * `planProgram` for programs from outside, which are checked first; with `fuse`, chains become one
 * op.
 */
export function plan(program: Program, options: PlanOptions = {}, inputs: PlanInputs = {}): Plan {
  validate(program, resolveOptions("plan", options).maxStorageBytes);
  return options.fuse === true
    ? planFused(fuse(program).program, program, options, inputs)
    : planProgram(program, options, inputs);
}

/**
 * memonger's search with the planner's own peak as cost: the plan of the threshold, in bytes, that
 * needs least memory.
 */
export function searchPlan(
  program: Program,
  options: { readonly trials?: number } = {},
  { atEntry, afterPass }: PlanInputs = {},
): Plan {
  validate(program, Infinity);
  const state = initialState(program, resolveOptions("searchPlan", {}), atEntry);
  return planOf(run(searchPasses(options.trials ?? 6), state, afterPass));
}

/** One pass after the other. */
function run(
  list: readonly Pass[],
  initial: PlanState,
  afterPass: PlanInputs["afterPass"],
): PlanState {
  let state = initial;
  for (const pass of list) {
    state = pass.run(state);
    afterPass?.(pass.name, state);
  }
  return state;
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
  const placed = [...arenas, ...sharingPlanners(items)].map((planner) => planner(items));
  return Object.fromEntries(placed.map((p) => [p.name, p.bytes]));
}

/**
 * Plans for chains: the stages of a program, what they need in units of memory, and the best way to
 * reverse them for each amount of it. Called by family.ts. Pure.
 */
import { at } from "../../base/access.ts";
import { greatestCommonDivisor } from "../../base/bits.ts";
import { opAt, type Program, type ProgramOp } from "../../graph/program.ts";
import { opCost } from "../cost.ts";
import type { OpRuns } from "../op-runs.ts";
import { type Action, type Context, curveOf, highest, runsOf } from "../schedule.ts";
import { EvenRotor, evenLevels, isEven } from "./even-rotor.ts";
import { expandChain } from "./expand-chain.ts";
import { type ChainTable, Rotor } from "./rotor.ts";
import { type StageBytes, stageBytes, stageCosts } from "./stage-costs.ts";
import { type Stage, stagesOf } from "./stages.ts";

/** A plan for one amount of memory. */
export interface ChainPlan {
  /** Of running all stages, those that run again each time. */
  readonly cost: number;
  /** Most bytes live at one time, at most. */
  readonly peak: number;
  /** Expands the decisions; done for the plan that is used. */
  readonly actions: () => Action[];
}

/** The plans of a chain. */
export interface ChainPlans {
  /** From the least memory to the most, each cheaper than the one before. */
  readonly plans: readonly ChainPlan[];
  /**
   * The op that each stage consists of, when all are alike and no size was rounded: then peaks are
   * exact and nothing can do with less. Null for other chains.
   */
  readonly unit: ProgramOp | null;
}

/** Stages that are told apart where they differ, and where they are alike. */
const maxStages = 72;
const maxEvenStages = 4000;
/** Cells of the table times choices that may be looked at. */
const maxWork = 4e7;
/** Steps of memory that are told apart, unless all sizes are multiples of fewer. */
const maxLevels = 800;

/** Plans of a chain; null when the program is none. */
export function chainPlans(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): ChainPlans | null {
  const most = highest(curveOf(context, runsOf(order))).bytes;
  const every = stagesOf(context, order, candidates, maxEvenStages);
  if (every === null) return null;
  const costs = stageCosts(context.program, every);
  const bytes = stageBytes(context, order, candidates, every);
  if (isEven(every, bytes, costs)) {
    const divisor = divisorOf(bytes);
    const unit = unitOf(divisor, most, evenLevels(every.length));
    const table = new EvenRotor(every, inUnits(bytes, unit), costs, levelsOf(most, unit));
    table.fill(context.deadline);
    return {
      plans: plansOf(table, every, levelsOf(most, unit), unit, context.runs),
      unit: unit === divisor ? onlyOp(context.program, every) : null,
    };
  }
  const stages =
    every.length > maxStages + 1 ? stagesOf(context, order, candidates, maxStages) : every;
  if (stages === null) return null;
  return { plans: plansBetween(context, order, candidates, stages, most), unit: null };
}

/** Plans for stages of any kind. */
function plansBetween(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  stages: readonly Stage[],
  most: number,
): ChainPlan[] {
  const bytes = stageBytes(context, order, candidates, stages);
  const few = Math.max(24, Math.floor(maxWork / (stages.length ** 3 + 1)));
  const unit = unitOf(divisorOf(bytes), most, Math.min(maxLevels, few));
  const levels = levelsOf(most, unit);
  const costs = stageCosts(context.program, stages);
  const rotor = new Rotor(stages, inUnits(bytes, unit), costs, levels);
  rotor.fill(context.deadline);
  return plansOf(rotor, stages, levels, unit, context.runs);
}

/** What every stage consists of, if it is one op that costs the same everywhere. */
function onlyOp(program: Program, stages: readonly Stage[]): ProgramOp | null {
  const [first] = at(stages, 0).ops;
  if (first === undefined) return null;
  const op = opAt(program, first);
  const isLike = (i: number): boolean => opCost(opAt(program, i)) === opCost(op);
  const isAlone = ({ ops }: Stage): boolean => ops.length <= 1 && ops.every(isLike);
  return stages.every(isAlone) ? op : null;
}

/** One plan for each cost. */
function plansOf(
  table: ChainTable,
  stages: readonly Stage[],
  levels: number,
  unit: number,
  runs: OpRuns,
): ChainPlan[] {
  const plans: ChainPlan[] = [];
  let last = Infinity;
  for (let m = 0; m <= levels; m++) {
    const cost = table.cost(0, 0, stages.length, m);
    if (cost >= last) continue;
    last = cost;
    plans.push({ cost, peak: m * unit, actions: () => expandChain(table, stages, m, runs) });
  }
  return plans;
}

function levelsOf(most: number, unit: number): number {
  return Math.ceil(most / unit) + 1;
}

/** What all sizes are multiples of. */
function divisorOf(bytes: StageBytes): number {
  const { boundary, inside, group, pending, toBoundary, toAll, toNeeded } = bytes;
  return [boundary, inside, group, pending, toBoundary, toAll, toNeeded]
    .flat()
    .filter((b) => b > 0)
    .reduce(greatestCommonDivisor, 0);
}

/** Bytes that count as one: exact when sizes have a large common divisor. */
function unitOf(divisor: number, most: number, levels: number): number {
  return most / divisor <= levels ? divisor : Math.ceil(most / levels);
}

function inUnits(bytes: StageBytes, unit: number): StageBytes {
  const round = (list: readonly number[]): number[] => list.map((b) => Math.ceil(b / unit));
  return {
    boundary: round(bytes.boundary),
    inside: round(bytes.inside),
    group: round(bytes.group),
    pending: round(bytes.pending),
    toBoundary: round(bytes.toBoundary),
    toAll: round(bytes.toAll),
    toNeeded: round(bytes.toNeeded),
  };
}

/**
 * Plans for chains: the stages of a program, what they need in units of memory, and the best way to
 * reverse them for each amount of it. Called by family.ts. Pure.
 */
import { greatestCommonDivisor } from "../../base/bits.ts";
import { type Action, type Context, curveOf, highest, runsOf } from "../schedule.ts";
import { expandChain } from "./expand-chain.ts";
import { type StageBytes, stageBytes, stageCosts } from "./stage-costs.ts";
import { Rotor } from "./rotor.ts";
import { stagesOf } from "./stages.ts";

/** A plan for one amount of memory. */
export interface ChainPlan {
  readonly cost: number;
  /** Expands the decisions; done for the plan that is used. */
  readonly actions: () => Action[];
}

/** Cells of the table times choices that may be looked at. */
const maxWork = 4e7;
/** Steps of memory that are told apart, unless all sizes are multiples of fewer. */
const maxLevels = 800;

/**
 * Plans from the least memory to the most, each cheaper than the one before; null when the program
 * is no chain.
 */
export function chainPlans(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): ChainPlan[] | null {
  const stages = stagesOf(context, order, candidates);
  if (stages === null) return null;
  const bytes = stageBytes(context, order, candidates, stages);
  const most = highest(curveOf(context, runsOf(order))).bytes;
  const unit = unitOf(bytes, most, stages.length);
  const levels = Math.ceil(most / unit) + 1;
  const rotor = new Rotor(
    stages,
    inUnits(bytes, unit),
    stageCosts(context.program, stages),
    levels,
  );
  rotor.fill();
  const plans: ChainPlan[] = [];
  let last = Infinity;
  for (let m = 0; m <= levels; m++) {
    const cost = rotor.cost(0, 0, stages.length, m);
    if (cost >= last) continue;
    last = cost;
    plans.push({ cost, actions: () => expandChain(rotor, stages, m) });
  }
  return plans;
}

/** Bytes that count as one: exact when sizes have a large common divisor. */
function unitOf(bytes: StageBytes, most: number, stages: number): number {
  const { boundary, inside, group, pending, toBoundary, toAll, toNeeded } = bytes;
  const sizes = [boundary, inside, group, pending, toBoundary, toAll, toNeeded]
    .flat()
    .filter((b) => b > 0);
  const levels = Math.min(maxLevels, Math.max(24, Math.floor(maxWork / (stages ** 3 + 1))));
  const divisor = sizes.reduce(greatestCommonDivisor, 0);
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

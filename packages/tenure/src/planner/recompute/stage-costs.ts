/**
 * What the stages of a chain cost and need: seconds to run them again, and bytes while they and
 * their backward groups run. Called by chain-plans.ts. Pure.
 */
import { at, last, lookup } from "../../base/access.ts";
import { bytesOf, opAt, type Program, storageAt } from "../../graph/program.ts";
import { opCost } from "../cost.ts";
import { type Context, liveCurve, runsOf, segmentsOf } from "../schedule.ts";
import type { Stage } from "./stages.ts";

/** Bytes of each stage. */
export interface StageBytes {
  readonly boundary: readonly number[];
  /** What its backward group reads of its inside. */
  readonly inside: readonly number[];
  /** While its backward group runs: what is no candidate, and what the group reads of it. */
  readonly group: readonly number[];
  /** What is no candidate and waits across its backward group. */
  readonly pending: readonly number[];
  /** Of candidates, while it runs up to its boundary. */
  readonly toBoundary: readonly number[];
  readonly toAll: readonly number[];
  readonly toNeeded: readonly number[];
}

/** Costs of running the ops of each stage again. */
export interface StageCosts {
  readonly toBoundary: readonly number[];
  readonly toAll: readonly number[];
  readonly toNeeded: readonly number[];
}

/** What running the parts of each stage again costs. */
export function stageCosts(program: Program, stages: readonly Stage[]): StageCosts {
  const cost = (ops: readonly number[]): number =>
    ops.reduce((total, i) => total + opCost(opAt(program, i)), 0);
  return {
    toBoundary: stages.map((s) => cost(s.toBoundary)),
    toAll: stages.map((s) => cost(s.toAll)),
    toNeeded: stages.map((s) => cost(s.toNeeded)),
  };
}

/** What each stage and its backward group need. */
export function stageBytes(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  stages: readonly Stage[],
): StageBytes {
  const { program } = context;
  // Everything that is not a candidate is where it is whatever we decide.
  const others = segmentsOf(context, runsOf(order)).filter((s) => !candidates.has(s.storage));
  const curve = liveCurve(program, others, order.length);
  const position = new Map(order.map((op, t) => [op, t]));
  const positionOf = (op: number): number => lookup(position, op);
  const waiting = others.map((s) => ({ ...s, begin: Math.min(s.begin + 1, s.end) }));
  const across = liveCurve(program, waiting, order.length);
  const firstBackward = order.findIndex((i) => opAt(program, i).phase !== "forward");
  const ends = ({ boundary }: Stage): number[] => (boundary === -1 ? [] : [boundary]);
  const peak = (ops: readonly number[], kept: Iterable<number>): number =>
    transientPeak(program, ops, new Set(kept), candidates);
  return {
    boundary: stages.map((s) => bytesOf(program, ends(s))),
    inside: stages.map((s) => bytesOf(program, s.inside)),
    group: stages.map((s) => groupPeak(program, s, (op) => at(curve, positionOf(op)))),
    pending: stages.map(({ group }, k) => {
      const [first] = group;
      const later = stages[k + 1]?.group ?? [];
      if (first !== undefined) return at(across, positionOf(first));
      return at(across, later.length > 0 ? positionOf(last(later)) : firstBackward);
    }),
    toBoundary: stages.map((s) => peak(s.toBoundary, ends(s))),
    toAll: stages.map((s) => peak(s.toAll, [...ends(s), ...s.inside])),
    toNeeded: stages.map((s) =>
      peak(s.toNeeded, [...(s.readsBoundary ? ends(s) : []), ...s.inside]),
    ),
  };
}

/**
 * Most bytes while a group runs: what is no candidate, values inside the stage and its boundary up
 * to their last use.
 */
function groupPeak(program: Program, stage: Stage, others: (op: number) => number): number {
  const { group, inside, boundary, readsBoundary } = stage;
  const mine = new Set(readsBoundary ? [...inside, boundary] : inside);
  const lastRead = new Map<number, number>();
  for (const [k, i] of group.entries())
    for (const r of opAt(program, i).reads) if (mine.has(r)) lastRead.set(r, k);
  const live = group.map((i, k) =>
    [...lastRead].reduce(
      (sum, [r, end]) => (end >= k ? sum + storageAt(program, r).bytes : sum),
      others(i),
    ),
  );
  return Math.max(0, ...live);
}

/** Peak bytes of the candidates that `ops` make, when those in `kept` stay to the end. */
function transientPeak(
  program: Program,
  ops: readonly number[],
  kept: ReadonlySet<number>,
  candidates: ReadonlySet<number>,
): number {
  const lastRead = new Map<number, number>();
  for (const [k, i] of ops.entries()) for (const r of opAt(program, i).reads) lastRead.set(r, k);
  const live = new Set<number>();
  let bytes = 0;
  let most = 0;
  for (const [k, i] of ops.entries()) {
    const { reads, writes } = opAt(program, i);
    for (const w of writes) {
      if (!candidates.has(w) || live.has(w)) continue;
      live.add(w);
      bytes += storageAt(program, w).bytes;
    }
    most = Math.max(most, bytes);
    for (const s of [...reads, ...writes]) {
      if (kept.has(s) || (lastRead.get(s) ?? k) !== k || !live.delete(s)) continue;
      bytes -= storageAt(program, s).bytes;
    }
  }
  return most;
}

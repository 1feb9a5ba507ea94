/**
 * Chains: a forward pass with narrow places, each the only thing the rest needs, and a backward
 * pass that visits the stages between them in reverse. Called by chain-plans.ts. Pure.
 *
 *     stages      1     2     3     4
 *              0 --- 1 --- 2 --- 3 ---
 *
 * Group k of the backward ops reads boundary k-1, the values inside stage k, perhaps boundary k.
 */
import { at, last, lookup } from "../../base/access.ts";
import { opAt, type Program } from "../../graph/program.ts";
import { dependencies } from "../dependencies.ts";
import type { Context } from "../schedule.ts";

/** The forward ops up to one narrow place, and the backward ops that reverse them. */
export interface Stage {
  /** All forward ops, in order. */
  readonly ops: readonly number[];
  /** Ops needed to make the boundary. */
  readonly toBoundary: readonly number[];
  /** Ops needed to make everything the backward group reads, and the boundary. */
  readonly toAll: readonly number[];
  /** Ops needed to make everything the backward group reads. */
  readonly toNeeded: readonly number[];
  /** Backward ops. */
  readonly group: readonly number[];
  /** The storage at its end; -1 behind the last stage. */
  readonly boundary: number;
  /** Values of the stage, without its boundary, that the backward group reads. */
  readonly inside: ReadonlySet<number>;
  /** Whether the backward group reads the boundary. */
  readonly readsBoundary: boolean;
}

/** A narrow place: behind position `after`, the rest needs `storage` only. */
interface Cut {
  readonly after: number;
  readonly storage: number;
}

/**
 * The stages of a program; null when it is no chain.
 * @param most places between stages; of more, so many evenly spread
 */
export function stagesOf(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  most: number,
): Stage[] | null {
  const { program } = context;
  const isForward = (i: number): boolean => opAt(program, i).phase === "forward";
  const split = order.findIndex((i) => !isForward(i));
  const forward = order.slice(0, split);
  const backward = order.slice(split);
  if (split < 2 || backward.some(isForward)) return null;
  const all = cutsOf(context, forward, backward, candidates);
  if (all.length < 2) return null;
  const cuts = all.length > most ? evenly(all, most) : all;
  // The last range may be empty.
  const ends = [...cuts.map((c) => c.after + 1), forward.length];
  const ranges = ends.map((end, k) => forward.slice(ends[k - 1] ?? 0, end));
  const places = placesOf(program, ranges, cuts, candidates);
  const groups = groupsOf(program, order, backward, places, ranges.length);
  if (groups === null) return null;
  return ranges.map((ops, k): Stage => {
    const boundary = cuts[k]?.storage ?? -1;
    const { ops: group, inside, readsBoundary } = at(groups, k);
    const ends = boundary === -1 ? [] : [boundary];
    const read = readsBoundary ? ends : [];
    return {
      ops,
      boundary,
      group,
      inside,
      readsBoundary,
      toBoundary: ancestors(program, ops, ends, candidates),
      toAll: ancestors(program, ops, [...inside, ...ends], candidates),
      toNeeded: ancestors(program, ops, [...inside, ...read], candidates),
    };
  });
}

function evenly(cuts: readonly Cut[], most: number): Cut[] {
  return Array.from({ length: most }, (_, k) =>
    at(cuts, Math.round(((k + 1) * cuts.length) / (most + 1))),
  );
}

/**
 * Positions behind which the rest of the forward pass needs one value only; the last value may be
 * one that only the backward pass needs.
 */
function cutsOf(
  { program, resident }: Context,
  forward: readonly number[],
  backward: readonly number[],
  candidates: ReadonlySet<number>,
): Cut[] {
  const lastRead = new Map<number, number>();
  for (const [k, i] of forward.entries())
    for (const s of opAt(program, i).reads) lastRead.set(s, k);
  const live = new Set<number>();
  const cuts: Cut[] = [];
  for (const [k, i] of forward.entries()) {
    const { reads, writes } = opAt(program, i);
    for (const w of writes) if (resident[w] !== true && (lastRead.get(w) ?? -1) > k) live.add(w);
    for (const s of reads) if (lastRead.get(s) === k) live.delete(s);
    const [storage, another] = live;
    if (storage === undefined || another !== undefined || !candidates.has(storage)) continue;
    if (cuts.at(-1)?.storage !== storage) cuts.push({ after: k, storage });
  }
  const [end, other] = opAt(program, last(forward)).writes;
  const isRead = (s: number): boolean => backward.some((i) => opAt(program, i).reads.includes(s));
  if (end !== undefined && other === undefined && candidates.has(end) && isRead(end))
    cuts.push({ after: forward.length - 1, storage: end });
  return cuts;
}

/** Ops among `ops` needed to make `targets`, following only values that may be recomputed. */
function ancestors(
  program: Program,
  ops: readonly number[],
  targets: readonly number[],
  candidates: ReadonlySet<number>,
): number[] {
  const wanted = new Set(targets);
  const found: number[] = [];
  for (const i of [...ops].reverse()) {
    const { reads, writes } = opAt(program, i);
    if (!writes.some((w) => wanted.has(w))) continue;
    found.push(i);
    for (const r of reads) if (candidates.has(r)) wanted.add(r);
  }
  return found.reverse();
}

/** Where values belong, by numbers of stages that begin at 1. */
interface Places {
  /** For values inside a stage: that stage. */
  readonly stageOf: ReadonlyMap<number, number>;
  /** For boundaries: the stage they end. */
  readonly boundaryOf: ReadonlyMap<number, number>;
  /**
   * The lowest stage that a new value of a storage would change: it must run no more when the
   * storage is written.
   */
  readonly limit: ReadonlyMap<number, number>;
}

function placesOf(
  program: Program,
  ranges: readonly (readonly number[])[],
  cuts: readonly Cut[],
  candidates: ReadonlySet<number>,
): Places {
  const stageOf = new Map<number, number>();
  const boundaryOf = new Map<number, number>();
  const limit = new Map<number, number>();
  for (const [k, ops] of ranges.entries())
    for (const i of ops) {
      const { reads, writes } = opAt(program, i);
      const made = writes.filter((w) => candidates.has(w));
      for (const w of made) stageOf.set(w, k + 1);
      if (made.length > 0) for (const r of reads) if (!limit.has(r)) limit.set(r, k + 1);
    }
  for (const [k, { storage }] of cuts.entries()) {
    boundaryOf.set(storage, k + 1);
    stageOf.delete(storage);
  }
  return { stageOf, boundaryOf, limit };
}

/** The backward ops of one stage, and what they read of it. */
interface Group {
  readonly ops: number[];
  readonly inside: Set<number>;
  readsBoundary: boolean;
}

/**
 * Backward ops to groups, whose numbers must not rise again; updates wait until their stage is
 * done. Null when that cannot be.
 */
function groupsOf(
  program: Program,
  order: readonly number[],
  backward: readonly number[],
  { stageOf, boundaryOf, limit }: Places,
  count: number,
): Group[] | null {
  const groups = Array.from({ length: count }, (): Group => ({
    ops: [],
    inside: new Set(),
    readsBoundary: false,
  }));
  const after = dependencies(program, order);
  const groupOf = new Map<number, number>();
  let current = count;
  for (const i of backward) {
    const { reads, writes } = opAt(program, i);
    let low = 1;
    let high = current;
    for (const r of reads) {
      const stage = stageOf.get(r);
      if (stage !== undefined) {
        low = Math.max(low, stage);
        high = Math.min(high, stage);
      }
      const boundary = boundaryOf.get(r);
      if (boundary !== undefined) {
        low = Math.max(low, boundary);
        high = Math.min(high, boundary + 1);
      }
    }
    for (const w of writes) high = Math.min(high, limit.get(w) ?? count);
    for (const before of lookup(after, i)) high = Math.min(high, groupOf.get(before) ?? count);
    if (high < low) return null;
    if (reads.some((r) => stageOf.has(r) || boundaryOf.has(r))) current = high;
    groupOf.set(i, high);
    const group = at(groups, high - 1);
    group.ops.push(i);
    for (const r of reads) {
      if (stageOf.has(r)) group.inside.add(r);
      if (boundaryOf.get(r) === high) group.readsBoundary = true;
    }
  }
  return groups;
}

/**
 * memonger's mirror plan (Chen et al. 2016, arXiv 1604.06174): walk the forward pass, keep one
 * value whenever the bytes since the last kept one exceed a threshold, recompute the others. Stages
 * may be named by ops: the values of a named stage are kept or recomputed together. Pure.
 */
import { at } from "../../base/access.ts";
import { bytesOf, opAt } from "../../graph/program.ts";
import type { Context } from "../schedule.ts";

/** What one threshold keeps, and how large the segments between are. */
export interface MirrorPlan {
  readonly thresholdBytes: number;
  readonly kept: ReadonlySet<number>;
  /** Bytes kept for the backward pass. */
  readonly savedBytes: number;
  /** Bytes of the largest segment between kept values, the last one included. */
  readonly largestSegmentBytes: number;
  readonly smallestSegmentBytes: number;
}

/**
 * @param candidates storages that may be dropped
 * @param cuts where a segment may end: any candidate, or only those in this set
 */
export function mirrorPlan(
  { program }: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  thresholdBytes: number,
  cuts?: ReadonlySet<number>,
): MirrorPlan {
  const kept = new Set<number>();
  let savedBytes = 0;
  let local = 0; // bytes since the last value that was kept
  let largest = 0;
  let smallest = Infinity;
  let lastStage: string | undefined;
  let recomputing = true;
  for (const i of order) {
    const op = opAt(program, i);
    if (op.phase !== "forward") continue;
    const made = op.writes.filter((w) => candidates.has(w));
    if (made.length === 0) continue;
    const bytes = bytesOf(program, made);
    const keep = (): void => {
      for (const w of made) kept.add(w);
      savedBytes += bytes;
    };
    local += bytes;
    if (op.stage !== undefined && op.stage === lastStage) {
      if (!recomputing) keep();
      continue;
    }
    if (cuts !== undefined && op.stage === undefined && !made.some((w) => cuts.has(w))) continue;
    recomputing = local <= thresholdBytes;
    if (!recomputing) {
      keep();
      largest = Math.max(largest, local);
      smallest = Math.min(smallest, local);
      local = 0;
    }
    lastStage = op.stage;
  }
  return {
    thresholdBytes,
    kept,
    savedBytes,
    largestSegmentBytes: Math.max(largest, local),
    smallestSegmentBytes: Math.min(smallest, local),
  };
}

/**
 * Storages that are the only thing the rest of the forward pass needs, besides what is resident
 * anyway: the narrow places between blocks.
 */
export function narrowPlaces(
  { program, resident }: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): Set<number> {
  const forward = order.map((i) => opAt(program, i)).filter(({ phase }) => phase === "forward");
  const lastRead = new Map<number, number>();
  for (const [k, { reads }] of forward.entries()) for (const s of reads) lastRead.set(s, k);
  const ends: number[][] = forward.map(() => []);
  for (const [s, k] of lastRead) at(ends, k).push(s);
  const live = new Set<number>();
  const narrow = new Set<number>();
  for (const [k, { writes }] of forward.entries()) {
    for (const w of writes) if (resident[w] !== true && (lastRead.get(w) ?? -1) > k) live.add(w);
    for (const s of at(ends, k)) live.delete(s);
    const [only, another] = live;
    if (only !== undefined && another === undefined && candidates.has(only)) narrow.add(only);
  }
  return narrow;
}

/**
 * memonger's search: three rounds that set the threshold from what the last plan saved, then a grid
 * around it. Thresholds in bytes, to be tried with `mirrorPlan`.
 */
export function searchThresholds(
  mirror: (thresholdBytes: number) => MirrorPlan,
  trials: number,
): number[] {
  const tried: number[] = [];
  let threshold = 0;
  let least = Infinity;
  let guess = 0;
  for (let k = 0; k < 3; k++) {
    tried.push(threshold);
    const { savedBytes, largestSegmentBytes, smallestSegmentBytes } = mirror(threshold);
    guess = Math.floor(Math.sqrt((savedBytes * largestSegmentBytes) / 2));
    least = Math.min(least, smallestSegmentBytes);
    threshold = guess;
  }
  const step = Math.floor((guess * Math.SQRT2 - least) / trials);
  if (step > 0) for (let k = 1; k <= trials; k++) tried.push(least + k * step);
  return [...new Set(tried)];
}

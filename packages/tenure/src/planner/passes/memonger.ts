/**
 * memonger's mirror plan (Chen et al. 2016, arXiv 1604.06174): walk the forward pass, keep one
 * value whenever the bytes since the last kept one exceed a threshold, recompute the others. Stages
 * may be named by ops: the values of a named stage are kept or recomputed together. Pure.
 */
import type { Context } from "../schedule.ts";

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
  let savedBytes = 0,
    local = 0,
    largest = 0,
    smallest = Infinity,
    lastStage: string | undefined,
    recomputing = true;
  for (const i of order) {
    const op = program.ops[i]!;
    if (op.phase !== "forward") continue;
    const made = op.writes.filter((w) => candidates.has(w));
    if (made.length === 0) continue;
    const bytes = made.reduce((sum, w) => sum + program.storages[w]!.bytes, 0);
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
  const forward = order.filter((i) => program.ops[i]!.phase === "forward"),
    last = new Map<number, number>();
  forward.forEach((i, at) => {
    for (const s of program.ops[i]!.reads) last.set(s, at);
  });
  const live = new Set<number>(),
    narrow = new Set<number>();
  const ends: number[][] = forward.map(() => []);
  for (const [s, at] of last) ends[at]!.push(s);
  forward.forEach((i, at) => {
    for (const w of program.ops[i]!.writes)
      if (resident[w] !== true && (last.get(w) ?? -1) > at) live.add(w);
    for (const s of ends[at]!) live.delete(s);
    const only = live.size === 1 ? [...live][0]! : -1;
    if (only !== -1 && candidates.has(only)) narrow.add(only);
  });
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
  let threshold = 0,
    least = Infinity,
    guess = 0;
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

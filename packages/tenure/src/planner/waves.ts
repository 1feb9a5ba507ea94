/**
 * Waves: runs of dispatches that the device can overlap. It waits between two dispatches of which
 * one needs what the other made, or writes where the other reads, and not between others. Called by
 * the pass that moves independent ops together, and by reports. Pure.
 *
 *     a ─► b        a | b c | d   in the order a b c d: 3 waves
 *     c ─► d        a c | b d     in the order a c b d: 2 waves
 */
import type { Step } from "./steps.ts";

/** What a dispatch touches: storages of a program, or slots of a plan. */
export interface Touches {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
}

/** Waves of some dispatches in a row. */
export function countWaves(dispatches: Iterable<Touches>): number {
  const read = new Set<number>();
  const written = new Set<number>();
  let count = 0;
  for (const { reads, writes } of dispatches) {
    const waits =
      reads.some((r) => written.has(r)) || writes.some((w) => written.has(w) || read.has(w));
    if (count === 0 || waits) {
      count++;
      read.clear();
      written.clear();
    }
    for (const r of reads) read.add(r);
    for (const w of writes) written.add(w);
  }
  return count;
}

/**
 * Waves of a plan, by the buffers that its dispatches share. Copies to and from the host end a
 * wave, and so do buffers that come and go.
 */
export function wavesOf(steps: readonly Step[]): number {
  let count = 0;
  let run: Touches[] = [];
  for (const { kind, reads = [], writes = [] } of steps) {
    if (kind === "dispatch" || kind === "recompute") run.push({ reads, writes });
    else if (kind !== "release") {
      count += countWaves(run);
      run = [];
    }
  }
  return count + countWaves(run);
}

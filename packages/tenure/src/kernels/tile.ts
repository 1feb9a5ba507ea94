/**
 * The shape of a workgroup that reduces: a rectangle of outputs and of lanes that share an output.
 * Called by the generators of reductions and rows. Owns nothing.
 */
import { at } from "../base/access.ts";
import type { Layout } from "../base/layout.ts";
import type { DeviceCaps } from "./kernel.ts";

/** The rectangle of a workgroup. */
export interface Tile {
  /** Outputs per workgroup; a power of two. */
  readonly outputs: number;
  /** Threads that share one output; a power of two. */
  readonly lanes: number;
  /**
   * Neighbouring threads take neighbouring outputs rather than neighbouring elements of one output.
   */
  readonly outputsFast: boolean;
  /** The threads of an output are of one subgroup, and need no workgroup memory to meet. */
  readonly shuffles?: boolean;
}

/**
 * The rectangle for `outputs` results of `outer × innerUnits` loads each. `rowwise`: the elements
 * of one result are neighbours in memory.
 */
export function chooseTile(t: {
  outputs: number;
  outer: number;
  innerUnits: number;
  rowwise: boolean;
  caps: DeviceCaps;
}): Tile {
  const threads = t.caps.software ? 64 : 256;
  const most = Math.max(t.outer, t.innerUnits); // loop that lanes divide
  let lanes: number;
  if (t.caps.software)
    lanes = t.outputs >= 128 ? 1 : Math.min(pow2(64 / Math.max(t.outputs, 1)), pow2(most / 16));
  else {
    lanes = Math.max(pow2(131072 / Math.max(t.outputs, 1)), t.rowwise ? 32 : 1);
    lanes = Math.min(lanes, threads, pow2(most / 2));
  }
  const outputs = Math.min(
    threads / lanes,
    t.caps.software ? Math.max(pow2(t.outputs / 16), 4) : threads,
    2 * pow2(t.outputs),
  );
  return { outputs, lanes, outputsFast: !t.rowwise };
}

/**
 * Lanes of a subgroup that may share what lies along an axis of software adapters, so many that
 * each has four units of it or more; 1 where there are none.
 */
export function lanesAlong(l: Layout, axis: number, caps: DeviceCaps): number {
  const lanes = Math.min(caps.subgroupLanes, 8);
  const fits = caps.software && lanes >= 4 && at(l.strides, axis) === 1;
  return fits && at(l.shape, axis) >= 16 * lanes ? lanes : 1;
}

/**
 * `lanesAlong` where rows are so long that sharing them is faster: neighbours in memory are loaded
 * together, and nobody waits. SwiftShader divides a few rows better among whole workgroups.
 */
export function usualLanes(l: Layout, axis: number, caps: DeviceCaps): number {
  const lanes = lanesAlong(l, axis, caps);
  const length = at(l.shape, axis);
  const many = caps.contracts || l.size >= 128 * length;
  return many && length >= 64 * lanes ? lanes : 1;
}

/** The largest power of two that is at most `x`, and at least 1. */
function pow2(x: number): number {
  return x < 2 ? 1 : 2 ** Math.floor(Math.log2(x));
}

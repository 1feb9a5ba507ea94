/**
 * The shape of a workgroup that reduces: a rectangle of outputs and of lanes that share an output.
 * Called by the generators of reductions and rows. Owns nothing.
 */
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

/** The largest power of two that is at most `x`, and at least 1. */
function pow2(x: number): number {
  return x < 2 ? 1 : 2 ** Math.floor(Math.log2(x));
}

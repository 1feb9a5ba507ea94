/**
 * What a schedule costs beyond the program itself: seconds of recomputation and of transfers, by
 * rates that can be measured. Decides between recomputing and swapping, and between plans. Pure.
 */
import { bytesOf, opAt, type Program, type ProgramOp, storageAt } from "../graph/program.ts";
import type { Action } from "./schedule.ts";

/** What a device does per second. */
export interface Rates {
  /** Floating-point operations per second that typical kernels reach. */
  readonly flopsPerSecond: number;
  /** Bytes per second to the host, and back. */
  readonly outBytesPerSecond: number;
  readonly inBytesPerSecond: number;
}

/** Rates of a device that nobody has measured. */
export const defaultRates: Rates = {
  flopsPerSecond: 1e12,
  outBytesPerSecond: 4e9,
  inBytesPerSecond: 4e9,
};

/**
 * Cost of running an op again, in flops. The small constant makes one op cheaper than two that
 * compute as much.
 */
export function opCost(op: ProgramOp): number {
  return op.flops + 1e-3;
}

/** What a schedule does besides running every op once, and the seconds that takes. */
export interface Extra {
  recomputedOps: number;
  recomputeFlops: number;
  swapOuts: number;
  swapIns: number;
  swapOutBytes: number;
  swapInBytes: number;
  seconds: number;
}

/** What running one op so many times more means. */
export function againExtra(op: ProgramOp, times: number, rates: Rates): Extra {
  return {
    recomputedOps: times,
    recomputeFlops: times * op.flops,
    swapOuts: 0,
    swapIns: 0,
    swapOutBytes: 0,
    swapInBytes: 0,
    seconds: (times * opCost(op)) / rates.flopsPerSecond,
  };
}

/** What the actions of a schedule do besides running every op once. */
export function extraOf(program: Program, actions: readonly Action[], rates: Rates): Extra {
  const extra: Extra = {
    recomputedOps: 0,
    recomputeFlops: 0,
    swapOuts: 0,
    swapIns: 0,
    swapOutBytes: 0,
    swapInBytes: 0,
    seconds: 0,
  };
  let cost = 0;
  for (const { kind, op, storage } of actions) {
    if (kind === "recompute") {
      extra.recomputedOps++;
      extra.recomputeFlops += opAt(program, op).flops;
      cost += opCost(opAt(program, op));
    } else if (kind === "swapOut") {
      extra.swapOuts++;
      extra.swapOutBytes += storageAt(program, storage).bytes;
    } else if (kind === "swapIn") {
      extra.swapIns++;
      extra.swapInBytes += storageAt(program, storage).bytes;
    }
  }
  extra.seconds =
    cost / rates.flopsPerSecond +
    extra.swapOutBytes / rates.outBytesPerSecond +
    extra.swapInBytes / rates.inBytesPerSecond;
  return extra;
}

/** Bytes an op touches. */
export function bytesTouched(program: Program, op: Pick<ProgramOp, "reads" | "writes">): number {
  return bytesOf(program, new Set([...op.reads, ...op.writes]));
}

/**
 * Flops per byte below which an op is bound by memory: elementwise work, small reductions.
 * Convolutions and matrix products of any size that matters lie above.
 */
const cheapIntensity = 4;

/** Whether an op costs little more than reading its inputs. */
export function isCheap(program: Program, i: number): boolean {
  const op = opAt(program, i);
  return op.flops <= cheapIntensity * bytesTouched(program, op);
}

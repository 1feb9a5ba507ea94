/**
 * What a schedule costs beyond the program itself: seconds of recomputation and of transfers, by
 * rates that can be measured. Decides between recomputing and swapping, and between plans. Pure.
 */
import type { Program, ProgramOp } from "../graph/program.ts";
import type { Action } from "./schedule.ts";

export interface Rates {
  /** Floating-point operations per second that typical kernels reach. */
  readonly flopsPerSecond: number;
  /** Bytes per second to the host, and back. */
  readonly outBytesPerSecond: number;
  readonly inBytesPerSecond: number;
}

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

export interface Extra {
  recomputedOps: number;
  recomputeFlops: number;
  swapOuts: number;
  swapIns: number;
  swapOutBytes: number;
  swapInBytes: number;
  seconds: number;
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
      extra.recomputeFlops += program.ops[op]!.flops;
      cost += opCost(program.ops[op]!);
    } else if (kind === "swapOut") {
      extra.swapOuts++;
      extra.swapOutBytes += program.storages[storage]!.bytes;
    } else if (kind === "swapIn") {
      extra.swapIns++;
      extra.swapInBytes += program.storages[storage]!.bytes;
    }
  }
  extra.seconds =
    cost / rates.flopsPerSecond +
    extra.swapOutBytes / rates.outBytesPerSecond +
    extra.swapInBytes / rates.inBytesPerSecond;
  return extra;
}

/** Bytes an op touches. */
export function bytesTouched(program: Program, op: ProgramOp): number {
  let bytes = 0;
  for (const r of op.reads) bytes += program.storages[r]!.bytes;
  for (const w of op.writes) if (!op.reads.includes(w)) bytes += program.storages[w]!.bytes;
  return bytes;
}

/**
 * Flops per byte below which an op is bound by memory: elementwise work, small reductions.
 * Convolutions and matrix products of any size that matters lie above.
 */
const cheapIntensity = 4;

/** Whether an op costs little more than reading its inputs. */
export function isCheap(program: Program, op: ProgramOp): boolean {
  return op.flops <= cheapIntensity * bytesTouched(program, op);
}

/**
 * Independent ops next to each other, so that the device can overlap them: it waits between two
 * dispatches of which one needs what the other made, or writes where the other reads, and not
 * between others. A wave is a run of dispatches without such a wait. Called with orders that are
 * otherwise final; pure.
 *
 *     a ─► b        a | b c | d   in the order a b c d: 3 waves
 *     c ─► d        a c | b d     in the order a c b d: 2 waves
 */
import type { Program } from "../../graph/program.ts";
import type { Step } from "./emit.ts";
import { dependencies } from "./order.ts";
import { type Context, livePeak, runsOf } from "../schedule.ts";

/** What a dispatch touches: storages of a program, or slots of a plan. */
interface Touches {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
}

function countWaves(dispatches: Iterable<Touches>): number {
  const read = new Set<number>(),
    written = new Set<number>();
  let count = 0;
  for (const { reads, writes } of dispatches) {
    if (
      count === 0 ||
      reads.some((r) => written.has(r)) ||
      writes.some((w) => written.has(w) || read.has(w))
    ) {
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
  let count = 0,
    run: Touches[] = [];
  for (const { kind, reads = [], writes = [] } of steps) {
    if (kind === "dispatch" || kind === "recompute") run.push({ reads, writes });
    else if (kind !== "release") {
      count += countWaves(run);
      run = [];
    }
  }
  return count + countWaves(run);
}

/**
 * Ops among which independent ones are looked for: the wider, the more are found, and the more
 * memory they take together.
 */
export const widths: readonly number[] = [64, 24, 8];
/** The least worth looking at. */
const narrowest = 8;
/** Ops from which an order stays as it is: looking takes too long. */
const manyOps = 2500;

/**
 * An order with fewer waves and no higher peak; the same where there is none. Forward ops stay
 * before the others.
 */
export function overlapped(
  context: Context,
  order: readonly number[],
  width: number,
): readonly number[] {
  if (order.length > manyOps) return order;
  const { program } = context,
    before = dependencies(program, order),
    most = livePeak(context, runsOf(order));
  let best = [...order];
  const improve = (from: number, to: number): void => {
    const ops = best.slice(from, to),
      levelled = byLevel(ops, before);
    if (wavesIn(program, levelled) >= wavesIn(program, ops)) return;
    const tried = [...best.slice(0, from), ...levelled, ...best.slice(to)];
    if (
      wavesIn(program, tried) < wavesIn(program, best) &&
      livePeak(context, runsOf(tried)) <= most
    ) {
      best = tried;
      return;
    }
    if (to - from < 2 * narrowest) return;
    const middle = (from + to) >> 1;
    improve(from, middle);
    improve(middle, to);
  };
  const isForward = (at: number): boolean => program.ops[order[at]!]!.phase === "forward";
  for (let from = 0, to = 0; from < order.length; from = to) {
    for (
      to = from + 1;
      to < order.length && to - from < width && isForward(to) === isForward(from);
      to++
    );
    improve(from, to);
  }
  return best;
}

function wavesIn(program: Program, ops: readonly number[]): number {
  return countWaves(ops.map((i) => program.ops[i]!));
}

/**
 * Ops behind those they depend on, and otherwise as early as possible: in levels, each in the order
 * given.
 */
function byLevel(ops: readonly number[], before: ReadonlyMap<number, readonly number[]>): number[] {
  const level = new Map<number, number>();
  for (const i of ops)
    level.set(i, Math.max(0, ...before.get(i)!.map((d) => (level.get(d) ?? -1) + 1)));
  return [...ops].sort((a, b) => level.get(a)! - level.get(b)!);
}

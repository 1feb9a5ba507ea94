/**
 * An order of ops in which some change places, and what that does to its waves and its peak: both
 * are looked at around the ops that move only, so that orders of any length are improved. Made and
 * owned by the pass of overlap.ts, for each schedule.
 */
import { at, lookup } from "../base/access.ts";
import { dependencies } from "./dependencies.ts";
import { LiveWindows } from "./live-windows.ts";
import { type Context, livePeak, runsOf } from "./schedule.ts";

/** An order that is changed in place. */
export class Ordering {
  readonly order: number[];
  readonly #context: Context;
  readonly #before: ReadonlyMap<number, readonly number[]>;
  readonly #most: number;
  readonly #live: LiveWindows | null;
  /** Position of each op, and where the wave of each position begins. */
  readonly #place: Int32Array;
  readonly #start: Int32Array;
  /** Ops looked at so far. */
  steps = 0;

  constructor(context: Context, order: readonly number[]) {
    const { program, extended } = context;
    this.order = [...order];
    this.#context = context;
    this.#before = dependencies(program, order);
    this.#place = new Int32Array(program.ops.length).fill(-1);
    this.#put(0, order);
    this.#start = new Int32Array(order.length);
    for (let t = 0; t < order.length; t++)
      this.#start[t] = this.#waits(t, this.#start[t - 1]) ? t : this.#start[t - 1]!;
    // Lifespans hold values between other ops: there, the whole order is looked at each time.
    const plain = extended.every((e) => e === null);
    this.#live = plain ? new LiveWindows(context, this.order) : null;
    this.#most = livePeak(context, runsOf(order));
  }

  /**
   * Puts the ops from one position up to another as early as what they depend on lets them be, in
   * levels, if there are fewer waves then and the peak is no higher. @returns `kept` where levels
   * make no fewer waves among these ops, `refused` where the order as a whole gains nothing
   */
  tryLevels(from: number, to: number): "moved" | "refused" | "kept" {
    const ops = this.order.slice(from, to);
    this.steps += ops.length;
    const waves = this.#wavesIn(from, to);
    this.#put(from, byLevel(ops, this.#before));
    if (this.#wavesIn(from, to) >= waves) {
      this.#put(from, ops);
      return "kept";
    }
    const starts = this.#startsIfFewer(from, to);
    if (starts !== null && this.#peakIn(from, to) <= this.#most) {
      this.#start.set(starts, from);
      this.#live?.moved(from, to);
      return "moved";
    }
    this.#put(from, ops);
    return "refused";
  }

  #put(from: number, ops: readonly number[]): void {
    for (const [k, op] of ops.entries()) {
      this.order[from + k] = op;
      this.#place[op] = from + k;
    }
  }

  /** Whether the op at a position waits for one of the wave that begins at another. */
  #waits(t: number, start: number | undefined): boolean {
    if (start === undefined) return true;
    for (const d of lookup(this.#before, at(this.order, t)))
      if (this.#place[d]! >= start) return true;
    return false;
  }

  /** Waves of some ops in a row, without the others. */
  #wavesIn(from: number, to: number): number {
    let count = 1;
    let start = from;
    for (let t = from + 1; t < to; t++) {
      if (!this.#waits(t, start)) continue;
      count++;
      start = t;
    }
    return count;
  }

  /**
   * Where the waves of ops begin that have moved, and of those behind them up to where nothing has
   * changed; null when there are no fewer waves.
   */
  #startsIfFewer(from: number, to: number): number[] | null {
    const starts: number[] = [];
    let start = this.#start[from - 1];
    let more = 0;
    for (let t = from; t < this.order.length; t++) {
      const begins = this.#waits(t, start);
      const began = this.#start[t] === t;
      if (t >= to && begins && began) break;
      if (begins) start = t;
      more += Number(begins) - Number(began);
      starts.push(start ?? t);
      this.steps++;
    }
    return more < 0 ? starts : null;
  }

  #peakIn(from: number, to: number): number {
    this.steps += to - from;
    return this.#live?.peakIn(from, to) ?? livePeak(this.#context, runsOf(this.order));
  }
}

/**
 * Ops behind those they depend on, and otherwise as early as possible: in levels, each in the order
 * given.
 */
function byLevel(ops: readonly number[], before: ReadonlyMap<number, readonly number[]>): number[] {
  const level = new Map<number, number>();
  for (const i of ops) {
    let own = 0;
    for (const d of lookup(before, i)) own = Math.max(own, (level.get(d) ?? -1) + 1);
    level.set(i, own);
  }
  return [...ops].sort((a, b) => lookup(level, a) - lookup(level, b));
}

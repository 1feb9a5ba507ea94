/**
 * The bytes that are live while some ops of an order run in another order: what is live before and
 * behind them does not change. For schedules that run every op once, without lifespans. Made and
 * owned by ordering.ts.
 */
import { at } from "../base/access.ts";
import type { Context } from "./schedule.ts";

/** Live bytes of an order, window by window. */
export class LiveWindows {
  readonly #order: readonly number[];
  /** For each op, the values that it makes or uses, each of one residency; and bytes it makes. */
  readonly #uses: (readonly number[])[] = [];
  readonly #made: Float64Array;
  /** Of each value: its bytes, its last use, and whether somebody keeps it behind that. */
  readonly #bytes: number[] = [];
  readonly #last: number[] = [];
  readonly #kept: boolean[] = [];
  /** Bytes that are live between each op and the one before. */
  readonly #across: Float64Array;
  /** The window that was looked at last: which values it met, and what is live behind each op. */
  readonly #met: number[] = [];
  #look = 0;
  #behind: number[] = [];

  /** @param order which the owner changes in place, telling so by `moved` */
  constructor({ program, resident, touches }: Context, order: readonly number[]) {
    this.#order = order;
    this.#made = new Float64Array(program.ops.length);
    this.#across = new Float64Array(order.length + 1);
    const now = new Int32Array(program.storages.length).fill(-1);
    const value = (storage: number): number => {
      now[storage] = this.#last.length;
      this.#bytes.push(at(touches.bytes, storage));
      this.#kept.push(false);
      return this.#last.push(-1) - 1;
    };
    for (const [storage, here] of resident.entries()) if (here) value(storage);
    const arrivals = this.#last.length;
    const { begin, born, storages } = touches;
    for (const [t, op] of order.entries()) {
      const used: number[] = [];
      for (let k = at(begin, op); k < at(begin, op + 1); k++) {
        const storage = at(storages, k);
        const isMade = k >= at(born, op);
        if (isMade) this.#made[op]! += at(touches.bytes, storage);
        const which = isMade ? value(storage) : at(now, storage);
        if (which === -1) continue; // nothing is there to be read
        used.push(which);
        this.#last[which] = t;
      }
      this.#uses[op] = used;
    }
    for (const [storage, which] of now.entries())
      if (which !== -1 && at(program.storages, storage).pinned) this.#kept[which] = true;
    for (let which = 0; which < arrivals; which++)
      if (at(this.#last, which) !== -1 || at(this.#kept, which))
        this.#across[0]! += at(this.#bytes, which);
    this.#walk(0, order.length);
    this.#across.set(this.#behind, 1);
  }

  /** Most bytes live while the ops between two positions run, in the order as it is now. */
  peakIn(from: number, to: number): number {
    return this.#walk(from, to);
  }

  /** Ops between two positions stay as they are now, as `peakIn` was asked about. */
  moved(from: number, to: number): void {
    this.#across.set(this.#behind, from + 1);
    for (let t = from; t < to; t++)
      for (const which of at(this.#uses, at(this.#order, t)))
        if (at(this.#last, which) < to) this.#last[which] = t;
  }

  #walk(from: number, to: number): number {
    const look = ++this.#look;
    const freed = new Float64Array(to - from);
    for (let t = to - 1; t >= from; t--)
      for (const which of at(this.#uses, at(this.#order, t))) {
        if (this.#met[which] === look) continue;
        this.#met[which] = look;
        if (at(this.#last, which) < to && !at(this.#kept, which))
          freed[t - from]! += at(this.#bytes, which);
      }
    let live = at(this.#across, from);
    let most = live;
    this.#behind = [];
    for (let t = from; t < to; t++) {
      live += at(this.#made, at(this.#order, t));
      most = Math.max(most, live);
      live -= at(freed, t - from);
      this.#behind.push(live);
    }
    return most;
  }
}

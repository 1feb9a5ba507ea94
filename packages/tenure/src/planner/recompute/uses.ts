/**
 * Where a schedule uses its storages: what shaving asks again and again. Made for one schedule
 * without swaps. Pure; owns its tables.
 */
import { at } from "../../base/access.ts";
import { opAt, type Program, storageAt } from "../../graph/program.ts";
import type { Action, Context } from "../schedule.ts";

/** The uses of all storages in one schedule, which grows. */
export class Uses {
  actions: readonly Action[];
  /** For each storage the op that makes it, or -1. */
  readonly producer: Int32Array;
  readonly #program: Program;
  readonly #resident: readonly boolean[];
  /** Positions that touch each storage, rising; twice that, and 1 where a residency begins. */
  readonly #touched: number[][];
  /** Positions that give each storage a new value. */
  readonly #changed: (number[] | undefined)[] = [];
  /** Where each op ran first. */
  readonly #ranAt: Int32Array;

  constructor({ program, resident }: Context, actions: readonly Action[], producer: Int32Array) {
    this.actions = actions;
    this.producer = producer;
    this.#program = program;
    this.#resident = resident;
    this.#touched = program.storages.map(() => []);
    this.#ranAt = new Int32Array(program.ops.length).fill(-1);
    actions.forEach(({ kind, op }, t) => {
      const { reads, writes } = opAt(program, op);
      if (kind === "dispatch") this.#ranAt[op] = t;
      for (const r of reads) at(this.#touched, r).push(2 * t);
      for (const w of writes) {
        if (!reads.includes(w)) at(this.#touched, w).push(2 * t + 1);
        if (kind === "dispatch") (this.#changed[w] ??= []).push(t);
      }
    });
  }

  /** Ops run again before a position: `actions` is the schedule with them. */
  insert(before: number, ops: readonly number[], actions: readonly Action[]): void {
    this.actions = actions;
    const count = ops.length;
    for (const touched of this.#touched)
      for (let k = touched.length - 1; k >= 0 && touched[k]! >= 2 * before; k--)
        touched[k]! += 2 * count;
    for (const changed of this.#changed)
      if (changed !== undefined)
        for (let k = changed.length - 1; k >= 0 && changed[k]! >= before; k--) changed[k]! += count;
    const ranAt = this.#ranAt;
    for (let op = 0; op < ranAt.length; op++) if (ranAt[op]! >= before) ranAt[op]! += count;
    for (const [k, op] of ops.entries()) {
      const { reads, writes } = opAt(this.#program, op);
      for (const r of reads) this.#touch(r, 2 * (before + k));
      for (const w of writes) if (!reads.includes(w)) this.#touch(w, 2 * (before + k) + 1);
    }
  }

  #touch(storage: number, use: number): void {
    at(this.#touched, storage).splice(this.#firstUse(storage, use >> 1), 0, use);
  }

  /**
   * The next use of a value that is resident at a position but not used there; -1 when there is
   * none, or it is used or made there.
   */
  waitsAcross(storage: number, position: number): number {
    const touched = at(this.#touched, storage);
    const k = this.#firstUse(storage, position + 1);
    const next = touched[k];
    if (k === 0 || next === undefined || at(touched, k - 1) >> 1 >= position) return -1;
    return (next & 1) === 1 ? -1 : next >> 1;
  }

  /** Whether a value is resident just before a position. */
  isResident(storage: number, position: number): boolean {
    const k = this.#firstUse(storage, position);
    if (k === 0 && this.#resident[storage] !== true) return false;
    const next = at(this.#touched, storage)[k];
    if (next === undefined) return storageAt(this.#program, storage).pinned;
    return (next & 1) === 0;
  }

  /** Whether an op would see at a position the inputs that it saw when it ran. */
  inputsUnchanged(op: number, position: number): boolean {
    const ran = at(this.#ranAt, op);
    const changed = (t: number): boolean => t > ran && t < position;
    return opAt(this.#program, op).reads.every((r) => this.#changed[r]?.some(changed) !== true);
  }

  /** Index of the first use at a position or behind it. */
  #firstUse(storage: number, position: number): number {
    const touched = at(this.#touched, storage);
    let low = 0;
    let high = touched.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (touched[middle]! >> 1 < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

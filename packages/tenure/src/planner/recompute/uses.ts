/**
 * Where a schedule uses its storages: what shaving asks again and again. Made for one schedule
 * without swaps. Pure; owns its tables.
 */
import { at } from "../../base/access.ts";
import { opAt, type Program, storageAt } from "../../graph/program.ts";
import type { Action, Context } from "../schedule.ts";

/** The uses of all storages in one schedule. */
export class Uses {
  readonly actions: readonly Action[];
  /** For each storage the op that makes it, or -1. */
  readonly producer: Int32Array;
  readonly #program: Program;
  readonly #resident: readonly boolean[];
  /** Positions that touch each storage, rising. */
  readonly #touched: number[][];
  /** Those of them that begin a new residency. */
  readonly #births: (Set<number> | undefined)[] = [];
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
      for (const r of reads) at(this.#touched, r).push(t);
      for (const w of writes) {
        if (!reads.includes(w)) {
          at(this.#touched, w).push(t);
          (this.#births[w] ??= new Set()).add(t);
        }
        if (kind === "dispatch") (this.#changed[w] ??= []).push(t);
      }
    });
  }

  /**
   * The next use of a value that is resident at a position but not used there; -1 when there is
   * none, or it is used or made there.
   */
  waitsAcross(storage: number, position: number): number {
    const touched = at(this.#touched, storage);
    const k = this.#firstUse(storage, position + 1);
    const next = touched[k];
    if (k === 0 || next === undefined || at(touched, k - 1) >= position) return -1;
    return this.#births[storage]?.has(next) === true ? -1 : next;
  }

  /** Whether a value is resident just before a position. */
  isResident(storage: number, position: number): boolean {
    const k = this.#firstUse(storage, position);
    if (k === 0 && this.#resident[storage] !== true) return false;
    const next = at(this.#touched, storage)[k];
    if (next === undefined) return storageAt(this.#program, storage).pinned;
    return this.#births[storage]?.has(next) !== true;
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
      if (at(touched, middle) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

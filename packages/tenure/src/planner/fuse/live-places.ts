/**
 * Most bytes live at one time in an order of groups, kept up to date while groups are merged: a
 * merge changes the values of the groups that it merges and moves, and no others. Called by the
 * fuse pass for programs whose ops run in the order they are given. Owned by one pass; holds
 * numbers only.
 */
import { at } from "../../base/access.ts";
import { opAt, type Program, residentAtEntry, storageAt } from "../../graph/program.ts";
import type { GroupOrder, Merge } from "./group-order.ts";
import { LargestOfEach, RangeMost } from "./trees.ts";

/** Stands for the op that makes what is there before the first one. */
const entry = -1;

/** One value of a storage: from the op that writes it whole to its last use. */
interface Value {
  readonly storage: number;
  readonly bytes: number;
  readonly maker: number;
  /** Somebody keeps it: it lives on behind the last op. */
  kept: boolean;
  /** How many ops use it, the one that writes it among them. */
  users: number;
  /** First place where its bytes count; Infinity for one that is a register of a kernel. */
  from: number;
  /** Places where they are counted in the tree: `first` inclusive, `end` exclusive. */
  first: number;
  end: number;
}

/** That an op uses a value: the value, and which of its users the op is. */
interface Use {
  readonly value: number;
  readonly user: number;
}

/** Live bytes by place; the most of all is known. */
export class LivePlaces {
  readonly #program: Program;
  readonly #order: GroupOrder;
  readonly #limit: number;
  readonly #values: Value[] = [];
  /** Values that each op begins, and all that it uses, those among them; nothing for idle ops. */
  readonly #births: number[][];
  readonly #uses: Use[][];
  /** For each value, the places of its users; and the bytes live at each place. */
  readonly #usedAt: LargestOfEach;
  readonly #live: RangeMost;
  readonly #undo: (() => void)[] = [];

  /**
   * @param needed the ops that run, in order
   * @param limit bytes above which a place has too many
   */
  constructor(program: Program, needed: Iterable<number>, order: GroupOrder, limit: number) {
    this.#program = program;
    this.#order = order;
    this.#limit = limit;
    this.#births = program.ops.map(() => []);
    this.#uses = program.ops.map(() => []);
    this.#collect(needed);
    this.#usedAt = new LargestOfEach(this.#values.map((v) => v.users));
    this.#live = new RangeMost(program.ops.length);
    for (const op of program.ops.keys()) {
      for (const { value, user } of at(this.#uses, op)) this.#usedAt.set(value, user, op);
      this.#begin(op);
    }
    for (const v of this.#values.keys()) this.#count(v);
  }

  /** Whether more bytes than the limit are live somewhere. */
  get isOver(): boolean {
    return this.#live.most > this.#limit;
  }

  /** How often a number of the tree was changed so far. */
  get steps(): number {
    return this.#live.steps;
  }

  /** The values of the program, in issue order. */
  #collect(needed: Iterable<number>): void {
    const { storages } = this.#program;
    const begin = (storage: number, maker: number): number => {
      const { bytes } = storageAt(this.#program, storage);
      const value = { storage, bytes, maker, kept: false, users: 0, from: 0, first: 0, end: 0 };
      return this.#values.push(value) - 1;
    };
    const now: (number | undefined)[] = storages.map(() => undefined);
    residentAtEntry(this.#program).forEach((resident, s) => {
      if (resident) now[s] = begin(s, entry);
    });
    for (const i of needed) {
      const { reads, writes } = opAt(this.#program, i);
      for (const s of new Set([...reads, ...writes])) {
        let value = reads.includes(s) ? now[s] : undefined;
        if (value === undefined) {
          value = begin(s, i);
          now[s] = value;
          at(this.#births, i).push(value);
        }
        at(this.#uses, i).push({ value, user: at(this.#values, value).users++ });
      }
    }
    storages.forEach(({ pinned }, s) => {
      const value = now[s];
      if (pinned && value !== undefined) at(this.#values, value).kept = true;
    });
  }

  /** Groups were merged. */
  merged({ kept, moved }: Merge): void {
    const changed = new Set<number>();
    const undo: (() => void)[] = [];
    for (const group of [kept, ...moved]) {
      this.#move(group, changed, undo);
      this.#begin(group, changed, undo);
    }
    for (const v of changed) this.#count(v);
    this.#undo.push(() => {
      for (const step of undo) step();
      for (const v of changed) this.#count(v);
    });
  }

  /** Notes where the ops of a group are now, and the values that end elsewhere with that. */
  #move(group: number, changed: Set<number>, undo: (() => void)[]): void {
    const place = this.#order.place(group);
    for (const op of this.#order.members(group))
      for (const { value, user } of at(this.#uses, op)) {
        const was = this.#usedAt.get(value, user);
        if (was === place) continue;
        this.#usedAt.set(value, user, place);
        changed.add(value);
        undo.push(() => {
          this.#usedAt.set(value, user, was);
        });
      }
  }

  /** Notes where the values that a group makes begin to count. */
  #begin(group: number, changed?: Set<number>, undo?: (() => void)[]): void {
    const place = this.#order.place(group);
    const outline = this.#order.outline(group);
    const begun = new Set<number>();
    for (const op of this.#order.members(group))
      for (const v of at(this.#births, op)) {
        const value = at(this.#values, v);
        const { storage, from: was } = value;
        const isRegister = outline !== null && !outline.writes.includes(storage);
        // A kernel that overwrites what it reads needs room for one of the two.
        const hasRoom = begun.has(storage) || outline?.reads.includes(storage) === true;
        begun.add(storage);
        const from = hasRoom ? place + 1 : place;
        value.from = isRegister ? Infinity : from;
        if (value.from === was) continue;
        changed?.add(v);
        undo?.push(() => {
          value.from = was;
        });
      }
  }

  /** Counts a value where it lives now, and no more where it lived. */
  #count(v: number): void {
    const value = at(this.#values, v);
    const { bytes, kept, from, first, end } = value;
    this.#live.add(first, end, -bytes);
    value.first = from;
    value.end = kept ? this.#program.ops.length : this.#usedAt.largest(v) + 1;
    this.#live.add(value.first, value.end, bytes);
  }

  /** A moment to come back to. */
  mark(): number {
    return this.#undo.length;
  }

  /** Takes back what was counted since a mark. */
  undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }
}

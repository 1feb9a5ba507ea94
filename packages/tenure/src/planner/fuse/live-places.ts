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
/** Stands for the user of a value that makes it. */
const birth = -1;

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
  /**
   * What merges changed, in threes: a value, which of its users moved and from where; or a value,
   * `birth` and where it began. And how long the list was before each merge.
   */
  readonly #log: number[] = [];
  readonly #marks: number[] = [];
  /** For each storage, the last of the groups that were begun with a value of it. */
  readonly #begunIn: Int32Array;
  #groupsBegun = 0;
  /** Values to be counted anew. */
  readonly #changed = new Set<number>();

  /**
   * @param needed the ops that run, in order
   * @param limit bytes above which a place has too many
   */
  constructor(program: Program, needed: Iterable<number>, order: GroupOrder, limit: number) {
    this.#program = program;
    this.#order = order;
    this.#limit = limit;
    this.#begunIn = new Int32Array(program.storages.length);
    this.#births = program.ops.map(() => []);
    this.#uses = program.ops.map(() => []);
    this.#collect(needed);
    this.#usedAt = new LargestOfEach(this.#values.map((v) => v.users));
    this.#live = new RangeMost(program.ops.length);
    for (const op of program.ops.keys()) {
      for (const { value, user } of at(this.#uses, op)) this.#usedAt.set(value, user, op);
      this.#begin(op);
    }
    this.#log.length = 0;
    for (const v of this.#values.keys()) this.#changed.add(v);
    this.#countChanged();
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
    this.#marks.push(this.#log.length);
    this.#settle(kept);
    for (const group of moved) this.#settle(group);
    this.#countChanged();
  }

  #settle(group: number): void {
    this.#move(group);
    this.#begin(group);
  }

  /** Notes where the ops of a group are now, and the values that end elsewhere with that. */
  #move(group: number): void {
    const place = this.#order.place(group);
    for (const op of this.#order.members(group))
      for (const { value, user } of this.#uses[op]!) {
        const was = this.#usedAt.get(value, user);
        if (was === place) continue;
        this.#usedAt.set(value, user, place);
        this.#changed.add(value);
        this.#log.push(value, user, was);
      }
  }

  /** Notes where the values that a group makes begin to count. */
  #begin(group: number): void {
    const place = this.#order.place(group);
    const outline = this.#order.outline(group);
    const now = ++this.#groupsBegun;
    for (const op of this.#order.members(group))
      for (const v of this.#births[op]!) {
        const value = this.#values[v]!;
        const { storage, from } = value;
        const isRegister = outline !== null && !outline.writes.includes(storage);
        // A kernel that overwrites what it reads needs room for one of the two.
        const hasRoom = this.#begunIn[storage] === now || outline?.reads.includes(storage) === true;
        this.#begunIn[storage] = now;
        value.from = isRegister ? Infinity : place + Number(hasRoom);
        if (value.from === from) continue;
        this.#changed.add(v);
        this.#log.push(v, birth, from);
      }
  }

  #countChanged(): void {
    for (const v of this.#changed) this.#count(v);
    this.#changed.clear();
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
    return this.#marks.length;
  }

  /** Takes back what was counted since a mark. */
  undoTo(mark: number): void {
    const begin = this.#marks[mark];
    if (begin === undefined) return;
    for (let k = this.#log.length - 3; k >= begin; k -= 3) {
      const v = at(this.#log, k);
      const user = at(this.#log, k + 1);
      const was = at(this.#log, k + 2);
      if (user === birth) at(this.#values, v).from = was;
      else this.#usedAt.set(v, user, was);
      this.#changed.add(v);
    }
    this.#log.length = begin;
    this.#marks.length = mark;
    this.#countChanged();
  }
}

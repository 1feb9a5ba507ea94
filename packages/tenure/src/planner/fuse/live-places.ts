/**
 * Bytes live at each place of an order of groups, kept up to date while groups are merged: a merge
 * changes them between the merged groups and nowhere else. Called by the fuse pass for programs
 * whose ops run in the order they are given. Owned by one pass; holds numbers only.
 */
import { at } from "../../base/access.ts";
import { opAt, type Program, residentAtEntry, storageAt } from "../../graph/program.ts";
import type { GroupOrder, Region } from "./group-order.ts";

/** Place of the last use of what somebody keeps. */
const forever = 2 ** 30;
/** Place of what is there before the first op, and of a use that does not exist. */
const entry = -1;

/** One value of a storage: from the op that writes it whole to its last use. */
interface Value {
  readonly storage: number;
  readonly bytes: number;
  /** Places of its birth and of its last use. */
  begin: number;
  end: number;
}

/** Live bytes by place, and how many places have too many. */
export class LivePlaces {
  readonly #order: GroupOrder;
  readonly #limit: number;
  readonly #values: Value[] = [];
  /** Values that each op begins, and all that it uses, those among them; nothing for idle ops. */
  readonly #births: Value[][];
  readonly #uses: Value[][];
  readonly #program: Program;
  /** Storages that are registers of a kernel. */
  readonly #gone: boolean[];
  /** Bytes live at each place, and right before it for something at it or behind it. */
  readonly #at: Float64Array;
  readonly #through: Float64Array;
  #over = 0;
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
    this.#gone = program.storages.map(() => false);
    this.#at = new Float64Array(program.ops.length);
    this.#through = new Float64Array(program.ops.length + 1);
    const last = this.#collect(needed);
    program.storages.forEach(({ pinned }, s) => {
      const value = last[s];
      if (pinned && value !== undefined) value.end = forever;
    });
    for (const { begin, end, bytes } of this.#values)
      if (begin === entry && end !== entry) this.#through[0]! += bytes;
    this.#walk({ first: 0, end: program.ops.length });
  }

  /** Whether more bytes than the limit are live somewhere. */
  get isOver(): boolean {
    return this.#over > 0;
  }

  /** The values of the program, in issue order. @returns the last of each storage */
  #collect(needed: Iterable<number>): (Value | undefined)[] {
    const { storages } = this.#program;
    const begin = (storage: number, place: number): Value => {
      const { bytes } = storageAt(this.#program, storage);
      const value = { storage, bytes, begin: place, end: place };
      this.#values.push(value);
      return value;
    };
    const now: (Value | undefined)[] = storages.map(() => undefined);
    residentAtEntry(this.#program).forEach((resident, s) => {
      if (resident) now[s] = begin(s, entry);
    });
    for (const i of needed) {
      const { reads, writes } = opAt(this.#program, i);
      const uses = at(this.#uses, i);
      for (const s of new Set([...reads, ...writes])) {
        let value = reads.includes(s) ? now[s] : undefined;
        if (reads.includes(s) && value !== undefined) uses.push(value);
        else {
          value = begin(s, i);
          now[s] = value;
          at(this.#births, i).push(value);
          uses.push(value);
        }
        value.end = i;
      }
    }
    return now;
  }

  /** Groups of a region were merged. */
  merged(region: Region): void {
    const { first, end } = region;
    const before = {
      at: this.#at.slice(first, end),
      through: this.#through.slice(first, end + 1),
      over: this.#over,
      values: new Map<Value, readonly [number, number]>(),
      gone: new Map<number, boolean>(),
    };
    this.#undo.push(() => {
      this.#at.set(before.at, first);
      this.#through.set(before.through, first);
      this.#over = before.over;
      for (const [value, span] of before.values) [value.begin, value.end] = span;
      for (const [storage, gone] of before.gone) this.#gone[storage] = gone;
    });
    this.#forget(region, before.values);
    this.#settle(region, before.gone);
    this.#walk(region);
  }

  /** Notes where the values of a region were, and forgets the last uses that lie in it. */
  #forget(region: Region, spans: Map<Value, readonly [number, number]>): void {
    for (const { ops } of this.#groups(region))
      for (const i of ops)
        for (const value of at(this.#uses, i)) {
          if (spans.has(value)) continue;
          spans.set(value, [value.begin, value.end]);
          if (value.end < region.end) value.end = entry;
        }
  }

  /** Births and last uses in a region, and what needs no memory there. */
  #settle(region: Region, gone: Map<number, boolean>): void {
    for (const { group, ops, place } of this.#groups(region)) {
      const outline = this.#order.outline(group);
      for (const i of ops) {
        for (const value of at(this.#births, i)) value.begin = place;
        for (const value of at(this.#uses, i)) value.end = Math.max(value.end, place);
        if (outline === null) continue;
        for (const w of opAt(this.#program, i).writes) {
          if (!gone.has(w)) gone.set(w, at(this.#gone, w));
          this.#gone[w] = !outline.writes.includes(w);
        }
      }
    }
  }

  /** Counts the bytes of a region from those that come into it. */
  #walk({ first, end }: Region): void {
    for (let place = first; place < end; place++)
      if (at(this.#at, place) > this.#limit) this.#over--;
    this.#at.fill(0, first, end);
    let carried = at(this.#through, first);
    for (let place = first; place < end; place++) {
      this.#through[place] = carried;
      const group = this.#order.groupAt(place);
      if (group !== undefined) carried = this.#step(group, place, carried);
    }
    if (end < this.#through.length) this.#through[end] = carried;
  }

  /** Counts one place. @returns the bytes that live on behind it */
  #step(group: number, place: number, carried: number): number {
    const read = this.#order.outline(group)?.reads;
    const begun = new Set<number>();
    const ended = new Set<Value>();
    let born = 0;
    let here = carried;
    let used = false;
    for (const i of this.#order.members(group)) {
      for (const { storage, bytes } of at(this.#births, i)) {
        if (at(this.#gone, storage)) continue;
        born += bytes;
        // A kernel that overwrites what it reads needs room for one of the two.
        if (!begun.has(storage) && read?.includes(storage) !== true) here += bytes;
        begun.add(storage);
      }
      for (const value of at(this.#uses, i)) {
        used = true;
        if (value.end === place && !at(this.#gone, value.storage)) ended.add(value);
      }
    }
    if (!used) return carried;
    this.#at[place] = here;
    if (here > this.#limit) this.#over++;
    let rest = carried + born;
    for (const { bytes } of ended) rest -= bytes;
    return rest;
  }

  *#groups({ first, end }: Region): Iterable<{
    readonly group: number;
    readonly ops: readonly number[];
    readonly place: number;
  }> {
    for (let place = first; place < end; place++) {
      const group = this.#order.groupAt(place);
      if (group !== undefined) yield { group, ops: this.#order.members(group), place };
    }
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

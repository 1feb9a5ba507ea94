/**
 * What is placed, and what placing gives: every residency of a schedule as an item with its live
 * range. Called for each schedule under consideration; every planner of this folder sees the same
 * items. Pure; owns nothing.
 */
import { at } from "../../base/access.ts";
import { internal } from "../../base/errors.ts";
import { opAt, type Program, storageAt } from "../../graph/program.ts";
import type { Effort } from "./effort.ts";
import { type Action, type Context, type Segment, segmentsOf } from "../schedule.ts";

/** A residency to be placed: positions `begin` inclusive, `end` exclusive. */
export interface Item {
  readonly storage: number;
  readonly bytes: number;
  readonly begin: number;
  readonly end: number;
  /** Holds a value from the start. */
  readonly resident: boolean;
  /** Arrives with a buffer of exactly its bytes. */
  readonly entry: boolean;
  /** Keeps its buffer after the program. */
  readonly exit: boolean;
  /** A weight's gradient, which V2 treats apart. */
  readonly gradient: boolean;
  /**
   * Items that some op writes while it reads this one, or reads while it writes this one: never in
   * one buffer with it.
   */
  readonly conflicts?: ReadonlySet<number>;
}

/** Where items went: slots that are buffers, or offsets in one arena. */
export interface Placed {
  readonly name: string;
  /** Bytes of the arena, or of all slots. */
  readonly bytes: number;
  /** Offset of each item; with slots, one lies behind the other. */
  readonly offsets: readonly number[];
  /** Offset of each item in its slot, where that is not 0 for all. */
  readonly inSlot?: readonly number[];
  /** Slot of each item; absent for arenas. */
  readonly slotOf?: readonly number[];
  /** Bytes of each slot. */
  readonly slots?: readonly number[];
  /** Positions before and up to which each slot has a buffer, where that is not always. */
  readonly spans?: readonly (readonly [number, number])[];
}

/** One way to place items. */
export type Placer = (items: readonly Item[], effort?: Effort) => Placed;

/** Half-open overlap in time; an item without duration overlaps nothing. */
export function overlap(a: Item, b: Item): boolean {
  return a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
}

/** Positions that an item is live for. */
export function duration(item: Item): number {
  return item.end - item.begin;
}

/** Indices of all items. */
export function indices(items: readonly Item[]): number[] {
  return items.map((_, i) => i);
}

/** Indices of items in an order; equal ones as they come. */
export function sorted(items: readonly Item[], by: (a: Item, b: Item) => number): number[] {
  return indices(items).sort((a, b) => by(at(items, a), at(items, b)) || a - b);
}

/**
 * The items of a schedule: every residency, and the buffers of storages that are overwritten whole
 * before anybody reads them.
 * @param brings whether a storage arrives with a buffer of its own
 */
export function itemsOf(
  context: Context,
  actions: readonly Action[],
  brings: (storage: number) => boolean,
): Item[] {
  const { program } = context;
  const items = segmentsOf(context, actions)
    .filter((s) => s.begin < s.end || s.exit || brings(s.storage))
    .map((segment) => itemOf(program, segment, brings(segment.storage)));
  const arrived = new Set(items.filter((i) => i.entry).map((i) => i.storage));
  program.storages.forEach(({ bytes }, storage) => {
    if (!brings(storage) || arrived.has(storage)) return;
    const unused = { begin: 0, end: 0, resident: false, entry: true, exit: false, gradient: false };
    items.push({ storage, bytes, ...unused });
  });
  const conflicts = conflictsOf(program, actions, items);
  return items.map((item, i) => ({ ...item, conflicts: at(conflicts, i) }));
}

function itemOf(
  program: Program,
  { storage, begin, end, entry, exit }: Segment,
  brings: boolean,
): Item {
  const { bytes, role } = storageAt(program, storage);
  const gradient = role === "grad";
  return { storage, bytes, begin, end, exit, resident: entry, entry: entry && brings, gradient };
}

/** For each item, those that some op binds together with it, but with different access. */
function conflictsOf(
  program: Program,
  actions: readonly Action[],
  items: readonly Item[],
): ReadonlySet<number>[] {
  const own: number[][] = program.storages.map(() => []);
  items.forEach((item, i) => at(own, item.storage).push(i));
  const itemAt = (storage: number, t: number): number => {
    for (const i of at(own, storage)) {
      const { begin, end } = at(items, i);
      if (begin <= t && t < end) return i;
    }
    throw internal(`${storageAt(program, storage).id} is used at ${t}, where it is not live`);
  };
  const conflicts = items.map(() => new Set<number>());
  actions.forEach(({ op }, t) => {
    if (op === -1) return;
    const { reads, writes } = opAt(program, op);
    const read = reads.map((r) => itemAt(r, t));
    for (const w of writes) {
      const written = itemAt(w, t);
      for (const r of read) {
        if (r === written) continue;
        at(conflicts, written).add(r);
        at(conflicts, r).add(written);
      }
    }
  });
  return conflicts;
}

/**
 * The slot planner that puts several small tenants side by side where an old large one was. Items
 * of one op of which one is written never share a buffer, since WebGPU refuses a buffer that is
 * bound read-only and writable in one dispatch; what stays has its buffer alone. Called by
 * slot-planners.ts. Pure.
 *
 *     slot 0   |######### a #########|== b ==|== c ==|  |######### d #########|
 *
 * over time; b and c lie at different offsets.
 */
import { at } from "../../base/access.ts";
import { Effort } from "./effort.ts";
import { type Item, type Placed, type Placer, duration, sorted } from "./items.ts";
import { type OpenSlot, arrivals, openSlots, slotted, takes } from "./open-slots.ts";

/** WebGPU's alignment of bindings inside a buffer. */
export const bindingAlignment = 256;
const aligned = (bytes: number): number => Math.ceil(bytes / bindingAlignment) * bindingAlignment;

/** Largest first; among equals the longest, the first to begin, the last to end. */
const orders: readonly ((a: Item, b: Item) => number)[] = [
  (a, b) => b.bytes - a.bytes || duration(b) - duration(a),
  (a, b) => b.bytes - a.bytes || a.begin - b.begin,
  (a, b) => b.bytes - a.bytes || b.end - a.end,
];

/** The best of several orders: none is always best. */
export const packSideBySide: Placer = (items, effort = new Effort(items.length)) =>
  orders
    .map((by) => packInto(items, by, effort))
    .reduce((best, next) => (next.bytes < best.bytes ? next : best));

/** In an order, each item into the smallest gap of any slot. */
function packInto(
  items: readonly Item[],
  by: (a: Item, b: Item) => number,
  effort: Effort,
): Placed {
  const { slots, slotOf } = arrivals(items);
  const gaps = new Gaps(items);
  const open = openSlots(slots, items);
  for (const i of sorted(items, by)) {
    const item = at(items, i);
    if (item.entry) continue;
    let best = -1;
    let offset = 0;
    let gap = Infinity;
    if (!effort.goesOn()) open.length = 0;
    for (const k of open) {
      if (gap === item.bytes) break;
      const slot = at(slots, k);
      effort.looks++;
      if (!takes(slot, item, false)) continue;
      effort.looks += slot.tenants.length;
      const room = gaps.smallest(slot, i);
      if (room >= gap) continue;
      best = k;
      offset = gaps.offset;
      gap = room;
    }
    if (best === -1) {
      best = slots.length;
      open.push(best);
      slots.push({ bytes: item.bytes, tenants: [], exit: false, fixed: false });
    }
    const slot = at(slots, best);
    slot.tenants.push(i);
    slot.exit ||= item.exit;
    slotOf[i] = best;
    gaps.inSlot[i] = offset;
  }
  const placed = slotted(
    "shared",
    slots.map((s) => s.bytes),
    slotOf,
  );
  const inSlot = [...gaps.inSlot];
  return { ...placed, offsets: placed.offsets.map((start, i) => start + at(inSlot, i)), inSlot };
}

/** Looks for gaps in slots: a hundred thousand times for one placement, so lives lie flat. */
class Gaps {
  /** Offset of each item in its slot. */
  readonly inSlot: Float64Array;
  /** Where the gap begins that was found last. */
  offset = 0;
  readonly #items: readonly Item[];
  /** Lives of the items; those that live never begin after everything else. */
  readonly #begins: Float64Array;
  readonly #ends: Float64Array;
  /** Tenants of a slot that live at the same time as the item at hand. */
  readonly #beside: number[] = [];

  constructor(items: readonly Item[]) {
    this.#items = items;
    this.inSlot = new Float64Array(items.length);
    this.#begins = Float64Array.from(items, (i) => (i.begin < i.end ? i.begin : Infinity));
    this.#ends = Float64Array.from(items, (i) => i.end);
  }

  /**
   * The smallest gap of a slot that an item fits into during its whole life, in bytes; Infinity
   * when there is none. Uploads and what stays lie at the front, and what stays lies alone.
   */
  smallest(slot: OpenSlot, i: number): number {
    if (!this.#mayShare(slot, i)) return Infinity;
    const beside = this.#beside;
    const { bytes } = this.#items[i]!;
    if (beside.length > 1) beside.sort((a, b) => this.inSlot[a]! - this.inSlot[b]!);
    let from = 0;
    let least = Infinity;
    for (const t of beside) {
      const offset = this.inSlot[t]!;
      const room = offset - from;
      if (room >= bytes && room < least) {
        this.offset = from;
        least = room;
      }
      from = Math.max(from, aligned(offset + this.#items[t]!.bytes));
    }
    const room = slot.bytes - from;
    if (room < bytes || room >= least) return least;
    this.offset = from;
    return room;
  }

  /** Lists the tenants that an item would lie beside; false when it may not lie beside one. */
  #mayShare({ tenants }: OpenSlot, i: number): boolean {
    const { exit, resident, conflicts } = this.#items[i]!;
    const begin = this.#begins[i]!;
    const end = this.#ends[i]!;
    this.#beside.length = 0;
    for (const t of tenants) {
      if (this.#begins[t]! >= end || begin >= this.#ends[t]!) continue;
      if (exit || resident || this.#items[t]!.exit || conflicts?.has(t) === true) return false;
      this.#beside.push(t);
    }
    return true;
  }
}

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
import { type Item, type Placed, type Placer, duration, overlap, sorted } from "./items.ts";
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
  const inSlot = items.map(() => 0);
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
      const found = gapIn(slot, item, items, inSlot);
      if (found !== null && found.room < gap) {
        best = k;
        offset = found.offset;
        gap = found.room;
      }
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
    inSlot[i] = offset;
  }
  const placed = slotted(
    "shared",
    slots.map((s) => s.bytes),
    slotOf,
  );
  return { ...placed, offsets: placed.offsets.map((start, i) => start + at(inSlot, i)), inSlot };
}

/** A gap in a slot. */
interface Gap {
  readonly offset: number;
  readonly room: number;
}

/**
 * The smallest gap of a slot that an item fits into during its whole life. Uploads and what stays
 * lie at the front, and what stays lies alone.
 */
function gapIn(
  slot: OpenSlot,
  item: Item,
  items: readonly Item[],
  inSlot: readonly number[],
): Gap | null {
  const beside: number[] = [];
  for (const t of slot.tenants) {
    const tenant = at(items, t);
    if (!overlap(tenant, item)) continue;
    if (item.exit || tenant.exit || item.resident || item.conflicts?.has(t) === true) return null;
    beside.push(t);
  }
  beside.sort((a, b) => at(inSlot, a) - at(inSlot, b));
  let from = 0;
  let best: Gap | null = null;
  const consider = (to: number): void => {
    const room = to - from;
    if (room >= item.bytes && (best === null || room < best.room)) best = { offset: from, room };
  };
  for (const t of beside) {
    const offset = at(inSlot, t);
    consider(offset);
    from = Math.max(from, aligned(offset + at(items, t).bytes));
  }
  consider(slot.bytes);
  return best;
}

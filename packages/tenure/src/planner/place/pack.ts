/**
 * Slot planners that take items in a given order and pick a slot for each: largest first, or
 * position by position. Called by slot-planners.ts, which keeps the best. Pure.
 */
import { at } from "../../base/access.ts";
import { Effort } from "./effort.ts";
import { type Item, type Placed, type Placer, duration, sorted } from "./items.ts";
import { arrivals, firstFrom, gapTo, openSlots, slotted, takes } from "./open-slots.ts";

/** A slot that is free for an item's time, and how far its nearest tenant is away. */
interface FreeSlot {
  readonly slot: number;
  readonly bytes: number;
  readonly gap: number;
}

/** How a planner picks one of the free slots; -1 for a new one. */
type PickSlot = (item: Item, free: readonly FreeSlot[]) => number;

/**
 * Largest first, into the slot whose nearest tenant is closest in time (Pisarchyk & Lee
 * 2001.03288).
 */
export const packBySize: Placer = (items, effort) => {
  const order = sorted(items, (a, b) => b.bytes - a.bytes || duration(b) - duration(a));
  return pack("bySize", items, order, { mayGrow: false, pick: closest }, effort);
};

/**
 * Positions by live bytes, their items by size; the smallest slot that is large enough, else the
 * largest, which grows.
 */
export const packByBreadth: Placer = (items, effort) => {
  const live = liveBytes(items);
  const order = sorted(items, (a, b) => at(live, b.begin) - at(live, a.begin) || b.bytes - a.bytes);
  return pack("byBreadth", items, order, { mayGrow: true, pick: tightest }, effort);
};

/** Bytes live at each position. */
function liveBytes(items: readonly Item[]): Float64Array {
  const live = new Float64Array(items.reduce((most, i) => Math.max(most, i.begin, i.end), 0) + 1);
  for (const { begin, end, bytes } of items) {
    if (begin >= end) continue;
    live[begin]! += bytes;
    live[end]! -= bytes;
  }
  for (let t = 1; t < live.length; t++) live[t]! += live[t - 1]!;
  return live;
}

function pack(
  name: string,
  items: readonly Item[],
  order: readonly number[],
  { mayGrow, pick }: { readonly mayGrow: boolean; readonly pick: PickSlot },
  effort = new Effort(items.length),
): Placed {
  const { slots, slotOf } = arrivals(items);
  const open = openSlots(slots, items);
  for (const i of order) {
    const item = at(items, i);
    if (item.entry) continue;
    const free: FreeSlot[] = [];
    if (effort.goesOn()) effort.looks += open.length;
    else open.length = 0;
    for (const k of open) {
      const slot = at(slots, k);
      if (!takes(slot, item, mayGrow)) continue;
      const gap = gapTo(slot, item, items);
      if (gap !== Infinity) free.push({ slot: k, bytes: slot.bytes, gap });
    }
    let best = pick(item, free);
    if (best === -1) {
      best = slots.length;
      open.push(best);
      slots.push({ bytes: item.bytes, tenants: [], exit: false, fixed: false });
    }
    const slot = at(slots, best);
    slot.bytes = Math.max(slot.bytes, item.bytes);
    slot.exit ||= item.exit;
    slot.tenants.splice(firstFrom(slot, item.begin, items), 0, i);
    slotOf[i] = best;
  }
  return slotted(
    name,
    slots.map((s) => s.bytes),
    slotOf,
  );
}

const closest: PickSlot = (_, free) =>
  free.reduce((best, f) => (f.gap < best.gap ? f : best), { slot: -1, gap: Infinity }).slot;

const tightest: PickSlot = (item, free) => {
  let fit = -1;
  let fitBytes = Infinity;
  let grow = -1;
  let growBytes = -1;
  for (const { slot, bytes } of free) {
    if (bytes >= item.bytes) {
      if (bytes < fitBytes) {
        fit = slot;
        fitBytes = bytes;
      }
    } else if (bytes > growBytes) {
      grow = slot;
      growBytes = bytes;
    }
  }
  return fit !== -1 ? fit : grow;
};

/**
 * Slots under construction: one slot is one GPU buffer, and what shares it over time are its
 * tenants. The rules of who may live where, for all planners that make slots. Pure; a slot is owned
 * by the planner that opened it.
 */
import { at } from "../../base/access.ts";
import { type Item, type Placed, overlap } from "./items.ts";

/** A slot that items are being put into. */
export interface OpenSlot {
  bytes: number;
  /** Indices of items, by rising begin unless the planner says otherwise. */
  tenants: number[];
  /** One of the tenants keeps the buffer. */
  exit: boolean;
  /** The buffer arrived with its first tenant, so it has its size. */
  fixed: boolean;
}

/**
 * Slots for the items that arrive with buffers, and which slot each item got; -1 for the others.
 */
export function arrivals(items: readonly Item[]): { slots: OpenSlot[]; slotOf: number[] } {
  const slots: OpenSlot[] = [];
  const slotOf = items.map(({ bytes, begin, end, entry, exit }, i) => {
    if (!entry) return -1;
    return slots.push({ bytes, tenants: begin < end ? [i] : [], exit, fixed: true }) - 1;
  });
  return { slots, slotOf };
}

/** The placement of items in slots of these bytes. */
export function slotted(
  name: string,
  slots: readonly number[],
  slotOf: readonly number[],
): Placed & { readonly slotOf: readonly number[]; readonly slots: readonly number[] } {
  const starts: number[] = [];
  let bytes = 0;
  for (const size of slots) {
    starts.push(bytes);
    bytes += size;
  }
  return { name, bytes, offsets: slotOf.map((slot) => at(starts, slot)), slotOf, slots };
}

/** Slots that are not taken from beginning to end, as those of most parameters are. */
export function openSlots(slots: readonly OpenSlot[], items: readonly Item[]): number[] {
  const end = items.reduce((most, i) => Math.max(most, i.end), 0);
  const always = (i: number): boolean => at(items, i).begin === 0 && at(items, i).end === end;
  return slots.flatMap(({ tenants }, slot) => (tenants.some(always) ? [] : [slot]));
}

/**
 * Whether an item may live in a slot at all: a buffer that arrived has its size, and one that stays
 * has its owner's.
 */
export function takes(
  slot: { readonly bytes: number; readonly exit: boolean; readonly fixed: boolean },
  item: Item,
  mayGrow: boolean,
): boolean {
  if (item.exit && slot.exit) return false;
  if (slot.bytes < item.bytes && (!mayGrow || slot.fixed || slot.exit)) return false;
  return !item.exit || slot.bytes === item.bytes;
}

/** Which of the tenants, sorted by begin, is the first that begins at a position or behind it. */
export function firstFrom({ tenants }: OpenSlot, begin: number, items: readonly Item[]): number {
  let low = 0;
  let high = tenants.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(items, at(tenants, middle)).begin < begin) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Distance in positions to the nearest tenant, Infinity when one overlaps. Tenants are sorted by
 * begin.
 */
export function gapTo(slot: OpenSlot, item: Item, items: readonly Item[]): number {
  const { tenants } = slot;
  const place = firstFrom(slot, item.begin, items);
  const next = tenants[place];
  const before = tenants[place - 1];
  let gap = Number.MAX_SAFE_INTEGER;
  if (next !== undefined) {
    const tenant = at(items, next);
    if (overlap(item, tenant)) return Infinity;
    gap = Math.min(gap, tenant.begin - item.end);
  }
  if (before !== undefined) {
    const tenant = at(items, before);
    if (overlap(item, tenant)) return Infinity;
    gap = Math.min(gap, item.begin - tenant.end);
  }
  return gap;
}

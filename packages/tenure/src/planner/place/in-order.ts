/**
 * The slot planner that works as an allocator does: items as they begin, each into a slot that is
 * free by then. One pass over time, so programs of any length are placed. Called by
 * slot-planners.ts. Pure.
 */
import { at } from "../../base/access.ts";
import { Effort } from "./effort.ts";
import { FreeSlots } from "./free-slots.ts";
import { type Item, type Placed, sorted } from "./items.ts";
import { type OpenSlot, slotted } from "./open-slots.ts";

/**
 * As they begin, into the smallest free slot that is large enough, else the largest, which grows.
 * @param waste how much larger a slot may be than its tenant, as a factor; slots don't grow when it
 *   is given
 */
export function packInOrder(
  name: string,
  items: readonly Item[],
  waste = Infinity,
  effort = new Effort(items.length),
): Placed {
  const slots: OpenSlot[] = [];
  const slotOf = items.map(() => -1);
  const ends: number[][] = [];
  const free = new FreeSlots();
  const take = (i: number, slot: number): void => {
    slotOf[i] = slot;
    const { end, exit } = at(items, i);
    if (!exit) (ends[end] ??= []).push(slot);
  };
  const open = ({ bytes, exit }: Item, fixed: boolean): number =>
    slots.push({ bytes, tenants: [], exit, fixed }) - 1;
  items.forEach((item, i) => {
    if (item.entry) take(i, open(item, true));
  });
  let now = 0;
  for (const i of sorted(items, (a, b) => a.begin - b.begin || b.bytes - a.bytes)) {
    const item = at(items, i);
    if (item.entry) continue;
    for (; now <= item.begin; now++) for (const n of ends[now] ?? []) free.add(n, at(slots, n));
    const best = effort.goesOn() ? free.take(item, waste) : -1;
    if (best === -1) {
      take(i, open(item, false));
      continue;
    }
    const slot = at(slots, best);
    slot.bytes = Math.max(slot.bytes, item.bytes);
    slot.exit ||= item.exit;
    take(i, best);
  }
  effort.looks += free.looks;
  return slotted(
    name,
    slots.map((s) => s.bytes),
    slotOf,
  );
}

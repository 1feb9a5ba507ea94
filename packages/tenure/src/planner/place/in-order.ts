/**
 * The slot planner that works as an allocator does: items as they begin, each into a slot that is
 * free by then. One pass over time, so programs of any length are placed. Called by
 * slot-planners.ts. Pure.
 */
import { at, last } from "../../base/access.ts";
import { type Item, type Placed, sorted } from "./items.ts";
import { type OpenSlot, slotted, takes } from "./open-slots.ts";

/**
 * As they begin, into the smallest free slot that is large enough, else the largest, which grows.
 * @param waste how much larger a slot may be than its tenant, as a factor; slots don't grow when it
 *   is given
 */
export function packInOrder(name: string, items: readonly Item[], waste = Infinity): Placed {
  const slots: OpenSlot[] = [];
  const slotOf = items.map(() => -1);
  const ends: number[][] = [];
  const free: number[] = [];
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
    for (; now <= item.begin; now++) for (const slot of ends[now] ?? []) free.push(slot);
    const found = bestFree(item, free, slots, waste);
    if (found === -1) {
      take(i, open(item, false));
      continue;
    }
    const best = at(free, found);
    free[found] = last(free);
    free.pop();
    const slot = at(slots, best);
    slot.bytes = Math.max(slot.bytes, item.bytes);
    slot.exit ||= item.exit;
    take(i, best);
  }
  return slotted(
    name,
    slots.map((s) => s.bytes),
    slotOf,
  );
}

/** Where in `free` the best slot for an item is; -1 when none takes it. */
function bestFree(
  item: Item,
  free: readonly number[],
  slots: readonly OpenSlot[],
  waste: number,
): number {
  const mayGrow = waste === Infinity;
  let fit = -1;
  let fitBytes = Infinity;
  let grow = -1;
  let growBytes = -1;
  for (const [k, number] of free.entries()) {
    const slot = at(slots, number);
    const { bytes } = slot;
    if (bytes > waste * item.bytes || !takes(slot, item, mayGrow)) continue;
    if (bytes >= item.bytes) {
      if (bytes < fitBytes || (bytes === fitBytes && number < at(free, fit))) {
        fit = k;
        fitBytes = bytes;
      }
    } else if (bytes > growBytes || (bytes === growBytes && number < at(free, grow))) {
      grow = k;
      growBytes = bytes;
    }
  }
  return fit !== -1 ? fit : grow;
}

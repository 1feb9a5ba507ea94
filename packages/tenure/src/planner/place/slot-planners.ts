/**
 * Placement: which residencies share memory. Every planner sees the same items and answers with
 * offsets, checked by the same `checkPlacement`. The ones that make slots are what runs: a slot is
 * one GPU buffer. The planners of arena.ts stand beside them for comparison. Called for each
 * schedule under consideration. Pure.
 */
import { at } from "../../base/access.ts";
import type { Deadline } from "../deadline.ts";
import { packInOrder } from "./in-order.ts";
import type { Item, Placed, Placer } from "./items.ts";
import { packByBreadth, packBySize } from "./pack.ts";
import { fewItems, searchSlots } from "./search.ts";
import { packSideBySide } from "./side-by-side.ts";
import { slotted } from "./open-slots.ts";

/** Every storage keeps memory of its own. */
function own(items: readonly Item[]): Placed {
  const first = new Map<number, number>();
  const slots: number[] = [];
  const slotOf = items.map((item) => {
    const known = first.get(item.storage);
    if (known !== undefined && !item.entry) {
      slots[known] = Math.max(at(slots, known), item.bytes);
      return known;
    }
    first.set(item.storage, slots.length);
    return slots.push(item.bytes) - 1;
  });
  return slotted("own", slots, slotOf);
}

/** Planners whose result can run. */
export const slotPlanners: Readonly<
  Record<"bySize" | "byBreadth" | "inOrder" | "alike" | "shared" | "own", Placer>
> = {
  bySize: packBySize,
  byBreadth: packByBreadth,
  inOrder: (items) => packInOrder("inOrder", items),
  // As an allocator with size classes does.
  alike: (items) => packInOrder("alike", items, 1.25),
  shared: packSideBySide,
  own,
};

/** Items up to which the quadratic planners are tried. */
const manyItems = 2500;
/** Items up to which planners are tried that take time with each slot. */
const veryManyItems = 8000;

/** The slot planners that share buffers, as far as they are worth their time for so many items. */
export function sharingPlanners(items: readonly Item[]): Placer[] {
  const { inOrder, alike, bySize, byBreadth, shared } = slotPlanners;
  const planners = [inOrder, alike];
  if (items.length <= veryManyItems) planners.push(bySize);
  if (items.length <= manyItems) planners.push(byBreadth, shared);
  return planners;
}

/**
 * An exact search is tried when the best planner misses the budget by no more than this factor, and
 * the items are few.
 */
const tight = 1.25;

/**
 * The best of all slot planners, and an exact search when that does not fit into the budget and the
 * items are few.
 * @param lowerBound bytes below which no placement can be: the first that reaches it is taken
 * @param deadline once it was lifted, the first that fits into the budget is taken
 */
export function placeSlots(
  items: readonly Item[],
  budgetBytes = Infinity,
  lowerBound = 0,
  deadline: Deadline | null = null,
): Placed {
  let best: Placed | null = null;
  for (const planner of [...sharingPlanners(items), own]) {
    if (best !== null && best.bytes <= lowerBound) return best;
    deadline?.check();
    if (best !== null && best.bytes <= budgetBytes && deadline?.passed === true) return best;
    const placed = planner(items);
    if (best === null || placed.bytes < best.bytes) best = placed;
  }
  best ??= own(items);
  const close = best.bytes > budgetBytes && best.bytes <= tight * budgetBytes;
  return close && items.length <= fewItems ? searchSlots(items, best) : best;
}

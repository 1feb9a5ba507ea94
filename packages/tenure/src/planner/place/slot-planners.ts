/**
 * Placement: which residencies share memory. Every planner sees the same items and answers with
 * offsets, checked by the same `checkPlacement`. The ones that make slots are what runs: a slot is
 * one GPU buffer. The planners of arena.ts stand beside them for comparison. Called for each
 * schedule under consideration. Pure.
 */
import { at } from "../../base/access.ts";
import type { Deadline } from "../deadline.ts";
import { Effort } from "./effort.ts";
import { packInOrder } from "./in-order.ts";
import type { Item, Placed, Placer } from "./items.ts";
import { packByBreadth, packBySize } from "./pack.ts";
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
  inOrder: (items, effort) => packInOrder("inOrder", items, Infinity, effort),
  // As an allocator with size classes does.
  alike: (items, effort) => packInOrder("alike", items, 1.25, effort),
  shared: packSideBySide,
  own,
};

const { inOrder, alike, bySize, byBreadth, shared } = slotPlanners;
/** Those of them that share buffers. */
export const sharingPlanners: readonly Placer[] = [inOrder, alike, bySize, byBreadth, shared];
/** Those of them that look at every item once. */
const quickPlanners: readonly Placer[] = [inOrder, alike];

/** A search for a placement that is better than the best one known. */
export type Search = (items: readonly Item[], best: Placed) => Placed;

/** A search is tried when the best planner misses the budget by no more than this factor. */
const tight = 1.25;

/** How well items are to be placed. */
interface SlotAims {
  readonly budgetBytes?: number;
  /** Bytes below which no placement can be: the first that reaches it is taken. */
  readonly lowerBound?: number;
  /** Only planners that take little time. */
  readonly quick?: boolean;
  readonly deadline?: Deadline | undefined;
  readonly search?: Search | undefined;
}

/**
 * The best of all slot planners, and a search, where one is given, when that does not fit into the
 * budget. @throws PlanningTooLong after the deadline
 */
export function placeSlots(items: readonly Item[], aims: SlotAims = {}): Placed {
  const { budgetBytes = Infinity, lowerBound = 0, quick = false, deadline, search } = aims;
  let best: Placed | null = null;
  for (const planner of [...(quick ? quickPlanners : sharingPlanners), own]) {
    const placed = planner(items, new Effort(items.length, deadline));
    if (best === null || placed.bytes < best.bytes) best = placed;
    if (best.bytes <= lowerBound) return best;
  }
  best ??= own(items);
  const close = best.bytes > budgetBytes && best.bytes <= tight * budgetBytes;
  return close && search !== undefined ? search(items, best) : best;
}

/**
 * An exact search over all ways to share slots, for few items and budgets that the other planners
 * miss by little. Called by the planning under budgets. Pure.
 */
import { at } from "../../base/access.ts";
import { type Item, type Placed, duration, overlap, sorted } from "./items.ts";
import { slotted, takes } from "./open-slots.ts";

/** Items up to which the search is worth its time. */
export const fewItems = 64;

/** Steps a search may take. */
const searchSteps = 2000;

/** A slot on the path that the search is on. */
interface TriedSlot {
  readonly bytes: number;
  readonly tenants: Item[];
  readonly fixed: boolean;
  exit: boolean;
}

/**
 * Depth-first search, largest items first, so that slots never grow; cut where the sum is no better
 * than the best known.
 */
export function searchSlots(items: readonly Item[], best: Placed): Placed {
  const order = sorted(
    items,
    (a, b) => Number(b.entry) - Number(a.entry) || b.bytes - a.bytes || duration(b) - duration(a),
  );
  const slots: TriedSlot[] = [];
  const slotOf = items.map(() => -1);
  let found = best;
  let steps = 0;
  const visit = (k: number, sum: number): void => {
    if (sum >= found.bytes || ++steps > searchSteps) return;
    const i = order[k];
    if (i === undefined) {
      found = slotted(
        "search",
        slots.map((s) => s.bytes),
        [...slotOf],
      );
      return;
    }
    const item = at(items, i);
    if (!item.entry) {
      // Slots that are opened behind this one are closed again when their visit returns.
      for (const [s, slot] of slots.entries()) {
        if (!takes(slot, item, false) || slot.tenants.some((t) => overlap(t, item))) continue;
        const { exit } = slot;
        slot.tenants.push(item);
        slot.exit ||= item.exit;
        slotOf[i] = s;
        visit(k + 1, sum);
        slot.tenants.pop();
        slot.exit = exit;
      }
    }
    slotOf[i] = slots.length;
    slots.push({ bytes: item.bytes, tenants: [item], exit: item.exit, fixed: item.entry });
    visit(k + 1, sum + item.bytes);
    slots.pop();
  };
  visit(0, 0);
  return found;
}

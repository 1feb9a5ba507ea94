/**
 * The check that every placement passes, whoever made it. Called by the planner's checks and by
 * tests; trusts nothing but the items. Pure.
 */
import { at } from "../../base/access.ts";
import { internal } from "../../base/errors.ts";
import { type Item, type Placed, overlap, sorted } from "./items.ts";

/**
 * Checks that no two items share memory while both live, and that everything fits. @throws Error
 * (internal) at the first breach.
 */
export function checkPlacement(items: readonly Item[], placed: Placed): void {
  const live: number[] = [];
  for (const i of sorted(items, (a, b) => a.begin - b.begin)) {
    const item = at(items, i);
    const low = at(placed.offsets, i);
    const high = low + item.bytes;
    if (low < 0 || high > placed.bytes)
      throw internal(`${placed.name}: item ${i} lies outside the memory`);
    for (let k = live.length - 1; k >= 0; k--) {
      const j = at(live, k);
      const other = at(items, j);
      const otherLow = at(placed.offsets, j);
      if (other.end <= item.begin) live.splice(k, 1);
      else if (overlap(item, other) && low < otherLow + other.bytes && otherLow < high)
        throw internal(`${placed.name}: items ${j} and ${i} overlap in time and memory`);
    }
    live.push(i);
  }
}

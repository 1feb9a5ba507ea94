/**
 * Every placement of the same items, to be compared in reports. Called when somebody asks for one.
 * Pure.
 */
import { arenaPlanners } from "./arena.ts";
import type { Item } from "./items.ts";
import { sharingPlanners } from "./slot-planners.ts";

/** Items up to which the planners of arenas are tried. */
const manyItems = 2000;

/** Bytes that each planner would take, by its name. */
export function comparePlacements(items: readonly Item[]): Record<string, number> {
  const arenas = items.length <= manyItems ? Object.values(arenaPlanners) : [];
  const placed = [...arenas, ...sharingPlanners].map((planner) => planner(items));
  return Object.fromEntries(placed.map((p) => [p.name, p.bytes]));
}

/**
 * Join: what is known of a value that comes from several paths. Pure; used by everything that asks
 * how fresh a value is.
 */
import type { Freshness } from "../session.ts";

/** Joins what two paths give. */
export function joinFreshness(a: Freshness, b: Freshness): Freshness {
  if (a === b || b === "never") return a;
  if (a === "never") return b;
  return a === "unknown" || b === "unknown" ? "unknown" : "mixed";
}
/** Joins what several paths give; of none nothing is known. */
export const joinAll = (all: readonly Freshness[]): Freshness =>
  all.length === 0 ? "unknown" : all.reduce(joinFreshness);

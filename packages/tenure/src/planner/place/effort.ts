/**
 * How hard a planner looks for room. Counted in looks at slots and tenants, not in time, so that
 * the same items always go to the same places; beyond it, the items that are left get slots of
 * their own. Made by slot-planners.ts for each planner and schedule. Owns nothing.
 */
import type { Deadline } from "../deadline.ts";

/** Looks that are always allowed, and more for each item: programs of 10,000 ops end in time. */
const someLooks = 500_000;
const looksPerItem = 100;

/** The looks that one planner takes. */
export class Effort {
  readonly #most: number;
  readonly #deadline: Deadline | undefined;
  /** Slots and tenants that were looked at so far. */
  looks = 0;

  constructor(items: number, deadline?: Deadline) {
    this.#most = someLooks + looksPerItem * items;
    this.#deadline = deadline;
  }

  /** Whether the next item may be looked for room for. @throws PlanningTooLong when it is late */
  goesOn(): boolean {
    this.#deadline?.check();
    return this.looks < this.#most;
  }
}

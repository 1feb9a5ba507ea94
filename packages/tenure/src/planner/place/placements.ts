/**
 * The placements of the schedules under consideration. Placing takes time and the same schedule is
 * asked about several times, so what was found is remembered while one program is planned. Made by
 * pipeline.ts, read by the passes that weigh schedules; answers depend on the schedule alone.
 */
import type { Candidate } from "../candidate.ts";
import type { Deadline } from "../deadline.ts";
import type { Context } from "../schedule.ts";
import { type Item, type Placed, itemsOf } from "./items.ts";
import { placeSlots, slotPlanners } from "./slot-planners.ts";
import { fewItems, searchSlots } from "./search.ts";
import { openingSeconds, placeSpans } from "./spans.ts";

/** The items of a schedule, and where they went. */
export interface Placement {
  readonly items: readonly Item[];
  readonly placed: Placed;
}

/** Places schedules of one program. */
export class Placements {
  readonly #context: Context;
  readonly #kind: "slots" | "none";
  readonly #budgetBytes: number;
  readonly #deadline: Deadline | null;
  readonly #known = new Map<Candidate, Placement>();
  /** Whether a storage arrives with a buffer of its own. */
  readonly brings: (storage: number) => boolean;

  constructor(
    context: Context,
    policy: { readonly placement: "slots" | "none"; readonly budgetBytes: number },
    brings: (storage: number) => boolean,
    deadline: Deadline | null = null,
  ) {
    this.#context = context;
    this.#kind = policy.placement;
    this.#budgetBytes = policy.budgetBytes;
    this.brings = brings;
    this.#deadline = deadline;
  }

  /** A schedule in slots that are there from the first step to the last. */
  of(candidate: Candidate): Placement {
    this.#deadline?.check();
    const known = this.#known.get(candidate);
    if (known !== undefined) return known;
    const items = itemsOf(this.#context, candidate.actions, this.brings);
    const placed =
      this.#kind === "none"
        ? slotPlanners.own(items)
        : placeSlots(items, this.#budgetBytes, candidate.peak, this.#deadline);
    const placement = { items, placed };
    this.#known.set(candidate, placement);
    return placement;
  }

  /** Bytes a schedule takes. */
  bytes(candidate: Candidate): number {
    return this.of(candidate).placed.bytes;
  }

  /** Bytes a schedule takes when an exact search is tried too, however far from the budget. */
  leastBytes(candidate: Candidate): number {
    const { items, placed } = this.of(candidate);
    const search = this.#kind === "slots" && items.length <= fewItems;
    return search ? searchSlots(items, placed).bytes : placed.bytes;
  }

  /**
   * Bytes a schedule takes with transient buffers, and the seconds that costs; neither depends on
   * the budget. Null where buffers may not come and go.
   */
  transient(candidate: Candidate): { readonly bytes: number; readonly seconds: number } | null {
    const { actions, peak } = candidate;
    if (this.#kind === "none" || actions.length === 0) return null;
    const { items } = this.of(candidate);
    return {
      bytes: placeSpans(items, actions.length, peak).bytes,
      seconds: items.reduce((sum, i) => (i.entry ? sum : sum + openingSeconds), 0),
    };
  }
}

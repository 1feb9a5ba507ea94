/**
 * The placements of the schedules under consideration. Placing takes time and the same schedule is
 * asked about several times, so what was found is remembered while one program is planned. Made by
 * pipeline.ts, read by the passes that weigh schedules; answers depend on the schedule alone.
 */
import type { Candidate } from "../candidate.ts";
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
  readonly #known = new Map<Candidate, Placement>();
  readonly #quick: boolean;
  /** Whether a storage arrives with a buffer of its own. */
  readonly brings: (storage: number) => boolean;

  /** @param quick to use only planners that take little time */
  constructor(
    context: Context,
    policy: { readonly placement: "slots" | "none"; readonly budgetBytes: number },
    brings: (storage: number) => boolean,
    quick = false,
  ) {
    this.#context = context;
    this.#kind = policy.placement;
    this.#budgetBytes = policy.budgetBytes;
    this.brings = brings;
    this.#quick = quick;
  }

  /** A schedule in slots that are there from the first step to the last. */
  of(candidate: Candidate): Placement {
    const known = this.#known.get(candidate);
    if (known !== undefined) return known;
    const items = itemsOf(this.#context, candidate.actions, this.brings);
    const placed =
      this.#kind === "none" ? slotPlanners.own(items) : this.#place(items, candidate.peak);
    const placement = { items, placed };
    this.#known.set(candidate, placement);
    return placement;
  }

  #place(items: readonly Item[], lowerBound: number): Placed {
    const { deadline } = this.#context;
    const aims = { budgetBytes: this.#budgetBytes, lowerBound, quick: this.#quick, deadline };
    return placeSlots(items, aims);
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
      bytes: placeSpans(items, actions.length, peak, this.#context.deadline).bytes,
      seconds: items.reduce((sum, i) => (i.entry ? sum : sum + openingSeconds), 0),
    };
  }
}

/**
 * The placements of the schedules under consideration. Placing takes time and the same schedule is
 * asked about several times, so what was found is remembered while one program is planned. Made by
 * pipeline.ts, read by the passes that weigh schedules; answers depend on the schedule alone.
 */
import type { Candidate } from "../candidate.ts";
import type { Context } from "../schedule.ts";
import { type Item, type Placed, itemsOf } from "./items.ts";
import { type Search, placeSlots, slotPlanners } from "./slot-planners.ts";

/** The items of a schedule, and where they went. */
export interface Placement {
  readonly items: readonly Item[];
  readonly placed: Placed;
}

/** Places schedules of one program. */
export class Placements {
  readonly context: Context;
  readonly kind: "slots" | "none";
  readonly #budgetBytes: number;
  readonly #known = new Map<Candidate, Placement>();
  readonly #quick: boolean;
  readonly #search: Search | undefined;
  /** Whether a storage arrives with a buffer of its own. */
  readonly brings: (storage: number) => boolean;

  /**
   * @param how `quick`: only planners that take little time; `search`: what else is tried where the
   *   budget is missed by little
   */
  constructor(
    context: Context,
    policy: { readonly placement: "slots" | "none"; readonly budgetBytes: number },
    brings: (storage: number) => boolean,
    { quick = false, search }: { readonly quick?: boolean; readonly search?: Search | undefined },
  ) {
    this.context = context;
    this.kind = policy.placement;
    this.#budgetBytes = policy.budgetBytes;
    this.brings = brings;
    this.#quick = quick;
    this.#search = search;
  }

  /** A schedule in slots that are there from the first step to the last. */
  of(candidate: Candidate): Placement {
    const known = this.#known.get(candidate);
    if (known !== undefined) return known;
    const items = itemsOf(this.context, candidate.actions, this.brings);
    const placed =
      this.kind === "none" ? slotPlanners.own(items) : this.#place(items, candidate.peak);
    const placement = { items, placed };
    this.#known.set(candidate, placement);
    return placement;
  }

  #place(items: readonly Item[], lowerBound: number): Placed {
    const { deadline } = this.context;
    const aims = { budgetBytes: this.#budgetBytes, lowerBound, quick: this.#quick, deadline };
    return placeSlots(items, { ...aims, search: this.#search });
  }

  /** Bytes a schedule takes. */
  bytes(candidate: Candidate): number {
    return this.of(candidate).placed.bytes;
  }
}

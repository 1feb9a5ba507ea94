/**
 * Schedules under consideration: how each was found, what it needs and what it costs. Made by the
 * passes that recompute and swap, weighed by the one that chooses. Pure.
 */
import { at } from "../base/access.ts";
import { type Extra, extraOf, type Rates } from "./cost.ts";
import type { MirrorPlan } from "./recompute/memonger.ts";
import { type Action, type Context, livePeak } from "./schedule.ts";

/** A schedule under consideration. */
export interface Candidate {
  /** How it was found, for `explain`. */
  readonly how: string;
  readonly actions: readonly Action[];
  /** Most bytes live at one time. */
  readonly peak: number;
  readonly extra: Extra;
  /** memonger's plan, when it is one. */
  readonly mirror?: MirrorPlan;
}

/** A schedule with its peak and its cost. */
export function candidateOf(
  context: Context,
  rates: Rates,
  how: string,
  actions: readonly Action[],
  mirror?: MirrorPlan,
): Candidate {
  return {
    how,
    actions,
    peak: livePeak(context, actions),
    extra: extraOf(context.program, actions, rates),
    ...(mirror === undefined ? {} : { mirror }),
  };
}

/** A schedule whose peak and cost are known, and which is written down when somebody asks. */
export function laterCandidate(
  how: string,
  peak: number,
  extra: Extra,
  write: () => readonly Action[],
): Candidate {
  let written: readonly Action[] | undefined;
  return {
    how,
    peak,
    extra,
    get actions(): readonly Action[] {
      return (written ??= write());
    },
  };
}

/** Candidates that no other beats in both memory and cost, cheapest first. */
export function pareto(all: readonly Candidate[]): Candidate[] {
  const sorted = [...all].sort((a, b) => a.extra.seconds - b.extra.seconds || a.peak - b.peak);
  const front: Candidate[] = [];
  let least = Infinity;
  for (const c of sorted) {
    if (front.length > 0 && c.peak >= least) continue;
    front.push(c);
    least = c.peak;
  }
  return front;
}

/** The one that needs least; the cheaper of two that need as much. */
export function leastBy(
  candidates: readonly [Candidate, ...Candidate[]],
  bytes: (c: Candidate) => number,
): Candidate {
  return candidates.reduce((best, next) =>
    (bytes(next) - bytes(best) || next.extra.seconds - best.extra.seconds) < 0 ? next : best,
  );
}

/** At most so many elements of a list, evenly spread, first and last among them. */
export function spread<T>(list: readonly T[], most: number): T[] {
  if (list.length <= most) return [...list];
  return Array.from({ length: most }, (_, k) =>
    at(list, Math.round((k * (list.length - 1)) / (most - 1))),
  );
}

/** The elements of a set that are not in another. */
export function without(all: ReadonlySet<number>, less: ReadonlySet<number>): Set<number> {
  return new Set([...all].filter((s) => !less.has(s)));
}

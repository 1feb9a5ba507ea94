/**
 * One cycle of the learning rate up and down, with momentum moving the other way. Borrows the
 * optimizer and owns nothing.
 */
import { ArgumentError } from "../../base/errors.ts";
import { at } from "../../base/access.ts";
import { type OptionTable, readOptions } from "../../base/options.ts";
import { Schedule, type Scheduled, checkAsked, factor, positiveSteps } from "./base.ts";

/** A group as schedules see it: hyperparameters to be overwritten. */
interface Rates {
  lr: number;
  momentum?: number;
  betas?: readonly [number, number];
}

/** Options of `OneCycleLR`, with PyTorch's defaults. */
export interface OneCycleOptions {
  /** The peak: one number, or one per group. */
  readonly maxLr: number | readonly number[];
  /** Steps of the whole cycle; more are an error. */
  readonly totalSteps: number;
  /** Share of the steps spent rising. */
  readonly pctStart?: number;
  /** The shape of rise and fall: half a cosine (default), or a line. */
  readonly annealStrategy?: "cos" | "linear";
  /** The cycle begins at maxLr / divFactor … */
  readonly divFactor?: number;
  /** … and ends at that start / finalDivFactor. */
  readonly finalDivFactor?: number;
  /** Falls back as long as it rose, then anneals. */
  readonly threePhase?: boolean;
  /** Moves momentum (or beta1) the other way, where the optimizer has one. */
  readonly cycleMomentum?: boolean;
  /** Momentum at the peak of the rate. */
  readonly baseMomentum?: number;
  /** Momentum at both ends. */
  readonly maxMomentum?: number;
}

const oneCycleOptions = {
  maxLr: {
    type: "list",
    of: "number",
    range: "[0, Infinity)",
    single: true,
    required: true,
    remedy: "pass the highest rate, or one for each group",
  },
  totalSteps: { ...positiveSteps, required: true },
  pctStart: { type: "number", range: "[0, 1]", what: "a pctStart", default: 0.3 },
  annealStrategy: { type: "choice", of: ["cos", "linear"], default: "cos" },
  divFactor: { ...factor, default: 25 },
  finalDivFactor: { ...factor, default: 1e4 },
  threePhase: { type: "flag", default: false },
  cycleMomentum: { type: "flag", default: true },
  baseMomentum: { ...factor, default: 0.85 },
  maxMomentum: { ...factor, default: 0.95 },
} satisfies OptionTable<OneCycleOptions>;

/**
 * One cycle up and down (Smith & Topin 2018), as torch.optim.lr_scheduler.OneCycleLR. Rates are set
 * from `maxLr`; the optimizer's own do not matter.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 * @example
 * ```ts
 * const schedule = new OneCycleLR(optimizer, { maxLr: 0.1, totalSteps: 100 });
 * optimizer.step();
 * schedule.step();
 * ```
 */
export class OneCycleLR extends Schedule {
  readonly #options: Required<OneCycleOptions>;
  readonly #optimizer: Scheduled;

  constructor(optimizer: Scheduled, options: OneCycleOptions) {
    super(optimizer);
    this.#optimizer = optimizer;
    this.#options = readOptions("OneCycleLR", options, oneCycleOptions);
    const { maxLr } = this.#options;
    if (typeof maxLr !== "number" && maxLr.length !== optimizer.groups.length)
      throw new ArgumentError(
        "OneCycleLR",
        `one maxLr, or one for each of ${optimizer.groups.length} groups`,
        String(maxLr.length),
        "pass one number for all of them",
      );
    this.apply();
  }

  /** Walks the phases: a value for their ends, and how far in between. */
  #at(step: number, ends: readonly number[]): number {
    const { totalSteps, pctStart, threePhase, annealStrategy } = this.#options,
      rise = pctStart * totalSteps - 1;
    if (step > totalSteps)
      throw new ArgumentError(
        "OneCycleLR",
        `at most ${totalSteps} steps`,
        String(step),
        "give the number of steps you mean to make as totalSteps",
      );
    const stops = threePhase ? [0, rise, 2 * rise, totalSteps - 1] : [0, rise, totalSteps - 1];
    const later = stops.findIndex((stop, k) => k > 0 && step <= stop);
    const k = later === -1 ? stops.length - 1 : later;
    const [start, stop, from, to] = [at(stops, k - 1), at(stops, k), at(ends, k - 1), at(ends, k)];
    const t = (step - start) / (stop - start);
    return annealStrategy === "cos"
      ? to + ((from - to) / 2) * (1 + Math.cos(Math.PI * t))
      : from + (to - from) * t;
  }

  rate(step: number, base: number, group: number): number {
    checkAsked("OneCycleLR", step, base);
    const { maxLr, divFactor, finalDivFactor, threePhase } = this.#options,
      top = typeof maxLr === "number" ? maxLr : at(maxLr, group);
    const start = top / divFactor,
      end = start / finalDivFactor;
    return this.#at(step, threePhase ? [start, top, start, end] : [start, top, end]);
  }

  protected override applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    super.applyTo(optimizer, step, base);
    const { cycleMomentum, baseMomentum: low, maxMomentum: high, threePhase } = this.#options;
    if (!cycleMomentum) return;
    const momentum = this.#at(step, threePhase ? [high, low, high, high] : [high, low, high]);
    for (const group of this.#optimizer.groups as readonly Rates[]) {
      if (group.betas !== undefined) group.betas = [momentum, group.betas[1]];
      else if (group.momentum !== undefined && group.momentum > 0) group.momentum = momentum;
    }
  }
}

/**
 * One cycle of the learning rate up and down, with momentum moving the other way. Borrows the
 * optimizer and owns nothing.
 */
import { ArgumentError } from "../../base/errors.ts";
import { needOptions } from "../../base/options.ts";
import { checkNumber } from "../optimizer.ts";
import { type Scheduled, Schedule, whole } from "./base.ts";

/** A group as schedules see it: hyperparameters to be overwritten. */
interface Rates {
  lr: number;
  momentum?: number;
  betas?: readonly [number, number];
}

export interface OneCycleOptions {
  /** The peak: one number, or one per group. */
  readonly maxLr: number | readonly number[];
  /** Steps of the whole cycle; more are an error. */
  readonly totalSteps: number;
  /** Share of the steps spent rising. */
  readonly pctStart?: number;
  readonly annealStrategy?: "cos" | "linear";
  /** The cycle begins at maxLr / divFactor … */
  readonly divFactor?: number;
  /** … and ends at that start / finalDivFactor. */
  readonly finalDivFactor?: number;
  /** Falls back as long as it rose, then anneals. */
  readonly threePhase?: boolean;
  /** Moves momentum (or beta1) the other way, where the optimizer has one. */
  readonly cycleMomentum?: boolean;
  readonly baseMomentum?: number;
  readonly maxMomentum?: number;
}

/**
 * One cycle up and down (Smith & Topin 2018), as torch.optim.lr_scheduler.OneCycleLR. Rates are set
 * from `maxLr`; the optimizer's own do not matter.
 */
export class OneCycleLR extends Schedule {
  readonly #options: Required<OneCycleOptions>;
  readonly #optimizer: Scheduled;

  constructor(optimizer: Scheduled, options: OneCycleOptions) {
    super(optimizer);
    needOptions("OneCycleLR", options, [
      "maxLr",
      "totalSteps",
      "pctStart",
      "annealStrategy",
      "divFactor",
      "finalDivFactor",
      "threePhase",
      "cycleMomentum",
      "baseMomentum",
      "maxMomentum",
    ]);
    this.#optimizer = optimizer;
    this.#options = {
      pctStart: 0.3,
      annealStrategy: "cos",
      divFactor: 25,
      finalDivFactor: 1e4,
      threePhase: false,
      cycleMomentum: true,
      baseMomentum: 0.85,
      maxMomentum: 0.95,
      ...options,
    };
    whole("OneCycleLR", "totalSteps", this.#options.totalSteps);
    checkNumber("OneCycleLR", "a pctStart", this.#options.pctStart, 0, 1 + Number.EPSILON);
    const { maxLr } = options;
    for (const lr of typeof maxLr === "number" ? [maxLr] : maxLr)
      checkNumber("OneCycleLR", "a maxLr", lr, 0);
    if (typeof maxLr !== "number" && maxLr.length !== optimizer.groups.length)
      throw new ArgumentError(
        "OneCycleLR",
        `one maxLr, or one for each of ${optimizer.groups.length} groups`,
        String(maxLr.length),
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
    for (let k = 1; k < stops.length; k++) {
      if (step > stops[k]! && k < stops.length - 1) continue;
      const t = (step - stops[k - 1]!) / (stops[k]! - stops[k - 1]!),
        from = ends[k - 1]!,
        to = ends[k]!;
      return annealStrategy === "cos"
        ? to + ((from - to) / 2) * (1 + Math.cos(Math.PI * t))
        : from + (to - from) * t;
    }
    return ends.at(-1)!;
  }

  rate(step: number, _base: number, group: number): number {
    const { maxLr, divFactor, finalDivFactor, threePhase } = this.#options,
      top = typeof maxLr === "number" ? maxLr : maxLr[group]!;
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

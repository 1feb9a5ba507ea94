/**
 * Schedules whose rate is the first one times a factor of the step number, with PyTorch's names and
 * formulas: constant factors, milestones, cosines, lines, and functions of the user's. They borrow
 * the optimizer and own nothing.
 */
import { type OptionTable, checkArgument, checkFunction, readOptions } from "../../base/options.ts";
import { ignoreRejection } from "../../ownership/owned.ts";
import { Schedule, type Scheduled, checkAsked, factor, positiveSteps } from "./base.ts";

/**
 * base · f(step). PyTorch's LambdaLR.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 */
export class LambdaLR extends Schedule {
  readonly #factor: (step: number, group: number) => number;
  constructor(optimizer: Scheduled, factor: (step: number, group: number) => number) {
    super(optimizer);
    checkFunction("LambdaLR", factor, "pass (step) => the factor on the first rate");
    this.#factor = factor;
    this.apply();
  }
  rate(step: number, base: number, group: number): number {
    checkAsked("LambdaLR", step, base);
    const factor = this.#factor(step, group);
    ignoreRejection(factor);
    checkArgument("LambdaLR", "the factor", factor, {
      type: "number",
      remedy: "give a number for each step",
    });
    return base * factor;
  }
}

/** Options of `StepLR`. */
export interface StepLROptions {
  /** Steps between two cuts. */
  readonly stepSize: number;
  /** Factor of a cut; 0.1 by default. */
  readonly gamma?: number;
}
const gamma = { ...factor, what: "a gamma", default: 0.1 } as const;
const stepOptions = {
  stepSize: { ...positiveSteps, what: "a step size", required: true },
  gamma,
} satisfies OptionTable<StepLROptions>;

/**
 * Times `gamma` every `stepSize` steps.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 * @example
 * ```ts
 * const schedule = new StepLR(optimizer, { stepSize: 30 });
 * console.log(schedule.rate(30, 1)); // → 0.1
 * ```
 */
export class StepLR extends Schedule {
  readonly #size: number;
  readonly #gamma: number;
  constructor(optimizer: Scheduled, options: StepLROptions) {
    super(optimizer);
    const { stepSize, gamma } = readOptions("StepLR", options, stepOptions);
    this.#size = stepSize;
    this.#gamma = gamma;
    this.apply();
  }
  rate(step: number, base: number): number {
    checkAsked("StepLR", step, base);
    return base * this.#gamma ** Math.floor(step / this.#size);
  }
}

/** Options of `MultiStepLR`. */
export interface MultiStepLROptions {
  /** Steps at which the rate is cut. */
  readonly milestones: readonly number[];
  /** Factor of a cut; 0.1 by default. */
  readonly gamma?: number;
}
const milestoneOptions = {
  milestones: { type: "list", of: "integer", range: "[0, Infinity)", required: true },
  gamma,
} satisfies OptionTable<MultiStepLROptions>;

/**
 * Times `gamma` at each milestone; one named twice counts twice.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 */
export class MultiStepLR extends Schedule {
  readonly #milestones: readonly number[];
  readonly #gamma: number;
  constructor(optimizer: Scheduled, options: MultiStepLROptions) {
    super(optimizer);
    const { milestones, gamma } = readOptions("MultiStepLR", options, milestoneOptions);
    this.#milestones = [...milestones];
    this.#gamma = gamma;
    this.apply();
  }
  rate(step: number, base: number): number {
    checkAsked("MultiStepLR", step, base);
    return base * this.#gamma ** this.#milestones.filter((m) => m <= step).length;
  }
}

/** Options of `ExponentialLR`. */
export interface ExponentialLROptions {
  /** Factor of every step. */
  readonly gamma: number;
}
const exponentialOptions = {
  gamma: { ...factor, what: "a gamma", required: true },
} satisfies OptionTable<ExponentialLROptions>;

/**
 * Times `gamma` every step.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 */
export class ExponentialLR extends Schedule {
  readonly #gamma: number;
  constructor(optimizer: Scheduled, options: ExponentialLROptions) {
    super(optimizer);
    this.#gamma = readOptions("ExponentialLR", options, exponentialOptions).gamma;
    this.apply();
  }
  rate(step: number, base: number): number {
    checkAsked("ExponentialLR", step, base);
    return base * this.#gamma ** step;
  }
}

/** Options of `CosineAnnealingLR`. */
export interface CosineAnnealingLROptions {
  /** Steps from the base rate to the lowest. */
  readonly tMax: number;
  /** The lowest rate; 0 by default. */
  readonly etaMin?: number;
}
const cosineOptions = {
  tMax: { ...positiveSteps, what: "a tMax", required: true },
  etaMin: { ...factor, what: "an etaMin", default: 0 },
} satisfies OptionTable<CosineAnnealingLROptions>;

/**
 * Half a cosine from the base rate to `etaMin` in `tMax` steps, and back (Loshchilov & Hutter 2017,
 * without restarts).
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 */
export class CosineAnnealingLR extends Schedule {
  readonly #tMax: number;
  readonly #etaMin: number;
  constructor(optimizer: Scheduled, options: CosineAnnealingLROptions) {
    super(optimizer);
    const { tMax, etaMin } = readOptions("CosineAnnealingLR", options, cosineOptions);
    this.#tMax = tMax;
    this.#etaMin = etaMin;
    this.apply();
  }
  rate(step: number, base: number): number {
    checkAsked("CosineAnnealingLR", step, base);
    const height = 1 + Math.cos((Math.PI * step) / this.#tMax);
    return this.#etaMin + ((base - this.#etaMin) * height) / 2;
  }
}

/** Options of `LinearLR`. */
export interface LinearLROptions {
  /** Factor of step 0; 1/3 by default. */
  readonly startFactor?: number;
  /** Factor of the last step; 1 by default. */
  readonly endFactor?: number;
  /** Steps from the first factor to the last; 5 by default. */
  readonly totalIters?: number;
}
const linearOptions = {
  startFactor: { type: "number", range: "[0, 1]", what: "a startFactor", default: 1 / 3 },
  endFactor: { type: "number", range: "[0, 1]", what: "an endFactor", default: 1 },
  totalIters: { ...positiveSteps, default: 5 },
} satisfies OptionTable<LinearLROptions>;

/**
 * A straight line from startFactor · base to endFactor · base in `totalIters` steps, then constant:
 * linear warm-up.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 */
export class LinearLR extends Schedule {
  readonly #start: number;
  readonly #end: number;
  readonly #total: number;
  constructor(optimizer: Scheduled, options: LinearLROptions = {}) {
    super(optimizer);
    const { startFactor, endFactor, totalIters } = readOptions("LinearLR", options, linearOptions);
    this.#start = startFactor;
    this.#end = endFactor;
    this.#total = totalIters;
    this.apply();
  }
  rate(step: number, base: number): number {
    checkAsked("LinearLR", step, base);
    const done = Math.min(step, this.#total) / this.#total;
    return base * (this.#start + (this.#end - this.#start) * done);
  }
}

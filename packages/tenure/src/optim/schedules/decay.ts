/**
 * Schedules whose rate is the first one times a factor of the step number, with PyTorch's names and
 * formulas: constant factors, milestones, cosines, lines, and functions of the user's. They borrow
 * the optimizer and own nothing.
 */
import { checkOptions, needOptions } from "../../base/options.ts";
import { checkNumber } from "../optimizer.ts";
import { type Scheduled, Schedule, whole } from "./base.ts";

/** base · f(step). PyTorch's LambdaLR. */
export class LambdaLR extends Schedule {
  readonly #factor: (step: number, group: number) => number;
  constructor(optimizer: Scheduled, factor: (step: number, group: number) => number) {
    super(optimizer);
    this.#factor = factor;
    this.apply();
  }
  rate(step: number, base: number, group: number): number {
    return base * this.#factor(step, group);
  }
}

/** Times `gamma` every `stepSize` steps. */
export class StepLR extends Schedule {
  readonly #size: number;
  readonly #gamma: number;
  constructor(
    optimizer: Scheduled,
    options: { readonly stepSize: number; readonly gamma?: number },
  ) {
    super(optimizer);
    needOptions("StepLR", options, ["stepSize", "gamma"]);
    this.#size = whole("StepLR", "a step size", options.stepSize);
    this.#gamma = checkNumber("StepLR", "a gamma", options.gamma ?? 0.1, 0);
    this.apply();
  }
  rate(step: number, base: number): number {
    return base * this.#gamma ** Math.floor(step / this.#size);
  }
}

/** Times `gamma` at each milestone; one named twice counts twice. */
export class MultiStepLR extends Schedule {
  readonly #milestones: readonly number[];
  readonly #gamma: number;
  constructor(
    optimizer: Scheduled,
    options: { readonly milestones: readonly number[]; readonly gamma?: number },
  ) {
    super(optimizer);
    needOptions("MultiStepLR", options, ["milestones", "gamma"]);
    this.#milestones = options.milestones.map((m) => whole("MultiStepLR", "a milestone", m, 0));
    this.#gamma = checkNumber("MultiStepLR", "a gamma", options.gamma ?? 0.1, 0);
    this.apply();
  }
  rate(step: number, base: number): number {
    return base * this.#gamma ** this.#milestones.filter((m) => m <= step).length;
  }
}

/** Times `gamma` every step. */
export class ExponentialLR extends Schedule {
  readonly #gamma: number;
  constructor(optimizer: Scheduled, options: { readonly gamma: number }) {
    super(optimizer);
    needOptions("ExponentialLR", options, ["gamma"]);
    this.#gamma = checkNumber("ExponentialLR", "a gamma", options.gamma, 0);
    this.apply();
  }
  rate(step: number, base: number): number {
    return base * this.#gamma ** step;
  }
}

/**
 * Half a cosine from the base rate to `etaMin` in `tMax` steps, and back (Loshchilov & Hutter 2017,
 * without restarts).
 */
export class CosineAnnealingLR extends Schedule {
  readonly #tMax: number;
  readonly #etaMin: number;
  constructor(optimizer: Scheduled, options: { readonly tMax: number; readonly etaMin?: number }) {
    super(optimizer);
    needOptions("CosineAnnealingLR", options, ["tMax", "etaMin"]);
    this.#tMax = whole("CosineAnnealingLR", "a tMax", options.tMax);
    this.#etaMin = checkNumber("CosineAnnealingLR", "an etaMin", options.etaMin ?? 0, 0);
    this.apply();
  }
  rate(step: number, base: number): number {
    return (
      this.#etaMin + ((base - this.#etaMin) * (1 + Math.cos((Math.PI * step) / this.#tMax))) / 2
    );
  }
}

/**
 * A straight line from startFactor · base to endFactor · base in `totalIters` steps, then constant:
 * linear warm-up.
 */
export class LinearLR extends Schedule {
  readonly #start: number;
  readonly #end: number;
  readonly #total: number;
  constructor(
    optimizer: Scheduled,
    options: {
      readonly startFactor?: number;
      readonly endFactor?: number;
      readonly totalIters?: number;
    } = {},
  ) {
    super(optimizer);
    checkOptions("LinearLR", options, ["startFactor", "endFactor", "totalIters"]);
    this.#start = checkNumber(
      "LinearLR",
      "a startFactor",
      options.startFactor ?? 1 / 3,
      0,
      1 + Number.EPSILON,
    );
    this.#end = checkNumber(
      "LinearLR",
      "an endFactor",
      options.endFactor ?? 1,
      0,
      1 + Number.EPSILON,
    );
    this.#total = whole("LinearLR", "totalIters", options.totalIters ?? 5);
    this.apply();
  }
  rate(step: number, base: number): number {
    return (
      base * (this.#start + ((this.#end - this.#start) * Math.min(step, this.#total)) / this.#total)
    );
  }
}

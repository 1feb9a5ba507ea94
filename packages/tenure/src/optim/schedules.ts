/**
 * Learning rate schedules: each computes the rate of every parameter group from the step number in
 * closed form, with PyTorch's names and formulas. They borrow the optimizer, own nothing on the
 * device, and their state is a handful of numbers. Called by training loops, once per step or per
 * epoch.
 */
import { ArgumentError } from "../base/errors.ts";
import { checkOptions, describeValue, needOptions } from "../base/options.ts";
import { checkNumber } from "./optimizer.ts";

/** A group as schedules see it: hyperparameters to be overwritten. */
interface Rates {
  lr: number;
  momentum?: number;
  betas?: readonly [number, number];
}
/** What a schedule needs of an optimizer. */
export interface Scheduled {
  readonly groups: readonly { lr: number }[];
}

/** What a schedule needs to continue. */
export interface ScheduleState {
  /** Calls of `step`. */
  readonly steps: number;
  /** Rates at step 0, one per group. */
  readonly base: readonly number[];
}

/**
 * What each group began with, and the rate a schedule last gave it: a schedule made on top of
 * another starts where the first did, unless you set a rate in between.
 */
const begun = new WeakMap<object, { readonly initial: number; last: number }>();

function initialRate(group: { lr: number }): number {
  const known = begun.get(group);
  if (known !== undefined && known.last === group.lr) return known.initial;
  begun.set(group, { initial: group.lr, last: group.lr });
  return group.lr;
}

function whole(op: string, what: string, value: number, low = 1): number {
  if (!Number.isSafeInteger(value) || value < low)
    throw new ArgumentError(
      op,
      `${what} that is a whole number of ${low} or more`,
      String(value),
      "pass an integer",
    );
  return value;
}

/** @throws ArgumentError for anything without parameter groups */
function checkOptimizer(op: string, optimizer: Scheduled): void {
  if (!Array.isArray((optimizer as Partial<Scheduled> | null | undefined)?.groups))
    throw new ArgumentError(
      op,
      "an optimizer",
      describeValue(optimizer),
      "pass the optimizer whose rates it should set",
    );
}

/**
 * Base of all schedules. The rates of step 0 are set when it is made, those of step n after the nth
 * call of `step`.
 */
export abstract class Schedule {
  readonly #optimizer: Scheduled;
  #base: readonly number[];
  #steps = 0;

  constructor(optimizer: Scheduled) {
    checkOptimizer(new.target.name, optimizer);
    this.#optimizer = optimizer;
    this.#base = optimizer.groups.map(initialRate);
  }

  /** Learning rate at a step, for a group that began with `base`. Pure. */
  abstract rate(step: number, base: number, group: number): number;

  /** Steps made. */
  get steps(): number {
    return this.#steps;
  }
  /** The groups' rates now. */
  get rates(): number[] {
    return this.#optimizer.groups.map((g) => g.lr);
  }

  /** The next rates. Call it after `optimizer.step()`. */
  step(): void {
    this.#steps++;
    this.apply();
  }

  /** Sets the rates of the current step. Subclasses call it at the end of their constructor. */
  protected apply(): void {
    this.applyTo(this.#optimizer, this.#steps, this.#base);
  }

  /** Sets the rates of a step on the groups. */
  protected applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    optimizer.groups.forEach((group, i) => {
      group.lr = this.rate(step, base[i] ?? group.lr, i);
      const known = begun.get(group);
      if (known !== undefined) known.last = group.lr;
    });
  }

  /** @internal For schedules made of others. */
  static applied(
    schedule: Schedule,
    optimizer: Scheduled,
    step: number,
    base: readonly number[],
  ): void {
    schedule.applyTo(optimizer, step, base);
  }

  stateDict(): ScheduleState {
    return { steps: this.#steps, base: this.#base };
  }

  /**
   * Continues where `stateDict` was taken, and sets the rates. @throws ArgumentError for another
   * number of groups
   */
  loadStateDict(state: ScheduleState): void {
    whole(this.constructor.name, "a number of steps", state.steps, 0);
    if (state.base.length !== this.#base.length)
      throw new ArgumentError(
        this.constructor.name,
        `rates of ${this.#base.length} groups`,
        String(state.base.length),
        "check that the state belongs to this optimizer",
      );
    this.#base = [...state.base];
    this.#steps = state.steps;
    this.apply();
  }
}

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

/**
 * One schedule after the other: the next takes over at each milestone and counts from 0. The parts
 * must share the optimizer; step only this one.
 */
export class SequentialLR extends Schedule {
  readonly #parts: readonly Schedule[];
  readonly #milestones: readonly number[];

  constructor(
    optimizer: Scheduled,
    parts: readonly Schedule[],
    options: { readonly milestones: readonly number[] },
  ) {
    super(optimizer);
    needOptions("SequentialLR", options, ["milestones"]);
    const { milestones } = options;
    if (parts.length === 0 || milestones.length !== parts.length - 1)
      throw new ArgumentError(
        "SequentialLR",
        "one milestone between each two schedules",
        `${parts.length} schedules and ${milestones.length} milestones`,
      );
    milestones.forEach((m, i) => {
      whole("SequentialLR", "milestones in rising order", m, i === 0 ? 1 : milestones[i - 1]! + 1);
    });
    this.#parts = parts;
    this.#milestones = milestones;
    this.apply(); // the parts have set rates of their own while they were made
  }

  #part(step: number): [part: Schedule, step: number] {
    const k = this.#milestones.filter((m) => m <= step).length;
    return [this.#parts[k]!, step - (k === 0 ? 0 : this.#milestones[k - 1]!)];
  }

  rate(step: number, base: number, group: number): number {
    const [part, local] = this.#part(step);
    return part.rate(local, base, group);
  }

  protected override applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    const [part, local] = this.#part(step);
    Schedule.applied(part, optimizer, local, base);
  }
}

export interface PlateauOptions {
  readonly mode?: "min" | "max";
  readonly factor?: number;
  /** Reports without improvement that are let pass. */
  readonly patience?: number;
  /** An improvement smaller than this share of the best counts as none. */
  readonly threshold?: number;
  /** Reports to wait after a cut before counting again. */
  readonly cooldown?: number;
  readonly minLr?: number;
}

/**
 * Cuts the rates when a metric you report stops improving. PyTorch's ReduceLROnPlateau with a
 * relative threshold.
 */
export class ReduceLROnPlateau {
  readonly #optimizer: Scheduled;
  readonly #options: Required<PlateauOptions>;
  #best: number | null = null;
  #bad = 0;
  #wait = 0;

  constructor(optimizer: Scheduled, options: PlateauOptions = {}) {
    checkOptimizer("ReduceLROnPlateau", optimizer);
    checkOptions("ReduceLROnPlateau", options, [
      "mode",
      "factor",
      "patience",
      "threshold",
      "cooldown",
      "minLr",
    ]);
    this.#optimizer = optimizer;
    this.#options = {
      mode: "min",
      factor: 0.1,
      patience: 10,
      threshold: 1e-4,
      cooldown: 0,
      minLr: 0,
      ...options,
    };
    checkNumber("ReduceLROnPlateau", "a factor", this.#options.factor, 0, 1);
  }

  /** Call once per epoch with the metric, a plain number that you have read. */
  step(metric: number): void {
    const { mode, factor, patience, threshold, cooldown, minLr } = this.#options,
      best = this.#best;
    if (typeof metric !== "number")
      throw new ArgumentError(
        "ReduceLROnPlateau",
        "a number",
        typeof metric,
        "await loss.item() first",
      );
    if (
      best === null ||
      (mode === "min" ? metric < best * (1 - threshold) : metric > best * (1 + threshold))
    ) {
      this.#best = metric;
      this.#bad = 0;
    } else this.#bad++;
    if (this.#wait > 0) {
      this.#wait--;
      this.#bad = 0;
    }
    if (this.#bad <= patience) return;
    for (const group of this.#optimizer.groups) group.lr = Math.max(group.lr * factor, minLr);
    this.#wait = cooldown;
    this.#bad = 0;
  }

  stateDict(): { readonly best: number | null; readonly bad: number; readonly wait: number } {
    return { best: this.#best, bad: this.#bad, wait: this.#wait };
  }
  loadStateDict(state: {
    readonly best: number | null;
    readonly bad: number;
    readonly wait: number;
  }): void {
    this.#best = state.best;
    this.#bad = state.bad;
    this.#wait = state.wait;
  }
}

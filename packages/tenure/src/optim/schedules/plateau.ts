/**
 * Rates that follow a metric the training loop reports. Borrows the optimizer and owns nothing.
 */
import { ArgumentError } from "../../base/errors.ts";
import { type OptionTable, checkValues, readOptions } from "../../base/options.ts";
import { whenStepDiscarded } from "../../tensor/step.ts";
import { type Scheduled, checkOptimizer, factor, rememberGroups, steps } from "./base.ts";

/** Options of `ReduceLROnPlateau`, with PyTorch's defaults. */
export interface PlateauOptions {
  /** Whether a smaller metric is better, or a larger one. */
  readonly mode?: "min" | "max";
  /** What the rates are multiplied by at a cut. */
  readonly factor?: number;
  /** Reports without improvement that are let pass. */
  readonly patience?: number;
  /** An improvement smaller than this share of the best counts as none. */
  readonly threshold?: number;
  /** Reports to wait after a cut before counting again. */
  readonly cooldown?: number;
  /** No rate falls below it. */
  readonly minLr?: number;
}

/** Where a schedule on plateaus stands. */
export interface PlateauState {
  /** The best metric so far. */
  readonly best: number | null;
  /** Reports without improvement since the best or the last cut. */
  readonly bad: number;
  /** Reports left to wait after a cut. */
  readonly wait: number;
}

const plateauOptions = {
  mode: { type: "choice", of: ["min", "max"], default: "min" },
  factor: { type: "number", range: "[0, 1)", what: "a factor", default: 0.1 },
  patience: { ...steps, default: 10 },
  threshold: { ...factor, default: 1e-4 },
  cooldown: { ...steps, default: 0 },
  minLr: { ...factor, default: 0 },
} satisfies OptionTable<PlateauOptions>;

/** A rate that would fall by no more than this stays, as in PyTorch. */
const LEAST = 1e-8;

const remedy = "pass what stateDict() gave";
const plateauState = {
  best: { type: "number", orNull: true, what: "the best metric", remedy },
  bad: { ...steps, remedy },
  wait: { ...steps, remedy },
} satisfies OptionTable<PlateauState>;

/**
 * Cuts the rates when a metric you report stops improving. PyTorch's ReduceLROnPlateau with a
 * relative threshold.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 * @example
 * ```ts
 * const schedule = new ReduceLROnPlateau(optimizer, { patience: 0 });
 * schedule.step(1); // the loss of an epoch
 * schedule.step(2);
 * ```
 */
export class ReduceLROnPlateau {
  readonly #optimizer: Scheduled;
  readonly #options: Required<PlateauOptions>;
  #best: number | null = null;
  #bad = 0;
  #wait = 0;

  constructor(optimizer: Scheduled, options: PlateauOptions = {}) {
    checkOptimizer("ReduceLROnPlateau", optimizer);
    this.#optimizer = optimizer;
    this.#options = readOptions("ReduceLROnPlateau", options, plateauOptions);
  }

  /**
   * Call once per epoch with the metric, a plain number that you have read.
   * @throws ArgumentError for what is no number
   */
  step(metric: number): void {
    const { mode, factor, patience, threshold, cooldown, minLr } = this.#options;
    const best = this.#best;
    if (typeof metric !== "number")
      throw new ArgumentError(
        "ReduceLROnPlateau",
        "a number",
        typeof metric,
        "await loss.item() first",
      );
    whenStepDiscarded(() => this.#remember());
    const bound = (best ?? 0) * (mode === "min" ? 1 - threshold : 1 + threshold);
    if (best === null || (mode === "min" ? metric < bound : metric > bound)) {
      this.#best = metric;
      this.#bad = 0;
    } else this.#bad++;
    if (this.#wait > 0) {
      this.#wait--;
      this.#bad = 0;
    }
    if (this.#bad <= patience) return;
    for (const group of this.#optimizer.groups) {
      const lower = Math.max(group.lr * factor, minLr);
      if (group.lr - lower > LEAST) group.lr = lower;
    }
    this.#wait = cooldown;
    this.#bad = 0;
  }

  #remember(): () => void {
    const state = this.stateDict();
    const back = rememberGroups(this.#optimizer);
    return () => {
      this.loadStateDict(state);
      back();
    };
  }

  /** What `loadStateDict` continues from: plain numbers. */
  stateDict(): PlateauState {
    return { best: this.#best, bad: this.#bad, wait: this.#wait };
  }
  /** Checks what `loadStateDict` would load, and changes nothing. @throws ArgumentError */
  checkStateDict(state: PlateauState): void {
    const given = (state as Partial<PlateauState> | null | undefined) ?? {};
    checkValues("ReduceLROnPlateau", given, plateauState);
  }
  /** Continues where `stateDict` was taken. @throws ArgumentError for what is no such state */
  loadStateDict(state: PlateauState): void {
    this.checkStateDict(state);
    this.#best = state.best;
    this.#bad = state.bad;
    this.#wait = state.wait;
  }
}

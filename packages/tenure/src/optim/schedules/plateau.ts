/**
 * Rates that follow a metric the training loop reports. Borrows the optimizer and owns nothing.
 */
import { ArgumentError } from "../../base/errors.ts";
import { checkOptions } from "../../base/options.ts";
import { checkNumber } from "../optimizer.ts";
import { type Scheduled, checkOptimizer } from "./base.ts";

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

/**
 * Adagrad, with PyTorch's hyperparameters, defaults, formulas and names of states. Called through
 * `step`; borrows the parameter and its gradient and asks the base class for its state.
 */
import { type OptionTable, checkValues, off, readOptions } from "../base/options.ts";
import { adagradUpdate } from "../ops/updates.ts";
import type { ParametersOf } from "./groups.ts";
import { RULE, RuleOptimizer, type UpdateRule } from "./rule.ts";
import { amount, bits, decay, learningRate, sign } from "./scalars.ts";

/** Hyperparameters of `Adagrad`. */
export interface AdagradOptions {
  /** Learning rate; 0.01 by default. */
  readonly lr?: number;
  /** The rate of step n is lr / (1 + (n - 1) · lrDecay). */
  readonly lrDecay?: number;
  /** Added to the gradient: decay · parameter. */
  readonly weightDecay?: number;
  /** What the sums of squares start at. */
  readonly initialAccumulator?: number;
  /** Added to the root of the sum; 1e-10 by default. */
  readonly eps?: number;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

const adagradOptions = {
  lr: { ...learningRate, default: 1e-2 },
  lrDecay: { ...amount, what: "a learning rate decay", default: 0 },
  weightDecay: decay,
  initialAccumulator: { ...amount, what: "an initial accumulator", default: 0 },
  eps: { ...amount, default: 1e-10 },
  maximize: off,
} satisfies OptionTable<AdagradOptions>;

/**
 * Adagrad (Duchi et al. 2011). State: sum.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 * @example
 * ```ts
 * using optimizer = new Adagrad(model.parameters(), { lr: 0.01 });
 * optimizer.step();
 * ```
 */
export class Adagrad extends RuleOptimizer<Required<AdagradOptions>> {
  protected readonly stateNames: readonly string[] = ["sum"];

  constructor(parameters: ParametersOf<AdagradOptions>, options: AdagradOptions = {}) {
    super(parameters, readOptions("Adagrad", options, adagradOptions));
  }

  protected override check(options: Required<AdagradOptions>): void {
    checkValues(this.constructor.name, options, adagradOptions);
  }

  /** @internal */
  override [RULE](
    step: number,
    { lr, lrDecay, weightDecay, initialAccumulator, eps, maximize }: Required<AdagradOptions>,
  ): UpdateRule {
    return {
      op: adagradUpdate,
      states: ["sum"],
      initial: initialAccumulator,
      scalars: bits([lr / (1 + (step - 1) * lrDecay), eps, weightDecay, sign(maximize)]),
    };
  }
}

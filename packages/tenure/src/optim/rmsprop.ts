/**
 * RMSprop, with PyTorch's hyperparameters, defaults, formulas and names of states. Called through
 * `step`; borrows the parameter and its gradient and asks the base class for its state.
 */
import { type OptionTable, checkValues, off, readOptions } from "../base/options.ts";
import { rmspropUpdate } from "../ops/updates.ts";
import type { ParametersOf } from "./groups.ts";
import { RULE, RuleOptimizer, type UpdateRule } from "./rule.ts";
import { amount, bits, decay, learningRate, share, sign } from "./scalars.ts";

/** Hyperparameters of `RMSprop`. */
export interface RMSpropOptions {
  /** Learning rate; 0.01 by default. */
  readonly lr?: number;
  /** Share of the old mean square. */
  readonly alpha?: number;
  /** Added to the root; 1e-8 by default. */
  readonly eps?: number;
  /** Added to the gradient: decay · parameter. */
  readonly weightDecay?: number;
  /** Share of the velocity that stays from step to step. */
  readonly momentum?: number;
  /** Divides by the deviation from the mean gradient instead of the mean square. */
  readonly centered?: boolean;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

const rmspropOptions = {
  lr: { ...learningRate, default: 1e-2 },
  alpha: { ...share, what: "an alpha", default: 0.99 },
  eps: { ...amount, default: 1e-8 },
  weightDecay: decay,
  momentum: { ...share, what: "a momentum", default: 0 },
  centered: off,
  maximize: off,
} satisfies OptionTable<RMSpropOptions>;

/**
 * RMSprop (Hinton 2012, lecture 6; centered: Graves 2013). State: square_avg, momentum_buffer,
 * grad_avg.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 * @example
 * ```ts
 * using optimizer = new RMSprop(model.parameters(), { lr: 1e-3 });
 * optimizer.step();
 * ```
 */
export class RMSprop extends RuleOptimizer<Required<RMSpropOptions>> {
  protected readonly stateNames: readonly string[] = ["square_avg", "momentum_buffer", "grad_avg"];

  constructor(parameters: ParametersOf<RMSpropOptions>, options: RMSpropOptions = {}) {
    super(parameters, readOptions("RMSprop", options, rmspropOptions));
  }

  protected override check(options: Required<RMSpropOptions>): void {
    checkValues(this.constructor.name, options, rmspropOptions);
  }

  /** @internal */
  override [RULE](
    _: number,
    { lr, alpha, eps, weightDecay, momentum, centered, maximize }: Required<RMSpropOptions>,
  ): UpdateRule {
    const moves = momentum > 0;
    const op = rmspropUpdate[variant(moves, centered)];
    const states = [
      "square_avg",
      ...(moves ? ["momentum_buffer"] : []),
      ...(centered ? ["grad_avg"] : []),
    ];
    const scalars = bits([lr, alpha, 1 - alpha, eps, weightDecay, momentum, sign(maximize)]);
    return { op, states, scalars };
  }
}

/** Which of the four kernels a group needs. */
function variant(moves: boolean, centered: boolean): keyof typeof rmspropUpdate {
  if (moves) return centered ? "both" : "momentum";
  return centered ? "centered" : "plain";
}

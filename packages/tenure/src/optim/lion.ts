/**
 * Lion, with the formulas of its paper. Called through `step`; borrows the parameter and its
 * gradient and asks the base class for its state.
 */
import { lionUpdate } from "../ops/updates.ts";
import { type OptionTable, checkValues, readOptions } from "../base/options.ts";
import type { ParametersOf } from "./groups.ts";
import { RULE, RuleOptimizer, type UpdateRule } from "./rule.ts";
import { betas, bits, decay, learningRate } from "./scalars.ts";

/** Hyperparameters of `Lion`. */
export interface LionOptions {
  /** Learning rate; 1e-4 by default. */
  readonly lr?: number;
  /** Shares of the momentum in the step and in what stays of it; [0.9, 0.99] by default. */
  readonly betas?: readonly [number, number];
  /** Decoupled, as AdamW's. */
  readonly weightDecay?: number;
}

const lionOptions = {
  lr: { ...learningRate, default: 1e-4 },
  betas: { ...betas, default: [0.9, 0.99] },
  weightDecay: decay,
} satisfies OptionTable<LionOptions>;

/**
 * Lion (Chen et al. 2023): the sign of a momentum. Take a learning rate 3 to 10 times below Adam's.
 * State: exp_avg.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 * @example
 * ```ts
 * using optimizer = new Lion(model.parameters(), { lr: 1e-4 });
 * optimizer.step();
 * ```
 */
export class Lion extends RuleOptimizer<Required<LionOptions>> {
  protected readonly stateNames: readonly string[] = ["exp_avg"];

  constructor(parameters: ParametersOf<LionOptions>, options: LionOptions = {}) {
    super(parameters, readOptions("Lion", options, lionOptions));
  }

  protected override check(options: Required<LionOptions>): void {
    checkValues(this.constructor.name, options, lionOptions);
  }

  /** @internal */
  override [RULE](
    _: number,
    { lr, betas: [b1, b2], weightDecay }: Required<LionOptions>,
  ): UpdateRule {
    const scalars = bits([lr, b1, 1 - b1, b2, 1 - b2, weightDecay]);
    return { op: lionUpdate, states: ["exp_avg"], scalars };
  }
}

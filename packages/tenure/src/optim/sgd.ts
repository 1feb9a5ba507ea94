/**
 * Stochastic gradient descent, with PyTorch's hyperparameters, defaults, formulas and names of
 * states. Called through `step`; borrows the parameter and its gradient and asks the base class for
 * its state.
 */
import { type OptionTable, checkValues, off, readOptions } from "../base/options.ts";
import { momentumUpdate, sgdUpdate } from "../ops/updates.ts";
import type { ParametersOf } from "./groups.ts";
import { RULE, RuleOptimizer, type UpdateRule } from "./rule.ts";
import { bits, decay, learningRate, share, sign } from "./scalars.ts";

/** Hyperparameters of `SGD`. */
export interface SGDOptions {
  /** Learning rate. */
  readonly lr: number;
  /** Share of the velocity that stays from step to step. */
  readonly momentum?: number;
  /** The new gradient's share in the velocity is 1 - dampening, from the second step on. */
  readonly dampening?: number;
  /** Added to the gradient: decay · parameter. */
  readonly weightDecay?: number;
  /** Looks ahead: steps by the gradient plus momentum · the new velocity. */
  readonly nesterov?: boolean;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

const sgdOptions = {
  lr: { ...learningRate, required: true },
  momentum: { ...share, what: "a momentum", default: 0 },
  dampening: { ...share, what: "a dampening", default: 0 },
  weightDecay: decay,
  nesterov: off,
  maximize: off,
} satisfies OptionTable<SGDOptions>;

/** The state with momentum. */
const velocity: readonly string[] = ["momentum_buffer"];

/**
 * Stochastic gradient descent with momentum (Polyak 1964; Sutskever et al. 2013 for Nesterov).
 * State: momentum_buffer.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 * @example
 * ```ts
 * using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
 * optimizer.step();
 * ```
 */
export class SGD extends RuleOptimizer<Required<SGDOptions>> {
  protected readonly stateNames: readonly string[] = velocity;

  constructor(parameters: ParametersOf<SGDOptions>, options: SGDOptions) {
    super(parameters, readOptions("SGD", options, sgdOptions));
  }

  protected override check(options: Required<SGDOptions>): void {
    checkValues(this.constructor.name, options, sgdOptions);
  }

  /** @internal */
  override [RULE](
    step: number,
    { lr, momentum, dampening, weightDecay, nesterov, maximize }: Required<SGDOptions>,
  ): UpdateRule {
    if (momentum === 0)
      return { op: sgdUpdate, states: [], scalars: bits([lr, weightDecay, sign(maximize)]) };
    const fresh = step === 1 ? 1 : 1 - dampening;
    return {
      op: momentumUpdate,
      attrs: { nesterov },
      states: velocity,
      scalars: bits([lr, momentum, fresh, weightDecay, sign(maximize)]),
    };
  }
}

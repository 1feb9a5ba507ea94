/**
 * Stochastic gradient descent, with PyTorch's hyperparameters, defaults, formulas and names of
 * states. Called through `step`; borrows the parameter and its gradient and asks the base class for
 * its state.
 */
import { checkFlag } from "../base/options.ts";
import { momentumUpdate, sgdUpdate } from "../ops/updates.ts";
import { type ParametersOf, Optimizer, checkNumber } from "./optimizer.ts";
import { bits, given, sign } from "./scalars.ts";
import { type Tensor, update } from "../tensor/tensor.ts";

export interface SGDOptions {
  readonly lr: number;
  readonly momentum?: number;
  /** The new gradient's share in the velocity is 1 - dampening, from the second step on. */
  readonly dampening?: number;
  /** Added to the gradient: decay · parameter. */
  readonly weightDecay?: number;
  readonly nesterov?: boolean;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

/**
 * Stochastic gradient descent with momentum (Polyak 1964; Sutskever et al. 2013 for Nesterov).
 * State: momentum_buffer.
 */
export class SGD extends Optimizer<Required<SGDOptions>> {
  protected readonly stateNames: readonly string[] = ["momentum_buffer"];

  constructor(parameters: ParametersOf<SGDOptions>, options: SGDOptions) {
    super(parameters, {
      momentum: 0,
      dampening: 0,
      weightDecay: 0,
      nesterov: false,
      maximize: false,
      ...given("SGD", (options as SGDOptions | undefined) ?? ({} as SGDOptions), [
        "lr",
        "momentum",
        "dampening",
        "weightDecay",
        "nesterov",
        "maximize",
      ]),
    } as Required<SGDOptions>);
  }

  protected override check({
    momentum,
    dampening,
    weightDecay,
    nesterov,
    maximize,
  }: Required<SGDOptions>): void {
    checkFlag("SGD", "nesterov", nesterov);
    checkFlag("SGD", "maximize", maximize);
    checkNumber("SGD", "a momentum", momentum, 0, 1);
    checkNumber("SGD", "a dampening", dampening, 0, 1);
    checkNumber("SGD", "a weight decay", weightDecay, 0);
  }

  protected update(
    p: Tensor,
    g: Tensor,
    step: number,
    { lr, momentum, dampening, weightDecay, nesterov, maximize }: Required<SGDOptions>,
  ): void {
    if (momentum === 0)
      update(sgdUpdate, [p, g], undefined, bits([lr, weightDecay, sign(maximize)]));
    else
      update(
        momentumUpdate,
        [p, g, this.state(p, "momentum_buffer")],
        { nesterov },
        bits([lr, momentum, step === 1 ? 1 : 1 - dampening, weightDecay, sign(maximize)]),
      );
  }
}

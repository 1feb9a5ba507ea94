/**
 * RMSprop, with PyTorch's hyperparameters, defaults, formulas and names of states. Called through
 * `step`; borrows the parameter and its gradient and asks the base class for its state.
 */
import { checkFlag } from "../base/options.ts";
import { rmspropUpdate } from "../ops/updates.ts";
import { type ParametersOf, Optimizer, checkNumber } from "./optimizer.ts";
import { bits, given, sign } from "./scalars.ts";
import { type Tensor, update } from "../tensor/tensor.ts";

export interface RMSpropOptions {
  readonly lr?: number;
  /** Share of the old mean square. */
  readonly alpha?: number;
  readonly eps?: number;
  readonly weightDecay?: number;
  readonly momentum?: number;
  /** Divides by the deviation from the mean gradient instead of the mean square. */
  readonly centered?: boolean;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

/**
 * RMSprop (Hinton 2012, lecture 6; centered: Graves 2013). State: square_avg, momentum_buffer,
 * grad_avg.
 */
export class RMSprop extends Optimizer<Required<RMSpropOptions>> {
  protected readonly stateNames: readonly string[] = ["square_avg", "momentum_buffer", "grad_avg"];

  constructor(parameters: ParametersOf<RMSpropOptions>, options: RMSpropOptions = {}) {
    super(parameters, {
      lr: 1e-2,
      alpha: 0.99,
      eps: 1e-8,
      weightDecay: 0,
      momentum: 0,
      centered: false,
      maximize: false,
      ...given("RMSprop", options, [
        "lr",
        "alpha",
        "eps",
        "weightDecay",
        "momentum",
        "centered",
        "maximize",
      ]),
    });
  }

  protected override check({
    alpha,
    eps,
    weightDecay,
    momentum,
    centered,
    maximize,
  }: Required<RMSpropOptions>): void {
    checkFlag("RMSprop", "centered", centered);
    checkFlag("RMSprop", "maximize", maximize);
    checkNumber("RMSprop", "an alpha", alpha, 0, 1);
    checkNumber("RMSprop", "eps", eps, 0);
    checkNumber("RMSprop", "a weight decay", weightDecay, 0);
    checkNumber("RMSprop", "a momentum", momentum, 0, 1);
  }

  protected update(
    p: Tensor,
    g: Tensor,
    _: number,
    { lr, alpha, eps, weightDecay, momentum, centered, maximize }: Required<RMSpropOptions>,
  ): void {
    const moves = momentum > 0,
      op =
        rmspropUpdate[moves ? (centered ? "both" : "momentum") : centered ? "centered" : "plain"];
    const states = [
      "square_avg",
      ...(moves ? ["momentum_buffer"] : []),
      ...(centered ? ["grad_avg"] : []),
    ].map((name) => this.state(p, name));
    update(
      op,
      [p, g, ...states],
      undefined,
      bits([lr, alpha, 1 - alpha, eps, weightDecay, momentum, sign(maximize)]),
    );
  }
}

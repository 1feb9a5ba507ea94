/**
 * Adagrad, with PyTorch's hyperparameters, defaults, formulas and names of states. Called through
 * `step`; borrows the parameter and its gradient and asks the base class for its state.
 */
import { checkFlag } from "../base/options.ts";
import { adagradUpdate } from "../ops/updates.ts";
import { type ParametersOf, Optimizer, checkNumber } from "./optimizer.ts";
import { bits, given, sign } from "./scalars.ts";
import { type Tensor, update } from "../tensor/tensor.ts";

export interface AdagradOptions {
  readonly lr?: number;
  readonly lrDecay?: number;
  readonly weightDecay?: number;
  /** What the sums of squares start at. */
  readonly initialAccumulator?: number;
  readonly eps?: number;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

/** Adagrad (Duchi et al. 2011). State: sum. */
export class Adagrad extends Optimizer<Required<AdagradOptions>> {
  protected readonly stateNames: readonly string[] = ["sum"];

  constructor(parameters: ParametersOf<AdagradOptions>, options: AdagradOptions = {}) {
    super(parameters, {
      lr: 1e-2,
      lrDecay: 0,
      weightDecay: 0,
      initialAccumulator: 0,
      eps: 1e-10,
      maximize: false,
      ...given("Adagrad", options, [
        "lr",
        "lrDecay",
        "weightDecay",
        "initialAccumulator",
        "eps",
        "maximize",
      ]),
    });
  }

  protected override check({
    lrDecay,
    weightDecay,
    initialAccumulator,
    eps,
    maximize,
  }: Required<AdagradOptions>): void {
    checkFlag("Adagrad", "maximize", maximize);
    checkNumber("Adagrad", "a learning rate decay", lrDecay, 0);
    checkNumber("Adagrad", "a weight decay", weightDecay, 0);
    checkNumber("Adagrad", "an initial accumulator", initialAccumulator, 0);
    checkNumber("Adagrad", "eps", eps, 0);
  }

  protected update(
    p: Tensor,
    g: Tensor,
    step: number,
    { lr, lrDecay, weightDecay, initialAccumulator, eps, maximize }: Required<AdagradOptions>,
  ): void {
    update(
      adagradUpdate,
      [p, g, this.state(p, "sum", initialAccumulator)],
      undefined,
      bits([lr / (1 + (step - 1) * lrDecay), eps, weightDecay, sign(maximize)]),
    );
  }
}

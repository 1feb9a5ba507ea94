/**
 * Lion, with the formulas of its paper. Called through `step`; borrows the parameter and its
 * gradient and asks the base class for its state.
 */
import { lionUpdate } from "../ops/updates.ts";
import { type ParametersOf, Optimizer, checkNumber } from "./optimizer.ts";
import { bits, checkBetas, given } from "./scalars.ts";
import { type Tensor, update } from "../tensor/tensor.ts";

export interface LionOptions {
  readonly lr?: number;
  readonly betas?: readonly [number, number];
  /** Decoupled, as AdamW's. */
  readonly weightDecay?: number;
}

/**
 * Lion (Chen et al. 2023): the sign of a momentum. Take a learning rate 3 to 10 times below Adam's.
 * State: exp_avg.
 */
export class Lion extends Optimizer<Required<LionOptions>> {
  protected readonly stateNames: readonly string[] = ["exp_avg"];

  constructor(parameters: ParametersOf<LionOptions>, options: LionOptions = {}) {
    super(parameters, {
      lr: 1e-4,
      betas: [0.9, 0.99],
      weightDecay: 0,
      ...given("Lion", options, ["lr", "betas", "weightDecay"]),
    });
  }

  protected override check({ betas, weightDecay }: Required<LionOptions>): void {
    checkBetas("Lion", betas);
    checkNumber("Lion", "a weight decay", weightDecay, 0);
  }

  protected update(
    p: Tensor,
    g: Tensor,
    _: number,
    { lr, betas: [b1, b2], weightDecay }: Required<LionOptions>,
  ): void {
    update(
      lionUpdate,
      [p, g, this.state(p, "exp_avg")],
      undefined,
      bits([lr, b1, 1 - b1, b2, 1 - b2, weightDecay]),
    );
  }
}

/**
 * Adam and AdamW, with PyTorch's hyperparameters, defaults, formulas and names of states. Called
 * through `step`; borrow the parameter and its gradient and ask the base class for their state.
 */
import { checkFlag } from "../base/options.ts";
import { adamUpdate, amsgradUpdate } from "../ops/updates.ts";
import { type ParametersOf, Optimizer, checkNumber } from "./optimizer.ts";
import { bits, checkBetas, given, sign } from "./scalars.ts";
import { type Tensor, update } from "../tensor/tensor.ts";

export interface AdamOptions {
  readonly lr?: number;
  readonly betas?: readonly [number, number];
  readonly eps?: number;
  readonly weightDecay?: number;
  /** Divides by the largest second moment so far (Reddi et al. 2018), so that steps never grow. */
  readonly amsgrad?: boolean;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

const adamNames = ["lr", "betas", "eps", "weightDecay", "amsgrad", "maximize"];

/**
 * Adam (Kingma & Ba 2015). Weight decay is added to the gradient. State: exp_avg, exp_avg_sq, and
 * max_exp_avg_sq with amsgrad.
 */
export class Adam extends Optimizer<Required<AdamOptions>> {
  protected readonly stateNames: readonly string[] = ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"];
  /** AdamW decays parameters directly instead. */
  protected readonly decoupled: boolean = false;

  constructor(parameters: ParametersOf<AdamOptions>, options: AdamOptions = {}) {
    super(parameters, {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weightDecay: 0,
      amsgrad: false,
      maximize: false,
      ...given("Adam", options, adamNames),
    });
  }

  protected override check({
    betas,
    eps,
    weightDecay,
    amsgrad,
    maximize,
  }: Required<AdamOptions>): void {
    checkBetas(this.constructor.name, betas);
    checkNumber(this.constructor.name, "eps", eps, 0);
    checkNumber(this.constructor.name, "a weight decay", weightDecay, 0);
    checkFlag(this.constructor.name, "amsgrad", amsgrad);
    checkFlag(this.constructor.name, "maximize", maximize);
  }

  protected update(
    p: Tensor,
    g: Tensor,
    step: number,
    { lr, betas: [b1, b2], eps, weightDecay, amsgrad, maximize }: Required<AdamOptions>,
  ): void {
    const words = bits([
      lr / (1 - b1 ** step),
      b1,
      1 - b1,
      b2,
      1 - b2,
      eps,
      this.decoupled ? 0 : weightDecay,
      this.decoupled ? 1 - lr * weightDecay : 1,
      Math.sqrt(1 - b2 ** step),
      sign(maximize),
    ]);
    const moments = [this.state(p, "exp_avg"), this.state(p, "exp_avg_sq")];
    if (amsgrad)
      update(amsgradUpdate, [p, g, ...moments, this.state(p, "max_exp_avg_sq")], undefined, words);
    else update(adamUpdate, [p, g, ...moments], undefined, words);
  }
}

/**
 * Adam with decoupled weight decay (Loshchilov & Hutter 2019). State: exp_avg, exp_avg_sq, and
 * max_exp_avg_sq with amsgrad.
 */
export class AdamW extends Adam {
  protected override readonly decoupled: boolean = true;
  constructor(parameters: ParametersOf<AdamOptions>, options: AdamOptions = {}) {
    super(parameters, { weightDecay: 0.01, ...given("AdamW", options, adamNames) });
  }
}

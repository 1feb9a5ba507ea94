/**
 * Adam and AdamW, with PyTorch's hyperparameters, defaults, formulas and names of states. Called
 * through `step`; borrow the parameter and its gradient and ask the base class for their state.
 */
import { type OptionTable, checkValues, off, readOptions } from "../base/options.ts";
import { adamUpdate, amsgradUpdate } from "../ops/updates.ts";
import type { ParametersOf } from "./groups.ts";
import { RULE, RuleOptimizer, type UpdateRule } from "./rule.ts";
import { amount, betas, bits, decay, learningRate, sign } from "./scalars.ts";

/** Hyperparameters of `Adam` and `AdamW`. */
export interface AdamOptions {
  /** Learning rate; 1e-3 by default. */
  readonly lr?: number;
  /** Shares of the old first and second moment; [0.9, 0.999] by default. */
  readonly betas?: readonly [number, number];
  /** Added to the root of the second moment; 1e-8 by default. */
  readonly eps?: number;
  /** 0 by default for Adam, 0.01 for AdamW. */
  readonly weightDecay?: number;
  /** Divides by the largest second moment so far (Reddi et al. 2018), so that steps never grow. */
  readonly amsgrad?: boolean;
  /** Climbs: steps along the gradient instead of against it. */
  readonly maximize?: boolean;
}

const adamOptions = {
  lr: { ...learningRate, default: 1e-3 },
  betas: { ...betas, default: [0.9, 0.999] },
  eps: { ...amount, default: 1e-8 },
  weightDecay: decay,
  amsgrad: off,
  maximize: off,
} satisfies OptionTable<AdamOptions>;

const adamWOptions = {
  ...adamOptions,
  weightDecay: { ...decay, default: 0.01 },
} satisfies OptionTable<AdamOptions>;

/** The states without amsgrad. */
const moments: readonly string[] = ["exp_avg", "exp_avg_sq"];
/** The states with it. */
const allMoments: readonly string[] = [...moments, "max_exp_avg_sq"];

/**
 * Adam (Kingma & Ba 2015). Weight decay is added to the gradient. State: exp_avg, exp_avg_sq, and
 * max_exp_avg_sq with amsgrad.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 * @example
 * ```ts
 * using layer = new Linear(3, 1);
 * using optimizer = new Adam(layer.parameters(), { lr: 0.01 });
 * {
 *   using _scope = newDisposeScope();
 *   layer.call(ones([4, 3])).square().mean().backward();
 *   optimizer.step();
 *   optimizer.zeroGrad();
 * }
 * ```
 */
export class Adam extends RuleOptimizer<Required<AdamOptions>> {
  protected readonly stateNames: readonly string[] = allMoments;
  /** AdamW decays parameters directly instead. */
  protected readonly decoupled: boolean = false;

  constructor(parameters: ParametersOf<AdamOptions>, options: AdamOptions = {}) {
    super(parameters, readOptions("Adam", options, adamOptions));
  }

  protected override check(options: Required<AdamOptions>): void {
    checkValues(this.constructor.name, options, adamOptions);
  }

  /** @internal */
  override [RULE](
    step: number,
    { lr, betas: [b1, b2], eps, weightDecay, amsgrad, maximize }: Required<AdamOptions>,
  ): UpdateRule {
    const scalars = bits([
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
    return amsgrad
      ? { op: amsgradUpdate, states: allMoments, scalars }
      : { op: adamUpdate, states: moments, scalars };
  }
}

/**
 * Adam with decoupled weight decay (Loshchilov & Hutter 2019). State: exp_avg, exp_avg_sq, and
 * max_exp_avg_sq with amsgrad.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 */
export class AdamW extends Adam {
  protected override readonly decoupled: boolean = true;
  constructor(parameters: ParametersOf<AdamOptions>, options: AdamOptions = {}) {
    super(parameters, readOptions("AdamW", options, adamWOptions));
  }
}

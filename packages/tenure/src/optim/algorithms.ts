/**
 * The update rules. Hyperparameters, defaults, formulas and names of states are PyTorch's. Called
 * by training loops through `step`; each rule borrows the parameter and its gradient and asks the
 * base class for its state.
 */
import { f32Bits } from "../base/bits.ts";
import { ArgumentError } from "../base/errors.ts";
import { checkFlag, checkOptions, describeValue } from "../base/options.ts";
import {
  adagradUpdate,
  adamUpdate,
  amsgradUpdate,
  lionUpdate,
  momentumUpdate,
  rmspropUpdate,
  sgdUpdate,
} from "../ops/optimizer.ts";
import { type Tensor, update } from "../tensor/tensor.ts";
import { Optimizer, type ParametersOf, checkNumber } from "./optimizer.ts";

const bits = (values: readonly number[]): number[] => values.map(f32Bits);
/** The factor on gradients. */
const sign = (maximize: boolean): number => (maximize ? -1 : 1);
/** Options without the `undefined`s a caller may pass, so that defaults win. */
function given<O extends object>(op: string, options: O, names: readonly string[]): Partial<O> {
  checkOptions(op, options, names);
  return Object.fromEntries(
    Object.entries(options).filter(([, v]) => v !== undefined),
  ) as Partial<O>;
}

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

function checkBetas(op: string, betas: readonly [number, number]): void {
  if (!(Array.isArray as (value: unknown) => boolean)(betas) || betas.length !== 2)
    throw new ArgumentError(
      op,
      "betas to be two numbers",
      describeValue(betas),
      "pass for example [0.9, 0.999]",
    );
  const [b1, b2] = betas;
  checkNumber(op, "beta1", b1, 0, 1);
  checkNumber(op, "beta2", b2, 0, 1);
}

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

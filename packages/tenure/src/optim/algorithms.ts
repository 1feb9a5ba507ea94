/**
 * The update rules. Hyperparameters, defaults and formulas are PyTorch's.
 */
import { f32Bits } from "../base/bits.ts";
import { adamUpdate, momentumUpdate, sgdUpdate } from "../ops/optimizer.ts";
import { type Tensor, update } from "../tensor/tensor.ts";
import { Optimizer, checkNumber } from "./optimizer.ts";

export interface SGDOptions {
  readonly lr: number;
  readonly momentum?: number;
  /** Added to the gradient: decay · parameter. */
  readonly weightDecay?: number;
  readonly nesterov?: boolean;
}

/** Stochastic gradient descent with momentum (Polyak 1964; Sutskever et al. 2013 for Nesterov). */
export class SGD extends Optimizer {
  readonly #momentum: number;
  readonly #weightDecay: number;
  readonly #nesterov: boolean;
  protected readonly stateNames: readonly string[];

  constructor(parameters: Iterable<Tensor>, options: SGDOptions) {
    super(parameters, options.lr);
    this.#momentum = checkNumber("SGD", "a momentum", options.momentum ?? 0, 0, 1);
    this.#weightDecay = checkNumber("SGD", "a weight decay", options.weightDecay ?? 0, 0);
    this.#nesterov = options.nesterov ?? false;
    this.stateNames = this.#momentum > 0 ? ["momentum"] : [];
  }

  protected update(p: Tensor, g: Tensor): void {
    if (this.#momentum === 0) { update(sgdUpdate, [p, g], undefined, [f32Bits(this.lr), f32Bits(this.#weightDecay)]); return; }
    update(momentumUpdate, [p, g, this.state(p, "momentum")], { nesterov: this.#nesterov }, [f32Bits(this.lr), f32Bits(this.#momentum), f32Bits(1), f32Bits(this.#weightDecay)]);
  }
}

export interface AdamOptions {
  readonly lr?: number;
  readonly betas?: readonly [number, number];
  readonly eps?: number;
  readonly weightDecay?: number;
}

/** Adam (Kingma & Ba 2015). Weight decay is added to the gradient. */
export class Adam extends Optimizer {
  readonly #betas: readonly [number, number];
  readonly #eps: number;
  readonly #weightDecay: number;
  protected readonly stateNames: readonly string[] = ["m", "v"];
  /** AdamW decays parameters directly instead. */
  protected readonly decoupled: boolean = false;

  constructor(parameters: Iterable<Tensor>, options: AdamOptions = {}) {
    super(parameters, options.lr ?? 1e-3);
    const [b1, b2] = options.betas ?? [0.9, 0.999];
    this.#betas = [checkNumber("Adam", "beta1", b1, 0, 1), checkNumber("Adam", "beta2", b2, 0, 1)];
    this.#eps = checkNumber("Adam", "eps", options.eps ?? 1e-8, 0);
    this.#weightDecay = checkNumber("Adam", "a weight decay", options.weightDecay ?? 0, 0);
  }

  protected update(p: Tensor, g: Tensor, step: number): void {
    const [b1, b2] = this.#betas, decay = this.#weightDecay;
    const words = [this.lr, b1, b2, this.#eps, this.decoupled ? 0 : decay, 1 - b1 ** step, Math.sqrt(1 - b2 ** step), this.decoupled ? decay : 0].map(f32Bits);
    update(adamUpdate, [p, g, this.state(p, "m"), this.state(p, "v")], undefined, words);
  }
}

/** Adam with decoupled weight decay (Loshchilov & Hutter 2019). */
export class AdamW extends Adam {
  protected override readonly decoupled: boolean = true;
  constructor(parameters: Iterable<Tensor>, options: AdamOptions = {}) { super(parameters, { weightDecay: 0.01, ...options }); }
}

/**
 * Losses as modules over the functions in functional/loss.ts and functional/classification.ts. A
 * module owns the class weights it is given.
 */
import { readOptions } from "../../base/options.ts";
import {
  type ClassOptions,
  type CrossEntropyOptions,
  classOptions,
  crossEntropy,
  crossEntropyOptions,
  nllLoss,
} from "../functional/classification.ts";
import {
  type BinaryOptions,
  type CosineEmbeddingOptions,
  type HuberOptions,
  type KLDivOptions,
  type LogitsOptions,
  type LossOptions,
  type Reduction,
  type SmoothL1Options,
  bce,
  bceWithLogits,
  binaryOptions,
  cosineEmbedding,
  cosineEmbeddingOptions,
  huberLoss,
  huberOptions,
  klDiv,
  klDivOptions,
  l1Loss,
  logitsOptions,
  lossOptions,
  mseLoss,
  smoothL1Loss,
  smoothL1Options,
} from "../functional/loss.ts";
import { Module } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A loss that has only a reduction. */
abstract class ReducedLoss extends Module<[input: Tensor, target: Tensor]> {
  protected readonly reduction: Reduction;
  constructor(options?: LossOptions) {
    super();
    this.reduction = readOptions(new.target.name, options, lossOptions).reduction;
  }
}

/** `mseLoss` as a module. @throws ArgumentError for options that are unknown or out of range */
export class MSELoss extends ReducedLoss {
  forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, this.reduction);
  }
}

/** `l1Loss` as a module. @throws ArgumentError for options that are unknown or out of range */
export class L1Loss extends ReducedLoss {
  forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, this.reduction);
  }
}

/** `huberLoss` as a module. @throws ArgumentError for options that are unknown or out of range */
export class HuberLoss extends Module<[input: Tensor, target: Tensor]> {
  readonly #options: HuberOptions;
  constructor(options?: HuberOptions) {
    super();
    this.#options = readOptions("HuberLoss", options, huberOptions);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.#options);
  }
}

/**
 * `smoothL1Loss` as a module.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class SmoothL1Loss extends Module<[input: Tensor, target: Tensor]> {
  readonly #options: SmoothL1Options;
  constructor(options?: SmoothL1Options) {
    super();
    this.#options = readOptions("SmoothL1Loss", options, smoothL1Options);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.#options);
  }
}

/** A loss that owns the weights it was given: they become a buffer. */
abstract class WeightedLoss<O extends BinaryOptions> extends Module<
  [input: Tensor, target: Tensor]
> {
  readonly weight: Tensor | null;
  protected readonly options: O;
  constructor(options: O) {
    super();
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.options = { ...options, weight: this.weight };
  }
}

/**
 * `crossEntropy` as a module. Takes ownership of `weight`.
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using criterion = new CrossEntropyLoss({ labelSmoothing: 0.1 });
 * using loss = criterion.call(model.call(images), labels);
 * console.log(loss.rank); // → 0
 * ```
 */
export class CrossEntropyLoss extends WeightedLoss<CrossEntropyOptions> {
  constructor(options?: CrossEntropyOptions) {
    super(readOptions("CrossEntropyLoss", options, crossEntropyOptions));
  }
  forward(logits: Tensor, targets: Tensor): Tensor {
    return crossEntropy(logits, targets, this.options);
  }
}

/**
 * `nllLoss` as a module. Takes ownership of `weight`.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class NLLLoss extends WeightedLoss<ClassOptions> {
  constructor(options?: ClassOptions) {
    super(readOptions("NLLLoss", options, classOptions));
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return nllLoss(input, target, this.options);
  }
}

/**
 * `bce` as a module. Takes ownership of `weight`.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class BCELoss extends WeightedLoss<BinaryOptions> {
  constructor(options?: BinaryOptions) {
    super(readOptions("BCELoss", options, binaryOptions));
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return bce(input, target, this.options);
  }
}

/**
 * `bceWithLogits` as a module. Takes ownership of `weight` and `posWeight`, which becomes the
 * buffer pos_weight.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class BCEWithLogitsLoss extends WeightedLoss<LogitsOptions> {
  readonly posWeight: Tensor | null;
  constructor(options?: LogitsOptions) {
    super(readOptions("BCEWithLogitsLoss", options, logitsOptions));
    const { posWeight } = this.options;
    this.posWeight = posWeight == null ? null : this.buffer("pos_weight", posWeight);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return bceWithLogits(input, target, this.options);
  }
}

/** `klDiv` as a module. @throws ArgumentError for options that are unknown or out of range */
export class KLDivLoss extends Module<[input: Tensor, target: Tensor]> {
  readonly #options: KLDivOptions;
  constructor(options?: KLDivOptions) {
    super();
    this.#options = readOptions("KLDivLoss", options, klDivOptions);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, this.#options);
  }
}

/**
 * `cosineEmbedding` as a module.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class CosineEmbeddingLoss extends Module<[a: Tensor, b: Tensor, target: Tensor]> {
  readonly #options: CosineEmbeddingOptions;
  constructor(options?: CosineEmbeddingOptions) {
    super();
    this.#options = readOptions("CosineEmbeddingLoss", options, cosineEmbeddingOptions);
  }
  forward(a: Tensor, b: Tensor, target: Tensor): Tensor {
    return cosineEmbedding(a, b, target, this.#options);
  }
}

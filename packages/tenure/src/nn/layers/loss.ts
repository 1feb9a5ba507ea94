/**
 * Losses as modules over the functions in functional/loss.ts and functional/classification.ts. A
 * module owns the class weights it is given.
 */
import { checkOptions } from "../../base/options.ts";
import {
  type ClassOptions,
  type CrossEntropyOptions,
  crossEntropy,
  nllLoss,
} from "../functional/classification.ts";
import {
  type BinaryOptions,
  type KLDivOptions,
  type LossOptions,
  type Reduction,
  bce,
  bceWithLogits,
  cosineEmbedding,
  huberLoss,
  klDiv,
  l1Loss,
  mseLoss,
  smoothL1Loss,
} from "../functional/loss.ts";
import { Module } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

type Pair = [input: Tensor, target: Tensor];

/** `mseLoss` as a module. */
export class MSELoss extends Module<Pair> {
  readonly #reduction: Reduction;
  constructor(options: LossOptions = {}) {
    super();
    checkOptions("MSELoss", options, ["reduction"]);
    this.#reduction = options.reduction ?? "mean";
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, this.#reduction);
  }
}

/** `l1Loss` as a module. */
export class L1Loss extends Module<Pair> {
  readonly #reduction: Reduction;
  constructor(options: LossOptions = {}) {
    super();
    checkOptions("L1Loss", options, ["reduction"]);
    this.#reduction = options.reduction ?? "mean";
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, this.#reduction);
  }
}

/** `huberLoss` as a module. */
export class HuberLoss extends Module<Pair> {
  readonly #options: LossOptions & { readonly delta?: number };
  constructor(options: LossOptions & { readonly delta?: number } = {}) {
    super();
    checkOptions("HuberLoss", options, ["reduction", "delta"]);
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.#options);
  }
}

/** `smoothL1Loss` as a module. */
export class SmoothL1Loss extends Module<Pair> {
  readonly #options: LossOptions & { readonly beta?: number };
  constructor(options: LossOptions & { readonly beta?: number } = {}) {
    super();
    checkOptions("SmoothL1Loss", options, ["reduction", "beta"]);
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.#options);
  }
}

/** `crossEntropy` as a module. Takes ownership of `weight`: it becomes a buffer. */
export class CrossEntropyLoss extends Module<[logits: Tensor, targets: Tensor]> {
  readonly weight: Tensor | null;
  readonly #options: CrossEntropyOptions;
  constructor(options: CrossEntropyOptions = {}) {
    super();
    checkOptions("CrossEntropyLoss", options, [
      "reduction",
      "weight",
      "ignoreIndex",
      "labelSmoothing",
    ]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.#options = { ...options, weight: this.weight };
  }
  forward(logits: Tensor, targets: Tensor): Tensor {
    return crossEntropy(logits, targets, this.#options);
  }
}

/** `nllLoss` as a module. Takes ownership of `weight`. */
export class NLLLoss extends Module<Pair> {
  readonly weight: Tensor | null;
  readonly #options: ClassOptions;
  constructor(options: ClassOptions = {}) {
    super();
    checkOptions("NLLLoss", options, ["reduction", "weight", "ignoreIndex"]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.#options = { ...options, weight: this.weight };
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return nllLoss(input, target, this.#options);
  }
}

/** `bce` as a module. Takes ownership of `weight`. */
export class BCELoss extends Module<Pair> {
  readonly weight: Tensor | null;
  readonly #options: BinaryOptions;
  constructor(options: BinaryOptions = {}) {
    super();
    checkOptions("BCELoss", options, ["reduction", "weight"]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.#options = { ...options, weight: this.weight };
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return bce(input, target, this.#options);
  }
}

/**
 * `bceWithLogits` as a module. Takes ownership of `weight` and `posWeight`, which becomes the
 * buffer pos_weight.
 */
export class BCEWithLogitsLoss extends Module<Pair> {
  readonly weight: Tensor | null;
  readonly posWeight: Tensor | null;
  readonly #reduction: Reduction;
  constructor(options: BinaryOptions & { readonly posWeight?: Tensor | null } = {}) {
    super();
    checkOptions("BCEWithLogitsLoss", options, ["reduction", "weight", "posWeight"]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.posWeight =
      options.posWeight == null ? null : this.buffer("pos_weight", options.posWeight);
    this.#reduction = options.reduction ?? "mean";
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return bceWithLogits(input, target, {
      weight: this.weight,
      posWeight: this.posWeight,
      reduction: this.#reduction,
    });
  }
}

/** `klDiv` as a module. */
export class KLDivLoss extends Module<Pair> {
  readonly #options: KLDivOptions;
  constructor(options: KLDivOptions = {}) {
    super();
    checkOptions("KLDivLoss", options, ["reduction", "logTarget"]);
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, this.#options);
  }
}

/** `cosineEmbedding` as a module. */
export class CosineEmbeddingLoss extends Module<[a: Tensor, b: Tensor, target: Tensor]> {
  readonly #options: LossOptions & { readonly margin?: number };
  constructor(options: LossOptions & { readonly margin?: number } = {}) {
    super();
    checkOptions("CosineEmbeddingLoss", options, ["reduction", "margin"]);
    this.#options = options;
  }
  forward(a: Tensor, b: Tensor, target: Tensor): Tensor {
    return cosineEmbedding(a, b, target, this.#options);
  }
}

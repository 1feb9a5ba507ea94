/**
 * Normalising layers. Weights are parameters, running statistics buffers, with PyTorch's names; the functions in normalization.ts compute.
 */
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import { isRecomputing } from "../autograd/checkpoint.ts";
import { noGrad } from "../autograd/mode.ts";
import { newDisposeScope } from "../ownership/scope.ts";
import { ones, zeros } from "../tensor/create.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Module } from "./module.ts";
import { batchNorm, groupNorm, layerNorm, rmsNorm } from "./normalization.ts";

function checkCount(layer: string, what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new ArgumentError(layer, `${what} to be a positive integer`, String(value));
}

export interface BatchNormLayerOptions {
  readonly eps?: number;
  /** How far running statistics move towards the batch's; null for the plain average of all batches. */
  readonly momentum?: number | null;
  /** Learned weight and bias. */
  readonly affine?: boolean;
  /** Without, evaluation uses the batch's statistics too. */
  readonly trackRunningStats?: boolean;
}

/**
 * Batch normalisation (Ioffe & Szegedy 2015). Parameters weight [C] and bias [C]; buffers running_mean [C], running_var [C] and num_batches_tracked [], updated
 * in place while training and left alone in evaluation.
 */
abstract class BatchNorm extends Module {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  readonly batches: Tensor | null;
  readonly #eps: number;
  readonly #momentum: number | null;
  /** Ranks the input may have. */
  protected abstract readonly ranks: readonly number[];

  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super();
    const { eps = 1e-5, momentum = 0.1, affine = true, trackRunningStats = true } = options, shape = [numFeatures];
    checkCount(this.constructor.name, "numFeatures", numFeatures);
    if (momentum !== null && !(momentum >= 0 && momentum <= 1)) throw new ArgumentError(this.constructor.name, "a momentum in [0, 1] or null", String(momentum));
    this.weight = affine ? this.parameter("weight", ones(shape)) : null;
    this.bias = affine ? this.parameter("bias", zeros(shape)) : null;
    this.runningMean = trackRunningStats ? this.buffer("running_mean", zeros(shape)) : null;
    this.runningVar = trackRunningStats ? this.buffer("running_var", ones(shape)) : null;
    this.batches = trackRunningStats ? this.buffer("num_batches_tracked", zeros([], { dtype: "int32" })) : null;
    this.#eps = eps;
    this.#momentum = momentum;
  }

  forward(x: Tensor): Tensor {
    if (!this.ranks.includes(x.rank)) throw new ShapeError(this.constructor.name, `a tensor of rank ${this.ranks.join(" or ")}, [N, C, …]`, formatShape(x.shape), "add missing dimensions with unsqueeze");
    const { weight, bias, runningMean, runningVar, training } = this, shared = { weight, bias, eps: this.#eps };
    if (runningMean === null || runningVar === null) return batchNorm(x, { ...shared, training: true });
    if (!training) return batchNorm(x, { ...shared, runningMean, runningVar });
    if (isRecomputing()) return batchNorm(x, { ...shared, training: true }); // the first run has updated the statistics
    noGrad(() => { this.batches!.add_(1).dispose(); });
    if (this.#momentum !== null) return batchNorm(x, { ...shared, runningMean, runningVar, training, momentum: this.#momentum });
    return this.#averaged(x, shared);
  }

  /** The share of the new batch is 1 / batches, a number only the device knows: a full step into scratch tensors, then r += (s - r) / batches. */
  #averaged(x: Tensor, shared: { weight: Tensor | null; bias: Tensor | null; eps: number }): Tensor {
    using scope = newDisposeScope("BatchNorm");
    const [mean, variance] = [zeros(this.runningMean!.shape), zeros(this.runningVar!.shape)];
    const y = batchNorm(x, { ...shared, runningMean: mean, runningVar: variance, training: true, momentum: 1 });
    noGrad(() => {
      const share = this.batches!.float().reciprocal();
      this.runningMean!.add_(mean.sub(this.runningMean!).mul(share));
      this.runningVar!.add_(variance.sub(this.runningVar!).mul(share));
    });
    return scope.moveToOuter(y);
  }
}

/** Batch normalisation of x [N, C] or [N, C, L]. */
export class BatchNorm1d extends BatchNorm { protected readonly ranks: readonly number[] = [2, 3]; }
/** Batch normalisation of x [N, C, H, W]. */
export class BatchNorm2d extends BatchNorm { protected readonly ranks: readonly number[] = [4]; }

/** Layer normalisation (Ba et al. 2016) of x [..., *normalizedShape]. weight and bias of the normalised shape. */
export class LayerNorm extends Module {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly #shape: readonly number[];
  readonly #eps: number;
  constructor(normalizedShape: number | readonly number[], options: { readonly eps?: number; readonly elementwiseAffine?: boolean; readonly bias?: boolean } = {}) {
    super();
    const { eps = 1e-5, elementwiseAffine = true, bias = true } = options;
    this.#shape = typeof normalizedShape === "number" ? [normalizedShape] : [...normalizedShape];
    for (const d of this.#shape) checkCount("LayerNorm", "dimensions", d);
    this.#eps = eps;
    this.weight = elementwiseAffine ? this.parameter("weight", ones(this.#shape)) : null;
    this.bias = elementwiseAffine && bias ? this.parameter("bias", zeros(this.#shape)) : null;
  }
  forward(x: Tensor): Tensor { return layerNorm(x, this.#shape, this.weight, this.bias, this.#eps); }
}

/** Root mean square normalisation (Zhang & Sennrich 2019) of x [..., *normalizedShape]. weight of the normalised shape. */
export class RMSNorm extends Module {
  readonly weight: Tensor | null;
  readonly #shape: readonly number[];
  readonly #eps: number | undefined;
  constructor(normalizedShape: number | readonly number[], options: { readonly eps?: number; readonly elementwiseAffine?: boolean } = {}) {
    super();
    this.#shape = typeof normalizedShape === "number" ? [normalizedShape] : [...normalizedShape];
    for (const d of this.#shape) checkCount("RMSNorm", "dimensions", d);
    this.#eps = options.eps;
    this.weight = options.elementwiseAffine === false ? null : this.parameter("weight", ones(this.#shape));
  }
  forward(x: Tensor): Tensor { return rmsNorm(x, this.#shape, this.weight, this.#eps); }
}

/** Group normalisation (Wu & He 2018) of x [N, C, …]: channels in groups. weight [C], bias [C]. */
export class GroupNorm extends Module {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly #groups: number;
  readonly #eps: number;
  constructor(numGroups: number, numChannels: number, options: { readonly eps?: number; readonly affine?: boolean } = {}) {
    super();
    const { eps = 1e-5, affine = true } = options;
    checkCount("GroupNorm", "numGroups", numGroups);
    checkCount("GroupNorm", "numChannels", numChannels);
    if (numChannels % numGroups !== 0) throw new ArgumentError("GroupNorm", `groups that divide ${numChannels} channels`, String(numGroups));
    this.#groups = numGroups;
    this.#eps = eps;
    this.weight = affine ? this.parameter("weight", ones([numChannels])) : null;
    this.bias = affine ? this.parameter("bias", zeros([numChannels])) : null;
  }
  forward(x: Tensor): Tensor { return groupNorm(x, this.#groups, this.weight, this.bias, this.#eps); }
}

/**
 * Normalising layers. Weights are parameters, running statistics buffers, with PyTorch's names; the
 * functions in functional/norm.ts compute.
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import {
  type OptionRow,
  type OptionTable,
  checkArgument,
  describeValue,
  off,
  on,
  readOptions,
} from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { isRecomputing } from "../../autograd/checkpoint.ts";
import { noGrad } from "../../autograd/mode.ts";
import { count, epsilon } from "../checks.ts";
import {
  batchNorm,
  groupNorm,
  instanceNorm,
  layerNorm,
  momentumRow,
  rmsEpsilon,
  rmsNorm,
  trackInstances,
} from "../functional/norm.ts";
import { Layer } from "../module.ts";
import { newDisposeScope } from "../../ownership/open.ts";
import { composed } from "../../ownership/scoped.ts";
import { ones, zeros } from "../../tensor/create.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** Options of batch norms, with PyTorch's defaults. */
export interface BatchNormLayerOptions {
  readonly eps?: number;
  /**
   * How far running statistics move towards the batch's; null for the plain average of all batches.
   */
  readonly momentum?: number | null;
  /** Learned weight and bias. */
  readonly affine?: boolean;
  /** Without, evaluation uses the batch's statistics too. */
  readonly trackRunningStats?: boolean;
}

const batchNormOptions = {
  eps: epsilon,
  momentum: { ...momentumRow, orNull: true },
  affine: on,
  trackRunningStats: on,
} satisfies OptionTable<BatchNormLayerOptions>;

/**
 * Batch normalisation (Ioffe & Szegedy 2015). Parameters weight [C] and bias [C]; buffers
 * running_mean [C], running_var [C] and num_batches_tracked [], updated in place while training and
 * left alone in evaluation.
 */
abstract class BatchNorm extends Layer {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  readonly batches: Tensor | null;
  readonly #eps: number;
  readonly #momentum: number | null;
  /** Ranks the input may have. */
  protected abstract readonly ranks: readonly number[];

  constructor(numFeatures: number, options?: BatchNormLayerOptions) {
    super();
    const name = this.constructor.name,
      shape = [numFeatures];
    const { eps, momentum, affine, trackRunningStats } = readOptions(
      name,
      options,
      batchNormOptions,
    );
    checkArgument(name, "numFeatures", numFeatures, count);
    this.weight = affine ? this.parameter("weight", ones(shape)) : null;
    this.bias = affine ? this.parameter("bias", zeros(shape)) : null;
    this.runningMean = trackRunningStats ? this.buffer("running_mean", zeros(shape)) : null;
    this.runningVar = trackRunningStats ? this.buffer("running_var", ones(shape)) : null;
    this.batches = trackRunningStats
      ? this.buffer("num_batches_tracked", zeros([], { dtype: "int32" }))
      : null;
    this.#eps = eps;
    this.#momentum = momentum;
  }

  forward(x: Tensor): Tensor {
    live(x, this.constructor.name);
    if (!this.ranks.includes(x.rank))
      throw new ShapeError(
        this.constructor.name,
        `a tensor of rank ${this.ranks.join(" or ")}, [N, C, …]`,
        formatShape(x.shape),
        "add missing dimensions with unsqueeze",
      );
    const { weight, bias, runningMean, runningVar, training } = this,
      shared = { weight, bias, eps: this.#eps };
    if (runningMean === null || runningVar === null)
      return batchNorm(x, { ...shared, training: true });
    if (!training) return batchNorm(x, { ...shared, runningMean, runningVar });
    // the first run has updated the statistics
    if (isRecomputing()) return batchNorm(x, { ...shared, training: true });
    noGrad(() => {
      this.batches!.add_(1).dispose();
    });
    if (this.#momentum !== null)
      return batchNorm(x, {
        ...shared,
        runningMean,
        runningVar,
        training,
        momentum: this.#momentum,
      });
    return this.#averaged(x, shared);
  }

  /**
   * The share of the new batch is 1 / batches, a number only the device knows: a full step into
   * scratch tensors, then r += (s - r) / batches.
   */
  #averaged(
    x: Tensor,
    shared: { weight: Tensor | null; bias: Tensor | null; eps: number },
  ): Tensor {
    using scope = newDisposeScope("BatchNorm");
    const [mean, variance] = [zeros(this.runningMean!.shape), zeros(this.runningVar!.shape)];
    const y = batchNorm(x, {
      ...shared,
      runningMean: mean,
      runningVar: variance,
      training: true,
      momentum: 1,
    });
    noGrad(() => {
      const share = this.batches!.float().reciprocal();
      this.runningMean!.add_(mean.sub(this.runningMean!).mul(share));
      this.runningVar!.add_(variance.sub(this.runningVar!).mul(share));
    });
    return scope.moveToOuter(y);
  }
}

/**
 * Batch normalisation of x [N, C] or [N, C, L].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class BatchNorm1d extends BatchNorm {
  protected readonly ranks: readonly number[] = [2, 3];
}

/**
 * Batch normalisation of x [N, C, H, W].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class BatchNorm2d extends BatchNorm {
  protected readonly ranks: readonly number[] = [4];
}

const dimensions = {
  type: "list",
  of: "integer",
  range: "[1, Infinity)",
  single: true,
  nonEmpty: true,
  what: "dimensions",
  remedy: "pass for example 64 or [8, 8]",
} as const satisfies OptionRow;

/** The shape that one number or a list of them stands for. @throws ArgumentError */
function shapeOf(op: string, given: number | readonly number[]): readonly number[] {
  checkArgument(op, "normalizedShape", given, dimensions);
  return typeof given === "number" ? [given] : [...given];
}

/** Options of `RMSNorm`. */
export interface RMSNormOptions {
  readonly eps?: number;
  /** A learned weight. */
  readonly elementwiseAffine?: boolean;
}
const rmsNormOptions = {
  eps: rmsEpsilon,
  elementwiseAffine: on,
} satisfies OptionTable<RMSNormOptions>;

/** Options of `LayerNorm`. */
export interface LayerNormOptions extends RMSNormOptions {
  /** A learned bias beside the weight. */
  readonly bias?: boolean;
}
const layerNormOptions = {
  eps: epsilon,
  elementwiseAffine: on,
  bias: on,
} satisfies OptionTable<LayerNormOptions>;

/**
 * Layer normalisation (Ba et al. 2016) of x [..., *normalizedShape]. weight and bias of the
 * normalised shape.
 * @throws ArgumentError for a shape that is none, and for options that are unknown or out of range
 * @example
 * ```ts
 * using norm = new LayerNorm(4);
 * using out = norm.call(x);
 * console.log(out.shape.join()); // → 8,4
 * ```
 */
export class LayerNorm extends Layer {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly #shape: readonly number[];
  readonly #eps: number;
  constructor(normalizedShape: number | readonly number[], options?: LayerNormOptions) {
    super();
    const { eps, elementwiseAffine, bias } = readOptions("LayerNorm", options, layerNormOptions);
    this.#shape = shapeOf("LayerNorm", normalizedShape);
    this.#eps = eps;
    this.weight = elementwiseAffine ? this.parameter("weight", ones(this.#shape)) : null;
    this.bias = elementwiseAffine && bias ? this.parameter("bias", zeros(this.#shape)) : null;
  }
  forward(x: Tensor): Tensor {
    return layerNorm(x, this.#shape, this.weight, this.bias, this.#eps);
  }
}

/**
 * Root mean square normalisation (Zhang & Sennrich 2019) of x [..., *normalizedShape]. weight of
 * the normalised shape.
 * @throws ArgumentError for a shape that is none, and for options that are unknown or out of range
 */
export class RMSNorm extends Layer {
  readonly weight: Tensor | null;
  readonly #shape: readonly number[];
  readonly #eps: number;
  constructor(normalizedShape: number | readonly number[], options?: RMSNormOptions) {
    super();
    const { eps, elementwiseAffine } = readOptions("RMSNorm", options, rmsNormOptions);
    this.#shape = shapeOf("RMSNorm", normalizedShape);
    this.#eps = eps;
    this.weight = elementwiseAffine ? this.parameter("weight", ones(this.#shape)) : null;
  }
  forward(x: Tensor): Tensor {
    return rmsNorm(x, this.#shape, this.weight, this.#eps);
  }
}

/** Options of `GroupNorm`. */
export interface GroupNormOptions {
  readonly eps?: number;
  /** Learned weight and bias. */
  readonly affine?: boolean;
}
const groupNormOptions = {
  eps: epsilon,
  affine: on,
} satisfies OptionTable<GroupNormOptions>;

/**
 * Group normalisation (Wu & He 2018) of x [N, C, …]: channels in groups. weight [C], bias [C].
 * @throws ArgumentError unless the groups divide the channels, and for options that are unknown or
 *   out of range
 */
export class GroupNorm extends Layer {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly #groups: number;
  readonly #eps: number;
  constructor(numGroups: number, numChannels: number, options?: GroupNormOptions) {
    super();
    const { eps, affine } = readOptions("GroupNorm", options, groupNormOptions);
    checkArgument("GroupNorm", "numGroups", numGroups, count);
    checkArgument("GroupNorm", "numChannels", numChannels, count);
    if (numChannels % numGroups !== 0)
      throw new ArgumentError(
        "GroupNorm",
        `groups that divide ${numChannels} channels`,
        describeValue(numGroups),
        "use a divisor of the channels",
      );
    this.#groups = numGroups;
    this.#eps = eps;
    this.weight = affine ? this.parameter("weight", ones([numChannels])) : null;
    this.bias = affine ? this.parameter("bias", zeros([numChannels])) : null;
  }
  forward(x: Tensor): Tensor {
    return groupNorm(x, this.#groups, this.weight, this.bias, this.#eps);
  }
}

/** Options of instance norms: PyTorch's defaults are no weights and no running statistics. */
export interface InstanceNormOptions {
  readonly eps?: number;
  /** How far running statistics move towards the batch's. */
  readonly momentum?: number;
  /** Learned weight and bias. */
  readonly affine?: boolean;
  /** Keep running statistics while training and use them in evaluation. */
  readonly trackRunningStats?: boolean;
}

const instanceNormOptions = {
  eps: epsilon,
  momentum: momentumRow,
  affine: off,
  trackRunningStats: off,
} satisfies OptionTable<InstanceNormOptions>;

/**
 * Instance normalisation (Ulyanov et al. 2016): each channel of each sample scaled to mean 0 and
 * variance 1. Parameters weight [C] and bias [C] if affine; buffers running_mean [C], running_var
 * [C] and num_batches_tracked [] if tracked.
 */
abstract class InstanceNorm extends Layer {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  readonly batches: Tensor | null;
  readonly #features: number;
  readonly #eps: number;
  readonly #momentum: number;
  /** Rank of a batch; a single sample has one less. */
  protected abstract readonly rank: number;

  constructor(numFeatures: number, options?: InstanceNormOptions) {
    super();
    const name = this.constructor.name,
      shape = [numFeatures];
    const { eps, momentum, affine, trackRunningStats } = readOptions(
      name,
      options,
      instanceNormOptions,
    );
    checkArgument(name, "numFeatures", numFeatures, count);
    this.#features = numFeatures;
    this.#eps = eps;
    this.#momentum = momentum;
    this.weight = affine ? this.parameter("weight", ones(shape)) : null;
    this.bias = affine ? this.parameter("bias", zeros(shape)) : null;
    this.runningMean = trackRunningStats ? this.buffer("running_mean", zeros(shape)) : null;
    this.runningVar = trackRunningStats ? this.buffer("running_var", ones(shape)) : null;
    this.batches = trackRunningStats
      ? this.buffer("num_batches_tracked", zeros([], { dtype: "int32" }))
      : null;
  }

  forward(x: Tensor): Tensor {
    live(x, this.constructor.name);
    const single = x.rank === this.rank - 1,
      { weight, bias, runningMean, runningVar } = this;
    if ((!single && x.rank !== this.rank) || x.shape[single ? 0 : 1] !== this.#features)
      throw new ShapeError(
        this.constructor.name,
        `a tensor [N, ${this.#features}, …] of rank ${this.rank}, or a single sample`,
        formatShape(x.shape),
        "check numFeatures",
      );
    return composed(() => {
      const batch = single ? x.unsqueeze(0) : x;
      if (runningMean !== null && runningVar !== null) {
        if (!this.training) {
          const y = batchNorm(batch, { runningMean, runningVar, weight, bias, eps: this.#eps });
          return single ? y.squeeze(0) : y;
        }
        trackInstances(batch, runningMean, runningVar, this.#momentum);
      }
      const values = batch.shape.slice(2).reduce((n, d) => n * d, 1);
      if (values < 2)
        throw new ShapeError(
          this.constructor.name,
          "more than one value per channel and sample",
          formatShape(x.shape),
          "use a larger image",
        );
      const y = instanceNorm(batch, weight, bias, this.#eps);
      return single ? y.squeeze(0) : y;
    }, "InstanceNorm");
  }
}

/**
 * Instance normalisation of x [N, C, L] or [C, L].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class InstanceNorm1d extends InstanceNorm {
  protected readonly rank: number = 3;
}

/**
 * Instance normalisation of x [N, C, H, W] or [C, H, W].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class InstanceNorm2d extends InstanceNorm {
  protected readonly rank: number = 4;
}

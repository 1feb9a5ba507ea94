/**
 * Stateless layers and losses as functions on tensors; the module classes are thin over them.
 * Results belong to the current scope; intermediates are freed here.
 */
import { ShapeError } from "../base/errors.ts";
import { checkOptions } from "../base/options.ts";
import { formatShape } from "../base/shape.ts";
import { scoped } from "../ownership/scoped.ts";
import * as C from "../ops/conv.ts";
import { dropout as drop } from "../tensor/create.ts";
import { type Tensor, call, live } from "../tensor/tensor.ts";

export {
  batchNorm,
  groupNorm,
  instanceNorm,
  layerNorm,
  rmsNorm,
  type BatchNormOptions,
} from "./normalization.ts";
export {
  attentionWithWeights,
  scaledDotProductAttention,
  type AttentionOptions,
  type WeightedAttention,
} from "./attention.ts";
export { embedding } from "../tensor/indexing.ts";
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  avgPool1d,
  conv1d,
  convTranspose1d,
  convTranspose2d,
  maxPool1d,
  maxPool1dWithIndices,
  pad,
  upsample,
  type Conv1dOptions,
  type ConvTranspose1dOptions,
  type ConvTranspose2dOptions,
  type Pool1dOptions,
  type UpsampleOptions,
} from "./images.ts";

/** One number for both directions, or (vertical, horizontal). */
export type Pair = number | readonly [number, number];
export function pair(value: Pair): readonly [number, number] {
  return typeof value === "number" ? [value, value] : value;
}

/**
 * x [..., in] → [..., out] with weight [out, in] and bias [out]: x·Wᵀ + b, as PyTorch lays it out.
 */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor {
  const { shape } = live(x, "linear").layout,
    wanted = live(weight, "linear").layout.shape;
  if (wanted.length === 2 && shape.at(-1) !== wanted[1])
    throw new ShapeError(
      "linear",
      `an input [..., ${wanted[1]}] for weight ${formatShape(wanted)}`,
      formatShape(shape),
      "check the layer's inFeatures, or flatten the input first",
    );
  return scoped(() => {
    const rows = x.rank === 1 ? x.unsqueeze(0) : x;
    const y = rows.matmul(weight.transpose());
    const out = bias == null ? y : y.add(bias);
    return x.rank === 1 ? out.squeeze(0) : out;
  }, "linear");
}

export interface Conv2dOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  readonly dilation?: Pair;
  readonly groups?: number;
}

/** x [N, C, H, W], weight [O, C/groups, R, S], bias [O] → [N, O, P, Q]. */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options: Conv2dOptions = {},
): Tensor {
  checkOptions("conv2d", options, ["stride", "padding", "dilation", "groups"]);
  return scoped(() => {
    const y = call(C.conv2d, [x, weight], {
      stride: pair(options.stride ?? 1),
      padding: pair(options.padding ?? 0),
      dilation: pair(options.dilation ?? 1),
      groups: options.groups ?? 1,
    });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  }, "conv2d");
}

export interface PoolOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  /** Windows may reach past the end, so that no pixel is left out. */
  readonly ceilMode?: boolean;
}

const windowOf = (
  kernel: Pair,
  { stride = kernel, padding = 0, ceilMode = false }: PoolOptions,
): C.PoolWindow => ({
  kernel: pair(kernel),
  stride: pair(stride),
  padding: pair(padding),
  ...(ceilMode ? { ceil: true } : {}),
});

/** x [N, C, H, W] → largest element of each window; the stride is the kernel size unless given. */
export function maxPool2d(x: Tensor, kernel: Pair, options: PoolOptions = {}): Tensor {
  checkOptions("maxPool2d", options, ["stride", "padding", "ceilMode"]);
  return call(C.maxPool2d, [x], windowOf(kernel, options));
}

/**
 * `maxPool2d`, and where in its plane of H·W pixels each maximum lies (int32, row-major, the first
 * of equal ones).
 */
export function maxPool2dWithIndices(
  x: Tensor,
  kernel: Pair,
  options: PoolOptions = {},
): { readonly values: Tensor; readonly indices: Tensor } {
  checkOptions("maxPool2dWithIndices", options, ["stride", "padding", "ceilMode"]);
  return scoped(
    () => ({
      values: call(C.maxPool2d, [x], windowOf(kernel, options)),
      indices: call(C.maxPool2dIndices, [x], windowOf(kernel, options)),
    }),
    "maxPool2dWithIndices",
  );
}

/** x [N, C, H, W] → mean of each window; the stride is the kernel size unless given. */
export function avgPool2d(
  x: Tensor,
  kernel: Pair,
  options: PoolOptions & { readonly countIncludePad?: boolean } = {},
): Tensor {
  checkOptions("avgPool2d", options, ["stride", "padding", "ceilMode", "countIncludePad"]);
  return call(C.avgPool2d, [x], {
    ...windowOf(kernel, options),
    countIncludePad: options.countIncludePad ?? true,
  });
}

/** Zeroes elements with probability `p` while training; otherwise an alias. */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor {
  live(x, "dropout");
  return training && p > 0 ? drop(x, p) : x.alias();
}

export {
  type BinaryOptions,
  type ClassOptions,
  type CrossEntropyOptions,
  type KLDivOptions,
  type LossOptions,
  type Reduction,
  bce,
  bceWithLogits,
  cosineEmbedding,
  crossEntropy,
  huberLoss,
  klDiv,
  l1Loss,
  mseLoss,
  nllLoss,
  reduceLoss,
  smoothL1Loss,
} from "./losses.ts";

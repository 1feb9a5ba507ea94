/**
 * `nn.functional`: stateless layers and losses as functions on tensors; the module classes are thin
 * over them. Results belong to the current scope; intermediates are freed inside.
 */
export { embedding } from "../../tensor/indexing.ts";
export {
  attentionWithWeights,
  scaledDotProductAttention,
  type AttentionOptions,
  type WeightedAttention,
} from "./attention.ts";
export {
  crossEntropy,
  nllLoss,
  type ClassOptions,
  type CrossEntropyOptions,
} from "./classification.ts";
export {
  conv1d,
  conv2d,
  convTranspose1d,
  convTranspose2d,
  type Conv1dOptions,
  type Conv2dOptions,
  type ConvTranspose1dOptions,
  type ConvTranspose2dOptions,
} from "./conv.ts";
export { dropout } from "./dropout.ts";
export { linear } from "./linear.ts";
export {
  bce,
  bceWithLogits,
  cosineEmbedding,
  huberLoss,
  klDiv,
  l1Loss,
  mseLoss,
  reduceLoss,
  smoothL1Loss,
  type BinaryOptions,
  type CosineEmbeddingOptions,
  type HuberOptions,
  type KLDivOptions,
  type LogitsOptions,
  type LossOptions,
  type Reduction,
  type SmoothL1Options,
} from "./loss.ts";
export {
  batchNorm,
  groupNorm,
  instanceNorm,
  layerNorm,
  rmsNorm,
  type BatchNormOptions,
} from "./norm.ts";
export { pad } from "./pad.ts";
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  avgPool1d,
  avgPool2d,
  maxPool1d,
  maxPool1dWithIndices,
  maxPool2d,
  maxPool2dWithIndices,
  type Pool1dOptions,
  type PoolOptions,
} from "./pool.ts";
export { pair, type Pair } from "./spatial.ts";
export { upsample, type UpsampleOptions } from "./upsample.ts";

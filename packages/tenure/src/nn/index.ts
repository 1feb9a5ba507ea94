/**
 * Everything users import from `tenure/nn`.
 * @module tenure/nn
 */

export { Module, type AnyModule, type LoadOptions } from "./module.ts";
export type { Loadable, LoadableState, StateDict, StateDifference } from "./state-dict.ts";
export {
  ELU,
  GELU,
  GLU,
  Hardsigmoid,
  Hardswish,
  Hardtanh,
  Identity,
  LeakyReLU,
  LogSigmoid,
  LogSoftmax,
  Mish,
  PReLU,
  ReLU,
  ReLU6,
  SELU,
  SiLU,
  Sigmoid,
  Softmax,
  Softplus,
  Softsign,
  Tanh,
  type GELUOptions,
} from "./layers/activation.ts";
export {
  MultiheadAttention,
  type AttentionMasks,
  type AttentionOutput,
  type MultiheadAttentionOptions,
  type WeightOptions,
} from "./layers/attention.ts";
export { ModuleDict, ModuleList, Sequential } from "./layers/containers.ts";
export {
  Conv1d,
  Conv2d,
  ConvTranspose1d,
  ConvTranspose2d,
  type Conv1dOptions,
  type Conv2dOptions,
  type ConvTranspose1dOptions,
  type ConvTranspose2dOptions,
} from "./layers/conv.ts";
export { Dropout } from "./layers/dropout.ts";
export { Embedding, type EmbeddingOptions } from "./layers/embedding.ts";
export { Flatten } from "./layers/flatten.ts";
export { Linear, type LinearOptions } from "./layers/linear.ts";
export {
  BCELoss,
  BCEWithLogitsLoss,
  CosineEmbeddingLoss,
  CrossEntropyLoss,
  HuberLoss,
  KLDivLoss,
  L1Loss,
  MSELoss,
  NLLLoss,
  SmoothL1Loss,
} from "./layers/loss.ts";
export {
  BatchNorm1d,
  BatchNorm2d,
  GroupNorm,
  InstanceNorm1d,
  InstanceNorm2d,
  LayerNorm,
  RMSNorm,
  type BatchNormLayerOptions,
  type GroupNormOptions,
  type InstanceNormOptions,
  type LayerNormOptions,
  type RMSNormOptions,
} from "./layers/norm.ts";
export {
  ConstantPad1d,
  ConstantPad2d,
  ReflectionPad1d,
  ReflectionPad2d,
  ReplicationPad1d,
  ReplicationPad2d,
  ZeroPad1d,
  ZeroPad2d,
  type Border,
} from "./layers/pad.ts";
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AvgPool1d,
  AvgPool2d,
  MaxPool1d,
  MaxPool2d,
} from "./layers/pool.ts";
export type { AvgPoolOptions, Pool1dOptions } from "./functional/pool.ts";
export {
  GRU,
  LSTM,
  RNN,
  type LSTMOptions,
  type LSTMOutput,
  type LSTMState,
  type RNNOptions,
  type RecurrentOptions,
  type RecurrentOutput,
} from "./layers/recurrent.ts";
export {
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
  type Activation,
  type DecoderOptions,
  type TransformerLayerOptions,
} from "./layers/transformer.ts";
export { Upsample } from "./layers/upsample.ts";
export { summary, type Summary, type SummaryOptions, type SummaryRow } from "./summary.ts";
export * as functional from "./functional/index.ts";
export * as init from "./init.ts";

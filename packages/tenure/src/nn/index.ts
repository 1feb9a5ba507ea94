/**
 * Everything users import from `tenure/nn`.
 */
import "../compose.ts";

export { Module, type AnyModule, type LoadableState, type StateDict } from "./module.ts";
export {
  Conv2d,
  Dropout,
  Embedding,
  Flatten,
  Linear,
  MaxPool2d,
  Sequential,
  type EmbeddingOptions,
} from "./layers.ts";
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
} from "./activations.ts";
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AvgPool1d,
  AvgPool2d,
  ConstantPad1d,
  ConstantPad2d,
  Conv1d,
  ConvTranspose1d,
  ConvTranspose2d,
  MaxPool1d,
  ReflectionPad1d,
  ReflectionPad2d,
  ReplicationPad1d,
  ReplicationPad2d,
  Upsample,
  ZeroPad1d,
  ZeroPad2d,
  type AvgPoolOptions,
  type Conv1dOptions,
  type ConvTranspose1dOptions,
  type ConvTranspose2dOptions,
  type Pool1dOptions,
} from "./spatial.ts";
export { ModuleDict, ModuleList } from "./containers.ts";
export {
  BatchNorm1d,
  BatchNorm2d,
  GroupNorm,
  InstanceNorm1d,
  InstanceNorm2d,
  LayerNorm,
  RMSNorm,
  type BatchNormLayerOptions,
  type InstanceNormOptions,
} from "./norms.ts";
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
} from "./recurrent.ts";
export {
  MultiheadAttention,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
  type Activation,
  type AttentionOutput,
  type AttentionMasks,
  type DecoderOptions,
  type MultiheadAttentionOptions,
  type TransformerLayerOptions,
} from "./transformer.ts";
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
} from "./losses.ts";
export { summary, type Summary, type SummaryOptions, type SummaryRow } from "./summary.ts";
export * as functional from "./functional.ts";
export * as init from "./init.ts";

/**
 * Everything users import from `tenure`. Named re-exports only.
 * @module tenure
 */

export {
  deviceInfo,
  init,
  setWarnSink,
  shutdown,
  sync,
  type InitOptions,
} from "./runtime/lifecycle.ts";
export type { DeviceInfo } from "./device/acquire.ts";
export type { Counters } from "./device/counters.ts";
export type { GPUBuffer, GPUDevice, GPUPowerPreference } from "./device/webgpu.ts";
export {
  tune,
  tuneWhenIdle,
  type IdleTuning,
  type TuneOptions,
  type TuneReport,
  type TunedKernel,
} from "./runtime/tune.ts";
export { memory } from "./runtime/memory.ts";
export type { BudgetAction } from "./runtime/memory-budget.ts";
export { debug } from "./debug/inspect.ts";
export { profile, KernelProfile } from "./profiling/profile.ts";
export type { DeviceRates } from "./profiling/device-rates.ts";
export type { KernelRow } from "./profiling/kernel-rows.ts";
export type { KernelFacts, TimedKernel } from "./device/kernel-watch.ts";
export type {
  FallbackRecord,
  KernelRecord,
  MissRecord,
  PlanRecord,
  UnfusedRecord,
} from "./runtime/inspector.ts";
export {
  Tensor,
  type TensorLike,
  type NestedArray,
  type BackwardOptions,
  type BufferPlace,
} from "./tensor/tensor.ts";
export type { TensorData } from "./tensor/host.ts";
export {
  arange,
  eye,
  full,
  linspace,
  oneHot,
  ones,
  rand,
  randint,
  randn,
  tensor,
  tensorFromBuffer,
  where,
  zeros,
  type BufferTensorOptions,
  type CreateOptions,
  type TensorOptions,
} from "./tensor/create.ts";
export {
  concat,
  embedding,
  gather,
  indexSelect,
  scatterAdd,
  sort,
  split,
  stack,
  topK,
  type Sorted,
} from "./tensor/indexing.ts";
export {
  type MultinomialOptions,
  bernoulli,
  manualSeed,
  multinomial,
  randperm,
} from "./tensor/random.ts";
export { einsum } from "./tensor/einsum.ts";
export { dot, logSumExp, norm, outer, std, varMean } from "./tensor/reductions.ts";
export {
  autocast,
  enableGrad,
  isAutocastEnabled,
  isGradEnabled,
  noGrad,
  type AutocastOptions,
} from "./autograd/mode.ts";
export { grad, valueAndGrad, type GradOptions } from "./autograd/grad.ts";
export { checkpoint } from "./autograd/checkpoint.ts";
export { detectAnomaly } from "./autograd/anomaly.ts";
export {
  compile,
  type Compiled,
  type CompileOptions,
  type CompileReport,
} from "./compiling/compiled.ts";
export type { SortedOf } from "./tensor/methods/rearrange.ts";
export type { Axes } from "./tensor/methods/reduce.ts";
export type { Meta as TensorMeta } from "./ops/op.ts";
export { defineOp, type CustomKernel, type CustomOp } from "./tensor/custom.ts";
export type { ScopeOptions } from "./ownership/scope.ts";
export {
  DisposeScope,
  currentDisposeScope,
  newDisposeScope,
  newDisposeScope as NewDisposeScope,
  scoped,
  scopedAsync,
} from "./tensor/dispose-scope.ts";
export type { Owned, Returned } from "./ownership/owned.ts";
export { tensors } from "./ownership/scoped.ts";
export type { ScopeReport, SiteRow } from "./ownership/report.ts";
export type { Delta, LiveRow, Mark, MemoryStatistics, Reason } from "./ownership/evidence.ts";
export type { ReclaimedRow } from "./ownership/reclaimed.ts";
export type { ByteStatistics, LifetimeStatistics } from "./ownership/statistics.ts";
export type { ChromeTrace, TraceEvent } from "./ownership/chrome-trace.ts";
export type {
  PlanBox,
  TraceData,
  TracedEvent,
  TracedPlan,
  TracedScope,
  TracedStack,
  TraceExtras,
} from "./ownership/trace-data.ts";
export type { Drift, DriftRow } from "./ownership/watch.ts";
export type { EventKind } from "./ownership/log.ts";
export type { TrackLevel } from "./ownership/site.ts";
export type { DType, HostArray } from "./base/dtype.ts";
export type { Shape } from "./base/shape.ts";
export type { WarnSink } from "./base/env.ts";
export {
  ArgumentError,
  AsyncScopeError,
  DTypeError,
  DeviceError,
  DeviceLostError,
  DisposedError,
  GradError,
  NumericError,
  OutOfMemoryError,
  ScopeDisposedError,
  ShapeError,
  TenureError,
  type Site,
} from "./base/errors.ts";

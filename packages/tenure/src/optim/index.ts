/**
 * Everything users import from `tenure/optim`.
 * @module tenure/optim
 */

export { Optimizer } from "./optimizer.ts";
export type { GroupSpec, ParameterGroup, ParametersOf } from "./groups.ts";
export type { HostState, LoadableState, OptimizerState } from "./state.ts";
export { Adagrad, type AdagradOptions } from "./adagrad.ts";
export { Adam, AdamW, type AdamOptions } from "./adam.ts";
export { Lion, type LionOptions } from "./lion.ts";
export { RMSprop, type RMSpropOptions } from "./rmsprop.ts";
export { SGD, type SGDOptions } from "./sgd.ts";
export { clipGradNorm, clipGradValue } from "./clip.ts";
export {
  GradScaler,
  type GradScalerOptions,
  type GradScalerState,
  type Stepping,
} from "./scaler.ts";
export { Schedule, type ScheduleState, type Scheduled } from "./schedules/base.ts";
export {
  CosineAnnealingLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  MultiStepLR,
  StepLR,
  type CosineAnnealingLROptions,
  type ExponentialLROptions,
  type LinearLROptions,
  type MultiStepLROptions,
  type StepLROptions,
} from "./schedules/decay.ts";
export { OneCycleLR, type OneCycleOptions } from "./schedules/onecycle.ts";
export { ReduceLROnPlateau, type PlateauOptions, type PlateauState } from "./schedules/plateau.ts";
export { SequentialLR, type SequentialLROptions } from "./schedules/sequential.ts";

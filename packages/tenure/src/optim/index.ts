/**
 * Everything users import from `tenure/optim`.
 */
import "../compose.ts";

export {
  Optimizer,
  type GroupSpec,
  type HostState,
  type LoadableState,
  type OptimizerState,
  type ParameterGroup,
  type ParametersOf,
} from "./optimizer.ts";
export {
  Adagrad,
  Adam,
  AdamW,
  Lion,
  RMSprop,
  SGD,
  type AdagradOptions,
  type AdamOptions,
  type LionOptions,
  type RMSpropOptions,
  type SGDOptions,
} from "./algorithms.ts";
export { clipGradNorm, clipGradValue } from "./clip.ts";
export { GradScaler, type GradScalerOptions, type GradScalerState } from "./scaler.ts";
export {
  CosineAnnealingLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  MultiStepLR,
  OneCycleLR,
  ReduceLROnPlateau,
  Schedule,
  SequentialLR,
  StepLR,
  type OneCycleOptions,
  type PlateauOptions,
  type ScheduleState,
  type Scheduled,
} from "./schedules.ts";

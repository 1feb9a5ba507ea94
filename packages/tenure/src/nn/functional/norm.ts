/**
 * Normalisations as functions on tensors. Results belong to the current scope, intermediates are
 * freed here; running statistics are updated in place.
 */
import { f32Bits } from "../../base/bits.ts";
import { ArgumentError, ShapeError, calledAs } from "../../base/errors.ts";
import {
  type OptionRow,
  type OptionTable,
  checkArgument,
  describeValue,
  off,
  readOptions,
} from "../../base/options.ts";
import { formatShape, sizeOf } from "../../base/shape.ts";
import { count, epsilon, operand } from "../checks.ts";
import { isRecomputing } from "../../autograd/checkpoint.ts";
import { noGrad } from "../../autograd/mode.ts";
import { addcmul } from "../../ops/ternary.ts";
import { batchNorm as batchNormOp } from "../../ops/batch-norm.ts";
import { normalize } from "../../ops/normalize.ts";
import { squaredDeviation } from "../../ops/sums.ts";
import { runningAverage } from "../../ops/updates.ts";
import { newDisposeScope } from "../../ownership/open.ts";
import { composed } from "../../ownership/scoped.ts";
import { type Tensor, call, live, update } from "../../tensor/tensor.ts";

const normalized = {
  type: "list",
  of: "integer",
  range: "[0, Infinity)",
  single: true,
  nonEmpty: true,
  what: "the normalised shape",
  remedy: "pass for example 64 or [8, 8]",
} as const satisfies OptionRow;

/** The row of RMS norm's eps: PyTorch's default is float32's epsilon. */
export const rmsEpsilon = { ...epsilon, default: 1.1920929e-7 } as const satisfies OptionRow;

function overLast(
  op: string,
  x: Tensor,
  normalizedShape: number | readonly number[],
  eps: number,
  rms: boolean,
  weight: Tensor | null | undefined,
  bias: Tensor | null | undefined,
): Tensor {
  live(x, op);
  checkArgument(op, "normalizedShape", normalizedShape, normalized);
  checkArgument(op, "eps", eps, epsilon);
  const own = typeof normalizedShape === "number" ? [normalizedShape] : [...normalizedShape],
    lead = x.shape.slice(0, x.rank - own.length);
  if (own.length > x.rank || formatShape(x.shape.slice(lead.length)) !== formatShape(own))
    throw new ShapeError(
      op,
      `a tensor whose last dimensions are ${formatShape(own)}`,
      formatShape(x.shape),
      "check the normalised shape",
    );
  for (const t of [weight, bias])
    if (t != null && formatShape(live(t, op).layout.shape) !== formatShape(own))
      throw new ShapeError(
        op,
        `a weight and a bias of shape ${formatShape(own)}`,
        formatShape(live(t, op).layout.shape),
        "check the normalised shape",
      );
  if (weight == null && bias != null)
    throw new ArgumentError(
      op,
      "a weight together with the bias",
      "a bias alone",
      "pass a weight of ones",
    );
  const n = sizeOf(own);
  return composed(() => {
    const rows = own.length === 1 ? x : x.reshape([...lead, n]),
      more = [weight, bias]
        .filter((t) => t != null)
        .map((t) => (own.length === 1 ? t : t.reshape(n)));
    const y = call(normalize, [rows, ...more], { axis: lead.length, eps, rms });
    return own.length === 1 ? y : y.reshape(x.shape);
  }, op);
}

/**
 * x [..., *normalizedShape]: each slice scaled to mean 0 and variance 1, times weight plus bias
 * (both of the normalised shape).
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for an eps that is negative or none
 * @example
 * ```ts
 * using x = randn([2, 4]);
 * using y = functional.layerNorm(x, [4]);
 * console.log(y.shape.join()); // → 2,4
 * ```
 */
export function layerNorm(
  x: Tensor,
  normalizedShape: number | readonly number[],
  weight?: Tensor | null,
  bias?: Tensor | null,
  eps: number = epsilon.default,
): Tensor {
  return overLast("layerNorm", x, normalizedShape, eps, false, weight, bias);
}

/**
 * x [..., *normalizedShape]: each slice divided by the root of its mean square, times weight.
 * PyTorch's default eps is float32's epsilon.
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for an eps that is negative or none
 */
export function rmsNorm(
  x: Tensor,
  normalizedShape: number | readonly number[],
  weight?: Tensor | null,
  eps: number = rmsEpsilon.default,
): Tensor {
  return overLast("rmsNorm", x, normalizedShape, eps, true, weight, null);
}

/** A vector [C] as it broadcasts to [N, C, …]. */
function perChannel(t: Tensor, rank: number): Tensor {
  return t.reshape([1, -1, ...Array<number>(rank - 2).fill(1)]);
}

function checkChannels(
  op: string,
  x: Tensor,
  ...vectors: readonly (Tensor | null | undefined)[]
): void {
  live(x, op);
  if (x.rank < 2)
    throw new ShapeError(
      op,
      "a tensor [N, C, …]",
      formatShape(x.shape),
      "add missing dimensions with unsqueeze",
    );
  for (const t of vectors)
    if (t != null && formatShape(live(t, op).layout.shape) !== `[${x.shape[1]}]`)
      throw new ShapeError(
        op,
        `one number per channel, [${x.shape[1]}]`,
        formatShape(t.shape),
        "check the layer's channels",
      );
}

/** x·weight + bias per channel. */
function affine(
  x: Tensor,
  weight: Tensor | null | undefined,
  bias: Tensor | null | undefined,
): Tensor {
  if (weight == null) return bias == null ? x.alias() : x.add(perChannel(bias, x.rank));
  const w = perChannel(weight, x.rank);
  return bias == null
    ? x.mul(w)
    : call(addcmul, [perChannel(bias, x.rank), x, w], undefined, [f32Bits(1)]);
}

/**
 * x [N, C, …]: channels in groups; each group of each sample scaled to mean 0 and variance 1, then
 * weight and bias per channel.
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for what is unknown or out of range
 */
export function groupNorm(
  x: Tensor,
  groups: number,
  weight?: Tensor | null,
  bias?: Tensor | null,
  eps: number = epsilon.default,
): Tensor {
  checkChannels("groupNorm", x, weight, bias);
  checkArgument("groupNorm", "groups", groups, count);
  checkArgument("groupNorm", "eps", eps, epsilon);
  const [n, c] = [x.shape[0]!, x.shape[1]!];
  if (c % groups !== 0)
    throw new ArgumentError(
      "groupNorm",
      `groups that divide the ${c} channels`,
      describeValue(groups),
      "use a divisor of the channels",
    );
  return composed(
    () =>
      affine(
        call(normalize, [x.reshape([n, groups, x.size === 0 ? 0 : x.size / (n * groups)])], {
          axis: 2,
          eps,
          rms: false,
        }).reshape(x.shape),
        weight,
        bias,
      ),
    "groupNorm",
  );
}

/**
 * x [N, C, …]: each channel of each sample scaled to mean 0 and variance 1, then weight and bias
 * per channel.
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for what is unknown or out of range
 */
export function instanceNorm(
  x: Tensor,
  weight?: Tensor | null,
  bias?: Tensor | null,
  eps: number = epsilon.default,
): Tensor {
  checkChannels("instanceNorm", x, weight, bias);
  checkArgument("instanceNorm", "eps", eps, epsilon);
  return calledAs("instanceNorm", () => groupNorm(x, x.shape[1]!, weight, bias, eps));
}

/**
 * Moves running statistics [C] towards those of the instances in x [N, C, …]: means over N of each
 * instance's mean and unbiased variance, as PyTorch's InstanceNorm keeps them. Not recorded by
 * autograd.
 */
export function trackInstances(
  x: Tensor,
  runningMean: Tensor,
  runningVar: Tensor,
  momentum: number,
): void {
  if (isRecomputing()) return; // the first run has updated them
  noGrad(() => {
    using _ = newDisposeScope("instanceNorm");
    const rows = x.reshape([x.shape[0]!, x.shape[1]!, -1]);
    update(runningAverage, [runningMean, rows.mean([0, 2])], undefined, [
      f32Bits(momentum),
      f32Bits(1),
    ]);
    update(runningAverage, [runningVar, rows.var(2).mean(0)], undefined, [
      f32Bits(momentum),
      f32Bits(1),
    ]);
  });
}

/** Options of `batchNorm`. C channels. */
export interface BatchNormOptions {
  /** [C]; used in evaluation, updated in place in training. */
  readonly runningMean?: Tensor | null;
  readonly runningVar?: Tensor | null;
  /** [C] */
  readonly weight?: Tensor | null;
  readonly bias?: Tensor | null;
  /** Statistics of the batch rather than the running ones. */
  readonly training?: boolean;
  /** How far the running statistics move towards the batch's. */
  readonly momentum?: number;
  readonly eps?: number;
}

/** The row of how far running statistics move. */
export const momentumRow = {
  type: "number",
  range: "[0, 1]",
  what: "a momentum",
  default: 0.1,
  remedy: "pass for example 0.1",
} as const satisfies OptionRow;

const batchNormOptions = {
  runningMean: operand,
  runningVar: operand,
  weight: operand,
  bias: operand,
  training: off,
  momentum: momentumRow,
  eps: epsilon,
} satisfies OptionTable<BatchNormOptions>;

/**
 * x [N, C, …]: each channel scaled by its statistics over the batch (training) or by the running
 * ones, then weight and bias per channel.
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for what is unknown or out of range
 */
export function batchNorm(x: Tensor, options?: BatchNormOptions): Tensor {
  const given = readOptions("batchNorm", options, batchNormOptions);
  const { runningMean, runningVar, weight, bias, training, momentum, eps } = given;
  checkChannels("batchNorm", x, runningMean, runningVar, weight, bias);
  if (!training && (runningMean == null || runningVar == null))
    throw new ArgumentError(
      "batchNorm",
      "running statistics in evaluation",
      "none",
      "pass training: true",
    );
  const axes = x.shape.map((_, i) => i).filter((i) => i !== 1),
    count = x.size / Math.max(1, x.shape[1]!);
  if (training && count < 2)
    throw new ShapeError(
      "batchNorm",
      "more than one value per channel in training",
      formatShape(x.shape),
      "use a larger batch, or evaluation",
    );
  return composed(() => {
    const [mean, variance] = noGrad(() => {
      if (!training)
        return [perChannel(runningMean!, x.rank), perChannel(runningVar!, x.rank)] as const;
      const m = x.mean(axes, true),
        v = call(squaredDeviation, [x, m], { axes, keepDims: true }, [f32Bits(1 / count)]);
      // a checkpoint's second run: the first has updated the statistics
      if (isRecomputing()) return [m, v] as const;
      if (runningMean != null)
        update(runningAverage, [runningMean, m.reshape(-1)], undefined, [
          f32Bits(momentum),
          f32Bits(1),
        ]);
      if (runningVar != null)
        update(runningAverage, [runningVar, v.reshape(-1)], undefined, [
          f32Bits(momentum),
          f32Bits(count / (count - 1)),
        ]);
      return [m, v] as const;
    });
    const fused =
      weight != null
        ? [perChannel(weight, x.rank), ...(bias == null ? [] : [perChannel(bias, x.rank)])]
        : [];
    const y = call(batchNormOp, [x, mean, variance, ...fused], { axes, training }, [f32Bits(eps)]);
    return weight == null && bias != null ? affine(y, null, bias) : y;
  }, "batchNorm");
}

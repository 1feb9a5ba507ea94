/**
 * Losses that compare element by element, as functions on tensors, with PyTorch's names, defaults
 * and formulas. A result belongs to the current scope; intermediates are freed here. `input` and
 * `target` must have one shape: broadcasting a loss is nearly always a mistake.
 */
import { ShapeError } from "../../base/errors.ts";
import {
  type OptionRow,
  type OptionTable,
  checkArgument,
  off,
  readOptions,
} from "../../base/options.ts";
import { formatShape, sameShape } from "../../base/shape.ts";
import { operand } from "../checks.ts";
import { composed } from "../../ownership/scoped.ts";
import { where, zeros } from "../../tensor/create.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** What becomes of the losses of single elements. */
export type Reduction = "mean" | "sum" | "none";

/** Options of every loss. */
export interface LossOptions {
  readonly reduction?: Reduction;
}

const reductionRow = {
  type: "choice",
  of: ["mean", "sum", "none"],
  default: "mean",
} as const satisfies OptionRow<Reduction>;

/** Rows of every loss. */
export const lossOptions = { reduction: reductionRow } satisfies OptionTable<LossOptions>;

/**
 * Reduces per-element losses. Of any shape to 0-d, or an alias for none.
 * @throws ArgumentError for an unknown reduction
 */
export function reduceLoss(op: string, losses: Tensor, reduction: Reduction): Tensor {
  live(losses, op);
  checkArgument(op, "reduction", reduction, reductionRow);
  switch (reduction) {
    case "mean":
      return losses.mean();
    case "sum":
      return losses.sum();
    case "none":
      return losses.alias();
  }
}

/** @throws ShapeError unless both tensors have one shape */
export function checkSame(op: string, input: Tensor, target: Tensor): void {
  live(input, op);
  live(target, op);
  if (!sameShape(input.shape, target.shape))
    throw new ShapeError(
      op,
      `a target of the input's shape ${formatShape(input.shape)}`,
      formatShape(target.shape),
      "reshape one of them",
    );
}

/**
 * Mean of (input - target)². Both of any one shape; 0-d unless the reduction is none.
 * @throws ShapeError unless both have one shape, ArgumentError for an unknown reduction
 * @example
 * ```ts
 * using input = tensor([1, 2]);
 * using target = tensor([1, 4]);
 * using loss = functional.mseLoss(input, target);
 * console.log(await loss.item()); // → 2
 * ```
 */
export function mseLoss(input: Tensor, target: Tensor, reduction: Reduction = "mean"): Tensor {
  checkSame("mseLoss", input, target);
  return composed(() => reduceLoss("mseLoss", input.sub(target).square(), reduction), "mseLoss");
}

/**
 * Mean of |input - target|. Both of any one shape; 0-d unless the reduction is none.
 * @throws ShapeError unless both have one shape, ArgumentError for an unknown reduction
 */
export function l1Loss(input: Tensor, target: Tensor, reduction: Reduction = "mean"): Tensor {
  checkSame("l1Loss", input, target);
  return composed(() => reduceLoss("l1Loss", input.sub(target).abs(), reduction), "l1Loss");
}

/**
 * d²/2 where |d| < bend, bend·(|d| - bend/2) beyond: with m = min(|d|, bend), both are m·(|d| -
 * m/2).
 */
function bent(input: Tensor, target: Tensor, bend: number): Tensor {
  const distance = input.sub(target).abs(),
    near = distance.minimum(bend);
  return near.mul(distance.sub(near.mul(0.5)));
}

/** Options of `huberLoss`. */
export interface HuberOptions extends LossOptions {
  /** Where the line begins. */
  readonly delta?: number;
}

/** Rows of `huberLoss`. */
export const huberOptions = {
  ...lossOptions,
  delta: {
    type: "number",
    range: "(0, Infinity]",
    what: "a delta",
    default: 1,
    remedy: "pass for example 1",
  },
} satisfies OptionTable<HuberOptions>;

/**
 * Quadratic up to `delta`, linear beyond (Huber 1964): d²/2, then delta·(|d| - delta/2). Both of
 * any one shape; 0-d unless the reduction is none.
 * @throws ArgumentError unless delta is positive, ShapeError unless both have one shape
 */
export function huberLoss(input: Tensor, target: Tensor, options?: HuberOptions): Tensor {
  const { delta, reduction } = readOptions("huberLoss", options, huberOptions);
  checkSame("huberLoss", input, target);
  return composed(
    () => reduceLoss("huberLoss", bent(input, target, delta), reduction),
    "huberLoss",
  );
}

/** Options of `smoothL1Loss`. */
export interface SmoothL1Options extends LossOptions {
  /** Where the line begins. */
  readonly beta?: number;
}

/** Rows of `smoothL1Loss`. */
export const smoothL1Options = {
  ...lossOptions,
  beta: {
    type: "number",
    range: "[0, Infinity)",
    what: "a beta",
    default: 1,
    remedy: "pass for example 1",
  },
} satisfies OptionTable<SmoothL1Options>;

/**
 * Huber's loss divided by `beta` (Girshick 2015): slopes of 1 beyond it. A beta of 0 gives l1. Both
 * of any one shape; 0-d unless the reduction is none.
 * @throws ArgumentError for a negative beta, ShapeError unless both have one shape
 */
export function smoothL1Loss(input: Tensor, target: Tensor, options?: SmoothL1Options): Tensor {
  const { beta, reduction } = readOptions("smoothL1Loss", options, smoothL1Options);
  checkSame("smoothL1Loss", input, target);
  return composed(
    () =>
      reduceLoss(
        "smoothL1Loss",
        beta === 0 ? input.sub(target).abs() : bent(input, target, beta).div(beta),
        reduction,
      ),
    "smoothL1Loss",
  );
}

/** Options of binary losses. */
export interface BinaryOptions extends LossOptions {
  /** Factor per element, broadcast. */
  readonly weight?: Tensor | null;
}

/** Rows of `bce`. */
export const binaryOptions = {
  ...lossOptions,
  weight: operand,
} satisfies OptionTable<BinaryOptions>;

/**
 * log p, but -100 at 0, so that certain mistakes stay finite (as in PyTorch); no gradient there.
 * NaN for what is below 0, or NaN.
 */
function boundedLog(p: Tensor): Tensor {
  const bound = where(p.eq(0), zeros([]).sub(100), zeros([]).add(NaN));
  return where(p.gt(0), p.maximum(1.2e-38).log().maximum(-100), bound);
}

/** @throws ShapeError for factors that would make more losses than there are */
function checkFactors(
  op: string,
  name: string,
  factors: Tensor | null | undefined,
  losses: Tensor,
): void {
  if (factors == null) return;
  const { shape } = live(factors, op).layout;
  const own = losses.shape.slice(Math.max(0, losses.rank - shape.length));
  if (shape.length <= losses.rank && shape.every((d, i) => d === 1 || d === own[i])) return;
  throw new ShapeError(
    op,
    `a ${name} that broadcasts to the losses ${formatShape(losses.shape)}`,
    formatShape(shape),
    "pass one factor per element, or per class",
  );
}

/**
 * -(t·log p + (1 - t)·log(1 - p)) for probabilities p. Prefer `bceWithLogits`, which is exact for
 * sure predictions. Both of any one shape; 0-d unless the reduction is none. A p outside of 0 … 1
 * gives NaN, which `detectAnomaly` finds; PyTorch reads all values to refuse it.
 * @throws ShapeError unless both have one shape, and for a weight that does not broadcast to it,
 *   ArgumentError for options that are unknown or out of range
 */
export function bce(input: Tensor, target: Tensor, options?: BinaryOptions): Tensor {
  const { weight, reduction } = readOptions("bce", options, binaryOptions);
  checkSame("bce", input, target);
  checkFactors("bce", "weight", weight, input);
  return composed(() => {
    const q = input.neg().add(1),
      losses = target
        .mul(boundedLog(input))
        .add(target.neg().add(1).mul(boundedLog(q)))
        .neg();
    return reduceLoss("bce", weight == null ? losses : losses.mul(weight), reduction);
  }, "bce");
}

/** Options of `bceWithLogits`. */
export interface LogitsOptions extends BinaryOptions {
  /** Factor on positives, broadcast: one per class. */
  readonly posWeight?: Tensor | null;
}

/** Rows of `bceWithLogits`. */
export const logitsOptions = {
  ...binaryOptions,
  posWeight: operand,
} satisfies OptionTable<LogitsOptions>;

/**
 * Binary cross entropy of scores: (1 - t)·x + (1 + (posWeight - 1)·t)·log(1 + exp(-x)). `posWeight`
 * broadcasts: a factor per class for positives.
 * @throws ShapeError unless both have one shape, and for factors that do not broadcast to it,
 *   ArgumentError for options that are unknown or out of range
 */
export function bceWithLogits(input: Tensor, target: Tensor, options?: LogitsOptions): Tensor {
  const { weight, posWeight, reduction } = readOptions("bceWithLogits", options, logitsOptions);
  checkSame("bceWithLogits", input, target);
  checkFactors("bceWithLogits", "weight", weight, input);
  checkFactors("bceWithLogits", "posWeight", posWeight, input);
  return composed(() => {
    const bend = input.neg().softplus(),
      losses = target
        .neg()
        .add(1)
        .mul(input)
        .add(posWeight == null ? bend : bend.mul(posWeight.sub(1).mul(target).add(1)));
    return reduceLoss("bceWithLogits", weight == null ? losses : losses.mul(weight), reduction);
  }, "bceWithLogits");
}

/** Options of `klDiv`. */
export interface KLDivOptions {
  /** "batchMean" divides the sum by the first dimension: the divergence as defined. */
  readonly reduction?: Reduction | "batchMean";
  /** The target holds logarithms too. */
  readonly logTarget?: boolean;
}

/** Rows of `klDiv`. */
export const klDivOptions = {
  reduction: { ...reductionRow, of: [...reductionRow.of, "batchMean"] },
  logTarget: off,
} satisfies OptionTable<KLDivOptions>;

/**
 * Kullback-Leibler divergence from log-probabilities `input` to probabilities `target`: t·(log t -
 * input), 0 where t is 0, NaN where it is below. Both of any one shape; 0-d unless the reduction is
 * none.
 * @throws ShapeError unless both have one shape, ArgumentError for options that are unknown or out
 *   of range
 */
export function klDiv(input: Tensor, target: Tensor, options?: KLDivOptions): Tensor {
  const { reduction, logTarget } = readOptions("klDiv", options, klDivOptions);
  checkSame("klDiv", input, target);
  return composed(() => {
    const log = logTarget ? target : where(target.eq(0), zeros([]).add(1), target).log();
    const losses = (logTarget ? target.exp() : target).mul(log.sub(input));
    return reduction === "batchMean"
      ? losses.sum().div(input.rank === 0 ? 1 : input.shape[0]!)
      : reduceLoss("klDiv", losses, reduction);
  }, "klDiv");
}

/** Cosine of the angle between a and b along the last dimension, [..., D] → [...]. */
function cosine(a: Tensor, b: Tensor): Tensor {
  const size = (x: Tensor): Tensor => x.square().sum(-1).add(1e-12);
  return a
    .mul(b)
    .sum(-1)
    .div(size(a).mul(size(b)).sqrt());
}

/** Options of `cosineEmbedding`. */
export interface CosineEmbeddingOptions extends LossOptions {
  /** What is let pass between those that do not belong together. */
  readonly margin?: number;
}

/** Rows of `cosineEmbedding`. */
export const cosineEmbeddingOptions = {
  ...lossOptions,
  margin: {
    type: "number",
    range: "[-1, 1]",
    what: "a margin",
    default: 0,
    remedy: "pass for example 0",
  },
} satisfies OptionTable<CosineEmbeddingOptions>;

/**
 * 1 - cos for pairs that belong together (target 1), max(0, cos - margin) for those that don't
 * (target -1). Another target leaves its pair out: 0.
 * @param a [N, D] or [D]
 * @param b as `a`
 * @param target [N] or [] of 1 and -1
 * @throws ShapeError for other shapes, ArgumentError for options that are unknown or out of range
 */
export function cosineEmbedding(
  a: Tensor,
  b: Tensor,
  target: Tensor,
  options?: CosineEmbeddingOptions,
): Tensor {
  const given = readOptions("cosineEmbedding", options, cosineEmbeddingOptions);
  const { margin, reduction } = given;
  checkSame("cosineEmbedding", a, b);
  if (
    a.rank === 0 ||
    !sameShape(live(target, "cosineEmbedding").layout.shape, a.shape.slice(0, -1))
  )
    throw new ShapeError(
      "cosineEmbedding",
      `vectors [N, D] and targets [N]`,
      `${formatShape(a.shape)} and ${formatShape(live(target, "cosineEmbedding").layout.shape)}`,
      "one target per pair",
    );
  return composed(() => {
    const cos = cosine(a, b);
    return reduceLoss(
      "cosineEmbedding",
      where(
        target.eq(1),
        cos.neg().add(1),
        where(target.eq(-1), cos.sub(margin).relu(), zeros([])),
      ),
      reduction,
    );
  }, "cosineEmbedding");
}

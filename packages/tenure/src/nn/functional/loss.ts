/**
 * Losses that compare element by element, as functions on tensors, with PyTorch's names, defaults
 * and formulas. A result belongs to the current scope; intermediates are freed here. `input` and
 * `target` must have one shape: broadcasting a loss is nearly always a mistake.
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import { checkOptions, describeValue } from "../../base/options.ts";
import { formatShape, sameShape } from "../../base/shape.ts";
import { scoped } from "../../ownership/scoped.ts";
import { where, zeros } from "../../tensor/create.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** What becomes of the losses of single elements. */
export type Reduction = "mean" | "sum" | "none";

/** Options of every loss. */
export interface LossOptions {
  readonly reduction?: Reduction;
}

/** Reduces per-element losses. */
export function reduceLoss(op: string, losses: Tensor, reduction: Reduction): Tensor {
  switch (reduction) {
    case "mean":
      return losses.mean();
    case "sum":
      return losses.sum();
    case "none":
      return losses.alias();
    default:
      throw new ArgumentError(
        op,
        'reduction to be "mean", "sum" or "none"',
        describeValue(reduction satisfies never),
        "choose one of them",
      );
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

/** Mean of (input - target)². */
export function mseLoss(input: Tensor, target: Tensor, reduction: Reduction = "mean"): Tensor {
  checkSame("mseLoss", input, target);
  return scoped(() => reduceLoss("mseLoss", input.sub(target).square(), reduction), "mseLoss");
}

/** Mean of |input - target|. */
export function l1Loss(input: Tensor, target: Tensor, reduction: Reduction = "mean"): Tensor {
  checkSame("l1Loss", input, target);
  return scoped(() => reduceLoss("l1Loss", input.sub(target).abs(), reduction), "l1Loss");
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

/**
 * Quadratic up to `delta`, linear beyond (Huber 1964): d²/2, then delta·(|d| - delta/2). @throws
 * ArgumentError unless delta is positive
 */
export function huberLoss(
  input: Tensor,
  target: Tensor,
  options: LossOptions & { readonly delta?: number } = {},
): Tensor {
  checkOptions("huberLoss", options, ["reduction", "delta"]);
  const { delta = 1, reduction = "mean" } = options;
  if (!(delta > 0))
    throw new ArgumentError(
      "huberLoss",
      "a positive delta",
      describeValue(delta),
      "pass for example 1",
    );
  checkSame("huberLoss", input, target);
  return scoped(() => reduceLoss("huberLoss", bent(input, target, delta), reduction), "huberLoss");
}

/**
 * Huber's loss divided by `beta` (Girshick 2015): slopes of 1 beyond it. A beta of 0 gives l1.
 * @throws ArgumentError for a negative beta
 */
export function smoothL1Loss(
  input: Tensor,
  target: Tensor,
  options: LossOptions & { readonly beta?: number } = {},
): Tensor {
  checkOptions("smoothL1Loss", options, ["reduction", "beta"]);
  const { beta = 1, reduction = "mean" } = options;
  if (!(beta >= 0))
    throw new ArgumentError(
      "smoothL1Loss",
      "a beta of 0 or more",
      describeValue(beta),
      "pass for example 1",
    );
  checkSame("smoothL1Loss", input, target);
  return scoped(
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

/**
 * log p, but -100 at 0, so that certain mistakes stay finite (as in PyTorch); no gradient there.
 */
function boundedLog(p: Tensor): Tensor {
  return where(p.gt(0), p.maximum(1.2e-38).log().maximum(-100), zeros([]).sub(100));
}

/**
 * -(t·log p + (1 - t)·log(1 - p)) for probabilities p. Prefer `bceWithLogits`, which is exact for
 *  sure predictions.
 */
export function bce(input: Tensor, target: Tensor, options: BinaryOptions = {}): Tensor {
  checkOptions("bce", options, ["reduction", "weight"]);
  const { weight, reduction = "mean" } = options;
  checkSame("bce", input, target);
  return scoped(() => {
    const q = input.neg().add(1),
      losses = target
        .mul(boundedLog(input))
        .add(target.neg().add(1).mul(boundedLog(q)))
        .neg();
    return reduceLoss("bce", weight == null ? losses : losses.mul(weight), reduction);
  }, "bce");
}

/**
 * Binary cross entropy of scores: (1 - t)·x + (1 + (posWeight - 1)·t)·log(1 + exp(-x)). `posWeight`
 * broadcasts: a factor per class for positives.
 */
export function bceWithLogits(
  input: Tensor,
  target: Tensor,
  options: BinaryOptions & { readonly posWeight?: Tensor | null } = {},
): Tensor {
  checkOptions("bceWithLogits", options, ["reduction", "weight", "posWeight"]);
  const { weight, posWeight, reduction = "mean" } = options;
  checkSame("bceWithLogits", input, target);
  return scoped(() => {
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

/**
 * Kullback-Leibler divergence from log-probabilities `input` to probabilities `target`: t·(log t -
 * input), 0 where t is 0.
 */
export function klDiv(input: Tensor, target: Tensor, options: KLDivOptions = {}): Tensor {
  checkOptions("klDiv", options, ["reduction", "logTarget"]);
  const { reduction = "mean", logTarget = false } = options;
  checkSame("klDiv", input, target);
  return scoped(() => {
    const log = logTarget ? target : where(target.gt(0), target, zeros([]).add(1)).log();
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

/**
 * 1 - cos for pairs that belong together (target 1), max(0, cos - margin) for those that don't
 * (target -1).
 * @param a, b [N, D] or [D]
 * @param target [N] or [] of 1 and -1
 */
export function cosineEmbedding(
  a: Tensor,
  b: Tensor,
  target: Tensor,
  options: LossOptions & { readonly margin?: number } = {},
): Tensor {
  checkOptions("cosineEmbedding", options, ["reduction", "margin"]);
  const { margin = 0, reduction = "mean" } = options;
  checkSame("cosineEmbedding", a, b);
  if (!(margin >= -1 && margin <= 1))
    throw new ArgumentError(
      "cosineEmbedding",
      "a margin in [-1, 1]",
      describeValue(margin),
      "pass for example 0",
    );
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
  return scoped(() => {
    const cos = cosine(a, b);
    return reduceLoss(
      "cosineEmbedding",
      where(target.gt(0), cos.neg().add(1), cos.sub(margin).relu()),
      reduction,
    );
  }, "cosineEmbedding");
}

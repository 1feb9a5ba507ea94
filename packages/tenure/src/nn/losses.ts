/**
 * Losses as functions on tensors and as modules over them, with PyTorch's names, defaults and
 * formulas. A result belongs to the current scope; intermediates are freed here. A module owns the
 * class weights it is given. `input` and `target` must have one shape: broadcasting a loss is
 * nearly always a mistake.
 */
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { isFloat } from "../base/dtype.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { scoped } from "../ownership/scoped.ts";
import { crossEntropyRows } from "../ops/reduce.ts";
import { oneHot, where, zeros } from "../tensor/create.ts";
import { type Tensor, call, live } from "../tensor/tensor.ts";
import { Module } from "./module.ts";

export type Reduction = "mean" | "sum" | "none";
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

function checkSame(op: string, input: Tensor, target: Tensor): void {
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

// === Regression ===

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

// === Classification ===

export interface ClassOptions extends LossOptions {
  /** One factor per class, [C]. A mean is then divided by the weights of the targets. */
  readonly weight?: Tensor | null;
  /** Rows with this target count neither in the loss nor in the mean. */
  readonly ignoreIndex?: number;
}

export interface CrossEntropyOptions extends ClassOptions {
  /** This share of each target is spread evenly over all classes (Szegedy et al. 2016). */
  readonly labelSmoothing?: number;
}

/** [N, C, …] → [N·…, C]. */
function classRows(x: Tensor): Tensor {
  if (x.rank <= 2) return x.rank === 1 ? x.unsqueeze(0) : x.alias();
  return x
    .permute(0, ...Array.from({ length: x.rank - 2 }, (_, i) => i + 2), 1)
    .reshape(-1, x.shape[1]!);
}

function checkTargets(
  op: string,
  input: Tensor,
  targets: Tensor,
  weight: Tensor | null | undefined,
): void {
  live(input, op);
  live(targets, op);
  const { shape } = input,
    classes = input.rank === 1 ? shape[0]! : shape[1]!,
    expected = input.rank === 1 ? [] : [shape[0]!, ...shape.slice(2)];
  if (input.rank === 0) throw new ShapeError(op, "scores [N, C] or [C]", "[]");
  if (isFloat(targets.dtype) || targets.dtype === "bool")
    throw new DTypeError(
      op,
      "class numbers of int32 or uint32",
      targets.dtype,
      "cast them with .int()",
    );
  if (!sameShape(targets.shape, expected))
    throw new ShapeError(
      op,
      `class numbers ${formatShape(expected)} for scores ${formatShape(shape)}`,
      formatShape(targets.shape),
      "check the dimensions",
    );
  if (weight != null && !sameShape(live(weight, op).layout.shape, [classes]))
    throw new ShapeError(
      op,
      `a weight per class, [${classes}]`,
      formatShape(weight.shape),
      "pass one factor per class",
    );
}

/** What each row counts: its target's weight, 0 for an ignored one; null when all count alike. */
function rowWeights(
  targets: Tensor,
  classes: number,
  { weight, ignoreIndex }: ClassOptions,
): Tensor | null {
  const counted = ignoreIndex === undefined ? null : targets.ne(ignoreIndex).float();
  if (weight == null) return counted;
  const own = oneHot(targets, classes).mul(weight).sum(1);
  return counted === null ? own : own.mul(counted);
}

/** Rows of losses, already weighted, reduced and shaped like the targets. */
function finishRows(
  op: string,
  rows: Tensor,
  weights: Tensor | null,
  reduction: Reduction,
  shape: readonly number[],
): Tensor {
  if (reduction === "none") return rows.reshape(shape);
  return reduction === "mean" && weights !== null
    ? rows.sum().div(weights.sum())
    : reduceLoss(op, rows, reduction);
}

/**
 * Cross entropy of scores with class numbers: -log softmax(logits)[target], averaged over rows.
 * @param logits [N, C], [N, C, …] or [C]
 * @param targets class numbers [N], [N, …] or [] (int32 or uint32), or probabilities of the logits'
 *   shape
 * @throws ShapeError for targets or weights that do not fit, ArgumentError for a smoothing outside
 *   [0, 1]. A target out of range gives NaN.
 */
export function crossEntropy(
  logits: Tensor,
  targets: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  checkOptions("crossEntropy", options, ["reduction", "weight", "ignoreIndex", "labelSmoothing"]);
  live(targets, "crossEntropy");
  const { reduction = "mean", ignoreIndex, weight, labelSmoothing = 0 } = options;
  if (!(labelSmoothing >= 0 && labelSmoothing <= 1))
    throw new ArgumentError(
      "crossEntropy",
      "labelSmoothing in [0, 1]",
      describeValue(labelSmoothing),
      "pass for example 0.1",
    );
  if (isFloat(targets.dtype)) return softCrossEntropy(logits, targets, options);
  checkTargets("crossEntropy", logits, targets, weight);
  return scoped(() => {
    const rows = classRows(logits),
      classes = rows.shape[1]!,
      labels = targets.rank === 1 ? targets : targets.reshape(-1);
    const entropy = call(crossEntropyRows, [rows, labels], { ignoreIndex }),
      weights = rowWeights(labels, classes, options);
    let losses = weight == null ? entropy : entropy.mul(weights!);
    if (labelSmoothing > 0) {
      const log = rows.logSoftmax(1).neg(),
        even = weight == null ? log.mean(1) : log.mul(weight).sum(1).div(classes);
      const spread = ignoreIndex === undefined ? even : even.mul(labels.ne(ignoreIndex).float());
      losses = losses.mul(1 - labelSmoothing).add(spread.mul(labelSmoothing));
    }
    return finishRows("crossEntropy", losses, weights, reduction, targets.shape);
  }, "crossEntropy");
}

/** Targets as probabilities: -Σ w·t·log softmax(logits), averaged over rows. */
function softCrossEntropy(
  logits: Tensor,
  targets: Tensor,
  { reduction = "mean", ignoreIndex, weight, labelSmoothing = 0 }: CrossEntropyOptions,
): Tensor {
  const { shape } = live(logits, "crossEntropy").layout,
    classNumbers = [...shape.slice(0, 1), ...shape.slice(2)];
  if (shape.length > 1 && sameShape(targets.shape, classNumbers))
    throw new DTypeError(
      "crossEntropy",
      `int32 class numbers ${formatShape(classNumbers)}, or probabilities ${formatShape(shape)}`,
      `${targets.dtype} ${formatShape(targets.shape)}`,
      'cast class numbers with to("int32")',
    );
  checkSame("crossEntropy", logits, targets);
  if (ignoreIndex !== undefined)
    throw new ArgumentError(
      "crossEntropy",
      "ignoreIndex only with class numbers",
      "probabilities as targets",
      "leave it out, or zero the rows",
    );
  return scoped(() => {
    const rows = classRows(logits),
      soft = classRows(targets),
      classes = rows.shape[1]!;
    const wanted =
      labelSmoothing === 0 ? soft : soft.mul(1 - labelSmoothing).add(labelSmoothing / classes);
    const log = rows.logSoftmax(1).mul(wanted),
      losses = (weight == null ? log : log.mul(weight)).sum(1).neg();
    return finishRows(
      "crossEntropy",
      losses,
      null,
      reduction,
      logits.rank === 1 ? [] : [logits.shape[0]!, ...logits.shape.slice(2)],
    );
  }, "crossEntropy");
}

/**
 * -input[target] from log-probabilities, as `logSoftmax` gives them.
 * @param input [N, C], [N, C, …] or [C]
 * @param targets class numbers [N], [N, …] or []
 */
export function nllLoss(input: Tensor, targets: Tensor, options: ClassOptions = {}): Tensor {
  checkOptions("nllLoss", options, ["reduction", "weight", "ignoreIndex"]);
  checkTargets("nllLoss", input, targets, options.weight);
  return scoped(() => {
    const rows = classRows(input),
      classes = rows.shape[1]!,
      labels = targets.rank === 1 ? targets : targets.reshape(-1),
      weights = rowWeights(labels, classes, options);
    // Chosen, not multiplied: 0 · -Infinity would be NaN.
    const chosen = where(oneHot(labels, classes, { dtype: "bool" }), rows, zeros([]))
      .sum(1)
      .neg();
    return finishRows(
      "nllLoss",
      weights === null ? chosen : chosen.mul(weights),
      weights,
      options.reduction ?? "mean",
      targets.shape,
    );
  }, "nllLoss");
}

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

// === Modules ===

type Pair = [input: Tensor, target: Tensor];

/** `mseLoss` as a module. */
export class MSELoss extends Module<Pair> {
  readonly #reduction: Reduction;
  constructor(options: LossOptions = {}) {
    super();
    checkOptions("MSELoss", options, ["reduction"]);
    this.#reduction = options.reduction ?? "mean";
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, this.#reduction);
  }
}

/** `l1Loss` as a module. */
export class L1Loss extends Module<Pair> {
  readonly #reduction: Reduction;
  constructor(options: LossOptions = {}) {
    super();
    checkOptions("L1Loss", options, ["reduction"]);
    this.#reduction = options.reduction ?? "mean";
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, this.#reduction);
  }
}

/** `huberLoss` as a module. */
export class HuberLoss extends Module<Pair> {
  readonly #options: LossOptions & { readonly delta?: number };
  constructor(options: LossOptions & { readonly delta?: number } = {}) {
    super();
    checkOptions("HuberLoss", options, ["reduction", "delta"]);
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.#options);
  }
}

/** `smoothL1Loss` as a module. */
export class SmoothL1Loss extends Module<Pair> {
  readonly #options: LossOptions & { readonly beta?: number };
  constructor(options: LossOptions & { readonly beta?: number } = {}) {
    super();
    checkOptions("SmoothL1Loss", options, ["reduction", "beta"]);
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.#options);
  }
}

/** `crossEntropy` as a module. Takes ownership of `weight`: it becomes a buffer. */
export class CrossEntropyLoss extends Module<[logits: Tensor, targets: Tensor]> {
  readonly weight: Tensor | null;
  readonly #options: CrossEntropyOptions;
  constructor(options: CrossEntropyOptions = {}) {
    super();
    checkOptions("CrossEntropyLoss", options, [
      "reduction",
      "weight",
      "ignoreIndex",
      "labelSmoothing",
    ]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.#options = { ...options, weight: this.weight };
  }
  forward(logits: Tensor, targets: Tensor): Tensor {
    return crossEntropy(logits, targets, this.#options);
  }
}

/** `nllLoss` as a module. Takes ownership of `weight`. */
export class NLLLoss extends Module<Pair> {
  readonly weight: Tensor | null;
  readonly #options: ClassOptions;
  constructor(options: ClassOptions = {}) {
    super();
    checkOptions("NLLLoss", options, ["reduction", "weight", "ignoreIndex"]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.#options = { ...options, weight: this.weight };
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return nllLoss(input, target, this.#options);
  }
}

/** `bce` as a module. Takes ownership of `weight`. */
export class BCELoss extends Module<Pair> {
  readonly weight: Tensor | null;
  readonly #options: BinaryOptions;
  constructor(options: BinaryOptions = {}) {
    super();
    checkOptions("BCELoss", options, ["reduction", "weight"]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.#options = { ...options, weight: this.weight };
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return bce(input, target, this.#options);
  }
}

/**
 * `bceWithLogits` as a module. Takes ownership of `weight` and `posWeight`, which becomes the
 * buffer pos_weight.
 */
export class BCEWithLogitsLoss extends Module<Pair> {
  readonly weight: Tensor | null;
  readonly posWeight: Tensor | null;
  readonly #reduction: Reduction;
  constructor(options: BinaryOptions & { readonly posWeight?: Tensor | null } = {}) {
    super();
    checkOptions("BCEWithLogitsLoss", options, ["reduction", "weight", "posWeight"]);
    this.weight = options.weight == null ? null : this.buffer("weight", options.weight);
    this.posWeight =
      options.posWeight == null ? null : this.buffer("pos_weight", options.posWeight);
    this.#reduction = options.reduction ?? "mean";
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return bceWithLogits(input, target, {
      weight: this.weight,
      posWeight: this.posWeight,
      reduction: this.#reduction,
    });
  }
}

/** `klDiv` as a module. */
export class KLDivLoss extends Module<Pair> {
  readonly #options: KLDivOptions;
  constructor(options: KLDivOptions = {}) {
    super();
    checkOptions("KLDivLoss", options, ["reduction", "logTarget"]);
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, this.#options);
  }
}

/** `cosineEmbedding` as a module. */
export class CosineEmbeddingLoss extends Module<[a: Tensor, b: Tensor, target: Tensor]> {
  readonly #options: LossOptions & { readonly margin?: number };
  constructor(options: LossOptions & { readonly margin?: number } = {}) {
    super();
    checkOptions("CosineEmbeddingLoss", options, ["reduction", "margin"]);
    this.#options = options;
  }
  forward(a: Tensor, b: Tensor, target: Tensor): Tensor {
    return cosineEmbedding(a, b, target, this.#options);
  }
}

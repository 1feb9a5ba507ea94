/**
 * Losses of class scores as functions on tensors: cross entropy with class numbers or probabilities
 * as targets, and its second half, the negative log-likelihood. PyTorch's names, defaults and
 * formulas. A result belongs to the current scope; intermediates are freed here.
 */
import { isFloat } from "../../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../../base/errors.ts";
import { type Filled, type OptionTable, readOptions } from "../../base/options.ts";
import { formatShape, sameShape } from "../../base/shape.ts";
import { operand } from "../checks.ts";
import { type LossOptions, type Reduction, checkSame, lossOptions, reduceLoss } from "./loss.ts";
import { crossEntropyRows } from "../../ops/softmax.ts";
import { composed } from "../../ownership/scoped.ts";
import { oneHot, where, zeros } from "../../tensor/create.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of losses with class numbers as targets. C classes. */
export interface ClassOptions extends LossOptions {
  /** One factor per class, [C]. A mean is then divided by the weights of the targets. */
  readonly weight?: Tensor | null;
  /** Rows with this target (-100 if not given) count neither in the loss nor in the mean. */
  readonly ignoreIndex?: number;
}

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions extends ClassOptions {
  /** This share of each target is spread evenly over all classes (Szegedy et al. 2016). */
  readonly labelSmoothing?: number;
}

/** Rows of losses with class numbers as targets. */
export const classOptions = {
  ...lossOptions,
  weight: operand,
  ignoreIndex: { type: "integer", remedy: "pass the class number whose rows do not count" },
} satisfies OptionTable<ClassOptions>;

/** Rows of `crossEntropy`. */
export const crossEntropyOptions = {
  ...classOptions,
  labelSmoothing: {
    type: "number",
    range: "[0, 1]",
    default: 0,
    remedy: "pass for example 0.1",
  },
} satisfies OptionTable<CrossEntropyOptions>;

/** The target that PyTorch ignores when nothing else is said. */
const IGNORED = -100;

/** The target whose rows are left out; null where the dtype cannot hold it. */
function ignored(targets: Tensor, given: number | undefined): number | null {
  return given ?? (targets.dtype === "int32" ? IGNORED : null);
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
  if (input.rank === 0)
    throw new ShapeError(op, "scores [N, C] or [C]", "[]", "pass a score for each class");
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
  weight: Tensor | null | undefined,
  ignoreIndex: number | undefined,
): Tensor | null {
  const left = ignored(targets, ignoreIndex),
    counted = left === null ? null : targets.ne(left).float();
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
 * @throws ShapeError for targets or weights that do not fit, DTypeError unless class numbers are
 *   integers, ArgumentError for a smoothing outside [0, 1]. A target out of range gives NaN.
 * @example
 * ```ts
 * using logits = tensor([[0, 0]]);
 * using target = tensor([1], { dtype: "int32" });
 * using loss = functional.crossEntropy(logits, target);
 * console.log((await loss.item()).toFixed(3)); // → 0.693
 * ```
 */
export function crossEntropy(
  logits: Tensor,
  targets: Tensor,
  options?: CrossEntropyOptions,
): Tensor {
  const given = readOptions("crossEntropy", options, crossEntropyOptions);
  const { reduction, ignoreIndex, weight, labelSmoothing } = given;
  live(targets, "crossEntropy");
  if (isFloat(targets.dtype)) return softCrossEntropy(logits, targets, given);
  checkTargets("crossEntropy", logits, targets, weight);
  return composed(() => {
    const rows = classRows(logits),
      classes = rows.shape[1]!,
      labels = targets.rank === 1 ? targets : targets.reshape(-1),
      left = ignored(labels, ignoreIndex);
    const entropy = call(crossEntropyRows, [rows, labels], { ignoreIndex: left ?? undefined }),
      weights = rowWeights(labels, classes, weight, ignoreIndex);
    let losses = weight == null ? entropy : entropy.mul(weights!);
    if (labelSmoothing > 0) {
      const log = rows.logSoftmax(1).neg(),
        even = weight == null ? log.mean(1) : log.mul(weight).sum(1).div(classes);
      const spread = left === null ? even : even.mul(labels.ne(left).float());
      losses = losses.mul(1 - labelSmoothing).add(spread.mul(labelSmoothing));
    }
    return finishRows("crossEntropy", losses, weights, reduction, targets.shape);
  }, "crossEntropy");
}

/** Targets as probabilities: -Σ w·t·log softmax(logits), averaged over rows. */
function softCrossEntropy(
  logits: Tensor,
  targets: Tensor,
  {
    reduction,
    ignoreIndex,
    weight,
    labelSmoothing,
  }: Filled<CrossEntropyOptions, typeof crossEntropyOptions>,
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
  return composed(() => {
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
 * @throws ShapeError for shapes that do not fit, DTypeError unless class numbers are integers,
 *   ArgumentError for options that are unknown or out of range. A target out of range gives NaN.
 */
export function nllLoss(input: Tensor, targets: Tensor, options?: ClassOptions): Tensor {
  const { reduction, weight, ignoreIndex } = readOptions("nllLoss", options, classOptions);
  checkTargets("nllLoss", input, targets, weight);
  return composed(() => {
    const rows = classRows(input),
      classes = rows.shape[1]!,
      labels = targets.rank === 1 ? targets : targets.reshape(-1),
      weights = rowWeights(labels, classes, weight, ignoreIndex);
    // Chosen, not multiplied: 0 · -Infinity would be NaN.
    const hot = oneHot(labels, classes, { dtype: "bool" });
    const own = where(hot, rows, zeros([])).sum(1).neg();
    const left = ignored(labels, ignoreIndex);
    const known = left === null ? hot.any(1) : hot.any(1).logicalOr(labels.eq(left));
    const chosen = where(known, own, zeros([]).add(NaN));
    return finishRows(
      "nllLoss",
      weights === null ? chosen : chosen.mul(weights),
      weights,
      reduction,
      targets.shape,
    );
  }, "nllLoss");
}

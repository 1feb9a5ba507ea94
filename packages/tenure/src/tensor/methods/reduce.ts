/**
 * Reductions, statistics and norms as methods. Without axes they go over all elements, to a 0-d
 * tensor. Intermediates are no larger than results.
 */
import { f32Bits } from "../../base/bits.ts";
import { isFloat } from "../../base/dtype.ts";
import { ArgumentError, DTypeError } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import { normalizeAxes, normalizeAxis, sizeOf } from "../../base/shape.ts";
import { composed } from "../../ownership/scoped.ts";
import { rootOrZero } from "../../ops/powers.ts";
import * as N from "../../ops/sums.ts";
import type { OpDef } from "../../ops/op.ts";
import * as R from "../../ops/reduce.ts";
import { logSoftmax, softmax } from "../../ops/softmax.ts";
import { type Wrapping, call, live } from "../call.ts";
import { ViewMethods } from "./views.ts";

/** One axis, several, or all of them. Negative ones count from the end. */
export type Axes = number | readonly number[] | null;

/** Reductions over axes. */
export abstract class ReduceMethods extends ViewMethods {
  /**
   * Sum over axes; bools count. The axes go away, or stay with size 1 when `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice
   * @example
   * ```ts
   * using x = tensor([[1, 2], [3, 4]]);
   * using rows = x.sum(1);
   * console.log(await rows.toArray()); // → [ 3, 7 ]
   * ```
   */
  sum(axes?: Axes, keepDims = false): this {
    return reduce(R.sum, this, axes, keepDims);
  }

  /**
   * Mean over axes; integers give float32, an empty reduction NaN. The axes go away, or stay with
   * size 1 when `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice
   */
  mean(axes?: Axes, keepDims = false): this {
    return reduce(R.mean, this, axes, keepDims);
  }

  /**
   * Largest element over axes; NaN wins. The axes go away, or stay with size 1 when `keepDims` is
   * true.
   * @throws ShapeError for an axis out of range or given twice, or nothing to choose from
   */
  max(axes?: Axes, keepDims = false): this {
    return reduce(R.max, this, axes, keepDims);
  }

  /**
   * Smallest element over axes; NaN wins. The axes go away, or stay with size 1 when `keepDims` is
   * true.
   * @throws ShapeError for an axis out of range or given twice, or nothing to choose from
   */
  min(axes?: Axes, keepDims = false): this {
    return reduce(R.min, this, axes, keepDims);
  }

  /**
   * Position of the first largest element: along an axis, or in the flattened tensor. int32.
   * @throws ShapeError for an axis out of range or nothing to choose from, ArgumentError for a list
   *   of axes
   */
  argMax(axis?: number | null, keepDims = false): this {
    return reduce(R.argMax, this, oneAxis("argMax", axis), keepDims);
  }

  /**
   * Position of the first smallest element: along an axis, or in the flattened tensor. int32.
   * @throws ShapeError for an axis out of range or nothing to choose from, ArgumentError for a list
   *   of axes
   */
  argMin(axis?: number | null, keepDims = false): this {
    return reduce(R.argMin, this, oneAxis("argMin", axis), keepDims);
  }

  /**
   * Whether some element over axes is true (not 0). The axes go away, or stay with size 1 when
   * `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice
   */
  any(axes?: Axes, keepDims = false): this {
    return reduce(R.any, this, axes, keepDims);
  }

  /**
   * Whether every element over axes is true (not 0). The axes go away, or stay with size 1 when
   * `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice
   */
  all(axes?: Axes, keepDims = false): this {
    return reduce(R.all, this, axes, keepDims);
  }

  /**
   * Product; exact gradients where factors are 0. The axes go away, or stay with size 1 when
   * `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice
   */
  prod(axes?: Axes, keepDims = false): this {
    return call(R.prod, [this], { axes: axesOf("prod", this, axes), keepDims });
  }

  /**
   * Σ (x - mean)² / (n - correction). The axes go away, or stay with size 1 when `keepDims` is
   * true.
   * @throws ShapeError for an axis out of range or given twice, DTypeError for integers,
   *   ArgumentError for a correction that is no number
   */
  var(axes?: Axes, correction = 1, keepDims = false): this {
    return composed(() => varMean(this, axes, correction, keepDims)[0], "var");
  }

  /**
   * Standard deviation; its gradient at 0 is 0. The axes go away, or stay with size 1 when
   * `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice, DTypeError for integers,
   *   ArgumentError for a correction that is no number
   */
  std(axes?: Axes, correction = 1, keepDims = false): this {
    return composed(
      () => call(rootOrZero, [this.var(axes, correction, keepDims)], undefined),
      "std",
    );
  }

  /**
   * (Σ |x|^p)^(1/p); largest magnitude for p = Infinity. The axes go away, or stay with size 1 when
   * `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice, DTypeError for integers,
   *   ArgumentError for a p that is no number
   */
  norm(p = 2, axes?: Axes, keepDims = false): this {
    const { dtype } = live(this, "norm"),
      list = axesOf("norm", this, axes);
    if (!isFloat(dtype))
      throw new DTypeError("norm", "a float tensor", dtype, "cast it to float32");
    if (typeof p !== "number" || Number.isNaN(p))
      throw new ArgumentError("norm", "a number for p", describeValue(p), "pass for example 2");
    return composed(() => {
      if (p === 2)
        return call(
          rootOrZero,
          [call(N.sumOfProducts, [this, this], { axes: list, keepDims })],
          undefined,
        );
      if (p === Infinity) return this.abs().max(list, keepDims);
      if (p === -Infinity) return this.abs().min(list, keepDims);
      if (p === 0) return this.ne(0).to(dtype).sum(list, keepDims);
      if (p === 1) return this.abs().sum(list, keepDims);
      return this.abs()
        .pow(p)
        .sum(list, keepDims)
        .pow(1 / p);
    }, "norm");
  }

  /**
   * log Σ exp(x), without overflow. The axes go away, or stay with size 1 when `keepDims` is true.
   * @throws ShapeError for an axis out of range or given twice, DTypeError for integers
   */
  logSumExp(axes?: Axes, keepDims = false): this {
    const list = axesOf("logSumExp", this, axes),
      { shape } = live(this, "logSumExp").layout;
    return composed(() => {
      const rest = shape.map((_, i) => i).filter((i) => !list.includes(i)),
        kept = rest.map((i) => shape[i]!);
      const rows =
        list.length === 1
          ? this
          : this.permute([...rest, ...list]).reshape([...kept, sizeOf(list.map((i) => shape[i]!))]);
      const out = call(N.logSumExp, [rows], { axis: list.length === 1 ? list[0]! : kept.length });
      return keepDims ? out.reshape(shape.map((d, i) => (list.includes(i) ? 1 : d))) : out;
    }, "logSumExp");
  }

  /**
   * exp(x) / Σ exp(x) along an axis, without overflow.
   * @throws ShapeError for an axis out of range
   */
  softmax(axis = -1): this {
    return alongAxis("softmax", this, axis, (x, at) => call(softmax, [x], { axis: at }));
  }

  /**
   * log of softmax along an axis, without overflow or loss of small values.
   * @throws ShapeError for an axis out of range
   */
  logSoftmax(axis = -1): this {
    return alongAxis("logSoftmax", this, axis, (x, at) => call(logSoftmax, [x], { axis: at }));
  }
}

/** @throws ArgumentError for a list of axes */
function oneAxis(op: string, axis: number | null | undefined): number | null | undefined {
  if (axis !== undefined && axis !== null && typeof (axis as unknown) !== "number")
    throw new ArgumentError(
      op,
      "one axis",
      describeValue(axis),
      "leave it out for the flattened tensor, or flatten the axes first",
    );
  return axis;
}

/** Runs an op that goes along one axis; a scalar counts as a row of one, on axis 0 or -1. */
export function alongAxis<T extends ViewMethods>(
  op: string,
  x: T,
  axis: number,
  run: (x: T, axis: number) => T,
): T {
  const { shape } = live(x, op).layout;
  if (shape.length > 0) return run(x, normalizeAxis(op, axis, shape.length));
  const at = normalizeAxis(op, axis, 1);
  return composed(() => run(x.unsqueeze(0), at).reshape([]), op);
}

function reduce<T extends Wrapping>(
  op: OpDef<R.ReduceAttrs>,
  x: T,
  axes: Axes | undefined,
  keepDims: boolean,
): T {
  return call(op, [x], {
    axes: normalizeAxes(op.name, axes, live(x, op.name).layout.shape.length),
    keepDims,
  });
}

function axesOf(op: string, x: Wrapping, axes: Axes | undefined): number[] {
  return normalizeAxes(op, axes, live(x, op).layout.shape.length);
}

/** Variance and mean over axes: Σ (x - mean)² / (n - correction). */
export function varMean<T extends ReduceMethods>(
  x: T,
  axes?: Axes,
  correction = 1,
  keepDims = false,
): [variance: T, mean: T] {
  const op = "varMean",
    { dtype, layout } = live(x, op),
    list = axesOf(op, x, axes);
  if (!isFloat(dtype)) throw new DTypeError(op, "a float tensor", dtype, "cast it to float32");
  if (typeof correction !== "number")
    throw new ArgumentError(
      op,
      "a number for the correction",
      describeValue(correction),
      "pass 0 or 1",
    );
  const count = sizeOf(list.map((a) => layout.shape[a]!));
  return composed(() => {
    const mean = x.mean(list, true),
      variance = call(N.squaredDeviation, [x, mean], { axes: list, keepDims }, [
        f32Bits(count - correction > 0 ? 1 / (count - correction) : NaN),
      ]);
    return [variance, keepDims ? mean : mean.reshape(variance.shape)];
  }, op);
}

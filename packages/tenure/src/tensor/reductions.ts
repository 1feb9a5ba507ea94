/**
 * Statistics, norms and small products as functions, beside the methods of the same names. Called
 * by users; results belong to the current scope.
 */
import "../compose.ts";
import { live } from "./call.ts";
import { type Axes, varMean as varMeanOf } from "./methods/reduce.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Variance and mean over axes: Σ (x - mean)² / (n - correction). The axes go away, or stay with
 * size 1 when `keepDims` is true.
 * @throws ShapeError for an axis out of range or given twice, DTypeError for integers,
 *   ArgumentError for a correction that is no number
 */
export function varMean(
  x: Tensor,
  axes?: Axes,
  correction = 1,
  keepDims = false,
): [variance: Tensor, mean: Tensor] {
  return varMeanOf(x, axes, correction, keepDims);
}

/**
 * Standard deviation over axes. Its gradient at 0 is 0. The axes go away, or stay with size 1 when
 * `keepDims` is true.
 * @throws ShapeError for an axis out of range or given twice, DTypeError for integers,
 *   ArgumentError for a correction that is no number
 */
export function std(x: Tensor, axes?: Axes, correction = 1, keepDims = false): Tensor {
  live(x, "std");
  return x.std(axes, correction, keepDims);
}

/**
 * (Σ |x|^p)^(1/p) over axes; the largest or smallest magnitude for p = ±Infinity, the number of
 * elements that are not 0 for p = 0. The axes go away, or stay with size 1 when `keepDims` is true.
 * @throws ShapeError for an axis out of range or given twice, DTypeError for integers,
 *   ArgumentError for a p that is no number
 * @example
 * ```ts
 * using v = tensor([3, 4]);
 * using length = norm(v);
 * console.log(await length.item()); // → 5
 * ```
 */
export function norm(x: Tensor, p = 2, axes?: Axes, keepDims = false): Tensor {
  live(x, "norm");
  return x.norm(p, axes, keepDims);
}

/**
 * log Σ exp over axes, without overflow. The axes go away, or stay with size 1 when `keepDims` is
 * true.
 * @throws ShapeError for an axis out of range or given twice, DTypeError for integers
 */
export function logSumExp(x: Tensor, axes?: Axes, keepDims = false): Tensor {
  live(x, "logSumExp");
  return x.logSumExp(axes, keepDims);
}

/** Σ a·b of two vectors. @throws ShapeError unless both have one length, DTypeError for bools */
export function dot(a: Tensor, b: Tensor): Tensor {
  live(a, "dot");
  return a.dot(b);
}

/** a [n], b [m] → a[i]·b[j], [n, m]. @throws ShapeError unless both are vectors */
export function outer(a: Tensor, b: Tensor): Tensor {
  live(a, "outer");
  return a.outer(b);
}

/**
 * Joining, splitting, picking and reordering as functions, beside the methods of the same names.
 * Called by users and by nn; results belong to the current scope.
 */
import "../compose.ts";
import { ShapeError } from "../base/errors.ts";
import { formatShape, normalizeAxis } from "../base/shape.ts";
import { checkSome } from "../ops/concat.ts";
import { composed } from "../ownership/scoped.ts";
import { live } from "./call.ts";
import { checkIndex } from "./methods/gather.ts";
import { type SortedOf, concatenate } from "./methods/rearrange.ts";
import type { Tensor } from "./tensor.ts";

/** Values with the positions they came from. */
export interface Sorted extends SortedOf<Tensor> {
  readonly values: Tensor;
  readonly indices: Tensor;
}

/**
 * Tensors one after the other along an axis; mixed dtypes are promoted.
 * @throws ShapeError when they differ elsewhere, ArgumentError for an empty list
 * @example
 * ```ts
 * using a = tensor([1, 2]);
 * using b = tensor([3]);
 * using c = concat([a, b]);
 * console.log(await c.toArray()); // → [ 1, 2, 3 ]
 * ```
 */
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  checkSome("concat", tensors);
  const rank = live(head(tensors), "concat").layout.shape.length,
    at = normalizeAxis("concat", axis, rank);
  for (const t of tensors)
    if (live(t, "concat").layout.shape.length !== rank)
      throw new ShapeError(
        "concat",
        `tensors of rank ${rank}`,
        formatShape(t.shape),
        "add missing dimensions with unsqueeze",
      );
  return concatenate(tensors, at);
}

/**
 * Tensors of one shape along a new axis.
 * @throws ShapeError for different shapes or an axis out of range, ArgumentError for an empty list
 */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  checkSome("stack", tensors);
  const first = live(head(tensors), "stack").layout.shape,
    at = normalizeAxis("stack", axis, first.length + 1);
  for (const t of tensors)
    if (formatShape(live(t, "stack").layout.shape) !== formatShape(first))
      throw new ShapeError(
        "stack",
        `tensors of shape ${formatShape(first)}`,
        formatShape(t.shape),
        "use concat for different sizes",
      );
  return composed(
    () =>
      concat(
        tensors.map((t) => t.unsqueeze(at)),
        at,
      ),
    "stack",
  );
}

/** The first of a list that is not empty; whether it is a tensor is still to be checked. */
function head(tensors: readonly Tensor[]): Tensor {
  return tensors[0] as Tensor;
}

/**
 * Views of `size` positions each (the last may be shorter), or of the sizes given, which must add
 * up. Shapes differ along the axis only.
 * @throws ArgumentError for a size below 1, ShapeError for sizes that do not add up, or an axis out
 *   of range
 */
export function split(x: Tensor, sizes: number | readonly number[], axis = 0): Tensor[] {
  live(x, "split");
  return x.split(sizes, axis);
}

/**
 * Positions of an axis by a list of indices, which takes its place.
 * @throws DTypeError unless indices are integers, ShapeError unless they are a list and the axis
 *   exists
 */
export function indexSelect(x: Tensor, axis: number, indices: Tensor): Tensor {
  live(x, "indexSelect");
  return x.indexSelect(axis, indices);
}

/**
 * Rows of a table [V, D] by indices of any shape: [...indices, D]. The gradient adds up rows in a
 * fixed order.
 * @throws DTypeError unless indices are integers, ShapeError unless weight is a table
 */
export function embedding(indices: Tensor, weight: Tensor): Tensor {
  checkIndex("embedding", indices);
  if (live(weight, "embedding").layout.shape.length !== 2)
    throw new ShapeError(
      "embedding",
      "a table [entries, features]",
      formatShape(weight.shape),
      "reshape it",
    );
  return weight.index(indices);
}

/**
 * `out[i][j] = x[i][indices[i][j]]` along the last axis of a matrix; likewise for any axis and
 * rank.
 * @throws DTypeError unless indices are integers, ShapeError for other ranks, larger sizes off the
 *   axis, or an axis out of range
 */
export function gather(x: Tensor, axis: number, indices: Tensor): Tensor {
  live(x, "gather");
  return x.gather(axis, indices);
}

/**
 * x plus each element of `source` at its index along an axis. Equal indices add up in a fixed
 * order. Indices may be smaller than source and x off the axis.
 * @throws DTypeError unless indices are integers and source has x's dtype, ShapeError for other
 *   ranks, larger sizes, or an axis out of range
 */
export function scatterAdd(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor {
  live(x, "scatterAdd");
  return x.scatterAdd(axis, indices, source);
}

/**
 * Elements of an axis in order, and where they were. Stable; NaN counts as the largest value. The
 * gradient goes back to where they were.
 * @throws ShapeError for an axis out of range
 */
export function sort(x: Tensor, axis = -1, descending = false): Sorted {
  live(x, "sort");
  return x.sort(axis, descending);
}

/**
 * The `k` largest (or smallest) elements of an axis in order, and where they were.
 * @throws ArgumentError for a k larger than the axis, ShapeError for an axis out of range
 */
export function topK(x: Tensor, k: number, axis = -1, largest = true): Sorted {
  live(x, "topK");
  return x.topK(k, axis, largest);
}

/**
 * Joining, splitting, picking and reordering, named as in PyTorch. Splits are views; everything
 * else is one dispatch or a few. Methods of `Tensor` and exports of the package; results belong to
 * the current scope, intermediates are freed here.
 */
import { promote } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, normalizeAxes, normalizeAxis } from "../base/shape.ts";
import * as J from "../ops/concat.ts";
import * as I from "../ops/gather.ts";
import * as S from "../ops/sorting.ts";
import { cumProd as cumProdOp, cumSum as cumSumOp } from "../ops/scan.ts";
import { unslice } from "../ops/views.ts";
import { scoped } from "../ownership/scoped.ts";
import { apply, handleIn } from "./door.ts";
import type { Tensor } from "./tensor.ts";

/** Values with the positions they came from. */
export interface Sorted {
  readonly values: Tensor;
  readonly indices: Tensor;
}

// === Joining and splitting ===

/** Inputs of one dispatch: every device binds 8 buffers, one is the result. */
const joined = 7;

/**
 * Tensors one after the other along an axis; mixed dtypes are promoted. @throws ShapeError when
 * they differ elsewhere
 */
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  J.checkSome("concat", tensors.length);
  const rank = handleIn("concat", tensors[0]!).layout.shape.length,
    at = normalizeAxis("concat", axis, rank);
  for (const t of tensors)
    if (handleIn("concat", t).layout.shape.length !== rank)
      throw new ShapeError(
        "concat",
        `tensors of rank ${rank}`,
        formatShape(t.shape),
        "add missing dimensions with unsqueeze",
      );
  const dtype = tensors.map((t) => t.dtype).reduce(promote);
  return scoped(() => {
    let list = tensors.map((t) => t.to(dtype));
    while (list.length > joined)
      list = Array.from({ length: Math.ceil(list.length / joined) }, (_, k) =>
        apply(J.concat, list.slice(k * joined, (k + 1) * joined), { axis: at }),
      );
    return apply(J.concat, list, { axis: at });
  }, "concat");
}

/** Tensors of one shape along a new axis. */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  J.checkSome("stack", tensors.length);
  const first = handleIn("stack", tensors[0]!).layout.shape,
    at = normalizeAxis("stack", axis, first.length + 1);
  for (const t of tensors)
    if (formatShape(handleIn("stack", t).layout.shape) !== formatShape(first))
      throw new ShapeError(
        "stack",
        `tensors of shape ${formatShape(first)}`,
        formatShape(t.shape),
        "use concat for different sizes",
      );
  return scoped(
    () =>
      concat(
        tensors.map((t) => t.unsqueeze(at)),
        at,
      ),
    "stack",
  );
}

/**
 * Views of `size` positions each (the last may be shorter), or of the sizes given, which must add
 * up.
 */
export function split(x: Tensor, sizes: number | readonly number[], axis = 0): Tensor[] {
  const { shape } = handleIn("split", x).layout,
    at = normalizeAxis("split", axis, shape.length),
    dim = shape[at]!;
  if (typeof sizes === "number") {
    if (!Number.isInteger(sizes) || sizes < 1)
      throw new ArgumentError(
        "split",
        "a size of 1 or more",
        String(sizes),
        "pass how many positions each part has",
      );
    return Array.from({ length: Math.max(1, Math.ceil(dim / sizes)) }, (_, k) =>
      x.slice(at, k * sizes, Math.min((k + 1) * sizes, dim)),
    );
  }
  if (sizes.some((n) => !Number.isInteger(n) || n < 0) || sizes.reduce((n, s) => n + s, 0) !== dim)
    throw new ShapeError(
      "split",
      `sizes that add up to ${dim}`,
      formatShape(sizes),
      `axis ${axis} of ${formatShape(shape)}`,
    );
  let end = 0;
  return sizes.map((n) => x.slice(at, end, (end += n)));
}

/** At most `count` views of equal size; the last may be shorter. */
export function chunk(x: Tensor, count: number, axis = 0): Tensor[] {
  const { shape } = handleIn("chunk", x).layout,
    at = normalizeAxis("chunk", axis, shape.length);
  if (!Number.isInteger(count) || count < 1)
    throw new ArgumentError(
      "chunk",
      "a count of 1 or more",
      String(count),
      "pass how many parts you want",
    );
  return split(x, Math.max(1, Math.ceil(shape[at]! / count)), at);
}

/** A view of each position along an axis, which goes away. */
export function unbind(x: Tensor, axis = 0): Tensor[] {
  const { shape } = handleIn("unbind", x).layout,
    at = normalizeAxis("unbind", axis, shape.length);
  return Array.from({ length: shape[at]! }, (_, i) => x.select(at, i));
}

// === By index ===

function checkIndex(op: string, indices: Tensor): void {
  const { dtype } = handleIn(op, indices);
  if (dtype === "bool")
    throw new DTypeError(
      op,
      "int32 or uint32 indices",
      "bool",
      "a mask has no fixed number of results: use where or maskedFill",
    );
  if (dtype !== "int32" && dtype !== "uint32")
    throw new DTypeError(op, "int32 or uint32 indices", dtype, 'cast them with to("int32")');
}

/**
 * Rows of the first axis by indices of any shape: x [V, ...], indices [...] → [...indices,
 * ...rest].
 */
export function index(x: Tensor, indices: Tensor): Tensor {
  checkIndex("index", indices);
  if (handleIn("index", x).layout.shape.length === 0)
    throw new ShapeError("index", "a tensor with at least one dimension", "[]", "reshape it first");
  return scoped(
    () =>
      apply(I.take, [x, indices.reshape(-1)], { axis: 0 }).reshape([
        ...indices.shape,
        ...x.shape.slice(1),
      ]),
    "index",
  );
}

/** Positions of an axis by a list of indices, which takes its place. */
export function indexSelect(x: Tensor, axis: number, indices: Tensor): Tensor {
  checkIndex("indexSelect", indices);
  return apply(I.take, [x, indices], {
    axis: normalizeAxis("indexSelect", axis, handleIn("indexSelect", x).layout.shape.length),
  });
}

/**
 * Rows of a table [V, D] by indices of any shape: [...indices, D]. The gradient adds up rows in a
 * fixed order.
 */
export function embedding(indices: Tensor, weight: Tensor): Tensor {
  checkIndex("embedding", indices);
  if (handleIn("embedding", weight).layout.shape.length !== 2)
    throw new ShapeError(
      "embedding",
      "a table [entries, features]",
      formatShape(weight.shape),
      "reshape it",
    );
  return index(weight, indices);
}

/**
 * `out[i][j] = x[i][indices[i][j]]` along the last axis of a matrix; likewise for any axis and
 * rank.
 */
export function gather(x: Tensor, axis: number, indices: Tensor): Tensor {
  checkIndex("gather", indices);
  return apply(I.gather, [x, indices], {
    axis: normalizeAxis("gather", axis, handleIn("gather", x).layout.shape.length),
  });
}

/**
 * x plus each element of `source` at its index along an axis. Equal indices add up in a fixed
 * order. Indices may be smaller than source and x off the axis.
 */
export function scatterAdd(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor {
  checkIndex("scatterAdd", indices);
  const { shape } = handleIn("scatterAdd", x).layout,
    at = normalizeAxis("scatterAdd", axis, shape.length),
    small = indices.shape;
  if (
    small.length !== shape.length ||
    source.rank !== shape.length ||
    small.some((d, i) => d > source.shape[i]! || (i !== at && d > shape[i]!))
  ) {
    throw new ShapeError(
      "scatterAdd",
      `indices of rank ${shape.length}, no larger than the source and, off axis ${axis}, than ${formatShape(shape)}`,
      `${formatShape(small)} and ${formatShape(source.shape)}`,
      "check the axis",
    );
  }
  return scoped(() => {
    const values = small.reduce((t, d, i) => (t.shape[i] === d ? t : t.slice(i, 0, d)), source);
    if (small.every((d, i) => i === at || d === shape[i]))
      return I.addAt(apply, x, indices, values, at);
    const corner = small.reduce(
      (t, d, i) => (i === at || t.shape[i] === d ? t : t.slice(i, 0, d)),
      x,
    );
    let added = I.addAt(apply, corner, indices, values, at).sub(corner);
    small.forEach((d, i) => {
      if (i !== at)
        added = apply(unslice, [added], {
          axis: i,
          start: 0,
          end: d,
          step: 1,
          shape: added.shape.map((n, k) => (k === i ? shape[i]! : n)),
        });
    });
    return x.add(added);
  }, "scatterAdd");
}

// === Order ===

/** Positions that sort an axis, int32. Stable; NaN counts as the largest value, as in PyTorch. */
export function argSort(x: Tensor, axis = -1, descending = false): Tensor {
  const { shape } = handleIn("argSort", x).layout;
  if (shape.length === 0)
    return scoped(() => argSort(x.reshape(1), 0, descending).reshape(), "argSort");
  const at = normalizeAxis("argSort", axis, shape.length);
  return scoped(() => S.orderOf(apply, x, { axis: at, descending }), "argSort");
}

/**
 * Elements of an axis in order, and where they were. Stable; NaN counts as the largest value. The
 * gradient goes back to where they were.
 */
export function sort(x: Tensor, axis = -1, descending = false): Sorted {
  return scoped(() => {
    const indices = argSort(x, axis, descending);
    return x.rank === 0
      ? { values: x.clone(), indices }
      : { values: gather(x, axis, indices), indices };
  }, "sort");
}

/** The `k` largest (or smallest) elements of an axis in order, and where they were. */
export function topK(x: Tensor, k: number, axis = -1, largest = true): Sorted {
  const { shape } = handleIn("topK", x).layout;
  if (shape.length === 0)
    return scoped(() => {
      const { values, indices } = topK(x.reshape(1), k, 0, largest);
      return { values: values.sum(), indices: indices.sum() };
    }, "topK");
  const at = normalizeAxis("topK", axis, shape.length);
  if (!Number.isInteger(k) || k < 0 || k > shape[at]!)
    throw new ArgumentError(
      "topK",
      `a number from 0 to ${shape[at]}`,
      String(k),
      "take fewer elements, or another axis",
    );
  return scoped(() => {
    const indices = S.firstOf(apply, x, { axis: at, descending: largest }, k);
    return { values: gather(x, at, indices), indices };
  }, "topK");
}

/** Elements in reverse order along each of the axes. */
export function flip(x: Tensor, axes: number | readonly number[]): Tensor {
  const list = normalizeAxes("flip", axes, handleIn("flip", x).layout.shape.length);
  return scoped(() => list.reduce((t, axis) => apply(J.flip, [t], { axis }), x.alias()), "flip");
}

/**
 * Elements moved on by `shifts` along axes, from the end back to the beginning. Without axes: of
 * the flattened tensor.
 */
export function roll(
  x: Tensor,
  shifts: number | readonly number[],
  axes?: number | readonly number[],
): Tensor {
  const { shape } = handleIn("roll", x).layout,
    by = typeof shifts === "number" ? [shifts] : shifts;
  if (by.some((n) => !Number.isInteger(n)))
    throw new ArgumentError(
      "roll",
      "whole numbers",
      by.join(", "),
      "pass integers; negative ones move towards the front",
    );
  if (axes === undefined) {
    if (by.length !== 1)
      throw new ArgumentError("roll", "one shift without axes", String(by.length), "name the axes");
    return scoped(() => roll(x.reshape(-1), by, 0).reshape(shape), "roll");
  }
  const along = (typeof axes === "number" ? [axes] : axes).map((a) =>
    normalizeAxis("roll", a, shape.length),
  );
  if (along.length !== by.length)
    throw new ArgumentError(
      "roll",
      "as many shifts as axes",
      `${by.length} and ${along.length}`,
      "name an axis for each shift",
    );
  return scoped(
    () =>
      along.reduce((t, axis, i) => {
        const dim = shape[axis]!,
          cut = dim === 0 ? 0 : ((-by[i]! % dim) + dim) % dim;
        return cut === 0 ? t : concat([t.slice(axis, cut), t.slice(axis, 0, cut)], axis);
      }, x.alias()),
    "roll",
  );
}

// === Repeating ===

/**
 * The tensor `counts[i]` times along dimension i; counts beyond its rank add dimensions in front.
 */
export function repeat(x: Tensor, counts: readonly number[]): Tensor {
  const { shape } = handleIn("repeat", x).layout;
  if (counts.length < shape.length || counts.some((n) => !Number.isInteger(n) || n < 0))
    throw new ArgumentError(
      "repeat",
      `at least ${shape.length} counts of 0 or more`,
      `[${counts.join(",")}]`,
      "use tile to leave out leading ones",
    );
  const padded: Shape = [...Array<number>(counts.length - shape.length).fill(1), ...shape];
  return scoped(
    () =>
      x
        .reshape(padded.flatMap((d) => [1, d]))
        .expand(padded.flatMap((d, i) => [counts[i]!, d]))
        .reshape(padded.map((d, i) => d * counts[i]!)),
    "repeat",
  );
}

/** Like `repeat`, with missing leading counts taken as 1. */
export function tile(x: Tensor, counts: readonly number[]): Tensor {
  return repeat(x, [
    ...Array<number>(Math.max(0, handleIn("tile", x).layout.shape.length - counts.length)).fill(1),
    ...counts,
  ]);
}

/** Each element `count` times in place, along an axis (of the flattened tensor without one). */
export function repeatInterleave(x: Tensor, count: number, axis?: number): Tensor {
  const { shape } = handleIn("repeatInterleave", x).layout;
  if (!Number.isInteger(count) || count < 0)
    throw new ArgumentError(
      "repeatInterleave",
      "a count of 0 or more",
      String(count),
      "pass how often each element should come",
    );
  if (axis === undefined)
    return scoped(() => repeatInterleave(x.reshape(-1), count, 0), "repeatInterleave");
  const at = normalizeAxis("repeatInterleave", axis, shape.length),
    wide = [...shape.slice(0, at + 1), count, ...shape.slice(at + 1)];
  return scoped(
    () =>
      x
        .unsqueeze(at + 1)
        .expand(wide)
        .reshape(shape.map((d, i) => (i === at ? d * count : d))),
    "repeatInterleave",
  );
}

// === Running totals ===

/** Sum of all elements up to each position of an axis. */
export function cumSum(x: Tensor, axis: number): Tensor {
  return apply(cumSumOp, [x], {
    axis: normalizeAxis("cumSum", axis, handleIn("cumSum", x).layout.shape.length),
    reverse: false,
  });
}

/** Product of all elements up to each position of an axis. */
export function cumProd(x: Tensor, axis: number): Tensor {
  return apply(cumProdOp, [x], {
    axis: normalizeAxis("cumProd", axis, handleIn("cumProd", x).layout.shape.length),
  });
}

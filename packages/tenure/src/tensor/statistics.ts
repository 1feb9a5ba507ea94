/**
 * Statistics, norms and small products composed from reductions: methods of `Tensor` and exports of
 * the package. Intermediates are no larger than results; results belong to the current scope.
 */
import { f32Bits } from "../base/bits.ts";
import { isFloat, promote } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { formatShape, normalizeAxes, sizeOf } from "../base/shape.ts";
import { rootOrZero } from "../ops/powers.ts";
import * as N from "../ops/sums.ts";
import { prod as prodOp } from "../ops/reduce.ts";
import { scoped } from "../ownership/scoped.ts";
import { apply, handleIn } from "./door.ts";
import type { Tensor } from "./tensor.ts";

type Axes = number | readonly number[] | null;

function axesOf(op: string, x: Tensor, axes: Axes | undefined): number[] {
  return normalizeAxes(op, axes, handleIn(op, x).layout.shape.length);
}

/** Product over axes; over all elements without. */
export function prod(x: Tensor, axes?: Axes, keepDims = false): Tensor {
  return apply(prodOp, [x], { axes: axesOf("prod", x, axes), keepDims });
}

/** Variance and mean over axes: Σ (x - mean)² / (n - correction). */
export function varMean(
  x: Tensor,
  axes?: Axes,
  correction = 1,
  keepDims = false,
): [variance: Tensor, mean: Tensor] {
  const { dtype, layout } = handleIn("var", x),
    list = axesOf("var", x, axes);
  if (!isFloat(dtype)) throw new DTypeError("var", "a float tensor", dtype, "cast it to float32");
  if (typeof correction !== "number")
    throw new ArgumentError("var", "a number for the correction", typeof correction);
  const count = sizeOf(list.map((a) => layout.shape[a]!));
  return scoped(() => {
    const mean = x.mean(list, true),
      variance = apply(N.squaredDeviation, [x, mean], { axes: list, keepDims }, [
        f32Bits(count - correction > 0 ? 1 / (count - correction) : NaN),
      ]);
    return [variance, keepDims ? mean : mean.reshape(variance.shape)];
  }, "var");
}

export function variance(x: Tensor, axes?: Axes, correction = 1, keepDims = false): Tensor {
  return scoped(() => varMean(x, axes, correction, keepDims)[0], "var");
}

/** Standard deviation over axes. Its gradient at 0 is 0. */
export function std(x: Tensor, axes?: Axes, correction = 1, keepDims = false): Tensor {
  return scoped(
    () => apply(rootOrZero, [variance(x, axes, correction, keepDims)], undefined),
    "std",
  );
}

/**
 * (Σ |x|^p)^(1/p) over axes; the largest or smallest magnitude for p = ±Infinity, the number of
 * elements that are not 0 for p = 0.
 */
export function norm(x: Tensor, p = 2, axes?: Axes, keepDims = false): Tensor {
  const { dtype } = handleIn("norm", x),
    list = axesOf("norm", x, axes);
  if (!isFloat(dtype)) throw new DTypeError("norm", "a float tensor", dtype, "cast it to float32");
  if (typeof p !== "number" || Number.isNaN(p))
    throw new ArgumentError("norm", "a number for p", String(p));
  return scoped(() => {
    if (p === 2)
      return apply(
        rootOrZero,
        [apply(N.sumOfProducts, [x, x], { axes: list, keepDims })],
        undefined,
      );
    if (p === Infinity) return x.abs().max(list, keepDims);
    if (p === -Infinity) return x.abs().min(list, keepDims);
    if (p === 0) return x.ne(0).to(dtype).sum(list, keepDims);
    if (p === 1) return x.abs().sum(list, keepDims);
    return x
      .abs()
      .pow(p)
      .sum(list, keepDims)
      .pow(1 / p);
  }, "norm");
}

/** log Σ exp over axes, without overflow. */
export function logSumExp(x: Tensor, axes?: Axes, keepDims = false): Tensor {
  const list = axesOf("logSumExp", x, axes),
    { shape } = handleIn("logSumExp", x).layout;
  return scoped(() => {
    const rest = shape.map((_, i) => i).filter((i) => !list.includes(i)),
      kept = rest.map((i) => shape[i]!);
    const rows =
      list.length === 1
        ? x
        : x.permute([...rest, ...list]).reshape([...kept, sizeOf(list.map((i) => shape[i]!))]);
    const out = apply(N.logSumExp, [rows], { axis: list.length === 1 ? list[0]! : kept.length });
    return keepDims ? out.reshape(shape.map((d, i) => (list.includes(i) ? 1 : d))) : out;
  }, "logSumExp");
}

/** Σ a·b of two vectors. */
export function dot(a: Tensor, b: Tensor): Tensor {
  const x = handleIn("dot", a),
    y = handleIn("dot", b);
  if (x.layout.shape.length !== 1 || y.layout.shape.length !== 1 || x.layout.size !== y.layout.size)
    throw new ShapeError(
      "dot",
      "two vectors of one length",
      `${formatShape(a.shape)} and ${formatShape(b.shape)}`,
      "use matmul for matrices",
    );
  const dtype = promote(x.dtype, y.dtype);
  return scoped(
    () => apply(N.sumOfProducts, [a.to(dtype), b.to(dtype)], { axes: [0], keepDims: false }),
    "dot",
  );
}

/** a [n], b [m] → a[i]·b[j], [n, m]. */
export function outer(a: Tensor, b: Tensor): Tensor {
  if (
    handleIn("outer", a).layout.shape.length !== 1 ||
    handleIn("outer", b).layout.shape.length !== 1
  )
    throw new ShapeError(
      "outer",
      "two vectors",
      `${formatShape(a.shape)} and ${formatShape(b.shape)}`,
      "flatten them first",
    );
  return scoped(() => a.unsqueeze(1).mul(b), "outer");
}

/**
 * Products of matrices and vectors as methods.
 */
import { promote } from "../../base/dtype.ts";
import { ShapeError } from "../../base/errors.ts";
import { formatShape } from "../../base/shape.ts";
import { matmul } from "../../ops/matmul.ts";
import { sumOfProducts } from "../../ops/sums.ts";
import { composed } from "../../ownership/scoped.ts";
import { call, live } from "../call.ts";
import { RearrangeMethods } from "./rearrange.ts";

/** Linear algebra. */
export abstract class LinalgMethods extends RearrangeMethods {
  /**
   * [..., M, K] × [..., K, N] → [..., M, N]; leading dimensions broadcast. A vector counts as one
   * row on the left, one column on the right, which then goes away.
   * @throws ShapeError unless the inner dimensions match, DTypeError unless both have one dtype of
   *   numbers
   * @example
   * ```ts
   * using a = tensor([[1, 2], [3, 4]]);
   * using b = tensor([[1], [1]]);
   * using c = a.matmul(b);
   * console.log(await c.toArray()); // → [ [ 3 ], [ 7 ] ]
   * ```
   */
  matmul(other: this): this {
    return live(this, "matmul").layout.shape.length > 1 &&
      live(other, "matmul").layout.shape.length > 1
      ? call(matmul, [this, other], undefined)
      : vectorMatmul(this, other);
  }

  /**
   * [B, M, K] × [B, K, N] → [B, M, N].
   * @throws ShapeError for other shapes, DTypeError unless both have one dtype of numbers
   */
  bmm(other: this): this {
    if (
      live(this, "bmm").layout.shape.length !== 3 ||
      live(other, "bmm").layout.shape.length !== 3 ||
      this.shape[0] !== other.shape[0]
    )
      throw new ShapeError(
        "bmm",
        "[B, M, K] and [B, K, N]",
        `${formatShape(this.shape)} and ${formatShape(other.shape)}`,
        "use matmul to broadcast",
      );
    return call(matmul, [this, other], undefined);
  }

  /** Σ a·b of two vectors. @throws ShapeError unless both have one length, DTypeError for bools */
  dot(other: this): this {
    const x = live(this, "dot"),
      y = live(other, "dot");
    if (
      x.layout.shape.length !== 1 ||
      y.layout.shape.length !== 1 ||
      x.layout.size !== y.layout.size
    )
      throw new ShapeError(
        "dot",
        "two vectors of one length",
        `${formatShape(this.shape)} and ${formatShape(other.shape)}`,
        "use matmul for matrices",
      );
    const dtype = promote(x.dtype, y.dtype);
    return composed(
      () => call(sumOfProducts, [this.to(dtype), other.to(dtype)], { axes: [0], keepDims: false }),
      "dot",
    );
  }

  /** [n] and [m] → [n, m] of products. @throws ShapeError unless both are vectors */
  outer(other: this): this {
    if (
      live(this, "outer").layout.shape.length !== 1 ||
      live(other, "outer").layout.shape.length !== 1
    )
      throw new ShapeError(
        "outer",
        "two vectors",
        `${formatShape(this.shape)} and ${formatShape(other.shape)}`,
        "flatten them first",
      );
    return composed(() => this.unsqueeze(1).mul(other), "outer");
  }
}

function vectorMatmul<T extends LinalgMethods>(a: T, b: T): T {
  if (a.rank === 0 || b.rank === 0)
    throw new ShapeError(
      "matmul",
      "two tensors of rank 1 or more",
      `${formatShape(a.shape)} and ${formatShape(b.shape)}`,
      "use mul for numbers",
    );
  if (a.rank === 1 && b.rank === 1) return a.dot(b);
  return composed(
    () =>
      a.rank === 1
        ? call(matmul, [a.unsqueeze(0), b], undefined).squeeze(-2)
        : call(matmul, [a, b.unsqueeze(1)], undefined).squeeze(-1),
    "matmul",
  );
}

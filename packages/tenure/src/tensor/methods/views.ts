/**
 * Reshaping, reordering of dimensions and slicing as methods: views, no copies unless said.
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import { checkArray, describeValue } from "../../base/options.ts";
import { formatShape, normalizeAxis } from "../../base/shape.ts";
import * as V from "../../ops/views.ts";
import { WRAP, call, live, only } from "../call.ts";
import { runOp } from "../run.ts";
import { InPlaceMethods } from "./inplace.ts";

/** Views of the same elements. */
export abstract class ViewMethods extends InPlaceMethods {
  /**
   * One dimension may be -1. Copies only when strides cannot express the shape.
   * @throws ShapeError for another number of elements
   */
  reshape(...shape: readonly number[] | [readonly number[]]): this {
    return call(V.reshape, [this], { shape: dims(shape) });
  }

  /**
   * Merges dimensions from `start` to `end` (inclusive) into one.
   * @throws ShapeError for dimensions out of range, or in the wrong order
   */
  flatten(start = 0, end = -1): this {
    const { shape } = live(this, "flatten").layout,
      rank = shape.length;
    if (rank === 0) return this.reshape(1);
    const a = normalizeAxis("flatten", start, rank),
      b = normalizeAxis("flatten", end, rank);
    if (b < a)
      throw new ShapeError(
        "flatten",
        "a start that is not after the end",
        `${start} and ${end}`,
        "swap them",
      );
    const merged = shape.slice(a, b + 1).reduce((n, d) => n * d, 1);
    return this.reshape([...shape.slice(0, a), merged, ...shape.slice(b + 1)]);
  }

  /** Swaps two dimensions; the last two by default. @throws ShapeError for an axis out of range */
  transpose(a = -2, b = -1): this {
    const rank = live(this, "transpose").layout.shape.length,
      order = Array.from({ length: rank }, (_, i) => i);
    const x = normalizeAxis("transpose", a, rank),
      y = normalizeAxis("transpose", b, rank);
    order[x] = y;
    order[y] = x;
    return this.permute(order);
  }

  /** Dimensions in the given order. @throws ShapeError unless each dimension comes once */
  permute(...order: readonly number[] | [readonly number[]]): this {
    return call(V.permute, [this], {
      order: dims(order).map((d) => normalizeAxis("permute", d, this.rank)),
    });
  }

  /**
   * Repeats dimensions of 1 without copying.
   * @throws ShapeError for a shape that this one does not broadcast to
   */
  expand(...shape: readonly number[] | [readonly number[]]): this {
    return call(V.expand, [this], { shape: dims(shape) });
  }

  /** A dimension of 1 at `axis`. @throws ShapeError for an axis out of range */
  unsqueeze(axis: number): this {
    const { shape } = live(this, "unsqueeze").layout,
      at = normalizeAxis("unsqueeze", axis, shape.length + 1);
    return this.reshape([...shape.slice(0, at), 1, ...shape.slice(at)]);
  }

  /**
   * Without the dimensions of 1; without just one of them when `axis` is given.
   * @throws ShapeError for an axis out of range, or longer than 1
   */
  squeeze(axis?: number): this {
    const { shape } = live(this, "squeeze").layout;
    if (axis === undefined) return this.reshape(shape.filter((d) => d !== 1));
    const at = normalizeAxis("squeeze", axis, shape.length);
    if (shape[at] !== 1)
      throw new ShapeError(
        "squeeze",
        "a dimension of 1",
        `${shape[at]} at axis ${axis} of ${formatShape(shape)}`,
        "leave the axis out to drop all of them",
      );
    return this.reshape(shape.filter((_, i) => i !== at));
  }

  /**
   * Positions `start ≤ i < end` by `step` along an axis; negative positions count from the end.
   * @throws ShapeError for an axis out of range, fractions, or a step below 1
   * @example
   * ```ts
   * using x = tensor([0, 1, 2, 3, 4]);
   * using y = x.slice(0, 1, 5, 2);
   * console.log(await y.toArray()); // → [ 1, 3 ]
   * ```
   */
  slice(axis: number, start = 0, end = Number.MAX_SAFE_INTEGER, step = 1): this {
    return call(V.slice, [this], {
      axis: normalizeAxis("slice", axis, this.rank),
      start,
      end: typeof end === "number" ? Math.min(end, 0x7fff_ffff) : end,
      step,
    });
  }

  /**
   * One position along an axis, which goes away.
   * @throws ShapeError for an axis or a position out of range
   */
  select(axis: number, index: number): this {
    const at = normalizeAxis("select", axis, this.rank),
      dim = this.shape[at]!;
    if (!Number.isInteger(index) || index < -dim || index >= dim)
      throw new ShapeError(
        "select",
        `an index in [${-dim}, ${dim - 1}]`,
        describeValue(index),
        "check the axis",
      );
    const from = index < 0 ? index + dim : index;
    const row = only(
      runOp(V.slice, [live(this, "select")], {
        axis: at,
        start: from,
        end: from + 1,
        step: 1,
      }),
    );
    const out = only(runOp(V.reshape, [row], { shape: this.shape.filter((_, i) => i !== at) }));
    row.discard();
    return this[WRAP](out);
  }

  /**
   * Views of `size` positions each along an axis, or of the sizes given.
   * @throws ArgumentError for a size below 1, ShapeError for sizes that do not add up, or an axis
   *   out of range
   */
  split(sizes: number | readonly number[], axis = 0): this[] {
    const { shape } = live(this, "split").layout,
      at = normalizeAxis("split", axis, shape.length),
      dim = shape[at]!;
    if (typeof sizes === "number") {
      if (!Number.isInteger(sizes) || sizes < 1)
        throw new ArgumentError(
          "split",
          "a size of 1 or more",
          describeValue(sizes),
          "pass how many positions each part has",
        );
      return Array.from({ length: Math.max(1, Math.ceil(dim / sizes)) }, (_, k) =>
        this.slice(at, k * sizes, Math.min((k + 1) * sizes, dim)),
      );
    }
    checkArray("split", "sizes", sizes);
    if (
      sizes.some((n) => !Number.isInteger(n) || n < 0) ||
      sizes.reduce((n, s) => n + s, 0) !== dim
    )
      throw new ShapeError(
        "split",
        `sizes that add up to ${dim}`,
        formatShape(sizes),
        `axis ${axis} of ${formatShape(shape)}`,
      );
    let end = 0;
    return sizes.map((n) => this.slice(at, end, (end += n)));
  }

  /**
   * At most `count` views of equal size along an axis.
   * @throws ArgumentError for a count below 1, ShapeError for an axis out of range
   */
  chunk(count: number, axis = 0): this[] {
    const { shape } = live(this, "chunk").layout,
      at = normalizeAxis("chunk", axis, shape.length);
    if (!Number.isInteger(count) || count < 1)
      throw new ArgumentError(
        "chunk",
        "a count of 1 or more",
        describeValue(count),
        "pass how many parts you want",
      );
    return this.split(Math.max(1, Math.ceil(shape[at]! / count)), at);
  }

  /**
   * A view of each position along an axis, which goes away.
   * @throws ShapeError for an axis out of range
   */
  unbind(axis = 0): this[] {
    const { shape } = live(this, "unbind").layout,
      at = normalizeAxis("unbind", axis, shape.length);
    return Array.from({ length: shape[at]! }, (_, i) => this.select(at, i));
  }

  /**
   * Views along the first dimension, which goes away, each made when it is asked for and owned by
   * the scope that is current then.
   * @throws ShapeError for a 0-d tensor
   * @example
   * ```ts
   * using x = zeros([2, 3]);
   * for (using row of x) row.fill_(1);
   * console.log(await x.toArray()); // → [ [ 1, 1, 1 ], [ 1, 1, 1 ] ]
   * ```
   */
  *[Symbol.iterator](): IterableIterator<this> {
    const { shape } = live(this, "iterator").layout;
    if (shape.length === 0)
      throw new ShapeError(
        "iterator",
        "a tensor with a dimension to go along",
        formatShape(shape),
        "read its number with await t.item(), and compare tensors by toArray()",
      );
    for (let i = 0; i < shape[0]!; i++) yield this.select(0, i);
  }
}

/** `f(2, 3)` and `f([2, 3])` alike. */
export function dims(list: readonly number[] | readonly [readonly number[]]): readonly number[] {
  return Array.isArray(list[0]) ? (list[0] as readonly number[]) : (list as readonly number[]);
}

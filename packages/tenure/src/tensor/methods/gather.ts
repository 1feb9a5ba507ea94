/**
 * Picking elements by index as methods, named as in PyTorch. One dispatch each, or a few;
 * intermediates are freed here.
 */
import { DTypeError, ShapeError } from "../../base/errors.ts";
import { formatShape, normalizeAxis } from "../../base/shape.ts";
import * as G from "../../ops/gather.ts";
import { unslice } from "../../ops/views.ts";
import { composed } from "../../ownership/scoped.ts";
import { type Wrapping, call, live } from "../call.ts";
import { ReduceMethods } from "./reduce.ts";

/** Elements by their positions. */
export abstract class GatherMethods extends ReduceMethods {
  /**
   * Rows of the first axis by int32 or uint32 indices of any shape; negative ones count from the
   * end, one out of range gives NaN.
   * @throws DTypeError unless indices are integers, ShapeError for a 0-d tensor
   */
  index(indices: this): this {
    checkIndex("index", indices);
    if (live(this, "index").layout.shape.length === 0)
      throw new ShapeError(
        "index",
        "a tensor with at least one dimension",
        "[]",
        "reshape it first",
      );
    return composed(
      () =>
        call(G.take, [this, indices.reshape(-1)], { axis: 0 }).reshape([
          ...indices.shape,
          ...this.shape.slice(1),
        ]),
      "index",
    );
  }

  /**
   * Positions of an axis by a list of indices, which takes its place.
   * @throws DTypeError unless indices are integers, ShapeError unless they are a list and the axis
   *   exists
   * @example
   * ```ts
   * using x = tensor([10, 20, 30]);
   * using at = tensor([2, 0], { dtype: "int32" });
   * using y = x.indexSelect(0, at);
   * console.log(await y.toArray()); // → [ 30, 10 ]
   * ```
   */
  indexSelect(axis: number, indices: this): this {
    checkIndex("indexSelect", indices);
    return call(G.take, [this, indices], {
      axis: normalizeAxis("indexSelect", axis, live(this, "indexSelect").layout.shape.length),
    });
  }

  /**
   * `out[i][j] = this[i][indices[i][j]]` along the last axis of a matrix; likewise for any axis and
   * rank.
   * @throws DTypeError unless indices are integers, ShapeError for other ranks, larger sizes off
   *   the axis, or an axis out of range
   */
  gather(axis: number, indices: this): this {
    checkIndex("gather", indices);
    return call(G.gather, [this, indices], {
      axis: normalizeAxis("gather", axis, live(this, "gather").layout.shape.length),
    });
  }

  /**
   * Plus each element of `source` at its index along an axis; equal indices add up in a fixed
   * order.
   * @throws DTypeError unless indices are integers and source has this dtype, ShapeError for other
   *   ranks, larger sizes, or an axis out of range
   */
  scatterAdd(axis: number, indices: this, source: this): this {
    checkIndex("scatterAdd", indices);
    const { shape } = live(this, "scatterAdd").layout,
      given = live(source, "scatterAdd").layout.shape,
      at = normalizeAxis("scatterAdd", axis, shape.length),
      small = indices.shape;
    if (
      small.length !== shape.length ||
      given.length !== shape.length ||
      small.some((d, i) => d > given[i]! || (i !== at && d > shape[i]!))
    ) {
      throw new ShapeError(
        "scatterAdd",
        `indices of rank ${shape.length}, no larger than the source and, off axis ${axis}, ` +
          `than ${formatShape(shape)}`,
        `${formatShape(small)} and ${formatShape(given)}`,
        "check the axis",
      );
    }
    return composed(() => {
      const values = small.reduce((t, d, i) => (t.shape[i] === d ? t : t.slice(i, 0, d)), source);
      if (small.every((d, i) => i === at || d === shape[i]))
        return G.addAt<this>(call, this, indices, values, at);
      const corner = small.reduce<this>(
        (t, d, i) => (i === at || t.shape[i] === d ? t : t.slice(i, 0, d)),
        this,
      );
      let added = G.addAt<this>(call, corner, indices, values, at).sub(corner);
      small.forEach((d, i) => {
        if (i !== at)
          added = call(unslice, [added], {
            axis: i,
            start: 0,
            end: d,
            step: 1,
            shape: added.shape.map((n, k) => (k === i ? shape[i]! : n)),
          });
      });
      return this.add(added);
    }, "scatterAdd");
  }
}

/** @throws DTypeError for indices that are no whole numbers */
export function checkIndex(op: string, indices: Wrapping): void {
  const { dtype } = live(indices, op);
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

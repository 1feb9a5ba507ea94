/**
 * Picking by index and scattering back. `gather` and `scatterAdd` are each other's gradient, so
 * both differentiate any number of times. Indices are int32 or uint32; negative ones count from the
 * end; one out of range reads NaN (0 in integer tensors) and scatters nowhere. Run by
 * `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, sameShape } from "../base/shape.ts";
import { alongAxis } from "../kernels/shapes.ts";
import type { View } from "../kernels/kernel.ts";
import { withSize } from "./concat.ts";
import { constant } from "./creation.ts";
import { type OpDef, type Run, type Value, defineOp } from "./op.ts";
import type { AxisAttrs } from "./reduce.ts";
import { type RunOf, orderOf } from "./sorting.ts";
import { expand, reshape, unslice } from "./views.ts";

/** @throws DTypeError unless the view holds positions. */
function checkIndices(op: string, v: View): void {
  if (v.dtype !== "int32" && v.dtype !== "uint32")
    throw new DTypeError(op, "int32 or uint32 indices", v.dtype, 'cast them with to("int32")');
}

/** Up to this many indices along the axis, scatter-add looks at all of them instead of sorting. */
const scanLimit = 64;

/**
 * x at indices along one axis: out[i][j] = x[i][indices[i][j]] for the last axis of a matrix.
 * Inputs: x; indices of the same rank, not larger than x off the axis. Output: shape of the
 * indices.
 */
export const gather: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View, View]>({
  name: "gather",
  facts: {},
  family: "sequences",
  saves: { inputs: [1] },
  infer: ([x, indices], { axis }) => {
    const a = x.layout.shape,
      b = indices.layout.shape;
    checkIndices("gather", indices);
    if (a.length !== b.length || b.some((d, i) => i !== axis && d > at(a, i)))
      throw new ShapeError(
        "gather",
        `indices of rank ${a.length}, off axis ${axis} no larger than ${formatShape(a)}`,
        formatShape(b),
        "use indexSelect for a list of positions",
      );
    return [{ shape: b, dtype: x.dtype }];
  },
  key: ({ axis }) => [axis],
  kernel: ([x, indices], _, { axis }, caps, kernels) =>
    kernels.gatherKernel({ input: x, indices, axis }, caps),
  vjp: ({ grad, input, metas, attrs: { axis }, run }) => [
    scatterInto(run, at(metas, 0).shape, grad, input(1), axis),
    null,
  ],
});

/** Zeros of `shape` plus `source` at `indices` (of one shape) along an axis. */
function scatterInto(run: Run, shape: Shape, source: Value, indices: Value, axis: number): Value {
  const near = withSize(source.shape, axis, at(shape, axis));
  let out = addAt(
    run,
    run(expand, [constant(run, 0, source.dtype)], { shape: near }),
    indices,
    source,
    axis,
  );
  shape.forEach((d, i) => {
    if (out.shape[i] !== d)
      out = run(unslice, [out], {
        axis: i,
        start: 0,
        end: at(out.shape, i),
        step: 1,
        shape: withSize(out.shape, i, d),
      });
  });
  return out;
}

/** start + source at indices, by scanning or by sorting. */
export function addAt<V extends Value>(
  run: RunOf<V>,
  start: V,
  indices: V,
  source: V,
  axis: number,
): V {
  if (at(indices.shape, axis) <= scanLimit)
    return run(scatterAdd, [start, indices, source], { axis });
  return run(
    scatterAddSorted,
    [start, indices, orderOf(run, indices, { axis, descending: false }), source],
    { axis },
  );
}

function inferScatter(
  op: string,
  start: View,
  indices: View,
  source: View,
  axis: number,
): { shape: Shape; dtype: DType }[] {
  const a = start.layout.shape,
    b = indices.layout.shape;
  checkIndices(op, indices);
  if (start.dtype !== source.dtype)
    throw new DTypeError(op, `a source of dtype ${start.dtype}`, source.dtype, "cast it first");
  if (start.dtype === "bool") throw new DTypeError(op, "numbers", "bool", "cast to int32 first");
  if (!sameShape(b, source.layout.shape) || !sameShape(withSize(a, axis, 0), withSize(b, axis, 0)))
    throw new ShapeError(
      op,
      `indices and source of one shape that fits ${formatShape(a)} off axis ${axis}`,
      `${formatShape(b)} and ${formatShape(source.layout.shape)}`,
      "slice or expand them first",
    );
  return [{ shape: a, dtype: start.dtype }];
}

/**
 * start plus each source element at its index along an axis; equal indices add up in order of
 * position, deterministically. Inputs: start, indices, source.
 */
export const scatterAdd: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View, View, View]>({
  name: "scatterAdd",
  facts: { reduces: true },
  family: "sequences",
  saves: { inputs: [1] },
  infer: ([start, indices, source], { axis }) =>
    inferScatter("scatterAdd", start, indices, source, axis),
  key: ({ axis }) => [axis],
  kernel: ([start, indices, source], _, { axis }, caps, kernels) =>
    kernels.scatterAddKernel({ start, indices, source, axis }, caps),
  flops: ([start, indices], _, { axis }) => start.layout.size * at(indices.layout.shape, axis),
  vjp: ({ grad, input, needs, attrs, run }) => [
    grad,
    null,
    needs(2) ? run(gather, [grad, input(1)], attrs) : null,
  ],
});

/**
 * scatterAdd with the order of the indices given, for many of them: each position finds its own by
 * binary search. Inputs: start, indices, their order along the axis, source.
 */
export const scatterAddSorted: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View, View, View, View]>({
  name: "scatterAddSorted",
  facts: { reduces: true },
  family: "sequences",
  saves: { inputs: [1] },
  infer: ([start, indices, , source], { axis }) =>
    inferScatter("scatterAdd", start, indices, source, axis),
  key: ({ axis }) => [axis],
  kernel: ([start, indices, order, source], _, { axis }, caps, kernels) =>
    kernels.scatterAddKernel({ start, indices, order, source, axis }, caps),
  flops: ([start, , , source]) => start.layout.size + source.layout.size,
  vjp: ({ grad, input, needs, attrs, run }) => [
    grad,
    null,
    null,
    needs(3) ? run(gather, [grad, input(1)], attrs) : null,
  ],
});

/**
 * Positions of an axis by a list of indices, as rows of an embedding table. Inputs: x; a list of
 * indices. The list takes the place of the axis.
 */
export const take: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View, View], [View]>({
  name: "take",
  facts: {},
  family: "sequences",
  saves: { inputs: [1] },
  infer: ([x, indices], { axis }) => {
    checkIndices("indexSelect", indices);
    if (indices.layout.shape.length !== 1)
      throw new ShapeError(
        "indexSelect",
        "a list of indices",
        formatShape(indices.layout.shape),
        "flatten them first",
      );
    return [{ shape: withSize(x.layout.shape, axis, at(indices.layout.shape, 0)), dtype: x.dtype }];
  },
  key: ({ axis }) => [axis],
  kernel: ([x, indices], [y], { axis }, caps, kernels) =>
    kernels.gatherKernel(
      {
        input: x,
        indices: {
          dtype: indices.dtype,
          layout: alongAxis(indices.layout, y.layout.shape, axis),
        },
        axis,
      },
      caps,
    ),
  vjp: ({ grad, input, metas, attrs: { axis }, run }) => {
    const list = input(1),
      n = at(list.shape, 0),
      { shape } = at(metas, 0),
      lines = shape.map((_, i) => (i === axis ? n : 1));
    // One order serves all lines: it is a view repeated over them.
    const over = (v: Value): Value =>
      run(expand, [run(reshape, [v], { shape: lines })], { shape: grad.shape });
    const zeros = run(expand, [constant(run, 0, grad.dtype)], { shape });
    if (n <= scanLimit) return [run(scatterAdd, [zeros, over(list), grad], { axis }), null];
    return [
      run(
        scatterAddSorted,
        [zeros, over(list), over(orderOf(run, list, { axis: 0, descending: false })), grad],
        { axis },
      ),
      null,
    ];
  },
});

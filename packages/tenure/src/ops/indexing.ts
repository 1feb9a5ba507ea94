/**
 * Joining, picking by index, and scattering back. `gather` and `scatterAdd` are each other's
 * gradient, so both differentiate any number of times. Indices are int32 or uint32; negative ones
 * count from the end; one out of range reads NaN (0 in integer tensors) and scatters nowhere.
 * Called through the runtime's door.
 */
import type { DType } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, sameShape } from "../base/shape.ts";
import {
  alongAxis,
  concatKernel,
  flipKernel,
  gatherKernel,
  scatterAddKernel,
} from "../kernels/gather.ts";
import type { View } from "../kernels/kernel.ts";
import { pickGroups, pickKernel, pickLimit } from "../kernels/pick.ts";
import { mergeBlocksKernel, sortBlock, sortBlocksKernel } from "../kernels/sort.ts";
import { constant } from "./creation.ts";
import { copy } from "./casting.ts";
import { type OpDef, type Run, type Value, defineOp } from "./op.ts";
import type { AxisAttrs } from "./reduce.ts";
import { expand, reshape, slice, unslice } from "./views.ts";

/** Runs ops on gradient values or on tensors. */
export type RunOf<V extends Value> = <A>(
  op: OpDef<A>,
  inputs: readonly V[],
  attrs: A,
  words?: readonly number[],
) => V;

/** @throws DTypeError unless the view holds positions. */
function checkIndices(op: string, v: View): void {
  if (v.dtype !== "int32" && v.dtype !== "uint32")
    throw new DTypeError(op, "int32 or uint32 indices", v.dtype, 'cast them with to("int32")');
}

/** `shape` with another size along an axis. */
function withSize(shape: Shape, axis: number, size: number): number[] {
  return shape.map((d, i) => (i === axis ? size : d));
}

// === Joining ===

/** Inputs of one dtype that differ along the axis only; at most as many as the device binds. */
export const concat: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "concat",
  doc: "Tensors one after the other along an axis.",
  facts: {},
  infer: (inputs, { axis }) => {
    const first = inputs[0]!;
    for (const v of inputs) {
      if (v.dtype !== first.dtype)
        throw new DTypeError(
          "concat",
          "tensors of one dtype",
          `${first.dtype} and ${v.dtype}`,
          "cast them first",
        );
      if (!sameShape(withSize(v.layout.shape, axis, 0), withSize(first.layout.shape, axis, 0)))
        throw new ShapeError(
          "concat",
          `shapes that differ along axis ${axis} only`,
          `${formatShape(first.layout.shape)} and ${formatShape(v.layout.shape)}`,
          "check the axis",
        );
    }
    return [
      {
        shape: withSize(
          first.layout.shape,
          axis,
          inputs.reduce((n, v) => n + v.layout.shape[axis]!, 0),
        ),
        dtype: first.dtype,
      },
    ];
  },
  key: ({ axis }) => [axis],
  kernel: (inputs, [y], { axis }, caps) =>
    concatKernel({ inputs, shape: y!.layout.shape, axis }, caps),
  vjp: ({ grad, metas, needs, attrs: { axis }, run }) => {
    let at = 0;
    return metas.map((m, i) => {
      const start = at;
      at += m.shape[axis]!;
      return needs(i) ? run(slice, [grad], { axis, start, end: at, step: 1 }) : null;
    });
  },
});

export const flip: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "flip",
  doc: "Elements in reverse order along an axis.",
  facts: {},
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: x!.dtype }],
  key: ({ axis }) => [axis],
  kernel: ([x], _, { axis }, caps) => flipKernel({ input: x!, axis }, caps),
  vjp: ({ grad, attrs, run }) => [run(flip, [grad], attrs)],
});

// === Order ===

export interface SortAttrs {
  readonly axis: number;
  readonly descending: boolean;
}

/** Sorted within blocks of `sortBlock` elements; `mergeBlocks` does the rest. */
export const sortBlocks: OpDef<SortAttrs> = defineOp<SortAttrs>({
  name: "sortBlocks",
  doc: "Positions along an axis that sort each block of 32 elements, stable; NaN counts as largest.",
  facts: {},
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: "int32" }],
  key: ({ axis, descending }) => [axis, descending ? 1 : 0],
  kernel: ([x], _, { axis, descending }, caps) =>
    sortBlocksKernel({ input: x!, axis, descending }, caps),
  flops: ([x], _, { axis }) => x!.layout.size * Math.min(x!.layout.shape[axis]!, sortBlock),
});

export const mergeBlocks: OpDef<SortAttrs & { readonly width: number }> = defineOp<
  SortAttrs & { readonly width: number }
>({
  name: "mergeBlocks",
  doc: "Merges pairs of sorted blocks: inputs are the elements and their positions in order within blocks of a width.",
  facts: {},
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: "int32" }],
  key: ({ axis, descending, width }) => [axis, descending ? 1 : 0, width],
  kernel: ([x, order], _, attrs, caps) =>
    mergeBlocksKernel({ ...attrs, input: x!, order: order! }, caps),
  flops: ([x], _, { width }) => x!.layout.size * Math.ceil(Math.log2(width)),
});

export interface PickAttrs extends SortAttrs {
  readonly count: number;
  readonly groups: number;
}

/** Inputs: x, and the candidates' positions unless all are. */
export const pick: OpDef<PickAttrs> = defineOp<PickAttrs>({
  name: "pick",
  doc: "Positions of the first few of each group of an axis in sorted order, stable; NaN counts as largest. Candidate j belongs to group j mod groups.",
  facts: {},
  infer: ([x], { axis, count, groups }) => [
    { shape: withSize(x!.layout.shape, axis, count * groups), dtype: "int32" },
  ],
  key: ({ axis, descending, count, groups }) => [axis, descending ? 1 : 0, count, groups],
  kernel: ([x, candidates], _, attrs, caps) =>
    pickKernel({ ...attrs, input: x!, ...(candidates === undefined ? {} : { candidates }) }, caps),
  flops: ([x, candidates]) => (candidates ?? x!).layout.size,
});

/**
 * The first `count` positions in the stable order along an axis, int32. Sorts everything only for
 * many of them.
 */
export function firstOf<V extends Value>(run: RunOf<V>, x: V, attrs: SortAttrs, count: number): V {
  const { axis } = attrs,
    size = x.shape[axis]!;
  if (count === 0 || count > pickLimit)
    return run(
      copy,
      [run(slice, [orderOf(run, x, attrs)], { axis, start: 0, end: count, step: 1 })],
      undefined,
    );
  let groups = pickGroups(size, count),
    best = run(pick, [x], { ...attrs, count, groups });
  while (groups > 1) {
    groups = pickGroups(groups * count, count);
    best = run(pick, [x, best], { ...attrs, count, groups });
  }
  return best;
}

/** The stable order along an axis: int32 positions. */
export function orderOf<V extends Value>(run: RunOf<V>, x: V, attrs: SortAttrs): V {
  let order = run(sortBlocks, [x], attrs);
  for (let width = sortBlock; width < x.shape[attrs.axis]!; width *= 2)
    order = run(mergeBlocks, [x, order], { ...attrs, width });
  return order;
}

// === By index ===

/** Up to this many indices along the axis, scatter-add looks at all of them instead of sorting. */
const scanLimit = 64;

/**
 * Inputs: x; indices of the same rank, not larger than x off the axis. Output: shape of the
 * indices.
 */
export const gather: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "gather",
  doc: "x at indices along one axis: out[i][j] = x[i][indices[i][j]] for the last axis of a matrix.",
  facts: {},
  saves: { inputs: [1] },
  infer: ([x, indices], { axis }) => {
    const a = x!.layout.shape,
      b = indices!.layout.shape;
    checkIndices("gather", indices!);
    if (a.length !== b.length || b.some((d, i) => i !== axis && d > a[i]!))
      throw new ShapeError(
        "gather",
        `indices of rank ${a.length}, off axis ${axis} no larger than ${formatShape(a)}`,
        formatShape(b),
        "use indexSelect for a list of positions",
      );
    return [{ shape: b, dtype: x!.dtype }];
  },
  key: ({ axis }) => [axis],
  kernel: ([x, indices], _, { axis }, caps) =>
    gatherKernel({ input: x!, indices: indices!, axis }, caps),
  vjp: ({ grad, input, metas, attrs: { axis }, run }) => [
    scatterInto(run, metas[0]!.shape, grad, input(1), axis),
    null,
  ],
});

/** Zeros of `shape` plus `source` at `indices` (of one shape) along an axis. */
function scatterInto(run: Run, shape: Shape, source: Value, indices: Value, axis: number): Value {
  const near = withSize(source.shape, axis, shape[axis]!);
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
        end: out.shape[i]!,
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
  if (indices.shape[axis]! <= scanLimit) return run(scatterAdd, [start, indices, source], { axis });
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

/** Inputs: start, indices, source. */
export const scatterAdd: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "scatterAdd",
  doc: "start plus each source element at its index along an axis; equal indices add up in order of position, deterministically.",
  facts: { reduces: true },
  saves: { inputs: [1] },
  infer: ([start, indices, source], { axis }) =>
    inferScatter("scatterAdd", start!, indices!, source!, axis),
  key: ({ axis }) => [axis],
  kernel: ([start, indices, source], _, { axis }, caps) =>
    scatterAddKernel({ start: start!, indices: indices!, source: source!, axis }, caps),
  flops: ([start, indices], _, { axis }) => start!.layout.size * indices!.layout.shape[axis]!,
  vjp: ({ grad, input, needs, attrs, run }) => [
    grad,
    null,
    needs(2) ? run(gather, [grad, input(1)], attrs) : null,
  ],
});

/** Inputs: start, indices, their order along the axis, source. */
export const scatterAddSorted: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "scatterAddSorted",
  doc: "scatterAdd with the order of the indices given, for many of them: each position finds its own by binary search.",
  facts: { reduces: true },
  saves: { inputs: [1] },
  infer: ([start, indices, , source], { axis }) =>
    inferScatter("scatterAdd", start!, indices!, source!, axis),
  key: ({ axis }) => [axis],
  kernel: ([start, indices, order, source], _, { axis }, caps) =>
    scatterAddKernel(
      { start: start!, indices: indices!, order: order!, source: source!, axis },
      caps,
    ),
  flops: ([start, , , source]) => start!.layout.size + source!.layout.size,
  vjp: ({ grad, input, needs, attrs, run }) => [
    grad,
    null,
    null,
    needs(3) ? run(gather, [grad, input(1)], attrs) : null,
  ],
});

/** Inputs: x; a list of indices. The list takes the place of the axis. */
export const take: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "take",
  doc: "Positions of an axis by a list of indices, as rows of an embedding table.",
  facts: {},
  saves: { inputs: [1] },
  infer: ([x, indices], { axis }) => {
    checkIndices("indexSelect", indices!);
    if (indices!.layout.shape.length !== 1)
      throw new ShapeError(
        "indexSelect",
        "a list of indices",
        formatShape(indices!.layout.shape),
        "flatten them first",
      );
    return [{ shape: withSize(x!.layout.shape, axis, indices!.layout.shape[0]!), dtype: x!.dtype }];
  },
  key: ({ axis }) => [axis],
  kernel: ([x, indices], [y], { axis }, caps) =>
    gatherKernel(
      {
        input: x!,
        indices: {
          dtype: indices!.dtype,
          layout: alongAxis(indices!.layout, y!.layout.shape, axis),
        },
        axis,
      },
      caps,
    ),
  vjp: ({ grad, input, metas, attrs: { axis }, run }) => {
    const list = input(1),
      n = list.shape[0]!,
      { shape } = metas[0]!,
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

/** @throws ArgumentError unless there is something to join. */
export function checkSome(op: string, count: number): void {
  if (count === 0) throw new ArgumentError(op, "at least one tensor", "an empty list");
}

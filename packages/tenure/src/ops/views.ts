/**
 * Views: other layouts over the same storage. They cost nothing and are recorded nowhere; only
 * their gradients may compute. Run by `tensor/run.ts`.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { ShapeError } from "../base/errors.ts";
import {
  type Layout,
  broadcastLayout,
  permuteLayout,
  reshapeLayout,
  sliceLayout,
} from "../base/layout.ts";
import {
  type Shape,
  broadcastShapes,
  checkShape,
  formatShape,
  sameShape,
  sizeOf,
} from "../base/shape.ts";
import { type OpDef, defineOp } from "./op.ts";

const view = { viewOf: 0 } as const;

/**
 * A shape with at most one -1, filled in so that it holds `size` elements. @throws ShapeError when
 * it cannot.
 */
export function resolveShape(op: string, shape: readonly number[], from: Shape): Shape {
  // says what is wrong
  if (!(Array.isArray as (value: unknown) => boolean)(shape)) checkShape(op, shape);
  const size = sizeOf(from),
    hole = shape.indexOf(-1);
  if (hole === -1) {
    checkShape(op, shape);
    if (sizeOf(shape) !== size)
      throw new ShapeError(
        op,
        `a shape of ${size} elements, as in ${formatShape(from)}`,
        `${formatShape(shape)} with ${sizeOf(shape)}`,
        "use -1 for the dimension that should adapt",
      );
    return shape;
  }
  if (shape.indexOf(-1, hole + 1) !== -1)
    throw new ShapeError(op, "at most one -1", formatShape(shape), "give all dimensions but one");
  const rest = checkShape(
    op,
    shape.filter((_, i) => i !== hole),
  ).reduce((n, d) => n * d, 1);
  if (rest === 0 || size % rest !== 0)
    throw new ShapeError(
      op,
      `dimensions that divide ${size} elements of ${formatShape(from)}`,
      formatShape(shape),
      "check the other dimensions",
    );
  return shape.map((d) => (d === -1 ? size / rest : d));
}

/**
 * The same elements in row-major order under another shape. Copies only when strides cannot express
 * it.
 */
export const reshape: OpDef<{ shape: Shape }> = defineOp<{ shape: Shape }, [View]>({
  name: "reshape",
  facts: view,
  infer: ([x], { shape }) => [
    { shape: resolveShape("reshape", shape, x.layout.shape), dtype: x.dtype },
  ],
  view: (layout, { shape }) => reshapeLayout(layout, resolveShape("reshape", shape, layout.shape)),
  vjp: ({ grad, metas, run }) => [run(reshape, [grad], { shape: at(metas, 0).shape })],
});

/** Dimensions in another order. */
export const permute: OpDef<{ order: readonly number[] }> = defineOp<
  { order: readonly number[] },
  [View]
>({
  name: "permute",
  facts: view,
  infer: ([x], { order }) => {
    const { shape } = x.layout;
    if (order.length !== shape.length || [...order].sort((a, b) => a - b).some((d, i) => d !== i))
      throw new ShapeError(
        "permute",
        `each of the ${shape.length} dimensions once`,
        `[${order.join(",")}]`,
        "list every dimension, counted from 0",
      );
    return [{ shape: order.map((i) => at(shape, i)), dtype: x.dtype }];
  },
  view: (layout, { order }) => permuteLayout(layout, order),
  vjp: ({ grad, attrs, run }) => {
    const inverse = attrs.order.map((_, i) => attrs.order.indexOf(i));
    return [run(permute, [grad], { order: inverse })];
  },
});

/** Dimensions of 1 repeated to `shape` without copying. */
export const expand: OpDef<{ shape: Shape }> = defineOp<{ shape: Shape }, [View]>({
  name: "expand",
  facts: view,
  infer: ([x], { shape }) => {
    checkShape("expand", shape);
    if (!sameShape(broadcastShapes("expand", x.layout.shape, shape), shape))
      throw new ShapeError(
        "expand",
        `a shape that ${formatShape(x.layout.shape)} broadcasts to`,
        formatShape(shape),
        "only dimensions of 1 can be repeated",
      );
    return [{ shape, dtype: x.dtype }];
  },
  view: (layout, { shape }) => broadcastLayout(layout, shape),
  vjp: ({ grad }) => [grad], // summed back by the caller, as for every broadcast
});

/** Positions from `start` up to `end`, every `step`-th, along one axis. */
export interface SliceAttrs {
  readonly axis: number;
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/**
 * Positions start, start + step, … below end along one axis; negative positions count from the end.
 */
export const slice: OpDef<SliceAttrs> = defineOp<SliceAttrs, [View]>({
  name: "slice",
  facts: view,
  infer: ([x], attrs) => [{ shape: sliceOf(x.layout, attrs).shape, dtype: x.dtype }],
  view: (layout, attrs) => sliceOf(layout, attrs),
  vjp: ({ grad, metas, attrs, run }) => [
    run(unslice, [grad], { ...attrs, shape: at(metas, 0).shape }),
  ],
});

function sliceOf(layout: Layout, { axis, start, end, step }: SliceAttrs): Layout {
  return sliceLayout("slice", layout, axis, start, end, step);
}

/** The gradient of slice: zeros of `shape` with the input at the sliced positions. */
export const unslice: OpDef<SliceAttrs & { shape: Shape }> = defineOp<
  SliceAttrs & { shape: Shape },
  [View],
  [View]
>({
  name: "unslice",
  facts: {},
  family: "sequences",
  infer: ([x], { shape }) => [{ shape, dtype: x.dtype }],
  key: ({ axis, start, end, step, shape }) => [axis, start, end, step, ...shape],
  kernel: ([x], [y], attrs, caps, kernels) => {
    const dim = at(attrs.shape, attrs.axis);
    const from = Math.min(Math.max(attrs.start < 0 ? attrs.start + dim : attrs.start, 0), dim);
    return kernels.unsliceKernel(
      { input: x, output: y, axis: attrs.axis, from, step: attrs.step },
      caps,
    );
  },
  contiguousInputs: [0],
  vjp: ({ grad, attrs: { axis, start, end, step }, run }) => [
    run(slice, [grad], { axis, start, end, step }),
  ],
});

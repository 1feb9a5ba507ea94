/**
 * Tensors put one after the other, and turned around, along an axis. Run by `tensor/run.ts`;
 * records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { checkArray } from "../base/options.ts";
import { type Shape, formatShape, sameShape } from "../base/shape.ts";
import { type OpDef, defineOp } from "./op.ts";
import type { AxisAttrs } from "./reduce.ts";
import { slice } from "./views.ts";

/** `shape` with another size along an axis. */
export function withSize(shape: Shape, axis: number, size: number): number[] {
  return shape.map((d, i) => (i === axis ? size : d));
}

/**
 * Tensors one after the other along an axis. Inputs of one dtype that differ along the axis only;
 * at most as many as the device binds.
 */
export const concat: OpDef<AxisAttrs> = defineOp<AxisAttrs, readonly View[], [View]>({
  name: "concat",
  facts: {},
  family: "sequences",
  infer: (inputs, { axis }) => {
    const first = at(inputs, 0);
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
          inputs.reduce((n, v) => n + at(v.layout.shape, axis), 0),
        ),
        dtype: first.dtype,
      },
    ];
  },
  key: ({ axis }) => [axis],
  kernel: (inputs, [y], { axis }, caps, kernels) =>
    kernels.concatKernel({ inputs, shape: y.layout.shape, axis }, caps),
  vjp: ({ grad, metas, needs, attrs: { axis }, run }) => {
    let end = 0;
    return metas.map((m, i) => {
      const start = end;
      end += at(m.shape, axis);
      return needs(i) ? run(slice, [grad], { axis, start, end, step: 1 }) : null;
    });
  },
});

/** Elements in reverse order along an axis. */
export const flip: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View]>({
  name: "flip",
  facts: {},
  family: "sequences",
  infer: ([x]) => [{ shape: x.layout.shape, dtype: x.dtype }],
  key: ({ axis }) => [axis],
  kernel: ([x], _, { axis }, caps, kernels) => kernels.flipKernel({ input: x, axis }, caps),
  vjp: ({ grad, attrs, run }) => [run(flip, [grad], attrs)],
});

/** @throws ArgumentError unless there is something to join. */
export function checkSome(op: string, list: readonly unknown[]): void {
  checkArray(op, "tensors", list);
  if (list.length === 0)
    throw new ArgumentError(op, "at least one tensor", "an empty list", "pass the tensors to join");
}

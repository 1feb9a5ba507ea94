/**
 * Borders around images and other tensors. The gradient cuts the border off and folds it back where
 * it was mirrored or repeated. Run by `tensor/run.ts`; records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import type { PadMode } from "../kernels/pad.ts";
import { add } from "./arithmetic.ts";
import { flip } from "./concat.ts";
import { type OpDef, type Run, type Value, defineOp } from "./op.ts";
import { sum } from "./reduce.ts";
import { slice, unslice } from "./views.ts";

/** The border of a padded tensor. */
export interface PadAttrs {
  /** Elements added in front of and behind each dimension, 0 or more. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly mode: PadMode;
}

const modes: readonly PadMode[] = ["constant", "reflect", "replicate"];

/**
 * A border of a constant, of the tensor mirrored without its edge, or of its edge repeated. Scalar:
 * the constant, in x's dtype; 0 for the other modes.
 */
export const pad: OpDef<PadAttrs> = defineOp<PadAttrs, [View], [View]>({
  name: "pad",
  facts: {},
  family: "sequences",
  infer: ([x], { before, after, mode }) => {
    const { shape } = x.layout;
    for (const [i, d] of shape.entries()) {
      const most = Math.max(at(before, i), at(after, i));
      if (
        (mode === "reflect" && most >= Math.max(d, 1)) ||
        (mode === "replicate" && d === 0 && most > 0)
      )
        throw new ShapeError(
          "pad",
          mode === "reflect"
            ? `a border narrower than dimension ${i} of ${formatShape(shape)}`
            : "an edge to repeat",
          mode === "reflect" ? String(most) : formatShape(shape),
          "pad in steps, or use another mode",
        );
    }
    return [{ shape: shape.map((d, i) => at(before, i) + d + at(after, i)), dtype: x.dtype }];
  },
  key: ({ before, after, mode }) => [modes.indexOf(mode), ...before, ...after],
  kernel: ([x], [y], { before, mode }, caps, kernels) =>
    kernels.padKernel({ input: x, output: y, before, mode }, caps),
  vjp: ({ grad, metas, attrs, run }) => [
    attrs.before.reduce(
      (g, b, axis) =>
        b + at(attrs.after, axis) === 0
          ? g
          : fold(run, g, axis, b, at(attrs.after, axis), at(at(metas, 0).shape, axis), attrs.mode),
      grad,
    ),
  ],
});

/** What one axis of the border hands back: nothing, its mirror image, or its sum. */
function fold(
  run: Run,
  g: Value,
  axis: number,
  before: number,
  after: number,
  size: number,
  mode: PadMode,
): Value {
  const cut = (start: number, end: number): Value => run(slice, [g], { axis, start, end, step: 1 });
  let out = cut(before, before + size);
  const give = (piece: Value, at: number, count: number): void => {
    out = run(
      add,
      [out, run(unslice, [piece], { axis, start: at, end: at + count, step: 1, shape: out.shape })],
      undefined,
    );
  };
  const edge = (start: number, end: number, mirroredAt: number, repeatedAt: number): void => {
    if (start === end || mode === "constant") return;
    if (mode === "reflect") give(run(flip, [cut(start, end)], { axis }), mirroredAt, end - start);
    else give(run(sum, [cut(start, end)], { axes: [axis], keepDims: true }), repeatedAt, 1);
  };
  edge(0, before, 1, 0);
  edge(before + size, before + size + after, size - 1 - after, size - 1);
  return out;
}

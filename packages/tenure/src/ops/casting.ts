/**
 * Conversions and copies: another dtype, a storage of one's own, the contents of another tensor.
 * Run by `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import { type DType, dtypeCode, isFloat, computeType } from "../base/dtype.ts";
import { ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape, sameShape } from "../base/shape.ts";
import { f32Bits, type View } from "../kernels/kernel.ts";
import { mulScalar } from "./arithmetic.ts";
import { type OpDef, defineOp } from "./op.ts";
import { castHelpers, casts, typed } from "./typing.ts";

/**
 * Converts elements to another dtype; NaN becomes 0 in integers, floats are truncated toward zero
 * and clamped to range.
 */
export const cast: OpDef<{ dtype: DType }> = defineOp<{ dtype: DType }, [View]>({
  name: "cast",
  facts: { elementwise: true },
  infer: ([x], { dtype }) => [{ shape: x.layout.shape, dtype }],
  key: ({ dtype }) => [dtypeCode(dtype)],
  expression: (inputs, { dtype }) => {
    const from = computeType(at(inputs, 0).dtype);
    return typed(inputs, from, { from, dtype }, "x", []);
  },
  vjp: ({ grad, metas, run }) => [
    isFloat(at(metas, 0).dtype) ? run(cast, [grad], { dtype: at(metas, 0).dtype }) : null,
  ],
});

/** The same elements, contiguous in a storage of their own. */
export const copy: OpDef = defineOp<undefined, [View]>({
  name: "copy",
  facts: { elementwise: true },
  infer: ([x]) => [{ shape: x.layout.shape, dtype: x.dtype }],
  expression: () => ({ body: "r0 = a0;" }),
  vjp: ({ grad }) => [grad],
});

/** Overwrites the first input with the second, broadcast and converted to its dtype. */
export const assign: OpDef = defineOp<undefined, [View, View]>({
  name: "copy_",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false, overwrites: true },
  infer: ([target, source]) => {
    const shape = broadcastShapes("copy_", target.layout.shape, source.layout.shape);
    if (!sameShape(shape, target.layout.shape))
      throw new ShapeError(
        "copy_",
        `a source that broadcasts to ${formatShape(target.layout.shape)}`,
        formatShape(source.layout.shape),
        "reshape the source",
      );
    return [{ shape: target.layout.shape, dtype: target.dtype }];
  },
  expression: ([target, source]) => {
    const from = computeType(source.dtype),
      to = computeType(target.dtype);
    return { body: `r0 = ${casts[to]("a1", from)};`, helpers: castHelpers(to, from) };
  },
  vjp: ({ grad, metas, run }) => [
    run(mulScalar, [grad], { dtype: grad.dtype, reverse: false }, [f32Bits(0)]),
    isFloat(at(metas, 1).dtype) ? grad : null,
  ],
});

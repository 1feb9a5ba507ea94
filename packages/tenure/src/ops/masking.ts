/**
 * Numbers written where a mask is true, and triangles of matrices. Run by `tensor/run.ts`; records
 * own nothing.
 */
import { computeType } from "../base/dtype.ts";
import type { View } from "../kernels/kernel.ts";
import { f32Bits } from "../base/bits.ts";
import { ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape } from "../base/shape.ts";
import { withInplace } from "./builders.ts";
import { type OpDef, defineOp } from "./op.ts";
import { castHelpers, casts } from "./typing.ts";

/**
 * A number where the mask is true (not 0), x elsewhere. Inputs: x, mask. Scalar: the value, in x's
 * dtype.
 */
export const maskedFill: OpDef = withInplace({
  name: "maskedFill",
  facts: { elementwise: true },
  saves: { inputs: [1] },
  infer: ([x, mask]) => [
    { shape: broadcastShapes("maskedFill", x!.layout.shape, mask!.layout.shape), dtype: x!.dtype },
  ],
  expression: ([x, mask]) => {
    const type = computeType(x!.dtype),
      from = computeType(mask!.dtype);
    return {
      body: `r0 = select(a0, ${type === "bool" ? "s0 != 0u" : "s0"}, ${casts.bool("a1", from)});`,
      helpers: castHelpers("bool", from),
      scalars: [{ type: type === "bool" ? "u32" : type }],
    };
  },
  vjp: ({ grad, input, run }) => [run(maskedFill, [grad, input(1)], undefined, [f32Bits(0)]), null],
});

/**
 * Each matrix with zeros above a diagonal, or below it. Scalars: rows and columns of each matrix,
 * and the diagonal.
 */
export const band: OpDef<{ readonly upper: boolean }> = defineOp<
  { readonly upper: boolean },
  [View]
>({
  name: "band",
  facts: { elementwise: true, indexed: true },
  infer: ([x]) => {
    if (x.layout.shape.length < 2)
      throw new ShapeError(
        "tril",
        "matrices [..., rows, columns]",
        formatShape(x.layout.shape),
        "reshape it",
      );
    return [{ shape: x.layout.shape, dtype: x.dtype }];
  },
  key: ({ upper }) => [upper ? 1 : 0],
  expression: ([x], { upper }) => {
    const type = computeType(x.dtype);
    return {
      body:
        "let column = i32(idx % s1);\nlet row = i32((idx / s1) % s0);\n" +
        `r0 = select(${type === "bool" ? "false" : `${type}(0)`}, a0, column - row ` +
        `${upper ? ">=" : "<="} s2);`,
      scalars: [{ type: "u32" }, { type: "u32" }, { type: "i32" }],
      needsIndex: true,
    };
  },
  vjp: ({ grad, attrs, scalars, run }) => [run(band, [grad], attrs, scalars)],
});

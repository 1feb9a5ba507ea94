/**
 * Counter-based random numbers: draws and dropout that a program replays exactly. Run by
 * `tensor/run.ts`; records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { type DType, dtypeCode, isFloat } from "../base/dtype.ts";
import { DTypeError } from "../base/errors.ts";
import { type OpDef, defineOp } from "./op.ts";

/** Shape and dtype of the drawn tensor. */
export interface RandomAttrs {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly distribution: "uniform" | "normal";
}

/**
 * Independent draws from [0, 1) or the standard normal. No inputs. Scalars: seed (two numbers) and
 * stream. Element `i` is a pure function of seed, stream and `i`.
 */
export const random: OpDef<RandomAttrs> = defineOp<RandomAttrs>({
  name: "random",
  facts: { elementwise: true, random: true, indexed: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  key: ({ shape, dtype, distribution }) => [
    dtypeCode(dtype),
    distribution === "normal" ? 1 : 0,
    ...shape,
  ],
  expression: (_, { distribution }) => ({
    body: "r0 = drawn0;",
    scalars: [{ type: "u32" }, { type: "u32" }, { type: "u32" }],
    draws: distribution,
  }),
});

/**
 * Zeroes elements at random and scales the rest by 1/keep, so that the mean stays. Scalars: seed
 * (two numbers), stream, keep probability. The gradient draws the same mask again from the same
 * scalars.
 */
export const dropout: OpDef = defineOp<undefined, [View]>({
  name: "dropout",
  facts: { elementwise: true, random: true, indexed: true },
  infer: ([x]) => {
    if (!isFloat(x.dtype))
      throw new DTypeError("dropout", "a float tensor", x.dtype, "cast it to float32");
    return [{ shape: x.layout.shape, dtype: x.dtype }];
  },
  expression: () => ({
    body: "r0 = select(0.0, a0 / s3, drawn0 < s3);",
    scalars: [{ type: "u32" }, { type: "u32" }, { type: "u32" }, { type: "f32" }],
    draws: "uniform",
  }),
  vjp: ({ grad, run, scalars }) => [run(dropout, [grad], undefined, scalars)],
});

/**
 * Tensors from nothing: one number everywhere, or an arithmetic progression. Run by
 * `tensor/run.ts`; records own nothing.
 */
import { type DType, dtypeCode, computeType } from "../base/dtype.ts";
import { type OpDef, type Run, type Value, defineOp } from "./op.ts";
import { scalarBits, scalarType } from "./typing.ts";

/** A constant of a value's shape by broadcasting: a 0-d tensor. */
export function constant(run: Run, value: number, dtype: DType = "float32"): Value {
  return run(fill, [], { shape: [], dtype }, [scalarBits(value, dtype)]);
}

/** Shape and dtype of the new tensor. */
export interface FillAttrs {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** Every element the same number. No inputs. */
export const fill: OpDef<FillAttrs> = defineOp<FillAttrs>({
  name: "fill",
  facts: { elementwise: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  key: ({ shape, dtype }) => [dtypeCode(dtype), ...shape],
  expression: (_, { dtype }) => ({
    body: computeType(dtype) === "bool" ? "r0 = s0 != 0u;" : "r0 = s0;",
    scalars: [{ type: scalarType(dtype) }],
  }),
});

/** start + i·step at linear position i. No inputs. */
export const arange: OpDef<FillAttrs> = defineOp<FillAttrs>({
  name: "arange",
  facts: { elementwise: true, indexed: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  key: ({ shape, dtype }) => [dtypeCode(dtype), ...shape],
  expression: (_, { dtype }) => {
    const t = scalarType(dtype);
    return {
      body: `r0 = s0 + ${t}(idx) * s1;`,
      scalars: [{ type: t }, { type: t }],
      needsIndex: true,
    };
  },
});

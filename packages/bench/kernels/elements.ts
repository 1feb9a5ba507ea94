/** Elementwise kernels: additions of several shapes, and a copy that transposes. */
import { permuteLayout, contiguousLayout } from "../../tenure/src/base/layout.ts";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import { elementwiseKernel } from "../../tenure/src/kernels/elementwise.ts";
import type { DeviceCaps } from "../../tenure/src/kernels/kernel.ts";
import { view } from "../../tenure/test/gpu/kernels/harness.ts";

import { type Case, naive } from "./case.ts";

/** `a + b`, where `bIndex` says which element of `b` the i-th of the result takes. */
export const addCase = (
  caps: DeviceCaps,
  name: string,
  shape: readonly number[],
  b: readonly number[],
  bIndex: string,
): Case => ({
  name,
  sizes: [sizeOf(shape), sizeOf(b), sizeOf(shape)],
  work: 4 * (2 * sizeOf(shape) + sizeOf(b)),
  unit: "GB/s",
  kernel: elementwiseKernel(
    {
      shape,
      operands: [
        { view: view(shape), binding: 0 },
        { view: view(b), binding: 1 },
      ],
      outputs: [{ dtype: "float32", binding: 2 }],
      bindings: ["read", "read", "read_write"],
      name: "add",
      body: "r0 = a0 + a1;",
    },
    caps,
  ),
  naive: naive(2, sizeOf(shape), `b2[i] = b0[i] + b1[${bIndex}];`),
});

/** A copy of a transposed matrix. */
export function transposeCase(caps: DeviceCaps): Case {
  const transposed = view(permuteLayout(contiguousLayout([2048, 2048]), [1, 0]));
  return {
    name: "transpose copy [2048,2048]",
    sizes: [1 << 22, 1 << 22],
    work: 8 << 22,
    unit: "GB/s",
    kernel: elementwiseKernel(
      {
        shape: [2048, 2048],
        operands: [{ view: transposed, binding: 0 }],
        outputs: [{ dtype: "float32", binding: 1 }],
        bindings: ["read", "read_write"],
        name: "copy",
        body: "r0 = a0;",
      },
      caps,
    ),
    naive: naive(1, 1 << 22, "b1[i] = b0[(i % 2048u) * 2048u + i / 2048u];"),
  };
}

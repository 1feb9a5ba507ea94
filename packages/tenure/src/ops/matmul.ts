/**
 * The matrix product: batched, broadcast over leading dimensions, transposed views for free. Run by
 * `tensor/run.ts`.
 */
import { matmulShape } from "../kernels/shapes.ts";
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape } from "../base/shape.ts";
import { type OpDef, type Run, type Value, after, defineOp } from "./op.ts";
import { permute } from "./views.ts";

/** The last two dimensions swapped. */
export function transposed(run: Run, x: Value): Value {
  const n = x.shape.length;
  return run(permute, [x], {
    order: [...Array.from({ length: n - 2 }, (_, i) => i), n - 1, n - 2],
  });
}

/**
 * Matrix product of [..., M, K] and [..., K, N]; leading dimensions broadcast. a [..., M, K] × b
 * [..., K, N] → [..., M, N].
 */
export const matmul: OpDef = defineOp<undefined, [View, View], [View]>({
  name: "matmul",
  facts: { epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([a, b]) => {
    const x = a.layout.shape,
      y = b.layout.shape;
    if (x.length < 2 || y.length < 2)
      throw new ShapeError(
        "matmul",
        "two tensors of rank 2 or more",
        `${formatShape(x)} and ${formatShape(y)}`,
        "reshape a vector to [1, n] or [n, 1]",
      );
    if (x.at(-1) !== y.at(-2))
      throw new ShapeError(
        "matmul",
        "equal inner dimensions",
        `a ${formatShape(x)} and b ${formatShape(y)}`,
        x.at(-1) === y.at(-1)
          ? "transpose b?"
          : x.at(-2) === y.at(-2)
            ? "transpose a?"
            : "check the shapes",
      );
    broadcastShapes("matmul", x.slice(0, -2), y.slice(0, -2));
    if (a.dtype !== b.dtype)
      throw new DTypeError(
        "matmul",
        "operands of one dtype",
        `${a.dtype} and ${b.dtype}`,
        "cast one of them",
      );
    if (a.dtype === "bool")
      throw new DTypeError("matmul", "numbers", "bool", "cast to float32 or int32");
    return [{ shape: matmulShape(x, y), dtype: a.dtype }];
  },
  family: "main",
  kernel: ([a, b], _, __, caps, kernels, around) =>
    kernels.matmulKernel({ a: a, b: b, ...after(around) }, caps),
  flops: ([a], [y]) => 2 * y.layout.size * a.layout.shape.at(-1)!,
  vjp: ({ grad, input, metas, needs, run }) => [
    needs(0) && isFloat(at(metas, 0).dtype)
      ? run(matmul, [grad, transposed(run, input(1))], undefined)
      : null,
    // A transposed weight gets its gradient in the layout it has itself: nothing has to be copied.
    needs(1) && isFloat(at(metas, 1).dtype)
      ? at(metas, 1).columns === true
        ? transposed(run, run(matmul, [transposed(run, grad), input(0)], undefined))
        : run(matmul, [transposed(run, input(0)), grad], undefined)
      : null,
  ],
});

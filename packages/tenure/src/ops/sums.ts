/**
 * Sums that never put their terms into memory: of products, of squared deviations, of exponentials.
 * Run by `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import { isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape, reducedShape, sameShape } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { mul, mul2, mulScalar, neg, scale, sub } from "./arithmetic.ts";
import { exp } from "./exponentials.ts";
import { type OpDef, type Value, after, defineOp } from "./op.ts";
import { type AxisAttrs, type ReduceAttrs, expandBack } from "./reduce.ts";

/** Refuses inputs that are not floats. @throws DTypeError */
export function checkFloats(op: string, inputs: readonly View[]): void {
  for (const v of inputs)
    if (!isFloat(v.dtype))
      throw new DTypeError(op, "float tensors", v.dtype, "cast them to float32");
}

/** Σ a·b over axes, without the products in memory. Inputs: a, b of one shape and dtype. */
export const sumOfProducts: OpDef<ReduceAttrs> = defineOp<ReduceAttrs, [View, View], [View]>({
  name: "sumOfProducts",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([a, b], { axes, keepDims }) => {
    if (!sameShape(a.layout.shape, b.layout.shape))
      throw new ShapeError(
        "sumOfProducts",
        "two tensors of one shape",
        `${formatShape(a.layout.shape)} and ${formatShape(b.layout.shape)}`,
        "expand one of them",
      );
    if (a.dtype !== b.dtype || a.dtype === "bool")
      throw new DTypeError(
        "sumOfProducts",
        "numbers of one dtype",
        `${a.dtype} and ${b.dtype}`,
        "cast one of them",
      );
    return [{ shape: reducedShape(a.layout.shape, axes, keepDims), dtype: a.dtype }];
  },
  key: ({ axes, keepDims }) => [keepDims ? 1 : 0, ...axes],
  family: "main",
  kernel: ([a, b], [y], { axes }, caps, kernels, around) =>
    kernels.reduceKernel(
      {
        ...after(around),
        op: "sum",
        input: a,
        axes,
        outDtype: y.dtype,
        before: {
          operands: [
            { view: a, binding: 0 },
            { view: b, binding: 1 },
          ],
          dtype: isFloat(a.dtype) ? "float32" : a.dtype,
          body: "r0 = a0 * a1;",
        },
      },
      caps,
    ),
  flops: ([a]) => 2 * a.layout.size,
  vjp: ({ grad, input, metas, needs, attrs, run }) => {
    const g = expandBack(run, grad, at(metas, 0).shape, attrs.axes);
    return [
      needs(0) ? run(mul, [g, input(1)], undefined) : null,
      needs(1) ? run(mul, [g, input(0)], undefined) : null,
    ];
  },
});

/**
 * factor·Σ (x - centre)² over axes, without the differences in memory. Inputs: x, a centre that
 * broadcasts to it. Scalar: a factor.
 */
export const squaredDeviation: OpDef<ReduceAttrs> = defineOp<ReduceAttrs, [View, View], [View]>({
  name: "squaredDeviation",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([x, centre], { axes, keepDims }) => {
    checkFloats("squaredDeviation", [x, centre]);
    if (
      !sameShape(
        broadcastShapes("squaredDeviation", x.layout.shape, centre.layout.shape),
        x.layout.shape,
      )
    )
      throw new ShapeError(
        "squaredDeviation",
        `a centre that broadcasts to ${formatShape(x.layout.shape)}`,
        formatShape(centre.layout.shape),
        "keep the reduced dimensions",
      );
    return [{ shape: reducedShape(x.layout.shape, axes, keepDims), dtype: x.dtype }];
  },
  key: ({ axes, keepDims }) => [keepDims ? 1 : 0, ...axes],
  family: "main",
  kernel: ([x, centre], [y], { axes }, caps, kernels, around) =>
    kernels.reduceKernel(
      {
        ...after(around),
        op: "sum",
        input: x,
        axes,
        outDtype: y.dtype,
        before: {
          operands: [
            { view: x, binding: 0 },
            { view: centre, binding: 1 },
          ],
          dtype: "float32",
          body: "let d = a0 - a1;\nr0 = s0 * d * d;",
          scalars: [{ type: "f32" }],
        },
      },
      caps,
    ),
  flops: ([x]) => 3 * x.layout.size,
  vjp: ({ grad, input, metas, needs, attrs, scalars, run }) => {
    const twice = scale(
      run,
      run(mulScalar, [grad], { dtype: grad.dtype, reverse: false }, scalars),
      2,
    );
    const g = run(
      mul,
      [
        expandBack(run, twice, at(metas, 0).shape, attrs.axes),
        run(sub, [input(0), input(1)], undefined),
      ],
      undefined,
    );
    return [g, needs(1) ? run(neg, [g], undefined) : null];
  },
});

/** log Σ exp(x) along an axis, without overflow. */
export const logSumExp: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View]>({
  name: "logSumExp",
  facts: { reduces: true, epilogue: true },
  family: "sequences",
  saves: { inputs: [0], output: true },
  infer: ([x], { axis }) => {
    checkFloats("logSumExp", [x]);
    return [{ shape: reducedShape(x.layout.shape, [axis], false), dtype: x.dtype }];
  },
  key: ({ axis }) => [axis],
  kernel: ([x], _, { axis }, caps, kernels, around) =>
    kernels.logSumExpKernel({ ...after(around), input: x, axis }, caps),
  flops: ([x]) => 4 * x.layout.size,
  vjp: ({ grad, input, output, metas, attrs: { axis }, run }) => {
    const over = (v: Value): Value => expandBack(run, v, at(metas, 0).shape, [axis]);
    return [
      mul2(run, over(grad), run(exp, [run(sub, [input(0), over(output())], undefined)], undefined)),
    ];
  },
});

/**
 * Batch normalisation: two reductions and one elementwise op each way. Run by `tensor/run.ts`;
 * records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { f32Bits, fromBits } from "../base/bits.ts";
import { reducedShape, sizeOf } from "../base/shape.ts";
import { addConst, mul2, sub } from "./arithmetic.ts";
import { centredGrad, inferNorm, spread } from "./normalize.ts";
import { type OpDef, type Value, type VjpContext, after, defineOp } from "./op.ts";
import { rsqrt } from "./powers.ts";
import { mean, sum } from "./reduce.ts";

/**
 * `axes` are those the statistics were taken over; `training`: mean and variance are x's own, so
 * the gradient goes through them.
 */
export interface BatchNormAttrs {
  readonly axes: readonly number[];
  readonly training: boolean;
}

/**
 * Σ grad·(x - mean) / sqrt(variance + eps) over axes, kept as 1: the gradient of batch norm's
 * weight. Inputs: grad, x, mean, variance. Scalar: eps.
 */
export const batchNormScaleGrad: OpDef<BatchNormAttrs> = defineOp<BatchNormAttrs, [View], [View]>({
  name: "batchNormScaleGrad",
  facts: { reduces: true, epilogue: true },
  infer: ([g], { axes }) => [{ shape: reducedShape(g.layout.shape, axes, true), dtype: g.dtype }],
  key: ({ axes }) => axes,
  family: "main",
  kernel: (inputs, [y], { axes }, caps, kernels, around) =>
    kernels.reduceKernel(
      {
        ...after(around),
        op: "sum",
        input: at(inputs, 0),
        axes,
        outDtype: y.dtype,
        before: {
          operands: inputs.map((view, binding) => ({ view, binding })),
          dtype: "float32",
          body: "r0 = a0 * (a1 - a2) / sqrt(a3 + s0);",
          scalars: [{ type: "f32" }],
        },
      },
      caps,
    ),
  flops: ([g]) => 5 * g.layout.size,
});

/**
 * Gradient of batch norm in training for its input. Inputs: grad, x, mean, variance, Σ grad, Σ
 * grad·normalised x, [weight]. Scalars: eps, 1 / count.
 */
export const batchNormBackward: OpDef = defineOp<undefined, [View]>({
  name: "batchNormBackward",
  facts: { elementwise: true },
  infer: ([g]) => [{ shape: g.layout.shape, dtype: g.dtype }],
  expression: (inputs) => ({
    body:
      `let k = 1.0 / sqrt(a3 + s0);\nr0 = ${inputs.length > 6 ? "a6 * " : ""}k * (a0 - s1 * ` +
      "(a4 + (a1 - a2) * k * a5));",
    scalars: [{ type: "f32" }, { type: "f32" }],
  }),
});

/**
 * (x - mean) / sqrt(variance + eps)·weight + bias, with mean and variance given. Inputs: x, mean,
 * variance, [weight, [bias]], all but x of a shape that broadcasts. Scalar: eps.
 */
export const batchNorm: OpDef<BatchNormAttrs> = defineOp<BatchNormAttrs>({
  name: "batchNorm",
  facts: { elementwise: true },
  saves: { inputs: [0, 1, 2, 3] },
  infer: (inputs) => inferNorm("batchNorm", inputs),
  key: ({ axes, training }) => [training ? 1 : 0, ...axes],
  expression: (inputs) => ({
    body:
      "r0 = (a0 - a1) / sqrt(a2 + " +
      `s0)${inputs.length > 3 ? " * a3" : ""}${inputs.length > 4 ? " + a4" : ""};`,
    scalars: [{ type: "f32" }],
  }),
  vjp: batchNormVjp,
});

function batchNormVjp(context: VjpContext<BatchNormAttrs>): readonly (Value | null)[] {
  if (context.recorded) return batchNormAgain(context);
  const { grad, input, metas, needs, attrs, scalars, run } = context;
  const { axes, training } = attrs,
    [x, mean, variance] = [input(0), input(1), input(2)],
    weight = metas.length > 3 ? [input(3)] : [];
  const flat = training || needs(4) ? run(sum, [grad], { axes, keepDims: true }) : null;
  const tilt =
    training || needs(3)
      ? run(batchNormScaleGrad, [grad, x, mean, variance], attrs, scalars)
      : null;
  let forInput: Value | null = null;
  if (needs(0)) {
    const count = sizeOf(axes.map((a) => at(at(metas, 0).shape, a))),
      eps = fromBits(at(scalars, 0));
    forInput = training
      ? run(batchNormBackward, [grad, x, mean, variance, flat!, tilt!, ...weight], undefined, [
          at(scalars, 0),
          f32Bits(1 / count),
        ])
      : weight.reduce(
          (g, w) => mul2(run, g, w),
          mul2(run, grad, run(rsqrt, [addConst(run, variance, eps)], undefined)),
        );
  }
  return [forInput, null, null, tilt, flat].slice(0, metas.length);
}

/**
 * batchNormVjp from ops that have gradients. In training, mean and variance are computed from x
 * again: the gradient's gradient goes through them too.
 */
function batchNormAgain({
  grad,
  input,
  metas,
  needs,
  attrs: { axes, training },
  scalars,
  run,
}: VjpContext<BatchNormAttrs>): readonly (Value | null)[] {
  const x = input(0),
    centre = training ? run(mean, [x], { axes, keepDims: true }) : input(1),
    variance = training ? spread(run, x, axes, false) : input(2);
  const root = run(rsqrt, [addConst(run, variance, fromBits(at(scalars, 0)))], undefined),
    y = mul2(run, run(sub, [x, centre], undefined), root);
  const weighted = metas.length > 3 ? mul2(run, grad, input(3)) : grad;
  // The caller sums the last two to the shapes of weight and bias.
  return [
    needs(0)
      ? training
        ? centredGrad(run, weighted, y, root, axes, false)
        : mul2(run, weighted, root)
      : null,
    null,
    null,
    needs(3) ? mul2(run, grad, y) : null,
    grad,
  ].slice(0, metas.length);
}

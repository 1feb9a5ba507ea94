/**
 * Layer and RMS normalisation, one dispatch each way. Run by `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import { f32Bits } from "../base/bits.ts";
import type { DType } from "../base/dtype.ts";
import { ShapeError } from "../base/errors.ts";
import { type Shape, broadcastShapes, formatShape, sameShape, sizeOf } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { addConst, mul, mul2, scale, sub } from "./arithmetic.ts";
import { type OpDef, type Run, type Value, after, defineOp } from "./op.ts";
import { rsqrt } from "./powers.ts";
import { type AxisAttrs, mean } from "./reduce.ts";
import { checkFloats, squaredDeviation, sumOfProducts } from "./sums.ts";

/** The axis that is normalised, what is added to the variance, and whether the mean stays. */
export interface NormAttrs extends AxisAttrs {
  readonly eps: number;
  readonly rms: boolean;
}

const normKey = ({ axis, eps, rms }: NormAttrs): number[] => [axis, f32Bits(eps), rms ? 1 : 0];

/** Checks that weight and bias broadcast to the input. @throws ShapeError, DTypeError */
export function inferNorm(name: string, inputs: readonly View[]): { shape: Shape; dtype: DType }[] {
  checkFloats(name, inputs);
  const { shape } = at(inputs, 0).layout;
  for (const v of inputs)
    if (!sameShape(broadcastShapes(name, shape, v.layout.shape), shape))
      throw new ShapeError(
        name,
        `a weight and a bias that broadcast to ${formatShape(shape)}`,
        formatShape(v.layout.shape),
        "check the normalised shape",
      );
  return [{ shape, dtype: at(inputs, 0).dtype }];
}

/** Gradient of `normalize` for its input. Inputs: x, gradient, weight if there is one. */
export const normalizeBackward: OpDef<NormAttrs> = defineOp<NormAttrs, [View]>({
  name: "normalizeBackward",
  facts: { reduces: true, epilogue: true },
  family: "sequences",
  infer: (inputs) => inferNorm("normalizeBackward", inputs),
  key: normKey,
  kernel: (inputs, _, { axis, eps, rms }, caps, kernels, around) =>
    kernels.normalizeBackwardKernel({ ...after(around), inputs, axis, eps, rms }, caps),
  flops: ([x]) => 12 * x.layout.size,
});

/**
 * Each row along an axis scaled to mean 0 and variance 1 (or only to mean square 1), times a
 * weight, plus a bias. Inputs: x, and optionally weight, and bias.
 */
export const normalize: OpDef<NormAttrs> = defineOp<NormAttrs, [View]>({
  name: "normalize",
  facts: { reduces: true, epilogue: true },
  family: "sequences",
  saves: { inputs: [0, 1] },
  infer: (inputs) => inferNorm("normalize", inputs),
  key: normKey,
  kernel: (inputs, _, { axis, eps, rms }, caps, kernels, around) =>
    kernels.normalizeKernel({ ...after(around), inputs, axis, eps, rms }, caps),
  flops: ([x]) => 8 * x.layout.size,
  vjp: ({ grad, input, metas, needs, attrs, recorded, run }) =>
    [
      needs(0)
        ? recorded
          ? normalizeAgain(run, input(0), grad, metas.length > 1 ? input(1) : null, attrs)
          : run(normalizeBackward, [input(0), grad, ...(metas.length > 1 ? [input(1)] : [])], attrs)
        : null,
      metas.length > 1 && needs(1)
        ? run(mul, [grad, run(normalize, [input(0)], attrs)], undefined)
        : null, // summed to the weight's shape by the caller
      grad,
    ].slice(0, metas.length),
});

/**
 * The gradient of a normalisation for its input, from ops that have gradients: root·(g - mean(g) -
 * y·mean(g·y)) with y normalised; without the first mean for rms.
 */
export function centredGrad(
  run: Run,
  g: Value,
  y: Value,
  root: Value,
  axes: readonly number[],
  rms: boolean,
): Value {
  const average = (v: Value): Value => run(mean, [v], { axes, keepDims: true }),
    tilt = mul2(run, y, average(mul2(run, g, y)));
  return mul2(
    run,
    root,
    run(sub, [rms ? g : run(sub, [g, average(g)], undefined), tilt], undefined),
  );
}

/** Σ (x - mean)² / n over axes, kept as 1; Σ x² / n for rms. */
export function spread(run: Run, x: Value, axes: readonly number[], rms: boolean): Value {
  const share = 1 / sizeOf(axes.map((a) => at(x.shape, a)));
  if (rms) return scale(run, run(sumOfProducts, [x, x], { axes, keepDims: true }), share);
  return run(
    squaredDeviation,
    [x, run(mean, [x], { axes, keepDims: true })],
    { axes, keepDims: true },
    [f32Bits(share)],
  );
}

/** What normalizeBackward computes, from ops that have gradients. */
function normalizeAgain(
  run: Run,
  x: Value,
  grad: Value,
  weight: Value | null,
  attrs: NormAttrs,
): Value {
  const { axis, eps, rms } = attrs,
    root = run(rsqrt, [addConst(run, spread(run, x, [axis], rms), eps)], undefined);
  return centredGrad(
    run,
    weight === null ? grad : mul2(run, grad, weight),
    run(normalize, [x], attrs),
    root,
    [axis],
    rms,
  );
}

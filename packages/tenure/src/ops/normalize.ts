/**
 * Normalisations and the sums they rest on. Layer and RMS norm are one dispatch each way; batch
 * norm is two reductions and one elementwise op each way. Called through the runtime's door.
 */
import { f32Bits, fromBits } from "../base/bits.ts";
import { type DType, isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import {
  type Shape,
  broadcastShapes,
  formatShape,
  reducedShape,
  sameShape,
  sizeOf,
} from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { logSumExpKernel, normalizeBackwardKernel, normalizeKernel } from "../kernels/normalize.ts";
import { reduceKernel } from "../kernels/reduce.ts";
import { exp } from "./exponentials.ts";
import { mul, mul2, mulScalar, neg, addConst, scale, sub } from "./arithmetic.ts";
import { rsqrt } from "./powers.ts";
import { type OpDef, type Run, type Value, type VjpContext, after, defineOp } from "./op.ts";
import { type AxisAttrs, type ReduceAttrs, mean, stretch, sum } from "./reduce.ts";

function checkFloats(op: string, inputs: readonly View[]): void {
  for (const v of inputs)
    if (!isFloat(v.dtype))
      throw new DTypeError(op, "float tensors", v.dtype, "cast them to float32");
}

// === Sums of products ===

/** Inputs: a, b of one shape and dtype. */
export const sumOfProducts: OpDef<ReduceAttrs> = defineOp<ReduceAttrs>({
  name: "sumOfProducts",
  doc: "Σ a·b over axes, without the products in memory.",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([a, b], { axes, keepDims }) => {
    if (!sameShape(a!.layout.shape, b!.layout.shape))
      throw new ShapeError(
        "sumOfProducts",
        "two tensors of one shape",
        `${formatShape(a!.layout.shape)} and ${formatShape(b!.layout.shape)}`,
        "expand one of them",
      );
    if (a!.dtype !== b!.dtype || a!.dtype === "bool")
      throw new DTypeError(
        "sumOfProducts",
        "numbers of one dtype",
        `${a!.dtype} and ${b!.dtype}`,
        "cast one of them",
      );
    return [{ shape: reducedShape(a!.layout.shape, axes, keepDims), dtype: a!.dtype }];
  },
  key: ({ axes, keepDims }) => [keepDims ? 1 : 0, ...axes],
  kernel: ([a, b], [y], { axes }, caps, around) =>
    reduceKernel(
      {
        ...after(around),
        op: "sum",
        input: a!,
        axes,
        outDtype: y!.dtype,
        before: {
          operands: [
            { view: a!, binding: 0 },
            { view: b!, binding: 1 },
          ],
          dtype: isFloat(a!.dtype) ? "float32" : a!.dtype,
          body: "r0 = a0 * a1;",
        },
      },
      caps,
    ),
  flops: ([a]) => 2 * a!.layout.size,
  vjp: ({ grad, input, metas, needs, attrs, run }) => {
    const g = stretch(run, grad, metas[0]!.shape, attrs.axes);
    return [
      needs(0) ? run(mul, [g, input(1)], undefined) : null,
      needs(1) ? run(mul, [g, input(0)], undefined) : null,
    ];
  },
});

/** Inputs: x, a centre that broadcasts to it. Scalar: a factor. */
export const squaredDeviation: OpDef<ReduceAttrs> = defineOp<ReduceAttrs>({
  name: "squaredDeviation",
  doc: "factor·Σ (x - centre)² over axes, without the differences in memory.",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([x, centre], { axes, keepDims }) => {
    checkFloats("squaredDeviation", [x!, centre!]);
    if (
      !sameShape(
        broadcastShapes("squaredDeviation", x!.layout.shape, centre!.layout.shape),
        x!.layout.shape,
      )
    )
      throw new ShapeError(
        "squaredDeviation",
        `a centre that broadcasts to ${formatShape(x!.layout.shape)}`,
        formatShape(centre!.layout.shape),
      );
    return [{ shape: reducedShape(x!.layout.shape, axes, keepDims), dtype: x!.dtype }];
  },
  key: ({ axes, keepDims }) => [keepDims ? 1 : 0, ...axes],
  kernel: ([x, centre], [y], { axes }, caps, around) =>
    reduceKernel(
      {
        ...after(around),
        op: "sum",
        input: x!,
        axes,
        outDtype: y!.dtype,
        before: {
          operands: [
            { view: x!, binding: 0 },
            { view: centre!, binding: 1 },
          ],
          dtype: "float32",
          body: "let d = a0 - a1;\nr0 = s0 * d * d;",
          scalars: [{ type: "f32" }],
        },
      },
      caps,
    ),
  flops: ([x]) => 3 * x!.layout.size,
  vjp: ({ grad, input, metas, needs, attrs, words, run }) => {
    const twice = scale(
      run,
      run(mulScalar, [grad], { dtype: grad.dtype, reverse: false }, words),
      2,
    );
    const g = run(
      mul,
      [stretch(run, twice, metas[0]!.shape, attrs.axes), run(sub, [input(0), input(1)], undefined)],
      undefined,
    );
    return [g, needs(1) ? run(neg, [g], undefined) : null];
  },
});

export const logSumExp: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "logSumExp",
  doc: "log Σ exp(x) along an axis, without overflow.",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0], output: true },
  infer: ([x], { axis }) => {
    checkFloats("logSumExp", [x!]);
    return [{ shape: reducedShape(x!.layout.shape, [axis], false), dtype: x!.dtype }];
  },
  key: ({ axis }) => [axis],
  kernel: ([x], _, { axis }, caps, around) =>
    logSumExpKernel({ ...after(around), input: x!, axis }, caps),
  flops: ([x]) => 4 * x!.layout.size,
  vjp: ({ grad, input, output, metas, attrs: { axis }, run }) => {
    const over = (v: Value): Value => stretch(run, v, metas[0]!.shape, [axis]);
    return [
      mul2(run, over(grad), run(exp, [run(sub, [input(0), over(output())], undefined)], undefined)),
    ];
  },
});

// === Layer and RMS norm ===

export interface NormAttrs extends AxisAttrs {
  readonly eps: number;
  readonly rms: boolean;
}
const normKey = ({ axis, eps, rms }: NormAttrs): number[] => [axis, f32Bits(eps), rms ? 1 : 0];

function inferNorm(name: string, inputs: readonly View[]): { shape: Shape; dtype: DType }[] {
  checkFloats(name, inputs);
  const { shape } = inputs[0]!.layout;
  for (const v of inputs)
    if (!sameShape(broadcastShapes(name, shape, v.layout.shape), shape))
      throw new ShapeError(
        name,
        `a weight and a bias that broadcast to ${formatShape(shape)}`,
        formatShape(v.layout.shape),
        "check the normalised shape",
      );
  return [{ shape, dtype: inputs[0]!.dtype }];
}

const normalizeBackward: OpDef<NormAttrs> = defineOp<NormAttrs>({
  name: "normalizeBackward",
  doc: "Gradient of normalize for its input, from the input, the output's gradient and the weight.",
  facts: { reduces: true, epilogue: true },
  infer: (inputs) => inferNorm("normalizeBackward", inputs),
  key: normKey,
  kernel: (inputs, _, { axis, eps, rms }, caps, around) =>
    normalizeBackwardKernel({ ...after(around), inputs, axis, eps, rms }, caps),
  flops: ([x]) => 12 * x!.layout.size,
});

/** Inputs: x, and optionally weight, and bias. */
export const normalize: OpDef<NormAttrs> = defineOp<NormAttrs>({
  name: "normalize",
  doc: "Each row along an axis scaled to mean 0 and variance 1 (or only to mean square 1), times a weight, plus a bias.",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0, 1] },
  infer: (inputs) => inferNorm("normalize", inputs),
  key: normKey,
  kernel: (inputs, _, { axis, eps, rms }, caps, around) =>
    normalizeKernel({ ...after(around), inputs, axis, eps, rms }, caps),
  flops: ([x]) => 8 * x!.layout.size,
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
function centredGrad(
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
function spread(run: Run, x: Value, axes: readonly number[], rms: boolean): Value {
  const share = 1 / sizeOf(axes.map((a) => x.shape[a]!));
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

// === Batch norm ===

/**
 * `axes` are those the statistics were taken over; `training`: mean and variance are x's own, so
 * the gradient goes through them.
 */
export interface BatchNormAttrs {
  readonly axes: readonly number[];
  readonly training: boolean;
}

/** Inputs: grad, x, mean, variance. Scalar: eps. */
const batchNormScaleGrad: OpDef<BatchNormAttrs> = defineOp<BatchNormAttrs>({
  name: "batchNormScaleGrad",
  doc: "Σ grad·(x - mean) / sqrt(variance + eps) over axes, kept as 1: the gradient of batch norm's weight.",
  facts: { reduces: true, epilogue: true },
  infer: ([g], { axes }) => [{ shape: reducedShape(g!.layout.shape, axes, true), dtype: g!.dtype }],
  key: ({ axes }) => axes,
  kernel: (inputs, [y], { axes }, caps, around) =>
    reduceKernel(
      {
        ...after(around),
        op: "sum",
        input: inputs[0]!,
        axes,
        outDtype: y!.dtype,
        before: {
          operands: inputs.map((view, binding) => ({ view, binding })),
          dtype: "float32",
          body: "r0 = a0 * (a1 - a2) / sqrt(a3 + s0);",
          scalars: [{ type: "f32" }],
        },
      },
      caps,
    ),
  flops: ([g]) => 5 * g!.layout.size,
});

/**
 * Inputs: grad, x, mean, variance, Σ grad, Σ grad·normalised x, [weight]. Scalars: eps, 1 / count.
 */
const batchNormBackward: OpDef = defineOp({
  name: "batchNormBackward",
  doc: "Gradient of batch norm in training for its input.",
  facts: { elementwise: true },
  infer: ([g]) => [{ shape: g!.layout.shape, dtype: g!.dtype }],
  expression: (inputs) => ({
    body: `let k = 1.0 / sqrt(a3 + s0);\nr0 = ${inputs.length > 6 ? "a6 * " : ""}k * (a0 - s1 * (a4 + (a1 - a2) * k * a5));`,
    scalars: [{ type: "f32" }, { type: "f32" }],
  }),
});

/**
 * Inputs: x, mean, variance, [weight, [bias]], all but x of a shape that broadcasts. Scalar: eps.
 */
export const batchNorm: OpDef<BatchNormAttrs> = defineOp<BatchNormAttrs>({
  name: "batchNorm",
  doc: "(x - mean) / sqrt(variance + eps)·weight + bias, with mean and variance given.",
  facts: { elementwise: true },
  saves: { inputs: [0, 1, 2, 3] },
  infer: (inputs) => inferNorm("batchNorm", inputs),
  key: ({ axes, training }) => [training ? 1 : 0, ...axes],
  expression: (inputs) => ({
    body: `r0 = (a0 - a1) / sqrt(a2 + s0)${inputs.length > 3 ? " * a3" : ""}${inputs.length > 4 ? " + a4" : ""};`,
    scalars: [{ type: "f32" }],
  }),
  vjp: batchNormVjp,
});

function batchNormVjp(context: VjpContext<BatchNormAttrs>): readonly (Value | null)[] {
  if (context.recorded) return batchNormAgain(context);
  const { grad, input, metas, needs, attrs, words, run } = context;
  const { axes, training } = attrs,
    [x, mean, variance] = [input(0), input(1), input(2)],
    weight = metas.length > 3 ? [input(3)] : [];
  const flat = training || needs(4) ? run(sum, [grad], { axes, keepDims: true }) : null;
  const tilt =
    training || needs(3) ? run(batchNormScaleGrad, [grad, x, mean, variance], attrs, words) : null;
  let forInput: Value | null = null;
  if (needs(0)) {
    const count = sizeOf(axes.map((a) => metas[0]!.shape[a]!)),
      eps = fromBits(words[0]!);
    forInput = training
      ? run(batchNormBackward, [grad, x, mean, variance, flat!, tilt!, ...weight], undefined, [
          words[0]!,
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
  words,
  run,
}: VjpContext<BatchNormAttrs>): readonly (Value | null)[] {
  const x = input(0),
    centre = training ? run(mean, [x], { axes, keepDims: true }) : input(1),
    variance = training ? spread(run, x, axes, false) : input(2);
  const root = run(rsqrt, [addConst(run, variance, fromBits(words[0]!))], undefined),
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

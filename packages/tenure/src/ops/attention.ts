/**
 * Attention: whole, without stored scores, and its middle, scale, mask and softmax of scores as one
 * op. Letters: L queries, S keys, E features of both, F of values. Run by `tensor/run.ts`; records
 * own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { scoresShape } from "../kernels/shapes.ts";
import { at } from "../base/access.ts";
import { f32Bits } from "../base/bits.ts";
import { isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, broadcastShapes, formatShape, sameShape, sizeOf } from "../base/shape.ts";
import { scale } from "./arithmetic.ts";
import { type OpDef, type Value, type VjpContext, defineOp } from "./op.ts";
import { dropout } from "./draws.ts";
import { matmul, transposed } from "./matmul.ts";
import { softmaxBackward } from "./softmax.ts";

/** The factor on the scores, and whether positions see only themselves and what came before. */
export interface AttentionAttrs {
  readonly scale: number;
  readonly causal: boolean;
}

/** @throws DTypeError, ShapeError for a mask that does not fit scores of a shape */
function checkMask(mask: View | undefined, shape: Shape): void {
  const name = "scaledDotProductAttention";
  if (mask === undefined) return;
  if (!isFloat(mask.dtype) && mask.dtype !== "bool")
    throw new DTypeError(name, "a bool or float mask", mask.dtype, "compare it with 0");
  if (!sameShape(broadcastShapes(name, shape, mask.layout.shape), shape))
    throw new ShapeError(
      name,
      `a mask that broadcasts to the scores ${formatShape(shape)}`,
      formatShape(mask.layout.shape),
      "unsqueeze the heads dimension",
    );
}

/**
 * softmax over the last axis of scale·scores, with a mask (bool: what stays, float: added) and, if
 * causal, no look ahead. Rows without any key are 0. Inputs: scores [..., L, S], and optionally a
 * mask that broadcasts to them.
 */
export const attentionWeights: OpDef<AttentionAttrs> = defineOp<AttentionAttrs, [View, View?]>({
  name: "attentionWeights",
  facts: { reduces: true },
  family: "transformers",
  saves: { output: true },
  infer: ([scores, mask]) => {
    const { shape } = scores.layout;
    if (!isFloat(scores.dtype))
      throw new DTypeError(
        "attentionWeights",
        "float scores",
        scores.dtype,
        "cast them to float32",
      );
    if (shape.length < 2)
      throw new ShapeError(
        "attentionWeights",
        "scores [..., L, S]",
        formatShape(shape),
        "pass one row of scores for each query",
      );
    checkMask(mask, shape);
    return [{ shape, dtype: scores.dtype }];
  },
  key: (attrs) => [f32Bits(attrs.scale), attrs.causal ? 1 : 0],
  kernel: ([scores, mask], _, attrs, caps, kernels) =>
    kernels.attentionWeightsKernel(
      { ...attrs, scores, ...(mask === undefined ? {} : { mask }) },
      caps,
    ),
  flops: ([scores]) => 6 * scores.layout.size,
  vjp: ({ grad, output, metas, needs, attrs, run }) => {
    const g = run(softmaxBackward, [output(), grad], { axis: at(metas, 0).shape.length - 1 });
    // the mask's share is summed to its shape by the caller
    return [needs(0) ? scale(run, g, attrs.scale) : null, g].slice(0, metas.length);
  },
});

/** Attention as a whole. */
export interface FlashAttrs extends AttentionAttrs {
  /** Weights are dropped at random; scalars as for `dropout`. */
  readonly dropout: boolean;
}

const flashKey = ({ scale: factor, causal, dropout: drops }: FlashAttrs): number[] => [
  f32Bits(factor),
  causal ? 1 : 0,
  drops ? 1 : 0,
];

const scoresOf = (query: View, key: View, value: View): Shape =>
  scoresShape(query.layout.shape, key.layout.shape, value.layout.shape);

const features = (v: View): number => at(v.layout.shape.slice(-2), 1);

const maskOf = (mask: View | undefined): { readonly mask?: View } =>
  mask === undefined ? {} : { mask };

/**
 * What the gradients of attention need of each row. Inputs: grad [..., L, F], output [..., L, F],
 * logarithms [..., L]. Output [..., L, 2] in float32.
 */
export const attentionRows: OpDef = defineOp<undefined, [View, View, View]>({
  name: "attentionRows",
  facts: { reduces: true },
  family: "transformers",
  contiguousInputs: [2],
  infer: ([grad]) => [{ shape: [...grad.layout.shape.slice(0, -1), 2], dtype: "float32" }],
  kernel: ([grad, output, sums], _, __, caps, kernels) =>
    kernels.attentionRowsKernel({ grad, output, sums }, caps),
  flops: ([grad]) => 2 * grad.layout.size,
});

type GradInputs = [View, View, View, View, View, View?];

/** Gradient of attention for the query. Inputs: query, key, value, grad, rows, [mask]. */
export const attentionBackwardQuery: OpDef<FlashAttrs> = defineOp<FlashAttrs, GradInputs>({
  name: "attentionBackwardQuery",
  facts: { reduces: true, random: true },
  family: "transformers",
  contiguousInputs: [4],
  infer: ([query, key, value]) => [
    { shape: [...scoresOf(query, key, value).slice(0, -1), features(query)], dtype: query.dtype },
  ],
  key: flashKey,
  kernel: ([query, key, value, grad, rows, mask], _, attrs, caps, kernels) =>
    kernels.flashQueryGradKernel(
      { ...attrs, query, key, value, grad, rows, ...maskOf(mask) },
      caps,
    ),
  flops: ([query, key, value]) =>
    2 * sizeOf(scoresOf(query, key, value)) * (2 * features(query) + features(value)),
});

/** Gradients of attention for key and value. Inputs as for the query. */
export const attentionBackwardKey: OpDef<FlashAttrs> = defineOp<FlashAttrs, GradInputs>({
  name: "attentionBackwardKey",
  facts: { reduces: true, random: true },
  family: "transformers",
  contiguousInputs: [4],
  infer: ([query, key, value]) => {
    const shape = scoresOf(query, key, value);
    const rows = [...shape.slice(0, -2), at(shape, shape.length - 1)];
    return [query, value].map((v) => ({ shape: [...rows, features(v)], dtype: query.dtype }));
  },
  key: flashKey,
  kernel: ([query, key, value, grad, rows, mask], _, attrs, caps, kernels) =>
    kernels.flashKeyGradKernel({ ...attrs, query, key, value, grad, rows, ...maskOf(mask) }, caps),
  flops: ([query, key, value]) =>
    4 * sizeOf(scoresOf(query, key, value)) * (features(query) + features(value)),
});

/**
 * softmax(scale·query·keyᵀ + mask)·value without stored scores. Inputs: query [..., L, E], key
 * [..., S, E], value [..., S, F], [mask]. Outputs: [..., L, F], and the logarithm of each row's sum
 * [..., L]. A float mask gets no gradient. A query that may attend to nothing gives zeros.
 */
export const attention: OpDef<FlashAttrs> = defineOp<FlashAttrs, [View, View, View, View?]>({
  name: "scaledDotProductAttention",
  facts: { reduces: true, random: true },
  family: "transformers",
  saves: { inputs: [0, 1, 2, 3], output: true },
  infer: ([query, key, value, mask]) => {
    const name = "scaledDotProductAttention";
    const dtypes = [query, key, value].map((v) => v.dtype);
    if (!isFloat(query.dtype) || dtypes.some((d) => d !== query.dtype))
      throw new DTypeError(name, "floats of one dtype", dtypes.join(", "), "cast them");
    const scores = scoresOf(query, key, value);
    checkMask(mask, scores);
    const rows = scores.slice(0, -1);
    return [
      { shape: [...rows, features(value)], dtype: query.dtype },
      { shape: rows, dtype: "float32" },
    ];
  },
  key: flashKey,
  kernel: ([query, key, value, mask], _, attrs, caps, kernels) =>
    kernels.flashKernel({ ...attrs, query, key, value, ...maskOf(mask) }, caps),
  flops: ([query, key, value]) =>
    2 * sizeOf(scoresOf(query, key, value)) * (features(query) + features(value)),
  vjp: (context) => (context.recorded ? attendAgain(context) : flashGradients(context)),
});

function flashGradients(c: VjpContext<FlashAttrs>): (Value | null)[] {
  const { attrs, grad, metas, needs, run, runAll, scalars } = c;
  const rows = run(attentionRows, [grad, c.output(), c.output(1)], undefined);
  const mask = metas.length > 3 ? [c.input(3)] : [];
  const inputs = [c.input(0), c.input(1), c.input(2), grad, rows, ...mask];
  const byQuery = needs(0) ? run(attentionBackwardQuery, inputs, attrs, scalars) : null;
  const [byKey = null, byValue = null] =
    needs(1) || needs(2) ? runAll(attentionBackwardKey, inputs, attrs, scalars) : [];
  return [byQuery, byKey, byValue, null].slice(0, metas.length);
}

/** The gradients from ops that have gradients, with stored scores. */
function attendAgain(c: VjpContext<FlashAttrs>): (Value | null)[] {
  const { attrs, grad, metas, run, scalars } = c;
  const [query, key, value] = [c.input(0), c.input(1), c.input(2)];
  const product = (a: Value, b: Value): Value => run(matmul, [a, b], undefined);
  const drop = (x: Value): Value => (attrs.dropout ? run(dropout, [x], undefined, scalars) : x);
  const scores = product(query, transposed(run, key)); // [..., L, S]
  const mask = metas.length > 3 ? [c.input(3)] : [];
  const weights = run(attentionWeights, [scores, ...mask], attrs);
  const byWeights = drop(product(grad, transposed(run, value)));
  const axis = weights.shape.length - 1;
  const g = scale(run, run(softmaxBackward, [weights, byWeights], { axis }), attrs.scale);
  return [
    product(g, key),
    product(transposed(run, g), query),
    product(transposed(run, drop(weights)), grad),
    null,
  ].slice(0, metas.length);
}

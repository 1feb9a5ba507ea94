/**
 * Attention weights: scale, mask and softmax of scores as one op. Run by `tensor/run.ts`.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { f32Bits } from "../base/bits.ts";
import { isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape, sameShape } from "../base/shape.ts";
import { scale } from "./arithmetic.ts";
import { type OpDef, defineOp } from "./op.ts";
import { softmaxBackward } from "./softmax.ts";

/** The factor on the scores, and whether positions see only themselves and what came before. */
export interface AttentionAttrs {
  readonly scale: number;
  readonly causal: boolean;
}

/**
 * softmax over the last axis of scale·scores, with a mask (bool: what stays, float: added) and, if
 * causal, no look ahead. Rows without any key are 0. Inputs: scores [..., L, S], and optionally a
 * mask that broadcasts to them.
 */
export const attentionWeights: OpDef<AttentionAttrs> = defineOp<AttentionAttrs, [View, View?]>({
  name: "attentionWeights",
  facts: { reduces: true },
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
    if (mask !== undefined && !isFloat(mask.dtype) && mask.dtype !== "bool")
      throw new DTypeError(
        "scaledDotProductAttention",
        "a bool or float mask",
        mask.dtype,
        "compare it with 0",
      );
    if (
      mask !== undefined &&
      !sameShape(broadcastShapes("scaledDotProductAttention", shape, mask.layout.shape), shape)
    )
      throw new ShapeError(
        "scaledDotProductAttention",
        `a mask that broadcasts to the scores ${formatShape(shape)}`,
        formatShape(mask.layout.shape),
        "unsqueeze the heads dimension",
      );
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

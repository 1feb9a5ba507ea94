/**
 * Scaled dot product attention as a function on tensors: one op that stores no scores or, where the
 * weights are asked for or a mask is learned, two matrix products with one fused op for scale, mask
 * and softmax between them. Results belong to the current scope; scores and weights are freed here,
 * or kept by autograd.
 */
import { ShapeError } from "../../base/errors.ts";
import { type OptionTable, off, readOptions } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { f32Bits } from "../../base/bits.ts";
import { attention, attentionWeights } from "../../ops/attention.ts";
import { dropoutShare, finite, operand } from "../checks.ts";
import { composed } from "../../ownership/scoped.ts";
import { dropout } from "../../tensor/create.ts";
import { nextRandomScalars } from "../../tensor/generator.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of attention. Letters: L queries, S keys, E features. */
export interface AttentionOptions {
  /** Broadcasts to [..., L, S]. bool: true may be attended to. float: added to the scores. */
  readonly mask?: Tensor | null;
  /** Query i attends to keys 0 … i only. */
  readonly causal?: boolean;
  /** Probability of dropping a weight. Pass 0 in evaluation. */
  readonly dropout?: number;
  /** Factor on the scores; 1 / √E unless given. */
  readonly scale?: number;
}

const attentionOptions = {
  mask: operand,
  causal: off,
  dropout: dropoutShare,
  scale: { ...finite, remedy: "leave it out for 1 / √E" },
} satisfies OptionTable<AttentionOptions>;

/**
 * softmax(query·keyᵀ·scale + mask)·value. Letters: L queries, S keys, E and F features. Scores are
 * never stored, not for the gradients either, unless the mask or a gradient wants a gradient:
 * memory grows with L + S, not with their product.
 * @param query shape [..., L, E]
 * @param key shape [..., S, E]
 * @param value shape [..., S, F]
 * @returns shape [..., L, F]; a query that may attend to nothing gives zeros
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using q = randn([2, 5, 8]); // [B, L, E]
 * using y = functional.scaledDotProductAttention(q, q, q);
 * console.log(y.shape.join()); // → 2,5,8
 * ```
 */
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options?: AttentionOptions,
): Tensor {
  const op = "scaledDotProductAttention";
  return composed(() => {
    const asked = checked(op, query, key, value, options);
    const { mask, causal, p, scale } = asked;
    if (mask?.requiresGrad === true) return attend(query, key, value, asked).output;
    return call(
      attention,
      mask === null ? [query, key, value] : [query, key, value, mask],
      { scale, causal, dropout: p > 0 },
      p > 0 ? [...nextRandomScalars(), f32Bits(1 - p)] : [],
    );
  }, op);
}

/** What `attentionWithWeights` gives. */
export interface WeightedAttention {
  /** [..., L, F] */
  readonly output: Tensor;
  /** [..., L, S]; rows add up to 1, or to 0 for a query that may attend to nothing. */
  readonly weights: Tensor;
}

/**
 * `scaledDotProductAttention` with the weights that were given to the values, before dropout. query
 * [..., L, E], key [..., S, E], value [..., S, F].
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for options that are unknown or out of range
 */
export function attentionWithWeights(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options?: AttentionOptions,
): WeightedAttention {
  const op = "attentionWithWeights";
  return composed(() => attend(query, key, value, checked(op, query, key, value, options)), op);
}

/** Options that were checked, with their defaults. */
interface Asked {
  readonly mask: Tensor | null;
  readonly causal: boolean;
  /** Probability of dropping. */
  readonly p: number;
  readonly scale: number;
}

function checked(
  op: string,
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions | undefined,
): Asked {
  const { mask, causal, dropout: p, scale } = readOptions(op, options, attentionOptions);
  for (const t of [query, key, value]) live(t, op);
  if (
    query.rank < 2 ||
    key.rank < 2 ||
    value.rank < 2 ||
    query.shape.at(-1) !== key.shape.at(-1) ||
    key.shape.at(-2) !== value.shape.at(-2)
  ) {
    throw new ShapeError(
      op,
      "query [..., L, E], key [..., S, E] and value [..., S, F]",
      `${formatShape(query.shape)}, ${formatShape(key.shape)} and ${formatShape(value.shape)}`,
      "check the order of heads and positions",
    );
  }
  return { mask: mask ?? null, causal, p, scale: scale ?? 1 / Math.sqrt(query.shape.at(-1)!) };
}

/** With stored weights. */
function attend(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  { mask, causal, p, scale }: Asked,
): WeightedAttention {
  const scores = query.matmul(key.transpose()); // [..., L, S]
  const inputs = mask === null ? [scores] : [scores, mask];
  const weights = call(attentionWeights, inputs, { scale, causal });
  return { output: (p > 0 ? dropout(weights, p) : weights).matmul(value), weights }; // [..., L, F]
}

/**
 * Attention over several heads (Vaswani et al. 2017), with PyTorch's parameter names and weight
 * layouts: the projections of queries, keys and values are one weight `in_proj_weight` [3·E, E].
 * The module owns its weights and frees its intermediates.
 *
 * Shapes: N samples, L queries, S keys, E features, H heads, D = E / H.
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import { type OptionTable, checkArgument, off, on, readOptions } from "../../base/options.ts";
import { formatShape, sameShape } from "../../base/shape.ts";
import { noGrad } from "../../autograd/mode.ts";
import { count, dropoutShare, operand } from "../checks.ts";
import { attentionWithWeights, scaledDotProductAttention } from "../functional/attention.ts";
import { linear } from "../functional/linear.ts";
import { xavierUniform } from "../init.ts";
import { Linear } from "./linear.ts";
import { type AnyModule, Module } from "../module.ts";
import { composed, scoped } from "../../ownership/scoped.ts";
import { full, where, zeros } from "../../tensor/create.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** What is hidden from attention. N samples, H heads, L queries, S keys. */
export interface AttentionMasks {
  /** [L, S] or [N·H, L, S]. Bools: true is hidden; floats are added to the scores. */
  readonly mask?: Tensor | null;
  /** [N, S] of bools: true is padding, hidden from all queries. */
  readonly keyPaddingMask?: Tensor | null;
  /** No query sees a later key. */
  readonly causal?: boolean;
}

/** What `MultiheadAttention` gives with `needWeights`. */
export interface AttentionOutput {
  /** The query's shape. */
  readonly output: Tensor;
  /**
   * [N, L, S], the mean over the heads; [N, H, L, S] with `averageWeights: false`; without N for a
   * single sample.
   */
  readonly weights: Tensor;
}

/** Whether a call of `MultiheadAttention` gives its weights, and which. */
export interface WeightOptions {
  /** Gives { output, weights } instead of the output. */
  readonly needWeights?: boolean;
  /** The weights' mean over the heads; true by default. */
  readonly averageWeights?: boolean;
}

/** Rows of what is hidden from attention. */
export const maskOptions = {
  mask: operand,
  keyPaddingMask: operand,
  causal: off,
} satisfies OptionTable<AttentionMasks>;

const callOptions = {
  ...maskOptions,
  needWeights: off,
  averageWeights: on,
} satisfies OptionTable<AttentionMasks & WeightOptions>;

/** Options of `MultiheadAttention`. E features. */
export interface MultiheadAttentionOptions {
  /** Of the weights, while training. */
  readonly dropout?: number;
  readonly bias?: boolean;
  /** Tensors as [N, L, E] rather than [L, N, E]. */
  readonly batchFirst?: boolean;
  /** Features of the keys; E unless given. */
  readonly kdim?: number;
  /** Features of the values; E unless given. */
  readonly vdim?: number;
}

const features = { ...count, remedy: "leave it out for embedDim" } as const;
const attentionOptions = {
  dropout: dropoutShare,
  bias: on,
  batchFirst: off,
  kdim: features,
  vdim: features,
} satisfies OptionTable<MultiheadAttentionOptions>;

/**
 * softmax(Q·Kᵀ / √D)·V in every head. call(query, key, value, options) with query [L, N, E], key
 * and value [S, N, E] (or batch first, or without N) gives the query's shape; with `needWeights:
 * true`, the output and the weights. Parameters in_proj_weight [3·E, E], in_proj_bias [3·E],
 * out_proj.weight [E, E], out_proj.bias [E]. With keys or values of other sizes: q_proj_weight [E,
 * E], k_proj_weight [E, kdim] and v_proj_weight [E, vdim] instead of the first.
 * @throws ArgumentError unless the number of heads divides the features, and for options that are
 *   unknown or out of range
 * @example
 * ```ts
 * using attention = new MultiheadAttention(8, 2);
 * using tokens = randn([5, 1, 8]);
 * using out = attention.call(tokens, tokens, tokens);
 * console.log(out.shape.join()); // → 5,1,8
 * ```
 */
export class MultiheadAttention extends Module<
  [query: Tensor, key: Tensor, value: Tensor, options?: AttentionMasks & WeightOptions]
> {
  /** The three projections in one; null when keys or values have sizes of their own. */
  readonly inProjWeight: Tensor | null;
  /** The projections of queries, keys and values; null when they are one. */
  readonly projections: {
    readonly query: Tensor;
    readonly key: Tensor;
    readonly value: Tensor;
  } | null;
  readonly inProjBias: Tensor | null;
  readonly outProj: Linear;
  readonly #features: number;
  /** Features of queries, keys and values. */
  readonly #sizes: readonly [number, number, number];
  readonly #heads: number;
  readonly #dropout: number;
  readonly #batchFirst: boolean;

  constructor(embedDim: number, numHeads: number, options?: MultiheadAttentionOptions) {
    super();
    const {
      dropout: p,
      bias,
      batchFirst,
      kdim = embedDim,
      vdim = embedDim,
    } = readOptions("MultiheadAttention", options, attentionOptions);
    checkArgument("MultiheadAttention", "embedDim", embedDim, count);
    checkArgument("MultiheadAttention", "numHeads", numHeads, count);
    if (embedDim % numHeads !== 0)
      throw new ArgumentError(
        "MultiheadAttention",
        "a number of heads that divides embedDim",
        `${numHeads} for ${embedDim}`,
        "choose a divisor of the features",
      );
    this.#sizes = [embedDim, kdim, vdim];
    this.#features = embedDim;
    this.#heads = numHeads;
    this.#dropout = p;
    this.#batchFirst = batchFirst;
    const whole = kdim === embedDim && vdim === embedDim;
    this.inProjWeight = whole
      ? this.parameter("in_proj_weight", xavierUniform([3 * embedDim, embedDim]))
      : null;
    this.projections = whole ? null : this.#projectionsOf(embedDim, kdim, vdim);
    this.inProjBias = bias ? this.parameter("in_proj_bias", zeros([3 * embedDim])) : null;
    const out = (this.outProj = new Linear(embedDim, embedDim, { bias }));
    if (out.bias !== null)
      noGrad(() => {
        out.bias!.zero_().dispose();
      });
  }

  /** Weights of their own; all of them are made before the first is registered, or none is. */
  #projectionsOf(e: number, kdim: number, vdim: number): NonNullable<typeof this.projections> {
    const { query, key, value } = scoped(() => ({
      query: xavierUniform([e, e]),
      key: xavierUniform([e, kdim]),
      value: xavierUniform([e, vdim]),
    }));
    return {
      query: this.parameter("q_proj_weight", query),
      key: this.parameter("k_proj_weight", key),
      value: this.parameter("v_proj_weight", value),
    };
  }

  override *children(): Generator<[name: string, module: AnyModule]> {
    yield ["out_proj", this.outProj];
  }

  /** Attends from query [L, N, E] to key and value [S, N, E]: [L, N, E], and weights if wanted. */
  override call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: AttentionMasks & WeightOptions & { readonly needWeights: true },
  ): AttentionOutput;
  /** Attends from query [L, N, E] to key and value [S, N, E]: [L, N, E]. */
  override call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options?: AttentionMasks & WeightOptions,
  ): Tensor;
  override call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options?: AttentionMasks & WeightOptions,
  ): Tensor | AttentionOutput {
    return super.call(query, key, value, options);
  }

  /**
   * What comes out with `needWeights` is an AttentionOutput: the overloads of `call` say so.
   * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
   *   ArgumentError for options that are unknown or out of range
   */
  forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options?: AttentionMasks & WeightOptions,
  ): Tensor {
    const given = readOptions("MultiheadAttention", options, callOptions);
    const { needWeights, averageWeights } = given;
    for (const t of [query, key, value]) live(t, "MultiheadAttention");
    const single = query.rank === 2,
      e = this.#features,
      h = this.#heads;
    for (const [i, [what, t]] of (
      [
        ["query", query],
        ["key", key],
        ["value", value],
      ] as const
    ).entries())
      if (
        t.rank !== query.rank ||
        (t.rank !== 2 && t.rank !== 3) ||
        t.shape.at(-1) !== this.#sizes[i]
      )
        throw new ShapeError(
          "MultiheadAttention",
          `a ${what} ${this.#batchFirst ? "[N, L" : "[L, N"}, ${this.#sizes[i]}] ` +
            `or [L, ${this.#sizes[i]}]`,
          formatShape(t.shape),
          "check embedDim, kdim, vdim and batchFirst",
        );
    const run = (): Tensor | AttentionOutput => {
      const batched = (t: Tensor): Tensor =>
        single ? t.unsqueeze(0) : this.#batchFirst ? t.alias() : t.transpose(0, 1);
      const x = batched(query),
        y = key === query ? x : batched(key),
        z = value === key ? y : batched(value),
        [n, l, s] = [x.shape[0]!, x.shape[1]!, y.shape[1]!];
      if (
        !sameShape(y.shape, [n, s, this.#sizes[1]]) ||
        !sameShape(z.shape, [n, s, this.#sizes[2]])
      )
        throw new ShapeError(
          "MultiheadAttention",
          `keys and values for ${n} samples, equally many`,
          `${formatShape(key.shape)} and ${formatShape(value.shape)}`,
          "check batchFirst",
        );
      const heads = (t: Tensor, length: number): Tensor =>
        t.reshape(n, length, h, e / h).transpose(1, 2); // [N, H, length, D]
      const [q, k, v] = this.#project(x, y, z);
      const parts = [heads(q, l), heads(k, s), heads(v, s)] as const,
        how = {
          mask: this.#mask(given, n, l, s),
          causal: given.causal,
          dropout: this.training ? this.#dropout : 0,
        };
      // [N, H, L, D] and [N, H, L, S]
      const { output: each, weights } = needWeights
        ? attentionWithWeights(...parts, how)
        : { output: scaledDotProductAttention(...parts, how), weights: null };
      const out = this.outProj.call(each.transpose(1, 2).reshape(n, l, e)),
        output = single ? out.squeeze(0) : this.#batchFirst ? out : out.transpose(0, 1);
      if (weights === null) return output;
      const shown = averageWeights ? weights.mean(1) : weights;
      return { output, weights: single ? shown.squeeze(0) : shown };
    };
    return composed(run, "MultiheadAttention") as Tensor;
  }

  /** The three projections: one product when all come from one tensor. */
  #project(query: Tensor, key: Tensor, value: Tensor): [Tensor, Tensor, Tensor] {
    const { inProjWeight: w, inProjBias: b, projections } = this,
      e = this.#features;
    if (w === null) {
      const bias = (i: number): Tensor | undefined => b?.slice(0, i * e, (i + 1) * e),
        { query: wq, key: wk, value: wv } = projections!;
      return [linear(query, wq, bias(0)), linear(key, wk, bias(1)), linear(value, wv, bias(2))];
    }
    const part = (x: Tensor, from: number, count: number): Tensor =>
      linear(
        x,
        w.slice(0, from * e, (from + count) * e),
        b?.slice(0, from * e, (from + count) * e),
      );
    if (query === key && key === value)
      return part(query, 0, 3).split(e, -1) as [Tensor, Tensor, Tensor];
    return [part(query, 0, 1), part(key, 1, 1), part(value, 2, 1)];
  }

  /**
   * Both masks as the op takes them: bools for what stays, or numbers to add; broadcast to [N, H,
   * L, S].
   */
  #mask({ mask, keyPaddingMask }: AttentionMasks, n: number, l: number, s: number): Tensor | null {
    if (
      mask != null &&
      !sameShape(live(mask, "MultiheadAttention").layout.shape, [l, s]) &&
      !sameShape(mask.shape, [n * this.#heads, l, s])
    )
      throw new ShapeError(
        "MultiheadAttention",
        `a mask [${l},${s}] or [${n * this.#heads},${l},${s}]`,
        formatShape(mask.shape),
        "queries come first, keys second",
      );
    if (
      keyPaddingMask != null &&
      !sameShape(live(keyPaddingMask, "MultiheadAttention").layout.shape, [n, s])
    )
      throw new ShapeError(
        "MultiheadAttention",
        `a keyPaddingMask [${n},${s}]`,
        formatShape(keyPaddingMask.shape),
        "one row per sample, whatever batchFirst says",
      );
    const padding = keyPaddingMask == null ? null : keyPaddingMask.bool().reshape(n, 1, 1, s);
    if (mask == null) return padding?.logicalNot() ?? null;
    const own = mask.rank === 3 ? mask.reshape(n, this.#heads, l, s) : mask;
    if (own.dtype !== "bool")
      return padding === null ? own : where(padding, full([], -Infinity), own);
    const hidden = padding === null ? own : own.logicalOr(padding);
    return hidden.logicalNot();
  }
}

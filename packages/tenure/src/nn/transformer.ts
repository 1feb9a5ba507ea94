/**
 * Attention over several heads and the layers of transformers (Vaswani et al. 2017), with PyTorch's parameter names and weight layouts: the projections of
 * queries, keys and values are one weight `in_proj_weight` [3·E, E]. Each module owns its weights and frees its intermediates.
 *
 * Shapes: N samples, L queries, S keys, E features, H heads, D = E / H.
 */
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { noGrad } from "../autograd/mode.ts";
import { scoped } from "../ownership/scoped.ts";
import { full, where, zeros } from "../tensor/create.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { scaledDotProductAttention } from "./attention.ts";
import { ModuleList } from "./containers.ts";
import { dropout, linear } from "./functional.ts";
import { xavierUniform } from "./init.ts";
import { Linear } from "./layers.ts";
import { type AnyModule, Module } from "./module.ts";
import { LayerNorm } from "./norms.ts";

export interface AttentionMasks {
  /** [L, S] or [N·H, L, S]. Bools: true is hidden; floats are added to the scores. */
  readonly mask?: Tensor | null;
  /** [N, S] of bools: true is padding, hidden from all queries. */
  readonly keyPaddingMask?: Tensor | null;
  /** No query sees a later key. */
  readonly causal?: boolean;
}

export interface MultiheadAttentionOptions {
  /** Of the weights, while training. */
  readonly dropout?: number;
  readonly bias?: boolean;
  /** Tensors as [N, L, E] rather than [L, N, E]. */
  readonly batchFirst?: boolean;
}

/**
 * softmax(Q·Kᵀ / √D)·V in every head. call(query, key, value, options) with query [L, N, E], key and value [S, N, E] (or batch first, or without N) gives the
 * query's shape. Parameters in_proj_weight [3·E, E], in_proj_bias [3·E], out_proj.weight [E, E], out_proj.bias [E].
 */
export class MultiheadAttention extends Module<[query: Tensor, key: Tensor, value: Tensor, options?: AttentionMasks]> {
  readonly inProjWeight: Tensor;
  readonly inProjBias: Tensor | null;
  readonly outProj: Linear;
  readonly #features: number;
  readonly #heads: number;
  readonly #dropout: number;
  readonly #batchFirst: boolean;

  constructor(embedDim: number, numHeads: number, options: MultiheadAttentionOptions = {}) {
    super();
    const { dropout: p = 0, bias = true, batchFirst = false } = options;
    if (!Number.isInteger(embedDim) || !Number.isInteger(numHeads) || numHeads < 1 || embedDim < 1 || embedDim % numHeads !== 0) throw new ArgumentError("MultiheadAttention", "a number of heads that divides embedDim", `${numHeads} for ${embedDim}`);
    if (!(p >= 0 && p < 1)) throw new ArgumentError("MultiheadAttention", "a dropout in [0, 1)", String(p));
    this.#features = embedDim;
    this.#heads = numHeads;
    this.#dropout = p;
    this.#batchFirst = batchFirst;
    this.inProjWeight = this.parameter("in_proj_weight", xavierUniform([3 * embedDim, embedDim]));
    this.inProjBias = bias ? this.parameter("in_proj_bias", zeros([3 * embedDim])) : null;
    const out = this.outProj = new Linear(embedDim, embedDim, { bias });
    if (out.bias !== null) noGrad(() => { out.bias!.zero_().dispose(); });
  }

  override *children(): Generator<[name: string, module: AnyModule]> { yield ["out_proj", this.outProj]; }

  forward(query: Tensor, key: Tensor, value: Tensor, options: AttentionMasks = {}): Tensor {
    const single = query.rank === 2, e = this.#features, h = this.#heads;
    for (const [what, t] of [["query", query], ["key", key], ["value", value]] as const) if (t.rank !== query.rank || (t.rank !== 2 && t.rank !== 3) || t.shape.at(-1) !== e) throw new ShapeError("MultiheadAttention", `a ${what} ${this.#batchFirst ? "[N, L" : "[L, N"}, ${e}] or [L, ${e}]`, formatShape(t.shape), "check embedDim and batchFirst");
    return scoped(() => {
      const batched = (t: Tensor): Tensor => (single ? t.unsqueeze(0) : this.#batchFirst ? t.alias() : t.transpose(0, 1));
      const x = batched(query), y = key === query ? x : batched(key), z = value === key ? y : batched(value), [n, l, s] = [x.shape[0]!, x.shape[1]!, y.shape[1]!];
      if (!sameShape(y.shape, [n, s, e]) || !sameShape(z.shape, [n, s, e])) throw new ShapeError("MultiheadAttention", `keys and values for ${n} samples, equally many`, `${formatShape(key.shape)} and ${formatShape(value.shape)}`, "check batchFirst");
      const heads = (t: Tensor, length: number): Tensor => t.reshape(n, length, h, e / h).transpose(1, 2); // [N, H, length, D]
      const [q, k, v] = this.#project(x, y, z);
      const each = scaledDotProductAttention(heads(q, l), heads(k, s), heads(v, s), { mask: this.#mask(options, n, l, s), causal: options.causal ?? false, dropout: this.training ? this.#dropout : 0 }); // [N, H, L, D]
      const joined = each.transpose(1, 2).reshape(n, l, e);
      const out = this.outProj.call(joined);
      return single ? out.squeeze(0) : this.#batchFirst ? out : out.transpose(0, 1);
    }, "MultiheadAttention");
  }

  /** The three projections: one product when all come from one tensor. */
  #project(query: Tensor, key: Tensor, value: Tensor): [Tensor, Tensor, Tensor] {
    const { inProjWeight: w, inProjBias: b } = this, e = this.#features;
    const part = (x: Tensor, from: number, count: number): Tensor => linear(x, w.slice(0, from * e, (from + count) * e), b?.slice(0, from * e, (from + count) * e));
    if (query === key && key === value) return part(query, 0, 3).split(e, -1) as [Tensor, Tensor, Tensor];
    return [part(query, 0, 1), part(key, 1, 1), part(value, 2, 1)];
  }

  /** Both masks as the op takes them: bools for what stays, or numbers to add; broadcast to [N, H, L, S]. */
  #mask({ mask, keyPaddingMask }: AttentionMasks, n: number, l: number, s: number): Tensor | null {
    if (mask != null && !sameShape(mask.shape, [l, s]) && !sameShape(mask.shape, [n * this.#heads, l, s])) throw new ShapeError("MultiheadAttention", `a mask [${l},${s}] or [${n * this.#heads},${l},${s}]`, formatShape(mask.shape));
    if (keyPaddingMask != null && !sameShape(keyPaddingMask.shape, [n, s])) throw new ShapeError("MultiheadAttention", `a keyPaddingMask [${n},${s}]`, formatShape(keyPaddingMask.shape));
    const padding = keyPaddingMask == null ? null : keyPaddingMask.bool().reshape(n, 1, 1, s);
    if (mask == null) return padding?.logicalNot() ?? null;
    const own = mask.rank === 3 ? mask.reshape(n, this.#heads, l, s) : mask;
    if (own.dtype !== "bool") return padding === null ? own : where(padding, full([], -Infinity), own);
    const hidden = padding === null ? own : own.logicalOr(padding);
    return hidden.logicalNot();
  }
}

/** "relu", "gelu" or any function. */
export type Activation = "relu" | "gelu" | ((x: Tensor) => Tensor);

export interface TransformerLayerOptions {
  /** Width of the inner linear layer. */
  readonly dimFeedforward?: number;
  readonly dropout?: number;
  readonly activation?: Activation;
  readonly layerNormEps?: number;
  readonly batchFirst?: boolean;
  /** Normalises before each part rather than after it. */
  readonly normFirst?: boolean;
  readonly bias?: boolean;
}

/** What encoder and decoder layers share: the feed-forward part and residual sums. */
abstract class TransformerLayer<A extends readonly unknown[]> extends Module<A> {
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly #dropout: number;
  readonly #activation: Activation;
  readonly #normFirst: boolean;

  constructor(dModel: number, { dimFeedforward = 2048, dropout: p = 0.1, activation = "relu", normFirst = false, bias = true }: TransformerLayerOptions) {
    super();
    this.linear1 = new Linear(dModel, dimFeedforward, { bias });
    this.linear2 = new Linear(dimFeedforward, dModel, { bias });
    this.#dropout = p;
    this.#activation = activation;
    this.#normFirst = normFirst;
  }

  /** x + dropout(part(norm(x))), or norm(x + dropout(part(x))). */
  protected residual(x: Tensor, norm: LayerNorm, part: (x: Tensor) => Tensor): Tensor {
    const drop = (y: Tensor): Tensor => dropout(y, this.#dropout, this.training);
    return scoped(() => (this.#normFirst ? x.add(drop(part(norm.call(x)))) : norm.call(x.add(drop(part(x))))));
  }

  protected feedForward(x: Tensor): Tensor {
    const inner = this.linear1.call(x), activation = this.#activation;
    const y = typeof activation === "function" ? activation(inner) : activation === "gelu" ? inner.gelu() : inner.relu();
    return this.linear2.call(dropout(y, this.#dropout, this.training));
  }
}

/**
 * Self-attention and a feed-forward network, each with a residual sum and a normalisation. x [L, N, E] (or batch first, or [L, E]) → the same shape.
 * Children self_attn, linear1, linear2, norm1, norm2.
 */
export class TransformerEncoderLayer extends TransformerLayer<[x: Tensor, options?: AttentionMasks]> {
  readonly selfAttention: MultiheadAttention;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  constructor(dModel: number, numHeads: number, options: TransformerLayerOptions = {}) {
    super(dModel, options);
    const { dropout: p = 0.1, batchFirst = false, bias = true, layerNormEps: eps = 1e-5 } = options;
    this.selfAttention = new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias });
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
  }
  override *children(): Generator<[name: string, module: AnyModule]> { yield* [["self_attn", this.selfAttention], ["linear1", this.linear1], ["linear2", this.linear2], ["norm1", this.norm1], ["norm2", this.norm2]] as [string, AnyModule][]; }
  forward(x: Tensor, options: AttentionMasks = {}): Tensor {
    return scoped(() => this.residual(this.residual(x, this.norm1, (y) => this.selfAttention.call(y, y, y, options)), this.norm2, (y) => this.feedForward(y)), "TransformerEncoderLayer");
  }
}

export interface DecoderOptions {
  /** For the attention of the targets to themselves. */
  readonly self?: AttentionMasks;
  /** For the attention to the memory. */
  readonly cross?: AttentionMasks;
}

/**
 * Self-attention, attention to an encoder's output, and a feed-forward network. x [L, N, E] and memory [S, N, E] (or batch first, or without N) → the shape of x.
 * Children self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3.
 */
export class TransformerDecoderLayer extends TransformerLayer<[x: Tensor, memory: Tensor, options?: DecoderOptions]> {
  readonly selfAttention: MultiheadAttention;
  readonly crossAttention: MultiheadAttention;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly norm3: LayerNorm;
  constructor(dModel: number, numHeads: number, options: TransformerLayerOptions = {}) {
    super(dModel, options);
    const { dropout: p = 0.1, batchFirst = false, bias = true, layerNormEps: eps = 1e-5 } = options;
    this.selfAttention = new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias });
    this.crossAttention = new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias });
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
    this.norm3 = new LayerNorm(dModel, { eps, bias });
  }
  override *children(): Generator<[name: string, module: AnyModule]> {
    yield* [["self_attn", this.selfAttention], ["multihead_attn", this.crossAttention], ["linear1", this.linear1], ["linear2", this.linear2], ["norm1", this.norm1], ["norm2", this.norm2], ["norm3", this.norm3]] as [string, AnyModule][];
  }
  forward(x: Tensor, memory: Tensor, options: DecoderOptions = {}): Tensor {
    return scoped(() => {
      const first = this.residual(x, this.norm1, (y) => this.selfAttention.call(y, y, y, options.self));
      const second = this.residual(first, this.norm2, (y) => this.crossAttention.call(y, memory, memory, options.cross));
      return this.residual(second, this.norm3, (y) => this.feedForward(y));
    }, "TransformerDecoderLayer");
  }
}

/** Encoder layers one after the other, made by a function, and a last normalisation if given. Children layers.0 …, norm. */
export class TransformerEncoder extends Module<[x: Tensor, options?: AttentionMasks]> {
  readonly layers: ModuleList<TransformerEncoderLayer>;
  readonly norm: LayerNorm | null;
  constructor(make: (index: number) => TransformerEncoderLayer, numLayers: number, norm: LayerNorm | null = null) {
    super();
    this.layers = new ModuleList(Array.from({ length: numLayers }, (_, i) => make(i)));
    this.norm = norm;
  }
  forward(x: Tensor, options: AttentionMasks = {}): Tensor {
    return scoped(() => {
      let out = x.alias();
      for (const layer of this.layers) { const next = layer.call(out, options); out.dispose(); out = next; }
      return this.norm === null ? out : this.norm.call(out);
    }, "TransformerEncoder");
  }
}

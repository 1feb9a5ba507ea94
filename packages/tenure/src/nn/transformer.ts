/**
 * Attention over several heads and the layers of transformers (Vaswani et al. 2017), with PyTorch's
 * parameter names and weight layouts: the projections of queries, keys and values are one weight
 * `in_proj_weight` [3·E, E]. Each module owns its weights and frees its intermediates.
 *
 * Shapes: N samples, L queries, S keys, E features, H heads, D = E / H.
 */
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { checkFunction, checkOptions, describeValue } from "../base/options.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { noGrad } from "../autograd/mode.ts";
import { scoped } from "../ownership/scoped.ts";
import { full, where, zeros } from "../tensor/create.ts";
import { type Tensor, live } from "../tensor/tensor.ts";
import { attentionWithWeights, scaledDotProductAttention } from "./attention.ts";
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

interface WeightOptions {
  /** Gives { output, weights } instead of the output. */
  readonly needWeights?: boolean;
  /** The weights' mean over the heads; true by default. */
  readonly averageWeights?: boolean;
}

const maskNames = ["mask", "keyPaddingMask", "causal"];

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

/**
 * softmax(Q·Kᵀ / √D)·V in every head. call(query, key, value, options) with query [L, N, E], key
 * and value [S, N, E] (or batch first, or without N) gives the query's shape; with `needWeights:
 * true`, the output and the weights. Parameters in_proj_weight [3·E, E], in_proj_bias [3·E],
 * out_proj.weight [E, E], out_proj.bias [E]. With keys or values of other sizes: q_proj_weight [E,
 * E], k_proj_weight [E, kdim] and v_proj_weight [E, vdim] instead of the first.
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

  constructor(embedDim: number, numHeads: number, options: MultiheadAttentionOptions = {}) {
    super();
    checkOptions("MultiheadAttention", options, ["dropout", "bias", "batchFirst", "kdim", "vdim"]);
    const {
      dropout: p = 0,
      bias = true,
      batchFirst = false,
      kdim = embedDim,
      vdim = embedDim,
    } = options;
    if (
      !Number.isInteger(embedDim) ||
      !Number.isInteger(numHeads) ||
      numHeads < 1 ||
      embedDim < 1 ||
      embedDim % numHeads !== 0
    )
      throw new ArgumentError(
        "MultiheadAttention",
        "a number of heads that divides embedDim",
        `${numHeads} for ${embedDim}`,
        "choose a divisor of the features",
      );
    for (const [what, value] of [
      ["kdim", kdim],
      ["vdim", vdim],
    ] as const)
      if (!Number.isInteger(value) || value < 1)
        throw new ArgumentError(
          "MultiheadAttention",
          `${what} to be a positive integer`,
          describeValue(value),
          "leave it out for embedDim",
        );
    checkDropout("MultiheadAttention", p);
    this.#sizes = [embedDim, kdim, vdim];
    this.#features = embedDim;
    this.#heads = numHeads;
    this.#dropout = p;
    this.#batchFirst = batchFirst;
    const own = (name: string, features: number): Tensor =>
        this.parameter(name, xavierUniform([embedDim, features])),
      whole = kdim === embedDim && vdim === embedDim;
    this.inProjWeight = whole
      ? this.parameter("in_proj_weight", xavierUniform([3 * embedDim, embedDim]))
      : null;
    this.projections = whole
      ? null
      : {
          query: own("q_proj_weight", embedDim),
          key: own("k_proj_weight", kdim),
          value: own("v_proj_weight", vdim),
        };
    this.inProjBias = bias ? this.parameter("in_proj_bias", zeros([3 * embedDim])) : null;
    const out = (this.outProj = new Linear(embedDim, embedDim, { bias }));
    if (out.bias !== null)
      noGrad(() => {
        out.bias!.zero_().dispose();
      });
  }

  override *children(): Generator<[name: string, module: AnyModule]> {
    yield ["out_proj", this.outProj];
  }

  override call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: AttentionMasks & WeightOptions & { readonly needWeights: true },
  ): AttentionOutput;
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

  /** What comes out with `needWeights` is an AttentionOutput: the overloads of `call` say so. */
  forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: AttentionMasks & WeightOptions = {},
  ): Tensor {
    checkOptions("MultiheadAttention", options, [...maskNames, "needWeights", "averageWeights"]);
    const { needWeights = false, averageWeights = true } = options;
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
          `a ${what} ${this.#batchFirst ? "[N, L" : "[L, N"}, ${this.#sizes[i]}] or [L, ${this.#sizes[i]}]`,
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
          mask: this.#mask(options, n, l, s),
          causal: options.causal ?? false,
          dropout: this.training ? this.#dropout : 0,
        };
      const { output: each, weights } = needWeights
        ? attentionWithWeights(...parts, how)
        : { output: scaledDotProductAttention(...parts, how), weights: null }; // [N, H, L, D], [N, H, L, S]
      const out = this.outProj.call(each.transpose(1, 2).reshape(n, l, e)),
        output = single ? out.squeeze(0) : this.#batchFirst ? out : out.transpose(0, 1);
      if (weights === null) return output;
      const shown = averageWeights ? weights.mean(1) : weights;
      return { output, weights: single ? shown.squeeze(0) : shown };
    };
    return scoped(run, "MultiheadAttention") as Tensor;
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

function checkDropout(op: string, p: number): void {
  if (!(p >= 0 && p < 1))
    throw new ArgumentError(
      op,
      "a dropout in [0, 1)",
      describeValue(p),
      "pass the share to drop, for example 0.1",
    );
}

/** Children by PyTorch's names; those that a constructor that threw never made are left out. */
function* named(
  list: readonly (readonly [name: string, module: AnyModule | undefined])[],
): Generator<[name: string, module: AnyModule]> {
  for (const [name, module] of list) if (module !== undefined) yield [name, module];
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

const layerNames = [
  "dimFeedforward",
  "dropout",
  "activation",
  "layerNormEps",
  "batchFirst",
  "normFirst",
  "bias",
];

/** What encoder and decoder layers share: the feed-forward part and residual sums. */
abstract class TransformerLayer<A extends readonly unknown[]> extends Module<A> {
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly #dropout: number;
  readonly #activation: Activation;
  readonly #normFirst: boolean;

  constructor(dModel: number, options: TransformerLayerOptions) {
    super();
    checkOptions(new.target.name, options, layerNames);
    const {
      dimFeedforward = 2048,
      dropout: p = 0.1,
      activation = "relu",
      normFirst = false,
      bias = true,
    } = options;
    checkDropout(new.target.name, p);
    if (typeof activation !== "function" && activation !== "relu" && activation !== "gelu")
      throw new ArgumentError(
        new.target.name,
        'activation to be "relu", "gelu" or a function',
        describeValue(activation),
        "pass (x) => x.silu() for others",
      );
    this.linear1 = new Linear(dModel, dimFeedforward, { bias });
    this.linear2 = this.build(() => new Linear(dimFeedforward, dModel, { bias }));
    this.#dropout = p;
    this.#activation = activation;
    this.#normFirst = normFirst;
  }

  /** x + dropout(part(norm(x))), or norm(x + dropout(part(x))). */
  protected residual(x: Tensor, norm: LayerNorm, part: (x: Tensor) => Tensor): Tensor {
    const drop = (y: Tensor): Tensor => dropout(y, this.#dropout, this.training);
    return scoped(() =>
      this.#normFirst ? x.add(drop(part(norm.call(x)))) : norm.call(x.add(drop(part(x)))),
    );
  }

  protected feedForward(x: Tensor): Tensor {
    const inner = this.linear1.call(x),
      activation = this.#activation;
    const y =
      typeof activation === "function"
        ? activation(inner)
        : activation === "gelu"
          ? inner.gelu()
          : inner.relu();
    return this.linear2.call(dropout(y, this.#dropout, this.training));
  }
}

/**
 * Self-attention and a feed-forward network, each with a residual sum and a normalisation. x [L, N,
 * E] (or batch first, or [L, E]) → the same shape. Children self_attn, linear1, linear2, norm1,
 * norm2.
 */
export class TransformerEncoderLayer extends TransformerLayer<
  [x: Tensor, options?: AttentionMasks]
> {
  readonly selfAttention: MultiheadAttention;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  constructor(dModel: number, numHeads: number, options: TransformerLayerOptions = {}) {
    super(dModel, options);
    const { dropout: p = 0.1, batchFirst = false, bias = true, layerNormEps: eps = 1e-5 } = options;
    this.selfAttention = this.build(
      () => new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias }),
    );
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
  }
  override children(): Generator<[name: string, module: AnyModule]> {
    return named([
      ["self_attn", this.selfAttention],
      ["linear1", this.linear1],
      ["linear2", this.linear2],
      ["norm1", this.norm1],
      ["norm2", this.norm2],
    ]);
  }
  forward(x: Tensor, options: AttentionMasks = {}): Tensor {
    checkOptions("TransformerEncoderLayer", options, maskNames);
    live(x, "TransformerEncoderLayer");
    return scoped(
      () =>
        this.residual(
          this.residual(x, this.norm1, (y) => this.selfAttention.call(y, y, y, options)),
          this.norm2,
          (y) => this.feedForward(y),
        ),
      "TransformerEncoderLayer",
    );
  }
}

export interface DecoderOptions {
  /** For the attention of the targets to themselves. */
  readonly self?: AttentionMasks;
  /** For the attention to the memory. */
  readonly cross?: AttentionMasks;
}

/**
 * Self-attention, attention to an encoder's output, and a feed-forward network. x [L, N, E] and
 * memory [S, N, E] (or batch first, or without N) → the shape of x. Children self_attn,
 * multihead_attn, linear1, linear2, norm1, norm2, norm3.
 */
export class TransformerDecoderLayer extends TransformerLayer<
  [x: Tensor, memory: Tensor, options?: DecoderOptions]
> {
  readonly selfAttention: MultiheadAttention;
  readonly crossAttention: MultiheadAttention;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly norm3: LayerNorm;
  constructor(dModel: number, numHeads: number, options: TransformerLayerOptions = {}) {
    super(dModel, options);
    const { dropout: p = 0.1, batchFirst = false, bias = true, layerNormEps: eps = 1e-5 } = options;
    this.selfAttention = this.build(
      () => new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias }),
    );
    this.crossAttention = new MultiheadAttention(dModel, numHeads, {
      dropout: p,
      batchFirst,
      bias,
    });
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
    this.norm3 = new LayerNorm(dModel, { eps, bias });
  }
  override children(): Generator<[name: string, module: AnyModule]> {
    return named([
      ["self_attn", this.selfAttention],
      ["multihead_attn", this.crossAttention],
      ["linear1", this.linear1],
      ["linear2", this.linear2],
      ["norm1", this.norm1],
      ["norm2", this.norm2],
      ["norm3", this.norm3],
    ]);
  }
  forward(x: Tensor, memory: Tensor, options: DecoderOptions = {}): Tensor {
    checkOptions("TransformerDecoderLayer", options, ["self", "cross"]);
    live(x, "TransformerDecoderLayer");
    live(memory, "TransformerDecoderLayer");
    return scoped(() => {
      const first = this.residual(x, this.norm1, (y) =>
        this.selfAttention.call(y, y, y, options.self),
      );
      const second = this.residual(first, this.norm2, (y) =>
        this.crossAttention.call(y, memory, memory, options.cross),
      );
      return this.residual(second, this.norm3, (y) => this.feedForward(y));
    }, "TransformerDecoderLayer");
  }
}

/**
 * Layers made one by one; a norm is owned too. When one cannot be made, those before it and the
 * norm are freed.
 */
abstract class TransformerStack<
  L extends AnyModule,
  A extends readonly unknown[],
> extends Module<A> {
  readonly layers: ModuleList<L>;
  readonly norm: LayerNorm | null;
  constructor(make: (index: number) => L, numLayers: number, norm: LayerNorm | null) {
    super();
    checkFunction(new.target.name, make, "pass (i) => new TransformerEncoderLayer(…)");
    if (!Number.isInteger(numLayers) || numLayers < 1)
      throw new ArgumentError(
        new.target.name,
        "numLayers to be a positive integer",
        describeValue(numLayers),
        "pass how many layers there are",
      );
    this.norm = norm;
    this.layers = new ModuleList<L>();
    this.build(() => {
      for (let i = 0; i < numLayers; i++) this.layers.push(make(i));
    });
  }
  override *children(): Generator<[name: string, module: AnyModule]> {
    yield ["layers", this.layers];
    if (this.norm !== null) yield ["norm", this.norm];
  }

  /** Runs the layers, freeing what each hands to the next, and the norm. */
  protected through(name: string, x: Tensor, run: (layer: L, x: Tensor) => Tensor): Tensor {
    live(x, name);
    return scoped(() => {
      let out = x.alias();
      for (const layer of this.layers) {
        const next = run(layer, out);
        out.dispose();
        out = next;
      }
      return this.norm === null ? out : this.norm.call(out);
    }, name);
  }
}

/**
 * Encoder layers one after the other, made by a function, and a last normalisation if given, which
 * the stack then owns. Children layers.0 …, norm.
 */
export class TransformerEncoder extends TransformerStack<
  TransformerEncoderLayer,
  [x: Tensor, options?: AttentionMasks]
> {
  constructor(
    make: (index: number) => TransformerEncoderLayer,
    numLayers: number,
    norm: LayerNorm | null = null,
  ) {
    super(make, numLayers, norm);
  }
  forward(x: Tensor, options: AttentionMasks = {}): Tensor {
    checkOptions("TransformerEncoder", options, maskNames);
    return this.through("TransformerEncoder", x, (layer, y) => layer.call(y, options));
  }
}

/**
 * Decoder layers one after the other over one memory, made by a function, and a last normalisation
 * if given, which the stack then owns. Children layers.0 …, norm.
 */
export class TransformerDecoder extends TransformerStack<
  TransformerDecoderLayer,
  [x: Tensor, memory: Tensor, options?: DecoderOptions]
> {
  constructor(
    make: (index: number) => TransformerDecoderLayer,
    numLayers: number,
    norm: LayerNorm | null = null,
  ) {
    super(make, numLayers, norm);
  }
  forward(x: Tensor, memory: Tensor, options: DecoderOptions = {}): Tensor {
    checkOptions("TransformerDecoder", options, ["self", "cross"]);
    return this.through("TransformerDecoder", x, (layer, y) => layer.call(y, memory, options));
  }
}

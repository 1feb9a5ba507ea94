/**
 * The layers of transformers (Vaswani et al. 2017), with PyTorch's parameter names. Each module
 * owns its weights and frees its intermediates.
 *
 * Shapes: N samples, L queries, S keys, E features.
 */
import { ArgumentError, calledAs } from "../../base/errors.ts";
import {
  type Filled,
  type OptionRow,
  type OptionTable,
  checkArgument,
  checkFunction,
  describeValue,
  off,
  on,
  readOptions,
} from "../../base/options.ts";
import { count, depth, dropoutShare, epsilon } from "../checks.ts";
import { dropout } from "../functional/dropout.ts";
import { type AttentionMasks, MultiheadAttention, maskOptions } from "./attention.ts";
import { ModuleList } from "./containers.ts";
import { Linear } from "./linear.ts";
import { LayerNorm } from "./norm.ts";
import { type AnyModule, Module } from "../module.ts";
import { scoped } from "../../ownership/scoped.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** Children by PyTorch's names; those that a constructor that threw never made are left out. */
function* named(
  list: readonly (readonly [name: string, module: AnyModule | undefined])[],
): Generator<[name: string, module: AnyModule]> {
  for (const [name, module] of list) if (module !== undefined) yield [name, module];
}

/** "relu", "gelu" or any function. */
export type Activation = "relu" | "gelu" | ((x: Tensor) => Tensor);

/** Options of encoder and decoder layers, with PyTorch's defaults. */
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

const layerOptions = {
  dimFeedforward: { ...count, default: 2048 },
  dropout: { ...dropoutShare, default: 0.1 },
  activation: { type: "any", check: checkActivation, default: "relu" },
  layerNormEps: epsilon,
  batchFirst: off,
  normFirst: off,
  bias: on,
} satisfies OptionTable<TransformerLayerOptions>;

/** Options of a layer with their defaults. */
type LayerOptions = Filled<TransformerLayerOptions, typeof layerOptions>;

function checkActivation(op: string, value: unknown): void {
  if (typeof value === "function" || value === "relu" || value === "gelu") return;
  throw new ArgumentError(
    op,
    'activation to be "relu", "gelu" or a function',
    describeValue(value),
    "pass (x) => x.silu() for others",
  );
}

/** What encoder and decoder layers share: the feed-forward part and residual sums. */
abstract class TransformerLayer<A extends readonly unknown[]> extends Module<A> {
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly #dropout: number;
  readonly #activation: Activation;
  readonly #normFirst: boolean;

  constructor(
    dModel: number,
    { dimFeedforward, dropout: p, activation, normFirst, bias }: LayerOptions,
  ) {
    super();
    checkArgument(new.target.name, "dModel", dModel, count);
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

  /** Two linear layers with the activation between them: [..., E] → [..., E]. */
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
 * @throws ArgumentError unless the heads divide the features, and for options that are unknown or
 *   out of range
 * @example
 * ```ts
 * using layer = new TransformerEncoderLayer(8, 2, { dimFeedforward: 16 });
 * using tokens = randn([5, 1, 8]);
 * using out = layer.call(tokens);
 * console.log(out.shape.join()); // → 5,1,8
 * ```
 */
export class TransformerEncoderLayer extends TransformerLayer<
  [x: Tensor, options?: AttentionMasks]
> {
  readonly selfAttention: MultiheadAttention;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  constructor(dModel: number, numHeads: number, options?: TransformerLayerOptions) {
    const given = readOptions("TransformerEncoderLayer", options, layerOptions);
    super(dModel, given);
    const { dropout: p, batchFirst, bias, layerNormEps: eps } = given;
    this.selfAttention = this.build(() =>
      calledAs(
        new.target.name,
        () => new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias }),
      ),
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
  forward(x: Tensor, options?: AttentionMasks): Tensor {
    const masks = readOptions("TransformerEncoderLayer", options, maskOptions);
    live(x, "TransformerEncoderLayer");
    return scoped(
      () =>
        this.residual(
          this.residual(x, this.norm1, (y) => this.selfAttention.call(y, y, y, masks)),
          this.norm2,
          (y) => this.feedForward(y),
        ),
      "TransformerEncoderLayer",
    );
  }
}

/** Masks of a decoder layer's two attentions. */
export interface DecoderOptions {
  /** For the attention of the targets to themselves. */
  readonly self?: AttentionMasks;
  /** For the attention to the memory. */
  readonly cross?: AttentionMasks;
}

const decoderOptions = {
  self: { type: "options", of: maskOptions },
  cross: { type: "options", of: maskOptions },
} satisfies OptionTable<DecoderOptions>;

/**
 * Self-attention, attention to an encoder's output, and a feed-forward network. x [L, N, E] and
 * memory [S, N, E] (or batch first, or without N) → the shape of x. Children self_attn,
 * multihead_attn, linear1, linear2, norm1, norm2, norm3.
 * @throws ArgumentError unless the heads divide the features, and for options that are unknown or
 *   out of range
 */
export class TransformerDecoderLayer extends TransformerLayer<
  [x: Tensor, memory: Tensor, options?: DecoderOptions]
> {
  readonly selfAttention: MultiheadAttention;
  readonly crossAttention: MultiheadAttention;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly norm3: LayerNorm;
  constructor(dModel: number, numHeads: number, options?: TransformerLayerOptions) {
    const given = readOptions("TransformerDecoderLayer", options, layerOptions);
    super(dModel, given);
    const { dropout: p, batchFirst, bias, layerNormEps: eps } = given;
    this.selfAttention = this.build(() =>
      calledAs(
        new.target.name,
        () => new MultiheadAttention(dModel, numHeads, { dropout: p, batchFirst, bias }),
      ),
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
  forward(x: Tensor, memory: Tensor, options?: DecoderOptions): Tensor {
    const { self, cross } = readOptions("TransformerDecoderLayer", options, decoderOptions);
    live(x, "TransformerDecoderLayer");
    live(memory, "TransformerDecoderLayer");
    return scoped(() => {
      const first = this.residual(x, this.norm1, (y) => this.selfAttention.call(y, y, y, self));
      const second = this.residual(first, this.norm2, (y) =>
        this.crossAttention.call(y, memory, memory, cross),
      );
      return this.residual(second, this.norm3, (y) => this.feedForward(y));
    }, "TransformerDecoderLayer");
  }
}

const normRow = {
  type: "any",
  orNull: true,
  check: (op, value) => {
    if (!(value instanceof LayerNorm))
      throw new ArgumentError(
        op,
        "norm to be a LayerNorm or null",
        describeValue(value),
        "pass for example new LayerNorm(64)",
      );
  },
} as const satisfies OptionRow;

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
    checkArgument(new.target.name, "numLayers", numLayers, depth);
    checkArgument(new.target.name, "norm", norm, normRow);
    this.norm = norm;
    this.layers = new ModuleList<L>();
    this.build(() => {
      for (let i = 0; i < numLayers; i++) {
        const layer = make(i);
        calledAs(new.target.name, () => this.layers.push(layer));
      }
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
  forward(x: Tensor, options?: AttentionMasks): Tensor {
    const masks = readOptions("TransformerEncoder", options, maskOptions);
    return this.through("TransformerEncoder", x, (layer, y) => layer.call(y, masks));
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
  forward(x: Tensor, memory: Tensor, options?: DecoderOptions): Tensor {
    const masks = readOptions("TransformerDecoder", options, decoderOptions);
    return this.through("TransformerDecoder", x, (layer, y) => layer.call(y, memory, masks));
  }
}

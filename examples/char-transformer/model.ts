/**
 * A small GPT (Radford et al. 2019): token and position embeddings, blocks of causal self-attention
 * and a two-layer network with residual connections, tied to nothing but its own parameters.
 * Letters: B batch, T characters of context, C channels, H heads, V characters in the vocabulary.
 */
import { type Tensor, embedding, scoped } from "tenure";
import { Linear, Module, functional as F, init } from "tenure/nn";

/** What a model is made of: counts of characters, positions, channels, heads and blocks. */
export interface Size {
  readonly vocabulary: number;
  readonly context: number;
  readonly channels: number;
  readonly heads: number;
  readonly blocks: number;
}

class Norm extends Module {
  readonly weight: Tensor;
  constructor(channels: number) {
    super();
    this.weight = this.parameter("weight", init.normal([channels], 1, 0));
  }
  forward(x: Tensor): Tensor {
    return F.layerNorm(x, x.shape.at(-1)!, this.weight);
  }
}

class Attention extends Module {
  readonly qkv: Linear;
  readonly out: Linear;
  readonly #heads: number;
  constructor({ channels, heads }: Size) {
    super();
    this.#heads = heads;
    this.qkv = new Linear(channels, 3 * channels, { bias: false });
    this.out = new Linear(channels, channels, { bias: false });
  }

  forward(x: Tensor): Tensor {
    return scoped(() => {
      const [B = 0, T = 0, C = 0] = x.shape,
        H = this.#heads;
      const parts = this.qkv
        .call(x)
        .reshape(B, T, 3, H, C / H)
        .permute(2, 0, 3, 1, 4); // [3, B, H, T, C/H]
      const mixed = F.scaledDotProductAttention(
        parts.select(0, 0),
        parts.select(0, 1),
        parts.select(0, 2),
        { causal: true },
      ); // [B, H, T, C/H]
      return this.out.call(mixed.permute(0, 2, 1, 3).reshape(B, T, C));
    });
  }
}

class Block extends Module {
  readonly norm1: Norm;
  readonly attention: Attention;
  readonly norm2: Norm;
  readonly widen: Linear;
  readonly narrow: Linear;
  constructor(size: Size) {
    super();
    this.norm1 = new Norm(size.channels);
    this.attention = new Attention(size);
    this.norm2 = new Norm(size.channels);
    this.widen = new Linear(size.channels, 4 * size.channels);
    this.narrow = new Linear(4 * size.channels, size.channels);
  }

  forward(x: Tensor): Tensor {
    return scoped(() => {
      const mixed = x.add(this.attention.call(this.norm1.call(x)));
      return mixed.add(this.narrow.call(this.widen.call(this.norm2.call(mixed)).gelu()));
    });
  }
}

/** Characters [B, T] (int32) → logits of the next character [B, T, V]. */
export class GPT extends Module {
  readonly tokens: Tensor;
  readonly positions: Tensor;
  readonly blocks: readonly Block[];
  readonly norm: Norm;
  readonly head: Linear;
  readonly size: Size;
  constructor(size: Size) {
    super();
    this.size = size;
    this.tokens = this.parameter("tokens", init.normal([size.vocabulary, size.channels], 0, 0.1));
    this.positions = this.parameter(
      "positions",
      init.normal([size.context, size.channels], 0, 0.1),
    );
    this.blocks = Array.from({ length: size.blocks }, () => new Block(size));
    this.norm = new Norm(size.channels);
    this.head = new Linear(size.channels, size.vocabulary, { bias: false });
  }

  forward(characters: Tensor): Tensor {
    return scoped(() => {
      const T = characters.shape[1]!;
      let x = embedding(characters, this.tokens).add(this.positions.slice(0, 0, T)); // [B, T, C]
      for (const block of this.blocks) x = block.call(x);
      return this.head.call(this.norm.call(x)); // [B, T, V]
    });
  }
}

/**
 * The table of vectors that indices look up, as a layer that owns it.
 */
import { type OptionRow, checkArgument, readOptions } from "../../base/options.ts";
import { noGrad } from "../../autograd/mode.ts";
import { count } from "../checks.ts";
import { Module } from "../module.ts";
import { composed, scoped } from "../../ownership/scoped.ts";
import { randn, where } from "../../tensor/create.ts";
import { embedding } from "../../tensor/indexing.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Options of `Embedding`. */
export interface EmbeddingOptions {
  /** This row stays zero: it starts so and gets no gradient. */
  readonly paddingIdx?: number;
}

/**
 * Indices [...] (int32 or uint32) → [..., dim]. weight [num, dim], standard normal.
 * @throws ArgumentError for sizes below 1 and unknown options
 * @example
 * ```ts
 * using table = new Embedding(10, 4);
 * using out = table.call(labels);
 * console.log(out.shape.join()); // → 8,4
 * ```
 */
export class Embedding extends Module<[indices: Tensor]> {
  readonly weight: Tensor;
  readonly #padding: number | undefined;
  constructor(numEmbeddings: number, embeddingDim: number, options?: EmbeddingOptions) {
    super();
    checkArgument("Embedding", "numEmbeddings", numEmbeddings, count);
    checkArgument("Embedding", "embeddingDim", embeddingDim, count);
    const row: OptionRow<number> = {
      type: "integer",
      range: `[${-numEmbeddings}, ${numEmbeddings})`,
      remedy: "pass the number of the row that stays zero",
    };
    const { paddingIdx: padding } = readOptions("Embedding", options, { paddingIdx: row });
    this.weight = this.parameter("weight", randn([numEmbeddings, embeddingDim]));
    this.#padding =
      padding === undefined ? undefined : padding < 0 ? padding + numEmbeddings : padding;
    const zeros = this.#padding;
    if (zeros !== undefined)
      noGrad(() => {
        scoped(() => {
          this.weight.select(0, zeros).zero_();
        });
      });
  }
  forward(indices: Tensor): Tensor {
    if (this.#padding === undefined) return embedding(indices, this.weight);
    return composed(() => {
      const rows = embedding(indices, this.weight);
      return where(indices.eq(this.#padding!).unsqueeze(-1), rows.detach(), rows);
    }, "Embedding");
  }
}

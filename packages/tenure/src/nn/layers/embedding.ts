/**
 * The table of vectors that indices look up, as a layer that owns it.
 */
import { ArgumentError } from "../../base/errors.ts";
import { checkOptions } from "../../base/options.ts";
import { noGrad } from "../../autograd/mode.ts";
import { checkCount } from "../checks.ts";
import { Module } from "../module.ts";
import { scoped } from "../../ownership/scoped.ts";
import { randn, where } from "../../tensor/create.ts";
import { embedding } from "../../tensor/indexing.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Options of `Embedding`. */
export interface EmbeddingOptions {
  /** This row stays zero: it starts so and gets no gradient. */
  readonly paddingIdx?: number;
}

/** Indices [...] (int32 or uint32) → [..., dim]. weight [num, dim], standard normal. */
export class Embedding extends Module<[indices: Tensor]> {
  readonly weight: Tensor;
  readonly #padding: number | undefined;
  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingOptions = {}) {
    super();
    checkOptions("Embedding", options, ["paddingIdx"]);
    checkCount("Embedding", "numEmbeddings", numEmbeddings);
    checkCount("Embedding", "embeddingDim", embeddingDim);
    const padding = options.paddingIdx;
    if (
      padding !== undefined &&
      (!Number.isInteger(padding) || padding < -numEmbeddings || padding >= numEmbeddings)
    )
      throw new ArgumentError(
        "Embedding",
        `a paddingIdx in [${-numEmbeddings}, ${numEmbeddings})`,
        String(padding),
      );
    this.weight = this.parameter("weight", randn([numEmbeddings, embeddingDim]));
    this.#padding =
      padding === undefined ? undefined : padding < 0 ? padding + numEmbeddings : padding;
    const row = this.#padding;
    if (row !== undefined)
      noGrad(() => {
        scoped(() => {
          this.weight.select(0, row).zero_();
        });
      });
  }
  forward(indices: Tensor): Tensor {
    if (this.#padding === undefined) return embedding(indices, this.weight);
    return scoped(() => {
      const rows = embedding(indices, this.weight);
      return where(indices.eq(this.#padding!).unsqueeze(-1), rows.detach(), rows);
    }, "Embedding");
  }
}

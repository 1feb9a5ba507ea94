/**
 * The layers. Each owns its weights and frees its intermediates; `Sequential` frees what its layers
 * hand to each other. Names and layouts are PyTorch's.
 */
import { ArgumentError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { newDisposeScope } from "../ownership/scope.ts";
import { noGrad } from "../autograd/mode.ts";
import { scoped } from "../ownership/scoped.ts";
import { randn, where } from "../tensor/create.ts";
import { embedding } from "../tensor/indexing.ts";
import type { Tensor } from "../tensor/tensor.ts";
import * as F from "./functional.ts";
import { defaultWeight, fanIn, uniform } from "./init.ts";
import { Layer, Module } from "./module.ts";

function checkCount(layer: string, what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1)
    throw new ArgumentError(
      layer,
      `${what} to be a positive integer`,
      describeValue(value),
      "pass how many there are",
    );
}

function checkPair(layer: string, what: string, value: F.Pair): void {
  const list: unknown = typeof value === "number" ? [value, value] : value;
  if (!Array.isArray(list) || list.length !== 2 || list.some((n) => !Number.isInteger(n) || n < 1))
    throw new ArgumentError(
      layer,
      `${what} to be a positive integer or a pair of them`,
      Array.isArray(list) && typeof value !== "number"
        ? `[${list.join(",")}]`
        : describeValue(value),
      "pass for example 3",
    );
}

/**
 * Layers one after the other. Owns and disposes them; intermediates are freed as soon as the next
 * layer has them.
 */
export class Sequential extends Layer {
  readonly layers: readonly Module[];
  constructor(...layers: readonly Module[]) {
    super();
    for (const layer of layers)
      if (!(layer instanceof Module))
        throw new ArgumentError(
          "Sequential",
          "modules",
          describeValue(layer),
          Array.isArray(layer)
            ? "spread the list: new Sequential(...layers)"
            : "pass layers, for example new ReLU()",
        );
    this.layers = layers;
  }

  /** PyTorch's names: "0", "1", … */
  override *children(): Generator<[name: string, module: Module]> {
    for (const [i, layer] of this.layers.entries()) yield [String(i), layer];
  }

  forward(x: Tensor): Tensor {
    if (this.layers.length === 0) return x.alias();
    using scope = newDisposeScope("Sequential");
    let out = x;
    for (const layer of this.layers) {
      const next = layer.call(out);
      if (out !== x && out !== next && scope.contains(out)) out.dispose();
      out = next;
    }
    // a layer may hand back what is not its own
    return scope.moveToOuter(scope.contains(out) ? out : out.alias());
  }
}

/** x [..., in] → [..., out]. weight [out, in], bias [out]. */
export class Linear extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  constructor(inFeatures: number, outFeatures: number, options: { readonly bias?: boolean } = {}) {
    super();
    checkOptions("Linear", options, ["bias"]);
    checkCount("Linear", "inFeatures", inFeatures);
    checkCount("Linear", "outFeatures", outFeatures);
    this.weight = this.parameter("weight", defaultWeight([outFeatures, inFeatures]));
    this.bias =
      options.bias === false
        ? null
        : this.parameter("bias", uniform([outFeatures], 1 / Math.sqrt(inFeatures)));
  }
  forward(x: Tensor): Tensor {
    return F.linear(x, this.weight, this.bias);
  }
}

/** x [N, C, H, W] → [N, O, P, Q]. weight [O, C/groups, R, S], bias [O]. */
export class Conv2d extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: F.Conv2dOptions;
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: F.Pair,
    options: F.Conv2dOptions & { readonly bias?: boolean } = {},
  ) {
    super();
    checkOptions("Conv2d", options, ["bias", "stride", "padding", "dilation", "groups"]);
    const { bias = true, ...rest } = options,
      groups = rest.groups ?? 1;
    checkCount("Conv2d", "inChannels", inChannels);
    checkCount("Conv2d", "outChannels", outChannels);
    checkPair("Conv2d", "kernelSize", kernelSize);
    if (inChannels % groups !== 0 || outChannels % groups !== 0)
      throw new ArgumentError(
        "Conv2d",
        "groups that divide both channel counts",
        `${groups} for ${inChannels} and ${outChannels}`,
        "use a divisor of both",
      );
    const shape = [outChannels, inChannels / groups, ...F.pair(kernelSize)];
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = bias
      ? this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))))
      : null;
    this.#options = rest;
  }
  forward(x: Tensor): Tensor {
    return F.conv2d(x, this.weight, this.bias, this.#options);
  }
}

/** Largest element of each window. */
export class MaxPool2d extends Layer {
  readonly #kernel: F.Pair;
  readonly #options: F.PoolOptions;
  constructor(kernelSize: F.Pair, options: F.PoolOptions = {}) {
    super();
    checkOptions("MaxPool2d", options, ["stride", "padding", "ceilMode"]);
    checkPair("MaxPool2d", "kernelSize", kernelSize);
    this.#kernel = kernelSize;
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return F.maxPool2d(x, this.#kernel, this.#options);
  }
}

/** [N, …] → [N, product]. */
export class Flatten extends Layer {
  readonly #start: number;
  constructor(start = 1) {
    super();
    this.#start = start;
  }
  forward(x: Tensor): Tensor {
    return x.flatten(this.#start);
  }
}

/** Zeroes elements with probability `p` while training. */
export class Dropout extends Layer {
  readonly p: number;
  constructor(p = 0.5) {
    super();
    if (!(p >= 0 && p < 1))
      throw new ArgumentError(
        "Dropout",
        "a probability in [0, 1)",
        describeValue(p),
        "pass the share to drop, for example 0.5",
      );
    this.p = p;
  }
  forward(x: Tensor): Tensor {
    return F.dropout(x, this.p, this.training);
  }
}

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

/**
 * Convolution layers, plain and transposed. They own their weights, in PyTorch's layouts; the
 * functions in functional/conv.ts compute.
 */
import * as F from "../functional/index.ts";
import { ArgumentError } from "../../base/errors.ts";
import { checkOptions, describeValue } from "../../base/options.ts";
import { checkChannels, checkCount, checkPair } from "../checks.ts";
import { conv1d, convTranspose1d, convTranspose2d } from "../functional/conv.ts";
import { defaultWeight, fanIn, uniform } from "../init.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

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

/** Options of `Conv1d`, in positions. */
export interface Conv1dOptions {
  readonly stride?: number;
  readonly padding?: number;
  readonly dilation?: number;
  readonly groups?: number;
  readonly bias?: boolean;
}

/** x [N, C, L] → [N, O, L']. weight [O, C/groups, K], bias [O]. */
export class Conv1d extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: Omit<Conv1dOptions, "bias">;
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number,
    options: Conv1dOptions = {},
  ) {
    super();
    checkOptions("Conv1d", options, ["stride", "padding", "dilation", "groups", "bias"]);
    const { bias = true, ...rest } = options,
      groups = rest.groups ?? 1,
      shape = [outChannels, inChannels / groups, kernelSize];
    checkChannels("Conv1d", inChannels, outChannels, groups);
    checkCount("Conv1d", "kernelSize", kernelSize);
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = bias
      ? this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))))
      : null;
    this.#options = rest;
  }
  forward(x: Tensor): Tensor {
    return conv1d(x, this.weight, this.bias, this.#options);
  }
}

/** Options of `ConvTranspose2d`, in pixels. */
export interface ConvTranspose2dOptions extends F.Conv2dOptions {
  /** Rows and columns added at the bottom and right of the result; below the stride. */
  readonly outputPadding?: F.Pair;
  readonly bias?: boolean;
}

/**
 * Transposed convolution: the gradient of Conv2d for its input. x [N, C, H, W] → [N, O, P, Q] with
 * P = (H - 1)·stride - 2·padding + dilation·(R - 1) + outputPadding + 1. weight [C, O/groups, R,
 * S], bias [O].
 */
export class ConvTranspose2d extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: Omit<ConvTranspose2dOptions, "bias">;
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: F.Pair,
    options: ConvTranspose2dOptions = {},
  ) {
    super();
    checkOptions("ConvTranspose2d", options, [
      "stride",
      "padding",
      "outputPadding",
      "dilation",
      "groups",
      "bias",
    ]);
    const { bias = true, ...rest } = options,
      groups = rest.groups ?? 1,
      [p, q] = F.pair(options.outputPadding ?? 0),
      [u, v] = F.pair(options.stride ?? 1),
      shape = [inChannels, outChannels / groups, ...F.pair(kernelSize)];
    checkChannels("ConvTranspose2d", inChannels, outChannels, groups);
    for (const k of F.pair(kernelSize)) checkCount("ConvTranspose2d", "kernelSize", k);
    if (!(Number.isInteger(p) && Number.isInteger(q) && p >= 0 && q >= 0 && p < u && q < v))
      throw new ArgumentError(
        "ConvTranspose2d",
        `an outputPadding below the stride ${u}×${v}`,
        `${p}×${q}`,
        "it only chooses among sizes that the stride skips",
      );
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = bias
      ? this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))))
      : null;
    this.#options = rest;
  }
  forward(x: Tensor): Tensor {
    return convTranspose2d(x, this.weight, this.bias, this.#options);
  }
}

/** Options of `ConvTranspose1d`, in positions. */
export interface ConvTranspose1dOptions extends Conv1dOptions {
  /** Positions added at the end of the result; below the stride. */
  readonly outputPadding?: number;
}

/**
 * Transposed convolution of x [N, C, L] → [N, O, Q] with Q = (L - 1)·stride - 2·padding +
 * dilation·(K - 1) + outputPadding + 1. weight [C, O/groups, K], bias [O].
 */
export class ConvTranspose1d extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: Omit<ConvTranspose1dOptions, "bias">;
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number,
    options: ConvTranspose1dOptions = {},
  ) {
    super();
    checkOptions("ConvTranspose1d", options, [
      "stride",
      "padding",
      "outputPadding",
      "dilation",
      "groups",
      "bias",
    ]);
    const { bias = true, ...rest } = options,
      { groups = 1, outputPadding: extra = 0, stride = 1 } = rest,
      shape = [inChannels, outChannels / groups, kernelSize];
    checkChannels("ConvTranspose1d", inChannels, outChannels, groups);
    checkCount("ConvTranspose1d", "kernelSize", kernelSize);
    if (!(Number.isInteger(extra) && extra >= 0 && extra < stride))
      throw new ArgumentError(
        "ConvTranspose1d",
        `an outputPadding below the stride ${stride}`,
        describeValue(extra),
        "it only chooses among sizes that the stride skips",
      );
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = bias
      ? this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))))
      : null;
    this.#options = rest;
  }
  forward(x: Tensor): Tensor {
    return convTranspose1d(x, this.weight, this.bias, this.#options);
  }
}

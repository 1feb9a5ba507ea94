/**
 * Layers over space beside Conv2d and MaxPool2d: convolution of sequences, transposed convolution, pooling, adaptive pooling and resampling. Those with weights
 * own them, in PyTorch's layouts; the functions in images.ts compute.
 */
import { ArgumentError } from "../base/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import * as F from "./functional.ts";
import { type UpsampleOptions, adaptiveAvgPool1d, adaptiveAvgPool2d, avgPool1d, conv1d, convTranspose2d, maxPool1d, upsample } from "./images.ts";
import { defaultWeight, fanIn, uniform } from "./init.ts";
import { Module } from "./module.ts";

function checkCount(layer: string, what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new ArgumentError(layer, `${what} to be a positive integer`, String(value));
}

function checkChannels(layer: string, inChannels: number, outChannels: number, groups: number): void {
  checkCount(layer, "inChannels", inChannels);
  checkCount(layer, "outChannels", outChannels);
  checkCount(layer, "groups", groups);
  if (inChannels % groups !== 0 || outChannels % groups !== 0) throw new ArgumentError(layer, "groups that divide both channel counts", `${groups} for ${inChannels} and ${outChannels}`);
}

// === Convolution ===

export interface Conv1dOptions { readonly stride?: number; readonly padding?: number; readonly dilation?: number; readonly groups?: number; readonly bias?: boolean }

/** x [N, C, L] → [N, O, L']. weight [O, C/groups, K], bias [O]. */
export class Conv1d extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: Conv1dOptions;
  constructor(inChannels: number, outChannels: number, kernelSize: number, options: Conv1dOptions = {}) {
    super();
    const groups = options.groups ?? 1, shape = [outChannels, inChannels / groups, kernelSize];
    checkChannels("Conv1d", inChannels, outChannels, groups);
    checkCount("Conv1d", "kernelSize", kernelSize);
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = options.bias === false ? null : this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))));
    this.#options = options;
  }
  forward(x: Tensor): Tensor { return conv1d(x, this.weight, this.bias, this.#options); }
}

export interface ConvTranspose2dOptions extends F.Conv2dOptions {
  /** Rows and columns added at the bottom and right of the result; below the stride. */
  readonly outputPadding?: F.Pair;
  readonly bias?: boolean;
}

/**
 * Transposed convolution: the gradient of Conv2d for its input. x [N, C, H, W] → [N, O, P, Q] with P = (H - 1)·stride - 2·padding + dilation·(R - 1) +
 * outputPadding + 1. weight [C, O/groups, R, S], bias [O].
 */
export class ConvTranspose2d extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: ConvTranspose2dOptions;
  constructor(inChannels: number, outChannels: number, kernelSize: F.Pair, options: ConvTranspose2dOptions = {}) {
    super();
    const groups = options.groups ?? 1, [p, q] = F.pair(options.outputPadding ?? 0), [u, v] = F.pair(options.stride ?? 1), shape = [inChannels, outChannels / groups, ...F.pair(kernelSize)];
    checkChannels("ConvTranspose2d", inChannels, outChannels, groups);
    for (const k of F.pair(kernelSize)) checkCount("ConvTranspose2d", "kernelSize", k);
    if (!(Number.isInteger(p) && Number.isInteger(q) && p >= 0 && q >= 0 && p < u && q < v)) throw new ArgumentError("ConvTranspose2d", `an outputPadding below the stride ${u}×${v}`, `${p}×${q}`);
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = options.bias === false ? null : this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))));
    this.#options = options;
  }
  forward(x: Tensor): Tensor { return convTranspose2d(x, this.weight, this.bias, this.#options); }
}

// === Pooling ===

export interface Pool1dOptions { readonly stride?: number; readonly padding?: number }
export interface AvgPoolOptions { readonly countIncludePad?: boolean }

/** Largest element of each window of x [N, C, L]; the stride is the kernel size unless given. */
export class MaxPool1d extends Module {
  readonly #kernel: number;
  readonly #options: Pool1dOptions;
  constructor(kernelSize: number, options: Pool1dOptions = {}) { super(); this.#kernel = kernelSize; this.#options = options; }
  forward(x: Tensor): Tensor { return maxPool1d(x, this.#kernel, this.#options); }
}

/** Mean of each window of x [N, C, L]. */
export class AvgPool1d extends Module {
  readonly #kernel: number;
  readonly #options: Pool1dOptions & AvgPoolOptions;
  constructor(kernelSize: number, options: Pool1dOptions & AvgPoolOptions = {}) { super(); this.#kernel = kernelSize; this.#options = options; }
  forward(x: Tensor): Tensor { return avgPool1d(x, this.#kernel, this.#options); }
}

/** Mean of each window of x [N, C, H, W]; the stride is the kernel size unless given. */
export class AvgPool2d extends Module {
  readonly #kernel: F.Pair;
  readonly #options: F.PoolOptions & AvgPoolOptions;
  constructor(kernelSize: F.Pair, options: F.PoolOptions & AvgPoolOptions = {}) { super(); this.#kernel = kernelSize; this.#options = options; }
  forward(x: Tensor): Tensor { return F.avgPool2d(x, this.#kernel, this.#options); }
}

// === Size ===

/** Means over as many bins as the result has positions, whatever the image's size: [N, C, H, W] → [N, C, P, Q]. 1 is the global average. */
export class AdaptiveAvgPool2d extends Module {
  readonly #size: readonly [number, number];
  constructor(outputSize: F.Pair) { super(); this.#size = F.pair(outputSize); for (const d of this.#size) checkCount("AdaptiveAvgPool2d", "outputSize", d); }
  forward(x: Tensor): Tensor { return adaptiveAvgPool2d(x, this.#size); }
}

/** [N, C, L] → [N, C, P]: means over P bins. */
export class AdaptiveAvgPool1d extends Module {
  readonly #size: number;
  constructor(outputSize: number) { super(); checkCount("AdaptiveAvgPool1d", "outputSize", outputSize); this.#size = outputSize; }
  forward(x: Tensor): Tensor { return adaptiveAvgPool1d(x, this.#size); }
}

/** Another size for x [N, C, H, W], or [N, C, L], by the nearest pixel or by linear interpolation, with torch.nn.Upsample's positions. */
export class Upsample extends Module {
  readonly #options: UpsampleOptions;
  constructor(options: UpsampleOptions) {
    super();
    const { size, scaleFactor, mode = "nearest", alignCorners = false } = options;
    if ((size === undefined) === (scaleFactor === undefined)) throw new ArgumentError("Upsample", "either a size or a scaleFactor", size === undefined ? "neither" : "both");
    if (F.pair((size ?? scaleFactor)!).some((n) => !(n > 0) || (size !== undefined && !Number.isInteger(n)))) throw new ArgumentError("Upsample", "a positive size or factor", String(size ?? scaleFactor));
    if (alignCorners && mode === "nearest") throw new ArgumentError("Upsample", "alignCorners only with bilinear", "nearest");
    this.#options = options;
  }
  forward(x: Tensor): Tensor { return upsample(x, this.#options); }
}

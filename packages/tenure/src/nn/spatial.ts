/**
 * Layers over space beside Conv2d and MaxPool2d: convolution of sequences, transposed convolution,
 * pooling, adaptive pooling, borders and resampling. Those with weights own them, in PyTorch's
 * layouts; the functions in images.ts compute.
 */
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { checkOptions, describeValue, needOptions } from "../base/options.ts";
import { formatShape } from "../base/shape.ts";
import type { Tensor } from "../tensor/tensor.ts";
import * as F from "./functional.ts";
import {
  type Pool1dOptions,
  type UpsampleOptions,
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  avgPool1d,
  conv1d,
  convTranspose1d,
  convTranspose2d,
  maxPool1d,
  pad,
  upsample,
} from "./images.ts";
import { defaultWeight, fanIn, uniform } from "./init.ts";
import { Layer } from "./module.ts";

function checkCount(layer: string, what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1)
    throw new ArgumentError(
      layer,
      `${what} to be a positive integer`,
      describeValue(value),
      "pass how many there are",
    );
}

function checkChannels(
  layer: string,
  inChannels: number,
  outChannels: number,
  groups: number,
): void {
  checkCount(layer, "inChannels", inChannels);
  checkCount(layer, "outChannels", outChannels);
  checkCount(layer, "groups", groups);
  if (inChannels % groups !== 0 || outChannels % groups !== 0)
    throw new ArgumentError(
      layer,
      "groups that divide both channel counts",
      `${groups} for ${inChannels} and ${outChannels}`,
      "use a divisor of both",
    );
}

// === Convolution ===

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

// === Pooling ===

export type { Pool1dOptions } from "./images.ts";
export interface AvgPoolOptions {
  readonly countIncludePad?: boolean;
}

/** Largest element of each window of x [N, C, L]; the stride is the kernel size unless given. */
export class MaxPool1d extends Layer {
  readonly #kernel: number;
  readonly #options: Pool1dOptions;
  constructor(kernelSize: number, options: Pool1dOptions = {}) {
    super();
    checkOptions("MaxPool1d", options, ["stride", "padding", "ceilMode"]);
    checkCount("MaxPool1d", "kernelSize", kernelSize);
    this.#kernel = kernelSize;
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return maxPool1d(x, this.#kernel, this.#options);
  }
}

/** Mean of each window of x [N, C, L]. */
export class AvgPool1d extends Layer {
  readonly #kernel: number;
  readonly #options: Pool1dOptions & AvgPoolOptions;
  constructor(kernelSize: number, options: Pool1dOptions & AvgPoolOptions = {}) {
    super();
    checkOptions("AvgPool1d", options, ["stride", "padding", "ceilMode", "countIncludePad"]);
    checkCount("AvgPool1d", "kernelSize", kernelSize);
    this.#kernel = kernelSize;
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return avgPool1d(x, this.#kernel, this.#options);
  }
}

/** Mean of each window of x [N, C, H, W]; the stride is the kernel size unless given. */
export class AvgPool2d extends Layer {
  readonly #kernel: F.Pair;
  readonly #options: F.PoolOptions & AvgPoolOptions;
  constructor(kernelSize: F.Pair, options: F.PoolOptions & AvgPoolOptions = {}) {
    super();
    checkOptions("AvgPool2d", options, ["stride", "padding", "ceilMode", "countIncludePad"]);
    for (const k of F.pair(kernelSize)) checkCount("AvgPool2d", "kernelSize", k);
    this.#kernel = kernelSize;
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return F.avgPool2d(x, this.#kernel, this.#options);
  }
}

// === Size ===

/**
 * Means over as many bins as the result has positions, whatever the image's size: [N, C, H, W] →
 * [N, C, P, Q]. 1 is the global average.
 */
export class AdaptiveAvgPool2d extends Layer {
  readonly #size: readonly [number, number];
  constructor(outputSize: F.Pair) {
    super();
    this.#size = F.pair(outputSize);
    for (const d of this.#size) checkCount("AdaptiveAvgPool2d", "outputSize", d);
  }
  forward(x: Tensor): Tensor {
    return adaptiveAvgPool2d(x, this.#size);
  }
}

/** [N, C, L] → [N, C, P]: means over P bins. */
export class AdaptiveAvgPool1d extends Layer {
  readonly #size: number;
  constructor(outputSize: number) {
    super();
    checkCount("AdaptiveAvgPool1d", "outputSize", outputSize);
    this.#size = outputSize;
  }
  forward(x: Tensor): Tensor {
    return adaptiveAvgPool1d(x, this.#size);
  }
}

/** The largest of each of as many bins as the result has positions: [N, C, H, W] → [N, C, P, Q]. */
export class AdaptiveMaxPool2d extends Layer {
  readonly #size: readonly [number, number];
  constructor(outputSize: F.Pair) {
    super();
    this.#size = F.pair(outputSize);
    for (const d of this.#size) checkCount("AdaptiveMaxPool2d", "outputSize", d);
  }
  forward(x: Tensor): Tensor {
    return adaptiveMaxPool2d(x, this.#size);
  }
}

/** [N, C, L] → [N, C, P]: the largest of each of P bins. */
export class AdaptiveMaxPool1d extends Layer {
  readonly #size: number;
  constructor(outputSize: number) {
    super();
    checkCount("AdaptiveMaxPool1d", "outputSize", outputSize);
    this.#size = outputSize;
  }
  forward(x: Tensor): Tensor {
    return adaptiveMaxPool1d(x, this.#size);
  }
}

// === Borders ===

/** Width of a border: the same on all sides, or [left, right] and [left, right, top, bottom]. */
type Border = number | readonly number[];

function borderOf(layer: string, border: Border, sides: 2 | 4, least: number): readonly number[] {
  const list: unknown = typeof border === "number" ? Array<number>(sides).fill(border) : border,
    order = sides === 2 ? "[left, right]" : "[left, right, top, bottom]";
  if (
    !Array.isArray(list) ||
    list.length !== sides ||
    list.some((n) => !Number.isInteger(n) || n < least)
  )
    throw new ArgumentError(
      layer,
      `a whole number${least === 0 ? " of 0 or more" : ""}, or ${order}`,
      Array.isArray(border) ? `[${border.join(",")}]` : describeValue(border),
      "pass for example 1",
    );
  return list as readonly number[];
}

/** What all paddings share: where the border goes. */
abstract class Padding extends Layer {
  protected readonly border: readonly number[];
  readonly #rank: number;
  constructor(border: Border, sides: 2 | 4, least: number) {
    super();
    this.border = borderOf(new.target.name, border, sides, least);
    this.#rank = 1 + sides / 2;
  }
  /** A batch, or a single sample. */
  protected checked(x: Tensor): Tensor {
    if (x.rank !== this.#rank && x.rank !== this.#rank + 1)
      throw new ShapeError(
        this.constructor.name,
        `a tensor of rank ${this.#rank + 1}, or a single sample of rank ${this.#rank}`,
        formatShape(x.shape),
        "add missing dimensions with unsqueeze",
      );
    return x;
  }
}

/** A border of one number around x [N, C, L] or [C, L]; negative widths cut off. */
export class ConstantPad1d extends Padding {
  readonly #value: number;
  constructor(border: Border, value: number) {
    super(border, 2, -Infinity);
    this.#value = checkValue("ConstantPad1d", value);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "constant", this.#value);
  }
}
/** A border of one number around x [N, C, H, W] or [C, H, W]; negative widths cut off. */
export class ConstantPad2d extends Padding {
  readonly #value: number;
  constructor(border: Border, value: number) {
    super(border, 4, -Infinity);
    this.#value = checkValue("ConstantPad2d", value);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "constant", this.#value);
  }
}
/** A border of zeros around x [N, C, L] or [C, L]. */
export class ZeroPad1d extends ConstantPad1d {
  constructor(border: Border) {
    super(border, 0);
  }
}
/** A border of zeros around x [N, C, H, W] or [C, H, W]. */
export class ZeroPad2d extends ConstantPad2d {
  constructor(border: Border) {
    super(border, 0);
  }
}
/** Mirrors x [N, C, L] or [C, L] at its ends, without repeating them. */
export class ReflectionPad1d extends Padding {
  constructor(border: Border) {
    super(border, 2, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "reflect");
  }
}
/** Mirrors x [N, C, H, W] or [C, H, W] at its edges, without repeating them. */
export class ReflectionPad2d extends Padding {
  constructor(border: Border) {
    super(border, 4, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "reflect");
  }
}
/** Repeats the ends of x [N, C, L] or [C, L]. */
export class ReplicationPad1d extends Padding {
  constructor(border: Border) {
    super(border, 2, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "replicate");
  }
}
/** Repeats the edges of x [N, C, H, W] or [C, H, W]. */
export class ReplicationPad2d extends Padding {
  constructor(border: Border) {
    super(border, 4, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "replicate");
  }
}

function checkValue(layer: string, value: number): number {
  if (typeof (value as unknown) !== "number")
    throw new ArgumentError(
      layer,
      "a number to fill with",
      describeValue(value),
      "pass for example 0",
    );
  return value;
}

// === Resampling ===

/**
 * Another size for x [N, C, H, W], or [N, C, L], by the nearest pixel or by linear interpolation,
 * with torch.nn.Upsample's positions.
 */
export class Upsample extends Layer {
  readonly #options: UpsampleOptions;
  constructor(options: UpsampleOptions) {
    super();
    needOptions("Upsample", options, ["size", "scaleFactor", "mode", "alignCorners"]);
    const { size, scaleFactor, mode = "nearest", alignCorners = false } = options;
    if ((size === undefined) === (scaleFactor === undefined))
      throw new ArgumentError(
        "Upsample",
        "either a size or a scaleFactor",
        size === undefined ? "neither" : "both",
        "pass { size: [rows, columns] } or { scaleFactor: 2 }",
      );
    if (
      F.pair((size ?? scaleFactor)!).some(
        (n) => !(n > 0) || (size !== undefined && !Number.isInteger(n)),
      )
    )
      throw new ArgumentError(
        "Upsample",
        "a positive size or factor",
        String(size ?? scaleFactor),
        "pass for example { scaleFactor: 2 }",
      );
    if (alignCorners && mode === "nearest")
      throw new ArgumentError(
        "Upsample",
        "alignCorners only with bilinear",
        "nearest",
        "leave it out",
      );
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return upsample(x, this.#options);
  }
}

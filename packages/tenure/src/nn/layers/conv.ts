/**
 * Convolution layers, plain and transposed. They own their weights, in PyTorch's layouts; the
 * functions in functional/conv.ts compute.
 */
import * as F from "../functional/index.ts";
import { type OptionTable, checkArgument, on, readOptions } from "../../base/options.ts";
import { checkChannels, extent, extents } from "../checks.ts";
import {
  checkOutputPadding,
  conv1d,
  conv1dOptions,
  conv2dOptions,
  convTranspose1d,
  convTranspose1dOptions,
  convTranspose2d,
  convTranspose2dOptions,
} from "../functional/conv.ts";
import { defaultWeight, fanIn, uniform } from "../init.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** The option of every convolution. */
interface BiasOption {
  /** A learned number per output channel. */
  readonly bias?: boolean;
}

/** What the layers share: a weight, and a bias of one number per output channel. */
abstract class Convolution<O> extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  /** What `forward` goes by. */
  protected readonly options: O;
  constructor(shape: readonly number[], outChannels: number, bias: boolean, options: O) {
    super();
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = bias
      ? this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))))
      : null;
    this.options = options;
  }
}

/** Options of `Conv2d`, in pixels. */
export interface Conv2dOptions extends F.Conv2dOptions, BiasOption {}

const conv2dLayer = { ...conv2dOptions, bias: on } satisfies OptionTable<Conv2dOptions>;

/**
 * x [N, C, H, W] → [N, O, P, Q]. weight [O, C/groups, R, S], bias [O].
 * @throws ArgumentError for channels that the groups do not divide, and for options that are
 *   unknown or out of range
 * @example
 * ```ts
 * using conv = new Conv2d(3, 8, 3, { padding: 1 });
 * using image = randn([1, 3, 6, 6]);
 * using out = conv.call(image);
 * console.log(out.shape.join()); // → 1,8,6,6
 * ```
 */
export class Conv2d extends Convolution<F.Conv2dOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: F.Pair,
    options?: Conv2dOptions,
  ) {
    const { bias, ...window } = readOptions("Conv2d", options, conv2dLayer);
    checkChannels("Conv2d", inChannels, outChannels, window.groups);
    checkArgument("Conv2d", "kernelSize", kernelSize, extents);
    const shape = [outChannels, inChannels / window.groups, ...F.pair(kernelSize)];
    super(shape, outChannels, bias, window);
  }
  forward(x: Tensor): Tensor {
    return F.conv2d(x, this.weight, this.bias, this.options);
  }
}

/** Options of `Conv1d`, in positions. */
export interface Conv1dOptions extends F.Conv1dOptions, BiasOption {}

const conv1dLayer = { ...conv1dOptions, bias: on } satisfies OptionTable<Conv1dOptions>;

/**
 * x [N, C, L] → [N, O, L']. weight [O, C/groups, K], bias [O].
 * @throws ArgumentError for channels that the groups do not divide, and for options that are
 *   unknown or out of range
 */
export class Conv1d extends Convolution<F.Conv1dOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number,
    options?: Conv1dOptions,
  ) {
    const { bias, ...window } = readOptions("Conv1d", options, conv1dLayer);
    checkChannels("Conv1d", inChannels, outChannels, window.groups);
    checkArgument("Conv1d", "kernelSize", kernelSize, extent);
    super([outChannels, inChannels / window.groups, kernelSize], outChannels, bias, window);
  }
  forward(x: Tensor): Tensor {
    return conv1d(x, this.weight, this.bias, this.options);
  }
}

/** Options of `ConvTranspose2d`, in pixels. */
export interface ConvTranspose2dOptions extends F.Conv2dOptions, BiasOption {
  /** Rows and columns added at the bottom and right; below the stride or the dilation. */
  readonly outputPadding?: F.Pair;
}

const convTranspose2dLayer = {
  ...convTranspose2dOptions,
  bias: on,
} satisfies OptionTable<ConvTranspose2dOptions>;

/**
 * Transposed convolution: the gradient of Conv2d for its input. x [N, C, H, W] → [N, O, P, Q] with
 * P = (H - 1)·stride - 2·padding + dilation·(R - 1) + outputPadding + 1. weight [C, O/groups, R,
 * S], bias [O].
 * @throws ArgumentError for channels that the groups do not divide, and for options that are
 *   unknown or out of range
 */
export class ConvTranspose2d extends Convolution<F.ConvTranspose2dOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: F.Pair,
    options?: ConvTranspose2dOptions,
  ) {
    const { bias, ...window } = readOptions("ConvTranspose2d", options, convTranspose2dLayer);
    checkChannels("ConvTranspose2d", inChannels, outChannels, window.groups);
    checkArgument("ConvTranspose2d", "kernelSize", kernelSize, extents);
    checkOutputPadding("ConvTranspose2d", window);
    const shape = [inChannels, outChannels / window.groups, ...F.pair(kernelSize)];
    super(shape, outChannels, bias, window);
  }
  forward(x: Tensor): Tensor {
    return convTranspose2d(x, this.weight, this.bias, this.options);
  }
}

/** Options of `ConvTranspose1d`, in positions. */
export interface ConvTranspose1dOptions extends Conv1dOptions {
  /** Positions added at the end of the result; below the stride or the dilation. */
  readonly outputPadding?: number;
}

const convTranspose1dLayer = {
  ...convTranspose1dOptions,
  bias: on,
} satisfies OptionTable<ConvTranspose1dOptions>;

/**
 * Transposed convolution of x [N, C, L] → [N, O, Q] with Q = (L - 1)·stride - 2·padding +
 * dilation·(K - 1) + outputPadding + 1. weight [C, O/groups, K], bias [O].
 * @throws ArgumentError for channels that the groups do not divide, and for options that are
 *   unknown or out of range
 */
export class ConvTranspose1d extends Convolution<F.ConvTranspose1dOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number,
    options?: ConvTranspose1dOptions,
  ) {
    const { bias, ...window } = readOptions("ConvTranspose1d", options, convTranspose1dLayer);
    checkChannels("ConvTranspose1d", inChannels, outChannels, window.groups);
    checkArgument("ConvTranspose1d", "kernelSize", kernelSize, extent);
    checkOutputPadding("ConvTranspose1d", window);
    super([inChannels, outChannels / window.groups, kernelSize], outChannels, bias, window);
  }
  forward(x: Tensor): Tensor {
    return convTranspose1d(x, this.weight, this.bias, this.options);
  }
}

/**
 * Pooling layers. They own nothing; the functions in functional/pool.ts compute.
 */
import * as F from "../functional/index.ts";
import { checkOptions } from "../../base/options.ts";
import { checkCount, checkPair } from "../checks.ts";
import {
  type Pool1dOptions,
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  avgPool1d,
  maxPool1d,
} from "../functional/pool.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

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

/** What average pooling has beside the options of every pooling. */
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

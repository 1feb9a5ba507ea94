/**
 * Pooling layers. They own nothing; the functions in functional/pool.ts compute.
 */
import type * as F from "../functional/index.ts";
import {
  type OptionRow,
  type OptionTable,
  checkArgument,
  readOptions,
} from "../../base/options.ts";
import { count, extent, extents } from "../checks.ts";
import {
  type AvgPoolOptions,
  type Pool1dOptions,
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  avgPool1d,
  avgPool1dOptions,
  avgPool2d,
  avgPoolOptions,
  maxPool1d,
  maxPool2d,
  pool1dOptions,
  poolOptions,
} from "../functional/pool.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A function that pools: x, the kernel, and how it moves. */
type Pool<K, O> = (x: Tensor, kernel: K, options: O) => Tensor;

/** Pooling over windows of one size. */
abstract class WindowPool<K, O extends object> extends Layer {
  readonly #pool: Pool<K, O>;
  readonly #kernel: K;
  readonly #options: O;
  constructor(
    pool: Pool<K, O>,
    row: OptionRow,
    table: OptionTable<O>,
    kernelSize: K,
    options: O | undefined,
  ) {
    super();
    this.#options = readOptions(new.target.name, options, table) as O;
    checkArgument(new.target.name, "kernelSize", kernelSize, row);
    this.#pool = pool;
    this.#kernel = kernelSize;
  }
  forward(x: Tensor): Tensor {
    return this.#pool(x, this.#kernel, this.#options);
  }
}

/**
 * Largest element of each window.
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using pool = new MaxPool2d(2);
 * using image = randn([1, 1, 4, 4]);
 * using out = pool.call(image);
 * console.log(out.shape.join()); // → 1,1,2,2
 * ```
 */
export class MaxPool2d extends WindowPool<F.Pair, F.PoolOptions> {
  constructor(kernelSize: F.Pair, options?: F.PoolOptions) {
    super(maxPool2d, extents, poolOptions, kernelSize, options);
  }
}

/**
 * Largest element of each window of x [N, C, L]; the stride is the kernel size unless given.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class MaxPool1d extends WindowPool<number, Pool1dOptions> {
  constructor(kernelSize: number, options?: Pool1dOptions) {
    super(maxPool1d, extent, pool1dOptions, kernelSize, options);
  }
}

/**
 * Mean of each window of x [N, C, L].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class AvgPool1d extends WindowPool<number, Pool1dOptions & AvgPoolOptions> {
  constructor(kernelSize: number, options?: Pool1dOptions & AvgPoolOptions) {
    super(avgPool1d, extent, avgPool1dOptions, kernelSize, options);
  }
}

/**
 * Mean of each window of x [N, C, H, W]; the stride is the kernel size unless given.
 * @throws ArgumentError for options that are unknown or out of range
 */
export class AvgPool2d extends WindowPool<F.Pair, F.PoolOptions & AvgPoolOptions> {
  constructor(kernelSize: F.Pair, options?: F.PoolOptions & AvgPoolOptions) {
    super(avgPool2d, extents, avgPoolOptions, kernelSize, options);
  }
}

/** Pooling over as many bins as the result has positions, whatever the size of x. */
abstract class AdaptivePool<S> extends Layer {
  readonly #pool: (x: Tensor, size: S) => Tensor;
  readonly #size: S;
  constructor(pool: (x: Tensor, size: S) => Tensor, row: OptionRow, outputSize: S) {
    super();
    checkArgument(new.target.name, "outputSize", outputSize, row);
    this.#pool = pool;
    this.#size = outputSize;
  }
  forward(x: Tensor): Tensor {
    return this.#pool(x, this.#size);
  }
}

/**
 * [N, C, H, W] → [N, C, P, Q]: means over P·Q bins. 1 is the global average.
 * @throws ArgumentError for a size below 1
 */
export class AdaptiveAvgPool2d extends AdaptivePool<F.Pair> {
  constructor(outputSize: F.Pair) {
    super(adaptiveAvgPool2d, extents, outputSize);
  }
}

/** [N, C, L] → [N, C, P]: means over P bins. @throws ArgumentError for a size below 1 */
export class AdaptiveAvgPool1d extends AdaptivePool<number> {
  constructor(outputSize: number) {
    super(adaptiveAvgPool1d, count, outputSize);
  }
}

/**
 * [N, C, H, W] → [N, C, P, Q]: the largest of each of P·Q bins.
 * @throws ArgumentError for a size below 1
 */
export class AdaptiveMaxPool2d extends AdaptivePool<F.Pair> {
  constructor(outputSize: F.Pair) {
    super(adaptiveMaxPool2d, extents, outputSize);
  }
}

/**
 * [N, C, L] → [N, C, P]: the largest of each of P bins.
 * @throws ArgumentError for a size below 1
 */
export class AdaptiveMaxPool1d extends AdaptivePool<number> {
  constructor(outputSize: number) {
    super(adaptiveMaxPool1d, count, outputSize);
  }
}

/**
 * Pooling over windows of a fixed size, and over as many bins as the result has positions, as
 * functions on tensors. Results belong to the current scope, intermediates are freed here.
 */
import * as C from "../../ops/pooling.ts";
import { at } from "../../base/access.ts";
import { isFloat } from "../../base/dtype.ts";
import { DTypeError, ShapeError } from "../../base/errors.ts";
import { type OptionTable, checkArgument, off, on, readOptions } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { count, extent, extents, margin, margins } from "../checks.ts";
import { type Pair, flat, pair } from "./spatial.ts";
import { resample } from "../../ops/resample.ts";
import { composed } from "../../ownership/scoped.ts";
import { tensor } from "../../tensor/create.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of pooling over images, in pixels; one number counts for both directions. */
export interface PoolOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  /** Windows may reach past the end, so that no pixel is left out. */
  readonly ceilMode?: boolean;
}

/** What average pooling has beside the options of every pooling. */
export interface AvgPoolOptions {
  /** Padding counts as zeros in the means; true unless told otherwise. */
  readonly countIncludePad?: boolean;
}

/** Options of pooling over sequences, in positions. */
export interface Pool1dOptions {
  readonly stride?: number;
  readonly padding?: number;
  /** Windows may reach past the end, so that no position is left out. */
  readonly ceilMode?: boolean;
}

/** Rows of pooling over images; the stride is the kernel's size unless given. */
export const poolOptions = {
  stride: extents,
  padding: { ...margins, default: 0 },
  ceilMode: off,
} satisfies OptionTable<PoolOptions>;

/** Rows of average pooling over images. */
export const avgPoolOptions = {
  ...poolOptions,
  countIncludePad: on,
} satisfies OptionTable<PoolOptions & AvgPoolOptions>;

/** Rows of pooling over sequences; the stride is the kernel's size unless given. */
export const pool1dOptions = {
  stride: extent,
  padding: { ...margin, default: 0 },
  ceilMode: off,
} satisfies OptionTable<Pool1dOptions>;

/** Rows of average pooling over sequences. */
export const avgPool1dOptions = {
  ...pool1dOptions,
  countIncludePad: on,
} satisfies OptionTable<Pool1dOptions & AvgPoolOptions>;

/** Options that were read. */
type Given<P> = Required<Omit<PoolOptions, "stride" | "padding">> & {
  readonly stride?: P | undefined;
  readonly padding: P;
};

/** @throws ArgumentError for a kernel that is none */
function windowOf(op: string, kernel: Pair, given: Given<Pair>): C.PoolWindow {
  checkArgument(op, "kernel", kernel, extents);
  return {
    kernel: pair(kernel),
    stride: pair(given.stride ?? kernel),
    padding: pair(given.padding),
    ...(given.ceilMode ? { ceil: true } : {}),
  };
}

/** `windowOf` for sequences, seen as images of height 1. */
function rowOf(op: string, kernel: number, given: Given<number>): C.PoolWindow {
  checkArgument(op, "kernel", kernel, extent);
  return {
    kernel: [1, kernel],
    stride: [1, given.stride ?? kernel],
    padding: [0, given.padding],
    ...(given.ceilMode ? { ceil: true } : {}),
  };
}

/**
 * x [N, C, H, W] → largest element of each window; the stride is the kernel size unless given.
 * @throws ShapeError for a tensor of another rank or smaller than a window, DTypeError for a dtype
 *   without this op, ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using x = tensor([[[[1, 2], [3, 4]]]]);
 * using y = functional.maxPool2d(x, 2);
 * console.log(await y.item()); // → 4
 * ```
 */
export function maxPool2d(x: Tensor, kernel: Pair, options?: PoolOptions): Tensor {
  const given = readOptions("maxPool2d", options, poolOptions);
  return call(C.maxPool2d, [x], windowOf("maxPool2d", kernel, given));
}

/**
 * `maxPool2d`, and where in its plane of H·W pixels each maximum lies (int32, row-major, the first
 * of equal ones).
 * @throws ShapeError for a tensor of another rank or smaller than a window, DTypeError for a dtype
 *   without this op, ArgumentError for options that are unknown or out of range
 */
export function maxPool2dWithIndices(
  x: Tensor,
  kernel: Pair,
  options?: PoolOptions,
): { readonly values: Tensor; readonly indices: Tensor } {
  const op = "maxPool2dWithIndices";
  const window = windowOf(op, kernel, readOptions(op, options, poolOptions));
  return composed(
    () => ({
      values: call(C.maxPool2d, [x], window),
      indices: call(C.maxPool2dIndices, [x], window),
    }),
    op,
  );
}

/**
 * x [N, C, H, W] → mean of each window; the stride is the kernel size unless given.
 * @throws ShapeError for a tensor of another rank or smaller than a window, DTypeError for a dtype
 *   without this op, ArgumentError for options that are unknown or out of range
 */
export function avgPool2d(x: Tensor, kernel: Pair, options?: PoolOptions & AvgPoolOptions): Tensor {
  const given = readOptions("avgPool2d", options, avgPoolOptions);
  const { countIncludePad } = given;
  return call(C.avgPool2d, [x], { ...windowOf("avgPool2d", kernel, given), countIncludePad });
}

/**
 * x [N, C, L] → largest element of each window; the stride is the kernel size unless given.
 * @throws ShapeError for a tensor of another rank or smaller than a window, DTypeError for a dtype
 *   without this op, ArgumentError for options that are unknown or out of range
 */
export function maxPool1d(x: Tensor, kernel: number, options?: Pool1dOptions): Tensor {
  const window = rowOf("maxPool1d", kernel, readOptions("maxPool1d", options, pool1dOptions));
  return flat("maxPool1d", x, (image) => call(C.maxPool2d, [image], window));
}

/**
 * `maxPool1d`, and where along L each maximum lies (int32, the first of equal ones). x [N, C, L] →
 * [N, C, P] each.
 * @throws ShapeError for a tensor of another rank or smaller than a window, DTypeError for a dtype
 *   without this op, ArgumentError for options that are unknown or out of range
 */
export function maxPool1dWithIndices(
  x: Tensor,
  kernel: number,
  options?: Pool1dOptions,
): { readonly values: Tensor; readonly indices: Tensor } {
  const op = "maxPool1dWithIndices";
  const window = rowOf(op, kernel, readOptions(op, options, pool1dOptions));
  return composed(
    () => ({
      values: flat(op, x, (image) => call(C.maxPool2d, [image], window)),
      indices: flat(op, x, (image) => call(C.maxPool2dIndices, [image], window)),
    }),
    op,
  );
}

/**
 * x [N, C, L] → mean of each window; the stride is the kernel size unless given.
 * @throws ShapeError for a tensor of another rank or smaller than a window, DTypeError for a dtype
 *   without this op, ArgumentError for options that are unknown or out of range
 */
export function avgPool1d(
  x: Tensor,
  kernel: number,
  options?: Pool1dOptions & AvgPoolOptions,
): Tensor {
  const given = readOptions("avgPool1d", options, avgPool1dOptions);
  const window = rowOf("avgPool1d", kernel, given);
  const { countIncludePad } = given;
  return flat("avgPool1d", x, (image) =>
    call(C.avgPool2d, [image], { ...window, countIncludePad }),
  );
}

const bins2d = { ...extents, holes: true, what: "a size" } as const;

/** The size of the result for a user's one, by direction. @throws ArgumentError, ShapeError */
function binsOf(
  op: string,
  x: Tensor,
  size: number | readonly [number | null, number | null],
): readonly [number, number] {
  const { shape } = live(x, op).layout;
  checkArgument(op, "size", size, bins2d);
  if (shape.length !== 4 || shape[2] === 0 || shape[3] === 0)
    throw new ShapeError(
      op,
      "images [N, C, H, W] with pixels",
      formatShape(shape),
      "add missing dimensions with unsqueeze",
    );
  const [p, q] = typeof size === "number" ? [size, size] : size;
  return [p ?? at(shape, 2), q ?? at(shape, 3)];
}

/**
 * x [N, C, H, W] → [N, C, P, Q]: the mean of the pixels under each. `null` keeps a dimension.
 * @throws ShapeError for a tensor of another rank, DTypeError for integers, ArgumentError for a
 *   size below 1
 */
export function adaptiveAvgPool2d(
  x: Tensor,
  size: number | readonly [number | null, number | null],
): Tensor {
  const size2d = binsOf("adaptiveAvgPool2d", x, size);
  return call(resample, [x], { size: size2d, mode: "average" });
}

/**
 * x [N, C, L] → [N, C, Q].
 * @throws ShapeError for a tensor of another rank, DTypeError for integers, ArgumentError for a
 *   size below 1
 */
export function adaptiveAvgPool1d(x: Tensor, size: number): Tensor {
  checkArgument("adaptiveAvgPool1d", "size", size, count);
  return flat("adaptiveAvgPool1d", x, (image) => adaptiveAvgPool2d(image, [1, size]));
}

/** Bins along one axis: their table is made on the host. */
const mostBins = 2 ** 24;

/**
 * Positions of an axis in `count` bins that cover it evenly, the last one of a bin repeated to the
 * length of the longest.
 */
function bins(
  size: number,
  count: number,
): { readonly positions: Int32Array; readonly length: number } {
  const from = (p: number): number => Math.floor((p * size) / count);
  const to = (p: number): number => Math.ceil(((p + 1) * size) / count);
  let length = 0;
  for (let p = 0; p < count; p++) length = Math.max(length, to(p) - from(p));
  const positions = new Int32Array(count * length);
  for (let p = 0; p < count; p++)
    for (let i = 0; i < length; i++) positions[p * length + i] = Math.min(from(p) + i, to(p) - 1);
  return { length, positions };
}

/** The largest element of each bin along an axis; the first of equal ones takes the gradient. */
function binMax(x: Tensor, axis: number, count: number): Tensor {
  const size = at(x.shape, axis);
  if (size === count) return x.alias();
  const { positions, length } = bins(size, count);
  const windows = (
    size === count * length ? x : x.indexSelect(axis, tensor(positions, { dtype: "int32" }))
  ).reshape([...x.shape.slice(0, axis), count, length, ...x.shape.slice(axis + 1)]);
  return windows.gather(axis + 1, windows.argMax(axis + 1, true)).squeeze(axis + 1);
}

/**
 * x [N, C, H, W] → [N, C, P, Q]: the largest of the pixels under each. `null` keeps a dimension.
 * @throws ShapeError for more than 2^24 along an axis, DTypeError for integers, ArgumentError for a
 *   size below 1
 */
export function adaptiveMaxPool2d(
  x: Tensor,
  size: number | readonly [number | null, number | null],
): Tensor {
  const op = "adaptiveMaxPool2d";
  const to = binsOf(op, x, size),
    [h, w] = [at(x.shape, 2), at(x.shape, 3)];
  if (Math.max(...to) > mostBins)
    throw new ShapeError(
      op,
      `a size of at most ${mostBins} along an axis`,
      formatShape(to),
      "pool to fewer pixels",
    );
  if (!isFloat(x.dtype)) throw new DTypeError(op, "a float tensor", x.dtype, "cast it to float32");
  if (h % to[0] === 0 && w % to[1] === 0) {
    const cell = [h / to[0], w / to[1]] as const;
    return call(C.maxPool2d, [x], { kernel: cell, stride: cell, padding: [0, 0] });
  }
  return composed(() => binMax(binMax(x, 2, to[0]), 3, to[1]), op);
}

/**
 * x [N, C, L] → [N, C, Q].
 * @throws ShapeError for a tensor of another rank, DTypeError for integers, ArgumentError for a
 *   size below 1
 */
export function adaptiveMaxPool1d(x: Tensor, size: number): Tensor {
  checkArgument("adaptiveMaxPool1d", "size", size, count);
  return flat("adaptiveMaxPool1d", x, (image) => adaptiveMaxPool2d(image, [1, size]));
}

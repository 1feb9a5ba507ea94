/**
 * Pooling over windows of a fixed size, and over as many bins as the result has positions, as
 * functions on tensors. Results belong to the current scope, intermediates are freed here.
 */
import * as C from "../../ops/pooling.ts";
import { isFloat } from "../../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../../base/errors.ts";
import { checkOptions } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { type Pair, flat, pair } from "./spatial.ts";
import { resample } from "../../ops/resample.ts";
import { scoped } from "../../ownership/scoped.ts";
import { tensor } from "../../tensor/create.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of pooling over images, in pixels; one number counts for both directions. */
export interface PoolOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  /** Windows may reach past the end, so that no pixel is left out. */
  readonly ceilMode?: boolean;
}

const windowOf = (
  kernel: Pair,
  { stride = kernel, padding = 0, ceilMode = false }: PoolOptions,
): C.PoolWindow => ({
  kernel: pair(kernel),
  stride: pair(stride),
  padding: pair(padding),
  ...(ceilMode ? { ceil: true } : {}),
});

/** x [N, C, H, W] → largest element of each window; the stride is the kernel size unless given. */
export function maxPool2d(x: Tensor, kernel: Pair, options: PoolOptions = {}): Tensor {
  checkOptions("maxPool2d", options, ["stride", "padding", "ceilMode"]);
  return call(C.maxPool2d, [x], windowOf(kernel, options));
}

/**
 * `maxPool2d`, and where in its plane of H·W pixels each maximum lies (int32, row-major, the first
 * of equal ones).
 */
export function maxPool2dWithIndices(
  x: Tensor,
  kernel: Pair,
  options: PoolOptions = {},
): { readonly values: Tensor; readonly indices: Tensor } {
  checkOptions("maxPool2dWithIndices", options, ["stride", "padding", "ceilMode"]);
  return scoped(
    () => ({
      values: call(C.maxPool2d, [x], windowOf(kernel, options)),
      indices: call(C.maxPool2dIndices, [x], windowOf(kernel, options)),
    }),
    "maxPool2dWithIndices",
  );
}

/** x [N, C, H, W] → mean of each window; the stride is the kernel size unless given. */
export function avgPool2d(
  x: Tensor,
  kernel: Pair,
  options: PoolOptions & { readonly countIncludePad?: boolean } = {},
): Tensor {
  checkOptions("avgPool2d", options, ["stride", "padding", "ceilMode", "countIncludePad"]);
  return call(C.avgPool2d, [x], {
    ...windowOf(kernel, options),
    countIncludePad: options.countIncludePad ?? true,
  });
}

/** Options of pooling over sequences, in positions. */
export interface Pool1dOptions {
  readonly stride?: number;
  readonly padding?: number;
  /** Windows may reach past the end, so that no position is left out. */
  readonly ceilMode?: boolean;
}

const rowOf = (
  kernel: number,
  { stride = kernel, padding = 0, ceilMode = false }: Pool1dOptions,
): C.PoolWindow => ({
  kernel: [1, kernel],
  stride: [1, stride],
  padding: [0, padding],
  ...(ceilMode ? { ceil: true } : {}),
});

/** x [N, C, L] → largest element of each window; the stride is the kernel size unless given. */
export function maxPool1d(x: Tensor, kernel: number, options: Pool1dOptions = {}): Tensor {
  checkOptions("maxPool1d", options, ["stride", "padding", "ceilMode"]);
  return flat("maxPool1d", x, (image) => call(C.maxPool2d, [image], rowOf(kernel, options)));
}

/** `maxPool1d`, and where along L each maximum lies (int32, the first of equal ones). */
export function maxPool1dWithIndices(
  x: Tensor,
  kernel: number,
  options: Pool1dOptions = {},
): { readonly values: Tensor; readonly indices: Tensor } {
  checkOptions("maxPool1dWithIndices", options, ["stride", "padding", "ceilMode"]);
  return scoped(
    () => ({
      values: maxPool1d(x, kernel, options),
      indices: flat("maxPool1dWithIndices", x, (image) =>
        call(C.maxPool2dIndices, [image], rowOf(kernel, options)),
      ),
    }),
    "maxPool1dWithIndices",
  );
}

/** x [N, C, L] → mean of each window; the stride is the kernel size unless given. */
export function avgPool1d(
  x: Tensor,
  kernel: number,
  options: Pool1dOptions & { readonly countIncludePad?: boolean } = {},
): Tensor {
  checkOptions("avgPool1d", options, ["stride", "padding", "ceilMode", "countIncludePad"]);
  return flat("avgPool1d", x, (image) =>
    call(C.avgPool2d, [image], {
      ...rowOf(kernel, options),
      countIncludePad: options.countIncludePad ?? true,
    }),
  );
}

/** x [N, C, H, W] → [N, C, P, Q]: the mean of the pixels under each. `null` keeps a dimension. */
export function adaptiveAvgPool2d(
  x: Tensor,
  size: number | readonly [number | null, number | null],
): Tensor {
  live(x, "adaptiveAvgPool2d");
  const [p, q] = typeof size === "number" ? [size, size] : size;
  return call(resample, [x], { size: [p ?? x.shape[2]!, q ?? x.shape[3]!], mode: "average" });
}

/** x [N, C, L] → [N, C, Q]. */
export function adaptiveAvgPool1d(x: Tensor, size: number): Tensor {
  return flat("adaptiveAvgPool1d", x, (image) => adaptiveAvgPool2d(image, [1, size]));
}

/**
 * Positions of an axis in `count` bins that cover it evenly, the last one of a bin repeated to the
 * length of the longest.
 */
function bins(
  size: number,
  count: number,
): { readonly positions: number[]; readonly length: number } {
  const edges = Array.from(
      { length: count },
      (_, p) => [Math.floor((p * size) / count), Math.ceil(((p + 1) * size) / count)] as const,
    ),
    length = Math.max(...edges.map(([from, to]) => to - from));
  return {
    length,
    positions: edges.flatMap(([from, to]) =>
      Array.from({ length }, (_, i) => Math.min(from + i, to - 1)),
    ),
  };
}

/** The largest element of each bin along an axis; the first of equal ones takes the gradient. */
function binMax(x: Tensor, axis: number, count: number): Tensor {
  const size = x.shape[axis]!,
    { positions, length } = bins(size, count);
  if (size === count) return x.alias();
  const windows = (
    size === count * length ? x : x.indexSelect(axis, tensor(positions, { dtype: "int32" }))
  ).reshape([...x.shape.slice(0, axis), count, length, ...x.shape.slice(axis + 1)]);
  return windows.gather(axis + 1, windows.argMax(axis + 1, true)).squeeze(axis + 1);
}

/**
 * x [N, C, H, W] → [N, C, P, Q]: the largest of the pixels under each. `null` keeps a dimension.
 */
export function adaptiveMaxPool2d(
  x: Tensor,
  size: number | readonly [number | null, number | null],
): Tensor {
  const op = "adaptiveMaxPool2d";
  live(x, op);
  if (x.rank !== 4 || x.shape[2] === 0 || x.shape[3] === 0)
    throw new ShapeError(
      op,
      "images [N, C, H, W] with pixels",
      formatShape(x.shape),
      "add missing dimensions with unsqueeze",
    );
  const [p, q] = typeof size === "number" ? [size, size] : size,
    to = [p ?? x.shape[2]!, q ?? x.shape[3]!] as const,
    [h, w] = [x.shape[2]!, x.shape[3]!];
  if (to.some((n) => !Number.isInteger(n) || n < 1))
    throw new ArgumentError(
      op,
      "a size of 1 or more in both directions",
      to.join("×"),
      "pass whole numbers",
    );
  if (!isFloat(x.dtype)) throw new DTypeError(op, "a float tensor", x.dtype, "cast it to float32");
  if (h % to[0] === 0 && w % to[1] === 0) {
    const cell = [h / to[0], w / to[1]] as const;
    return call(C.maxPool2d, [x], { kernel: cell, stride: cell, padding: [0, 0] });
  }
  return scoped(() => binMax(binMax(x, 2, to[0]), 3, to[1]), op);
}

/** x [N, C, L] → [N, C, Q]. */
export function adaptiveMaxPool1d(x: Tensor, size: number): Tensor {
  return flat("adaptiveMaxPool1d", x, (image) => adaptiveMaxPool2d(image, [1, size]));
}

/**
 * Convolutions, pooling, borders and resampling beyond the two-dimensional basics. One dimension is
 * two with a height of 1: views, no copies. Results belong to the current scope, intermediates are
 * freed here.
 */
import { f32Bits } from "../base/bits.ts";
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { checkOptions, describeValue, needOptions } from "../base/options.ts";
import { formatShape } from "../base/shape.ts";
import * as C from "../ops/conv.ts";
import { dtypeWord } from "../ops/elementwise.ts";
import { pad as padOp, resample } from "../ops/images.ts";
import { scoped } from "../ownership/scoped.ts";
import { tensor } from "../tensor/create.ts";
import { type Tensor, call, live } from "../tensor/tensor.ts";

/** One number for both directions, or (vertical, horizontal). */
type Pair = number | readonly [number, number];
const pair = (value: Pair): readonly [number, number] =>
  typeof value === "number" ? [value, value] : value;

/** Runs `fn` on images of height 1. */
function flat(op: string, x: Tensor, fn: (image: Tensor) => Tensor): Tensor {
  live(x, op);
  if (x.rank !== 3)
    throw new ShapeError(
      op,
      "a tensor [N, C, L]",
      formatShape(x.shape),
      "add missing dimensions with unsqueeze",
    );
  return scoped(() => fn(x.unsqueeze(2)).squeeze(2), op);
}

// === Convolution ===

export interface Conv1dOptions {
  readonly stride?: number;
  readonly padding?: number;
  readonly dilation?: number;
  readonly groups?: number;
}

/** x [N, C, L], weight [O, C/groups, S], bias [O] → [N, O, Q]. */
export function conv1d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options: Conv1dOptions = {},
): Tensor {
  checkOptions("conv1d", options, ["stride", "padding", "dilation", "groups"]);
  live(weight, "conv1d");
  if (weight.rank !== 3)
    throw new ShapeError(
      "conv1d",
      "a weight [O, C/groups, S]",
      formatShape(weight.shape),
      "check the layer's kernel",
    );
  const { stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
  return flat("conv1d", x, (image) => {
    const y = call(C.conv2d, [image, weight.unsqueeze(2)], {
      stride: [1, stride],
      padding: [0, padding],
      dilation: [1, dilation],
      groups,
    });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  });
}

export interface ConvTranspose2dOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  readonly outputPadding?: Pair;
  readonly dilation?: Pair;
  readonly groups?: number;
}

/**
 * x [N, C, H, W], weight [C, O/groups, R, S], bias [O] → [N, O, P, Q] with P = (H - 1)·stride -
 * 2·padding + dilation·(R - 1) + outputPadding + 1. The gradient of conv2d as a layer.
 */
export function convTranspose2d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options: ConvTranspose2dOptions = {},
): Tensor {
  const op = "convTranspose2d",
    names = ["stride", "padding", "outputPadding", "dilation", "groups"];
  checkOptions(op, options, names);
  live(x, op);
  live(weight, op);
  const stride = pair(options.stride ?? 1),
    padding = pair(options.padding ?? 0),
    extra = pair(options.outputPadding ?? 0),
    dilation = pair(options.dilation ?? 1),
    groups = options.groups ?? 1;
  if (x.rank !== 4 || weight.rank !== 4)
    throw new ShapeError(
      op,
      "input [N, C, H, W] and weight [C, O/groups, R, S]",
      `${formatShape(x.shape)} and ${formatShape(weight.shape)}`,
      "add missing dimensions with unsqueeze",
    );
  if (x.shape[1] !== weight.shape[0])
    throw new ShapeError(
      op,
      `an input with ${weight.shape[0]} channels for weight ${formatShape(weight.shape)}`,
      formatShape(x.shape),
      "the weight's first dimension is the input's channels",
    );
  if (x.dtype !== weight.dtype)
    throw new DTypeError(
      op,
      "operands of one dtype",
      `${x.dtype} and ${weight.dtype}`,
      "cast one of them",
    );
  if (!Number.isInteger(groups) || groups < 1 || weight.shape[0]! % groups !== 0)
    throw new ArgumentError(
      op,
      `groups that divide the ${weight.shape[0]} input channels`,
      describeValue(groups),
      "use a divisor of both channel counts",
    );
  for (const [what, values, least] of [
    ["stride", stride, 1],
    ["padding", padding, 0],
    ["outputPadding", extra, 0],
    ["dilation", dilation, 1],
  ] as const)
    if (values.some((n) => !Number.isInteger(n) || n < least))
      throw new ArgumentError(
        op,
        `a ${what} of ${least} or more`,
        values.join("×"),
        "pass one whole number, or a pair [vertical, horizontal]",
      );
  if (extra.some((n, i) => n >= stride[i]! && n >= dilation[i]!))
    throw new ArgumentError(
      op,
      "an outputPadding below the stride or the dilation",
      extra.join("×"),
      "it only chooses among sizes that the stride skips",
    );
  const size = (i: 0 | 1): number =>
    (x.shape[2 + i]! - 1) * stride[i] -
    2 * padding[i] +
    dilation[i] * (weight.shape[2 + i]! - 1) +
    extra[i] +
    1;
  if (size(0) < 1 || size(1) < 1)
    throw new ShapeError(op, "a result with pixels", `${size(0)}×${size(1)}`, "use less padding");
  return scoped(() => {
    const y = call(C.conv2dBackwardInput, [x, weight], {
      stride,
      padding,
      dilation,
      groups,
      shape: [x.shape[0]!, weight.shape[1]! * groups, size(0), size(1)],
    });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  }, op);
}

export interface ConvTranspose1dOptions extends Conv1dOptions {
  readonly outputPadding?: number;
}

/** x [N, C, L], weight [C, O/groups, S], bias [O] → [N, O, Q]. */
export function convTranspose1d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options: ConvTranspose1dOptions = {},
): Tensor {
  checkOptions("convTranspose1d", options, [
    "stride",
    "padding",
    "dilation",
    "groups",
    "outputPadding",
  ]);
  live(weight, "convTranspose1d");
  if (weight.rank !== 3)
    throw new ShapeError(
      "convTranspose1d",
      "a weight [C, O/groups, S]",
      formatShape(weight.shape),
      "check the layer's kernel",
    );
  const { stride = 1, padding = 0, dilation = 1, groups = 1, outputPadding = 0 } = options;
  return flat("convTranspose1d", x, (image) =>
    convTranspose2d(image, weight.unsqueeze(2), bias, {
      stride: [1, stride],
      padding: [0, padding],
      dilation: [1, dilation],
      outputPadding: [0, outputPadding],
      groups,
    }),
  );
}

// === Pooling ===

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

// === Size ===

export interface UpsampleOptions {
  /** Rows and columns of the result; or `scaleFactor`. */
  readonly size?: Pair;
  /**
   * The result has ⌊H · factor⌋ rows; positions step by exactly 1 / factor, as in PyTorch, also
   * where that is not the ratio of the sizes.
   */
  readonly scaleFactor?: Pair;
  readonly mode?: "nearest" | "bilinear" | "linear";
  /** Bilinear: the corner pixels' centres stay where they are. */
  readonly alignCorners?: boolean;
}

/**
 * x [N, C, H, W] (or [N, C, L], mode nearest or linear) at another size; also known as interpolate.
 */
export function upsample(x: Tensor, options: UpsampleOptions): Tensor {
  needOptions("upsample", options, ["size", "scaleFactor", "mode", "alignCorners"]);
  live(x, "upsample");
  const { size, scaleFactor, mode = "nearest", alignCorners = false } = options;
  if ((size === undefined) === (scaleFactor === undefined))
    throw new ArgumentError(
      "upsample",
      "either a size or a scaleFactor",
      size === undefined ? "neither" : "both",
      "pass { size: [rows, columns] } or { scaleFactor: 2 }",
    );
  if (!["nearest", "bilinear", "linear"].includes(mode))
    throw new ArgumentError(
      "upsample",
      'mode to be "nearest", "bilinear" or "linear"',
      describeValue(mode),
      "cubic and area are not there: adaptiveAvgPool2d averages",
    );
  if (pair((size ?? scaleFactor)!).some((n) => !(n > 0 && Number.isFinite(n))))
    throw new ArgumentError(
      "upsample",
      "a positive size or factor",
      String(size ?? scaleFactor),
      "pass for example { scaleFactor: 2 }",
    );
  if (x.rank === 3) {
    const to = size ?? scaleFactor!;
    if (typeof to !== "number")
      throw new ArgumentError(
        "upsample",
        "one number for a tensor [N, C, L]",
        describeValue(to),
        "pass a plain number",
      );
    return flat("upsample", x, (image) =>
      upsample(image, {
        mode,
        alignCorners,
        ...(size === undefined ? { scaleFactor: [1, to] } : { size: [1, to] }),
      }),
    );
  }
  if (x.rank !== 4)
    throw new ShapeError(
      "upsample",
      "images [N, C, H, W] or sequences [N, C, L]",
      formatShape(x.shape),
      "add missing dimensions with unsqueeze",
    );
  const factor = size === undefined ? pair(scaleFactor!) : null,
    to = factor?.map((f, i) => Math.floor(x.shape[2 + i]! * f)) ?? pair(size!),
    plain = mode === "nearest" ? ("nearest" as const) : ("bilinear" as const);
  if (mode !== "nearest" && alignCorners)
    return call(resample, [x], { size: [to[0], to[1]], mode: "bilinearCorners" });
  const exact = factor === null || factor.every((f, i) => to[i] === x.shape[2 + i]! * f);
  return call(resample, [x], {
    size: [to[0], to[1]],
    ...(exact
      ? { mode: plain }
      : { mode: `${plain}Scaled` as const, scale: [1 / factor[0], 1 / factor[1]] as const }),
  });
}

/**
 * A border around the last dimensions, given from the last one backwards as in PyTorch: [left,
 * right, top, bottom, …]. Negative constant borders cut off. Modes reflect and replicate take any
 * dimensions.
 */
export function pad(
  x: Tensor,
  border: readonly number[],
  mode: "constant" | "reflect" | "replicate" = "constant",
  value = 0,
): Tensor {
  live(x, "pad");
  if (!(Array.isArray as (v: unknown) => boolean)(border))
    throw new ArgumentError(
      "pad",
      "a list of borders",
      describeValue(border),
      "write [left, right, top, bottom]",
    );
  if (
    border.length % 2 !== 0 ||
    border.length > 2 * x.rank ||
    border.some((n) => !Number.isInteger(n))
  )
    throw new ArgumentError(
      "pad",
      `pairs of whole numbers for at most ${x.rank} dimensions`,
      `[${border.join(",")}]`,
      "write [left, right, top, bottom]",
    );
  if (!["constant", "reflect", "replicate"].includes(mode))
    throw new ArgumentError(
      "pad",
      'mode to be "constant", "reflect" or "replicate"',
      describeValue(mode),
      "choose one of them",
    );
  const of = (side: 0 | 1): number[] =>
      Array.from({ length: x.rank }, (_, i) => border[2 * (x.rank - 1 - i) + side] ?? 0),
    before = of(0),
    after = of(1);
  if (border.some((n) => n < 0) && mode !== "constant")
    throw new ArgumentError(
      "pad",
      "a border of 0 or more",
      `[${border.join(",")}]`,
      "cut with slice first",
    );
  return scoped(() => {
    const inner = before.reduce(
      (t, b, i) =>
        b < 0 || after[i]! < 0
          ? t.slice(i, Math.max(0, -b), t.shape[i]! - Math.max(0, -after[i]!))
          : t,
      x.alias(),
    );
    const word = x.dtype === "float16" ? f32Bits(value) : dtypeWord(value, x.dtype);
    return call(
      padOp,
      [inner],
      { before: before.map((n) => Math.max(n, 0)), after: after.map((n) => Math.max(n, 0)), mode },
      [word],
    );
  }, "pad");
}

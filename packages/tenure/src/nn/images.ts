/**
 * Convolutions, pooling, borders and resampling beyond the two-dimensional basics. One dimension is two with a height of 1: views, no copies. Results belong to
 * the current scope, intermediates are freed here.
 */
import { f32Bits } from "../base/bits.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import * as C from "../ops/conv.ts";
import { dtypeWord } from "../ops/elementwise.ts";
import { pad as padOp, resample } from "../ops/images.ts";
import { scoped } from "../ownership/scoped.ts";
import { type Tensor, call } from "../tensor/tensor.ts";

/** One number for both directions, or (vertical, horizontal). */
type Pair = number | readonly [number, number];
const pair = (value: Pair): readonly [number, number] => (typeof value === "number" ? [value, value] : value);

/** Runs `fn` on images of height 1. */
function flat(op: string, x: Tensor, fn: (image: Tensor) => Tensor): Tensor {
  if (x.rank !== 3) throw new ShapeError(op, "a tensor [N, C, L]", formatShape(x.shape), "add missing dimensions with unsqueeze");
  return scoped(() => fn(x.unsqueeze(2)).squeeze(2), op);
}

// === Convolution ===

export interface Conv1dOptions { readonly stride?: number; readonly padding?: number; readonly dilation?: number; readonly groups?: number }

/** x [N, C, L], weight [O, C/groups, S], bias [O] → [N, O, Q]. */
export function conv1d(x: Tensor, weight: Tensor, bias?: Tensor | null, options: Conv1dOptions = {}): Tensor {
  if (weight.rank !== 3) throw new ShapeError("conv1d", "a weight [O, C/groups, S]", formatShape(weight.shape), "check the layer's kernel");
  const { stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
  return flat("conv1d", x, (image) => {
    const y = call(C.conv2d, [image, weight.unsqueeze(2)], { stride: [1, stride], padding: [0, padding], dilation: [1, dilation], groups });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  });
}

export interface ConvTranspose2dOptions { readonly stride?: Pair; readonly padding?: Pair; readonly outputPadding?: Pair; readonly dilation?: Pair; readonly groups?: number }

/** x [N, C, H, W], weight [C, O/groups, R, S], bias [O] → [N, O, P, Q] with P = (H - 1)·stride - 2·padding + dilation·(R - 1) + outputPadding + 1. The gradient of conv2d as a layer. */
export function convTranspose2d(x: Tensor, weight: Tensor, bias?: Tensor | null, options: ConvTranspose2dOptions = {}): Tensor {
  const op = "convTranspose2d", stride = pair(options.stride ?? 1), padding = pair(options.padding ?? 0), extra = pair(options.outputPadding ?? 0), dilation = pair(options.dilation ?? 1), groups = options.groups ?? 1;
  if (x.rank !== 4 || weight.rank !== 4) throw new ShapeError(op, "input [N, C, H, W] and weight [C, O/groups, R, S]", `${formatShape(x.shape)} and ${formatShape(weight.shape)}`, "add missing dimensions with unsqueeze");
  if (x.shape[1] !== weight.shape[0]) throw new ShapeError(op, `an input with ${weight.shape[0]} channels for weight ${formatShape(weight.shape)}`, formatShape(x.shape), "the weight's first dimension is the input's channels");
  if (x.dtype !== weight.dtype) throw new DTypeError(op, "operands of one dtype", `${x.dtype} and ${weight.dtype}`, "cast one of them");
  if (!Number.isInteger(groups) || groups < 1 || weight.shape[0]! % groups !== 0) throw new ArgumentError(op, `groups that divide the ${weight.shape[0]} input channels`, String(groups));
  for (const [what, values, least] of [["stride", stride, 1], ["padding", padding, 0], ["outputPadding", extra, 0], ["dilation", dilation, 1]] as const) if (values.some((n) => !Number.isInteger(n) || n < least)) throw new ArgumentError(op, `a ${what} of ${least} or more`, values.join("×"));
  if (extra.some((n, i) => n >= stride[i]! && n >= dilation[i]!)) throw new ArgumentError(op, "an outputPadding below the stride or the dilation", extra.join("×"));
  const size = (i: 0 | 1): number => (x.shape[2 + i]! - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.shape[2 + i]! - 1) + extra[i] + 1;
  if (size(0) < 1 || size(1) < 1) throw new ShapeError(op, "a result with pixels", `${size(0)}×${size(1)}`, "use less padding");
  return scoped(() => {
    const y = call(C.conv2dBackwardInput, [x, weight], { stride, padding, dilation, groups, shape: [x.shape[0]!, weight.shape[1]! * groups, size(0), size(1)] });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  }, op);
}

export interface ConvTranspose1dOptions extends Conv1dOptions { readonly outputPadding?: number }

/** x [N, C, L], weight [C, O/groups, S], bias [O] → [N, O, Q]. */
export function convTranspose1d(x: Tensor, weight: Tensor, bias?: Tensor | null, options: ConvTranspose1dOptions = {}): Tensor {
  if (weight.rank !== 3) throw new ShapeError("convTranspose1d", "a weight [C, O/groups, S]", formatShape(weight.shape), "check the layer's kernel");
  const { stride = 1, padding = 0, dilation = 1, groups = 1, outputPadding = 0 } = options;
  return flat("convTranspose1d", x, (image) => convTranspose2d(image, weight.unsqueeze(2), bias, { stride: [1, stride], padding: [0, padding], dilation: [1, dilation], outputPadding: [0, outputPadding], groups }));
}

// === Pooling ===

export interface Pool1dOptions { readonly stride?: number; readonly padding?: number }

/** x [N, C, L] → largest element of each window; the stride is the kernel size unless given. */
export function maxPool1d(x: Tensor, kernel: number, options: Pool1dOptions = {}): Tensor {
  return flat("maxPool1d", x, (image) => call(C.maxPool2d, [image], { kernel: [1, kernel], stride: [1, options.stride ?? kernel], padding: [0, options.padding ?? 0] }));
}

/** x [N, C, L] → mean of each window; the stride is the kernel size unless given. */
export function avgPool1d(x: Tensor, kernel: number, options: Pool1dOptions & { readonly countIncludePad?: boolean } = {}): Tensor {
  return flat("avgPool1d", x, (image) => call(C.avgPool2d, [image], { kernel: [1, kernel], stride: [1, options.stride ?? kernel], padding: [0, options.padding ?? 0], countIncludePad: options.countIncludePad ?? true }));
}

/** x [N, C, H, W] → [N, C, P, Q]: the mean of the pixels under each. `null` keeps a dimension. */
export function adaptiveAvgPool2d(x: Tensor, size: number | readonly [number | null, number | null]): Tensor {
  const [p, q] = typeof size === "number" ? [size, size] : size;
  return call(resample, [x], { size: [p ?? x.shape[2]!, q ?? x.shape[3]!], mode: "average" });
}

/** x [N, C, L] → [N, C, Q]. */
export function adaptiveAvgPool1d(x: Tensor, size: number): Tensor { return flat("adaptiveAvgPool1d", x, (image) => adaptiveAvgPool2d(image, [1, size])); }

// === Size ===

export interface UpsampleOptions {
  /** Rows and columns of the result; or `scaleFactor`. */
  readonly size?: Pair;
  readonly scaleFactor?: Pair;
  readonly mode?: "nearest" | "bilinear" | "linear";
  /** Bilinear: the corner pixels' centres stay where they are. */
  readonly alignCorners?: boolean;
}

/** x [N, C, H, W] (or [N, C, L], mode nearest or linear) at another size; also known as interpolate. */
export function upsample(x: Tensor, options: UpsampleOptions): Tensor {
  const { size, scaleFactor, mode = "nearest", alignCorners = false } = options;
  if ((size === undefined) === (scaleFactor === undefined)) throw new ArgumentError("upsample", "either a size or a scaleFactor", size === undefined ? "neither" : "both");
  if (!["nearest", "bilinear", "linear"].includes(mode)) throw new ArgumentError("upsample", 'mode to be "nearest", "bilinear" or "linear"', JSON.stringify(mode));
  if (x.rank === 3) {
    const to = size ?? scaleFactor!;
    if (typeof to !== "number") throw new ArgumentError("upsample", "one number for a tensor [N, C, L]", String(to));
    return flat("upsample", x, (image) => upsample(image, { mode, alignCorners, ...(size === undefined ? { scaleFactor: [1, to] } : { size: [1, to] }) }));
  }
  const to = size === undefined ? pair(scaleFactor!).map((f, i) => Math.floor(x.shape[2 + i]! * f)) : pair(size);
  return call(resample, [x], { size: [to[0], to[1]], mode: mode === "nearest" ? "nearest" : alignCorners ? "bilinearCorners" : "bilinear" });
}

/**
 * A border around the last dimensions, given from the last one backwards as in PyTorch: [left, right, top, bottom, …].
 * Negative constant borders cut off. Modes reflect and replicate take any dimensions.
 */
export function pad(x: Tensor, border: readonly number[], mode: "constant" | "reflect" | "replicate" = "constant", value = 0): Tensor {
  if (border.length % 2 !== 0 || border.length > 2 * x.rank || border.some((n) => !Number.isInteger(n))) throw new ArgumentError("pad", `pairs of whole numbers for at most ${x.rank} dimensions`, `[${border.join(",")}]`, "write [left, right, top, bottom]");
  if (!["constant", "reflect", "replicate"].includes(mode)) throw new ArgumentError("pad", 'mode to be "constant", "reflect" or "replicate"', JSON.stringify(mode));
  const of = (side: 0 | 1): number[] => Array.from({ length: x.rank }, (_, i) => border[2 * (x.rank - 1 - i) + side] ?? 0), before = of(0), after = of(1);
  if (border.some((n) => n < 0) && mode !== "constant") throw new ArgumentError("pad", "a border of 0 or more", `[${border.join(",")}]`, "cut with slice first");
  return scoped(() => {
    const inner = before.reduce((t, b, i) => (b < 0 || after[i]! < 0 ? t.slice(i, Math.max(0, -b), t.shape[i]! - Math.max(0, -after[i]!)) : t), x.alias());
    const word = x.dtype === "float16" ? f32Bits(value) : dtypeWord(value, x.dtype);
    return call(padOp, [inner], { before: before.map((n) => Math.max(n, 0)), after: after.map((n) => Math.max(n, 0)), mode }, [word]);
  }, "pad");
}

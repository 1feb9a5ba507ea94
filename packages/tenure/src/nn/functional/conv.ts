/**
 * Convolutions of sequences and images, plain and transposed, as functions on tensors. One
 * dimension is two with a height of 1: views, no copies. Results belong to the current scope,
 * intermediates are freed here.
 */
import * as C from "../../ops/conv.ts";
import { isFloat } from "../../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../../base/errors.ts";
import { type OptionTable, describeValue, readOptions } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { checkOperand, count, extent, extents, margin, margins } from "../checks.ts";
import { type Pair, flat, pair } from "./spatial.ts";
import { composed } from "../../ownership/scoped.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of `conv2d`, in pixels; one number counts for both directions. */
export interface Conv2dOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  readonly dilation?: Pair;
  readonly groups?: number;
}

const groups = { ...count, default: 1 } as const;

/** Rows of `conv2d`. */
export const conv2dOptions = {
  stride: { ...extents, default: 1 },
  padding: { ...margins, default: 0 },
  dilation: { ...extents, default: 1 },
  groups,
} satisfies OptionTable<Conv2dOptions>;

/**
 * x [N, C, H, W], weight [O, C/groups, R, S], bias [O] → [N, O, P, Q].
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using x = ones([1, 1, 3, 3]);
 * using weight = ones([1, 1, 2, 2]);
 * using y = functional.conv2d(x, weight);
 * console.log((await y.data()).join()); // → 4,4,4,4
 * ```
 */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options?: Conv2dOptions,
): Tensor {
  const { stride, padding, dilation, groups } = readOptions("conv2d", options, conv2dOptions);
  checkOperand("conv2d", bias);
  return composed(() => {
    const y = call(C.conv2d, [x, weight], {
      stride: pair(stride),
      padding: pair(padding),
      dilation: pair(dilation),
      groups,
    });
    return bias == null ? y : biased("conv2d", y, bias);
  }, "conv2d");
}

/**
 * Images [N, O, P, Q] with a number added to each channel.
 * @throws ShapeError unless there is one for each, DTypeError unless they are floats
 */
function biased(op: string, images: Tensor, bias: Tensor): Tensor {
  const { shape, dtype } = bias;
  if (!isFloat(dtype)) throw new DTypeError(op, "a float bias", dtype, "cast it to float32");
  if (shape.length !== 1 || shape[0] !== images.shape[1])
    throw new ShapeError(
      op,
      `a bias [${images.shape[1]}]`,
      formatShape(shape),
      "give each channel of the result one number",
    );
  return images.add(bias.reshape(1, -1, 1, 1));
}

/** Options of `conv1d`, in positions. */
export interface Conv1dOptions {
  readonly stride?: number;
  readonly padding?: number;
  readonly dilation?: number;
  readonly groups?: number;
}

/** Rows of `conv1d`. */
export const conv1dOptions = {
  stride: { ...extent, default: 1 },
  padding: { ...margin, default: 0 },
  dilation: { ...extent, default: 1 },
  groups,
} satisfies OptionTable<Conv1dOptions>;

/**
 * x [N, C, L], weight [O, C/groups, S], bias [O] → [N, O, Q].
 * @throws ShapeError for shapes that do not fit, DTypeError unless all are floats of one dtype,
 *   ArgumentError for options that are unknown or out of range
 */
export function conv1d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options?: Conv1dOptions,
): Tensor {
  const { stride, padding, dilation, groups } = readOptions("conv1d", options, conv1dOptions);
  checkOperand("conv1d", bias);
  live(weight, "conv1d");
  if (weight.rank !== 3)
    throw new ShapeError(
      "conv1d",
      "a weight [O, C/groups, S]",
      formatShape(weight.shape),
      "check the layer's kernel",
    );
  return flat("conv1d", x, (image) => {
    const y = call(C.conv2d, [image, weight.unsqueeze(2)], {
      stride: [1, stride],
      padding: [0, padding],
      dilation: [1, dilation],
      groups,
    });
    return bias == null ? y : biased("conv1d", y, bias);
  });
}

/** Options of `convTranspose2d`, in pixels; one number counts for both directions. */
export interface ConvTranspose2dOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  readonly outputPadding?: Pair;
  readonly dilation?: Pair;
  readonly groups?: number;
}

/** Rows of `convTranspose2d`. */
export const convTranspose2dOptions = {
  ...conv2dOptions,
  outputPadding: { ...margins, default: 0 },
} satisfies OptionTable<ConvTranspose2dOptions>;

/** @throws ShapeError, DTypeError and ArgumentError unless input, weight and groups fit together */
function checkTransposed(op: string, x: Tensor, weight: Tensor, groups: number): void {
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
  if (weight.shape[0]! % groups !== 0)
    throw new ArgumentError(
      op,
      `groups that divide the ${weight.shape[0]} input channels`,
      describeValue(groups),
      "use a divisor of both channel counts",
    );
}

/** @throws ArgumentError unless the padding of a result is below the stride or the dilation */
export function checkOutputPadding(
  op: string,
  window: Pick<Required<ConvTranspose2dOptions>, "outputPadding" | "stride" | "dilation">,
): void {
  const extra = pair(window.outputPadding),
    stride = pair(window.stride),
    dilation = pair(window.dilation);
  if (!extra.some((n, i) => n >= stride[i]! && n >= dilation[i]!)) return;
  throw new ArgumentError(
    op,
    "an outputPadding below the stride or the dilation",
    typeof window.outputPadding === "number" ? String(window.outputPadding) : extra.join("×"),
    "it only chooses among sizes that the stride skips",
  );
}

/**
 * x [N, C, H, W], weight [C, O/groups, R, S], bias [O] → [N, O, P, Q] with P = (H - 1)·stride -
 * 2·padding + dilation·(R - 1) + outputPadding + 1. The gradient of conv2d as a layer.
 * @throws ShapeError for shapes that do not fit, DTypeError unless all have one dtype,
 *   ArgumentError for options that are unknown or out of range
 */
export function convTranspose2d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options?: ConvTranspose2dOptions,
): Tensor {
  const op = "convTranspose2d";
  const { groups, ...window } = readOptions(op, options, convTranspose2dOptions);
  live(x, op);
  live(weight, op);
  checkOperand(op, bias);
  checkTransposed(op, x, weight, groups);
  const stride = pair(window.stride),
    padding = pair(window.padding),
    extra = pair(window.outputPadding),
    dilation = pair(window.dilation);
  checkOutputPadding(op, window);
  const size = (i: 0 | 1): number =>
    (x.shape[2 + i]! - 1) * stride[i] -
    2 * padding[i] +
    dilation[i] * (weight.shape[2 + i]! - 1) +
    extra[i] +
    1;
  if (size(0) < 1 || size(1) < 1)
    throw new ShapeError(op, "a result with pixels", `${size(0)}×${size(1)}`, "use less padding");
  return composed(() => {
    const y = call(C.conv2dBackwardInput, [x, weight], {
      stride,
      padding,
      dilation,
      groups,
      shape: [x.shape[0]!, weight.shape[1]! * groups, size(0), size(1)],
    });
    return bias == null ? y : biased(op, y, bias);
  }, op);
}

/** Options of `convTranspose1d`, in positions. */
export interface ConvTranspose1dOptions extends Conv1dOptions {
  readonly outputPadding?: number;
}

/** Rows of `convTranspose1d`. */
export const convTranspose1dOptions = {
  ...conv1dOptions,
  outputPadding: { ...margin, default: 0 },
} satisfies OptionTable<ConvTranspose1dOptions>;

/**
 * x [N, C, L], weight [C, O/groups, S], bias [O] → [N, O, Q].
 * @throws ShapeError for shapes that do not fit, DTypeError unless all have one dtype,
 *   ArgumentError for options that are unknown or out of range
 */
export function convTranspose1d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options?: ConvTranspose1dOptions,
): Tensor {
  const given = readOptions("convTranspose1d", options, convTranspose1dOptions);
  const { stride, padding, dilation, groups, outputPadding } = given;
  live(weight, "convTranspose1d");
  if (weight.rank !== 3)
    throw new ShapeError(
      "convTranspose1d",
      "a weight [C, O/groups, S]",
      formatShape(weight.shape),
      "check the layer's kernel",
    );
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

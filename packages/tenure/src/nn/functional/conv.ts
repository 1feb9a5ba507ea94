/**
 * Convolutions of sequences and images, plain and transposed, as functions on tensors. One
 * dimension is two with a height of 1: views, no copies. Results belong to the current scope,
 * intermediates are freed here.
 */
import * as C from "../../ops/conv.ts";
import { ArgumentError, DTypeError, ShapeError } from "../../base/errors.ts";
import { checkOptions, describeValue } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { type Pair, flat, pair } from "./spatial.ts";
import { scoped } from "../../ownership/scoped.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of `conv2d`, in pixels; one number counts for both directions. */
export interface Conv2dOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  readonly dilation?: Pair;
  readonly groups?: number;
}

/** x [N, C, H, W], weight [O, C/groups, R, S], bias [O] → [N, O, P, Q]. */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor | null,
  options: Conv2dOptions = {},
): Tensor {
  checkOptions("conv2d", options, ["stride", "padding", "dilation", "groups"]);
  return scoped(() => {
    const y = call(C.conv2d, [x, weight], {
      stride: pair(options.stride ?? 1),
      padding: pair(options.padding ?? 0),
      dilation: pair(options.dilation ?? 1),
      groups: options.groups ?? 1,
    });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  }, "conv2d");
}

/** Options of `conv1d`, in positions. */
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

/** Options of `convTranspose2d`, in pixels; one number counts for both directions. */
export interface ConvTranspose2dOptions {
  readonly stride?: Pair;
  readonly padding?: Pair;
  readonly outputPadding?: Pair;
  readonly dilation?: Pair;
  readonly groups?: number;
}

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
  if (!Number.isInteger(groups) || groups < 1 || weight.shape[0]! % groups !== 0)
    throw new ArgumentError(
      op,
      `groups that divide the ${weight.shape[0]} input channels`,
      describeValue(groups),
      "use a divisor of both channel counts",
    );
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
  checkTransposed(op, x, weight, options.groups ?? 1);
  const stride = pair(options.stride ?? 1),
    padding = pair(options.padding ?? 0),
    extra = pair(options.outputPadding ?? 0),
    dilation = pair(options.dilation ?? 1),
    groups = options.groups ?? 1;
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

/** Options of `convTranspose1d`, in positions. */
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

/**
 * Convolution over NCHW images, with its gradients. One dispatch each. Run by `tensor/run.ts`;
 * records own nothing.
 */
import { type ConvWindow, convShape } from "../kernels/shapes.ts";
import { at } from "../base/access.ts";
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type Shape, formatShape, sizeOf } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { type OpDef, after, defineOp } from "./op.ts";

/** Refuses operands that are not floats of one dtype. @throws DTypeError */
export function checkFloat(op: string, ...views: readonly View[]): void {
  for (const v of views)
    if (!isFloat(v.dtype)) throw new DTypeError(op, "float tensors", v.dtype, "cast to float32");
  const dtypes = views.map((v) => v.dtype);
  if (new Set(dtypes).size > 1)
    throw new DTypeError(op, "operands of one dtype", dtypes.join(" and "), "cast one of them");
}

const windowKey = (w: ConvWindow): number[] => [...w.stride, ...w.padding, ...w.dilation, w.groups];

/**
 * Cross-correlation of [N, C, H, W] with [O, C/groups, R, S], with stride, zero padding, dilation
 * and groups. Input [N, C, H, W], weight [O, C / groups, R, S] → [N, O, P, Q].
 */
export const conv2d: OpDef<ConvWindow> = defineOp<ConvWindow, [View, View], [View]>({
  name: "conv2d",
  facts: { epilogue: true },
  family: "images",
  saves: { inputs: [0, 1] },
  infer: ([x, w], attrs) => {
    const a = x.layout.shape,
      b = w.layout.shape,
      { groups } = attrs;
    checkFloat("conv2d", x, w);
    if (a.length !== 4 || b.length !== 4)
      throw new ShapeError(
        "conv2d",
        "input [N, C, H, W] and weight [O, C/groups, R, S]",
        `${formatShape(a)} and ${formatShape(b)}`,
        "add missing dimensions with unsqueeze",
      );
    if (!Number.isInteger(groups) || groups < 1 || at(b, 0) % groups !== 0)
      throw new ArgumentError(
        "conv2d",
        `groups that divide the ${b[0]} output channels`,
        describeValue(groups),
        "use a divisor of both channel counts",
      );
    if (a[1] !== at(b, 1) * groups)
      throw new ShapeError(
        "conv2d",
        `an input with ${at(b, 1) * groups} channels for weight ${formatShape(b)} and ` +
          `${groups} groups`,
        formatShape(a),
        "check the layer's inChannels",
      );
    for (const [what, pair, least] of [
      ["stride", attrs.stride, 1],
      ["padding", attrs.padding, 0],
      ["dilation", attrs.dilation, 1],
    ] as const)
      if (pair.some((n) => !Number.isInteger(n) || n < least))
        throw new ArgumentError(
          "conv2d",
          `a ${what} of ${least} or more`,
          pair.join("×"),
          "pass one whole number, or a pair [vertical, horizontal]",
        );
    const shape = convShape(a, b, attrs);
    if (shape[2] < 1 || shape[3] < 1)
      throw new ShapeError(
        "conv2d",
        `an image at least as large as the ${b[2]}×${b[3]} window (dilation ` +
          `${attrs.dilation.join("×")}, padding ${attrs.padding.join("×")})`,
        formatShape(a),
        "add padding or use a smaller kernel",
      );
    return [{ shape, dtype: x.dtype }];
  },
  key: windowKey,
  kernel: ([x, w], _, attrs, caps, kernels, around) =>
    kernels.conv2dKernel({ ...attrs, input: x, weight: w, ...after(around) }, caps),
  flops: ([, w], [y]) => 2 * y.layout.size * sizeOf(w.layout.shape.slice(1)),
  vjp: ({ grad, input, metas, needs, attrs, run }) => [
    needs(0)
      ? run(conv2dBackwardInput, [grad, input(1)], { ...attrs, shape: at(metas, 0).shape })
      : null,
    needs(1)
      ? run(conv2dBackwardWeight, [input(0), grad], { ...attrs, shape: at(metas, 1).shape })
      : null,
  ],
});

type WithShape = ConvWindow & { readonly shape: Shape };

const windowOf = ({ stride, padding, dilation, groups }: ConvWindow): ConvWindow => ({
  stride,
  padding,
  dilation,
  groups,
});

/**
 * Gradient of conv2d for its input, from the output's gradient and the weight. grad [N, O, P, Q],
 * weight [O, C / groups, R, S] → [N, C, H, W]: also the transposed convolution.
 */
export const conv2dBackwardInput: OpDef<WithShape> = defineOp<WithShape, [View, View]>({
  name: "conv2dBackwardInput",
  facts: { epilogue: true },
  family: "images",
  saves: { inputs: [0, 1] },
  infer: ([g], { shape }) => [{ shape, dtype: g.dtype }],
  key: (attrs) => [...windowKey(attrs), ...attrs.shape],
  kernel: ([g, w], _, attrs, caps, kernels, around) =>
    kernels.conv2dBackwardInputKernel(
      { ...windowOf(attrs), grad: g, weight: w, inputShape: attrs.shape, ...after(around) },
      caps,
    ),
  flops: ([g, w]) => 2 * g.layout.size * sizeOf(w.layout.shape.slice(1)),
  vjp: ({ grad, input, metas, needs, attrs, run }) => [
    needs(0) ? run(conv2d, [grad, input(1)], windowOf(attrs)) : null,
    needs(1)
      ? run(conv2dBackwardWeight, [grad, input(0)], {
          ...windowOf(attrs),
          shape: at(metas, 1).shape,
        })
      : null,
  ],
});

/**
 * Gradient of conv2d for its weight, from the input and the output's gradient. input [N, C, H, W],
 * grad [N, O, P, Q] → [O, C / groups, R, S].
 */
export const conv2dBackwardWeight: OpDef<WithShape> = defineOp<WithShape, [View, View], [View]>({
  name: "conv2dBackwardWeight",
  facts: { reduces: true, epilogue: true },
  family: "images",
  saves: { inputs: [0, 1] },
  infer: ([x], { shape }) => [{ shape, dtype: x.dtype }],
  key: (attrs) => [...windowKey(attrs), ...attrs.shape],
  kernel: ([x, g], _, attrs, caps, kernels, around) =>
    kernels.conv2dBackwardWeightKernel(
      { ...windowOf(attrs), input: x, grad: g, weightShape: attrs.shape, ...after(around) },
      caps,
    ),
  flops: ([, g], [w]) => 2 * g.layout.size * sizeOf(w.layout.shape.slice(1)),
  vjp: ({ grad, input, metas, needs, attrs, run }) => [
    needs(0)
      ? run(conv2dBackwardInput, [input(1), grad], {
          ...windowOf(attrs),
          shape: at(metas, 0).shape,
        })
      : null,
    needs(1) ? run(conv2d, [input(0), grad], windowOf(attrs)) : null,
  ],
});

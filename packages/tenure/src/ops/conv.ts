/**
 * Convolution and pooling over NCHW images, with their gradients. One dispatch each. Called through
 * the runtime's door.
 */
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, sizeOf } from "../base/shape.ts";
import {
  type ConvWindow,
  conv2dBackwardInputKernel,
  conv2dBackwardWeightKernel,
  conv2dKernel,
  convShape,
} from "../kernels/conv.ts";
import type { View } from "../kernels/kernel.ts";
import {
  type PoolWindow,
  avgPool2dBackwardKernel,
  avgPool2dKernel,
  maxPool2dBackwardKernel,
  maxPool2dIndicesKernel,
  maxPool2dKernel,
  poolShape,
} from "../kernels/pool.ts";
import { gather } from "./indexing.ts";
import { type OpDef, after, defineOp } from "./op.ts";
import { reshape } from "./views.ts";

export type { PoolWindow } from "../kernels/pool.ts";

function checkFloat(op: string, ...views: readonly (View | undefined)[]): void {
  for (const v of views)
    if (!isFloat(v!.dtype)) throw new DTypeError(op, "float tensors", v!.dtype, "cast to float32");
  if (views.some((v) => v!.dtype !== views[0]!.dtype))
    throw new DTypeError(
      op,
      "operands of one dtype",
      views.map((v) => v!.dtype).join(" and "),
      "cast one of them",
    );
}

const windowKey = (w: ConvWindow): number[] => [...w.stride, ...w.padding, ...w.dilation, w.groups];

/** Input [N, C, H, W], weight [O, C / groups, R, S] → [N, O, P, Q]. */
export const conv2d: OpDef<ConvWindow> = defineOp<ConvWindow>({
  name: "conv2d",
  doc: "Cross-correlation of [N, C, H, W] with [O, C/groups, R, S], with stride, zero padding, dilation and groups.",
  facts: { epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([x, w], attrs) => {
    const a = x!.layout.shape,
      b = w!.layout.shape,
      { groups } = attrs;
    checkFloat("conv2d", x, w);
    if (a.length !== 4 || b.length !== 4)
      throw new ShapeError(
        "conv2d",
        "input [N, C, H, W] and weight [O, C/groups, R, S]",
        `${formatShape(a)} and ${formatShape(b)}`,
        "add missing dimensions with unsqueeze",
      );
    if (!Number.isInteger(groups) || groups < 1 || b[0]! % groups !== 0)
      throw new ArgumentError(
        "conv2d",
        `groups that divide the ${b[0]} output channels`,
        String(groups),
        "use a divisor of both channel counts",
      );
    if (a[1] !== b[1]! * groups)
      throw new ShapeError(
        "conv2d",
        `an input with ${b[1]! * groups} channels for weight ${formatShape(b)} and ${groups} groups`,
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
        `an image at least as large as the ${b[2]}×${b[3]} window (dilation ${attrs.dilation.join("×")}, padding ${attrs.padding.join("×")})`,
        formatShape(a),
        "add padding or use a smaller kernel",
      );
    return [{ shape, dtype: x!.dtype }];
  },
  key: windowKey,
  kernel: ([x, w], _, attrs, caps, around) =>
    conv2dKernel({ ...attrs, input: x!, weight: w!, ...after(around) }, caps),
  flops: ([, w], [y]) => 2 * y!.layout.size * sizeOf(w!.layout.shape.slice(1)),
  vjp: ({ grad, input, metas, needs, attrs, run }) => [
    needs(0)
      ? run(conv2dBackwardInput, [grad, input(1)], { ...attrs, shape: metas[0]!.shape })
      : null,
    needs(1)
      ? run(conv2dBackwardWeight, [input(0), grad], { ...attrs, shape: metas[1]!.shape })
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
 * grad [N, O, P, Q], weight [O, C / groups, R, S] → [N, C, H, W]: also the transposed convolution.
 */
export const conv2dBackwardInput: OpDef<WithShape> = defineOp<WithShape>({
  name: "conv2dBackwardInput",
  doc: "Gradient of conv2d for its input, from the output's gradient and the weight.",
  facts: { epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([g], { shape }) => [{ shape, dtype: g!.dtype }],
  key: (attrs) => [...windowKey(attrs), ...attrs.shape],
  kernel: ([g, w], _, attrs, caps, around) =>
    conv2dBackwardInputKernel(
      { ...windowOf(attrs), grad: g!, weight: w!, inputShape: attrs.shape, ...after(around) },
      caps,
    ),
  flops: ([g, w]) => 2 * g!.layout.size * sizeOf(w!.layout.shape.slice(1)),
  vjp: ({ grad, input, metas, needs, attrs, run }) => [
    needs(0) ? run(conv2d, [grad, input(1)], windowOf(attrs)) : null,
    needs(1)
      ? run(conv2dBackwardWeight, [grad, input(0)], { ...windowOf(attrs), shape: metas[1]!.shape })
      : null,
  ],
});

/** input [N, C, H, W], grad [N, O, P, Q] → [O, C / groups, R, S]. */
export const conv2dBackwardWeight: OpDef<WithShape> = defineOp<WithShape>({
  name: "conv2dBackwardWeight",
  doc: "Gradient of conv2d for its weight, from the input and the output's gradient.",
  facts: { reduces: true, epilogue: true },
  saves: { inputs: [0, 1] },
  infer: ([x], { shape }) => [{ shape, dtype: x!.dtype }],
  key: (attrs) => [...windowKey(attrs), ...attrs.shape],
  kernel: ([x, g], _, attrs, caps, around) =>
    conv2dBackwardWeightKernel(
      { ...windowOf(attrs), input: x!, grad: g!, weightShape: attrs.shape, ...after(around) },
      caps,
    ),
  flops: ([, g], [w]) => 2 * g!.layout.size * sizeOf(w!.layout.shape.slice(1)),
  vjp: ({ grad, input, metas, needs, attrs, run }) => [
    needs(0)
      ? run(conv2dBackwardInput, [input(1), grad], { ...windowOf(attrs), shape: metas[0]!.shape })
      : null,
    needs(1) ? run(conv2d, [input(0), grad], windowOf(attrs)) : null,
  ],
});

// === Pooling ===

function inferPool(
  op: string,
  x: View | undefined,
  w: PoolWindow,
): { shape: Shape; dtype: View["dtype"] }[] {
  const { shape } = x!.layout;
  checkFloat(op, x);
  if (shape.length !== 4)
    throw new ShapeError(
      op,
      "images [N, C, H, W]",
      formatShape(shape),
      "add missing dimensions with unsqueeze",
    );
  if (
    w.kernel.some((n) => !Number.isInteger(n) || n < 1) ||
    w.stride.some((n) => !Number.isInteger(n) || n < 1)
  )
    throw new ArgumentError(
      op,
      "a kernel and a stride of 1 or more",
      `${w.kernel.join("×")} and ${w.stride.join("×")}`,
      "pass one whole number, or a pair [vertical, horizontal]",
    );
  if (w.padding.some((n, i) => !Number.isInteger(n) || n < 0 || 2 * n > w.kernel[i]!))
    throw new ArgumentError(
      op,
      "a padding of at most half the kernel",
      w.padding.join("×"),
      "use a smaller padding or a larger kernel",
    );
  const out = poolShape(shape, w);
  if (out[2] < 1 || out[3] < 1)
    throw new ShapeError(
      op,
      `an image at least as large as the ${w.kernel.join("×")} window`,
      formatShape(shape),
      "use a smaller kernel",
    );
  return [{ shape: out, dtype: x!.dtype }];
}

const poolKey = (w: PoolWindow): number[] => [
  ...w.kernel,
  ...w.stride,
  ...w.padding,
  w.ceil === true ? 1 : 0,
];
const poolOf = ({ kernel, stride, padding, ceil }: PoolWindow): PoolWindow => ({
  kernel,
  stride,
  padding,
  ...(ceil === undefined ? {} : { ceil }),
});

export const maxPool2dIndices: OpDef<PoolWindow> = defineOp<PoolWindow>({
  name: "maxPool2dIndices",
  doc: "Where in its plane, row-major, the first maximum of each window lies; NaN wins.",
  facts: { reduces: true },
  infer: ([x], attrs) => [{ shape: inferPool("maxPool2d", x, attrs)[0]!.shape, dtype: "int32" }],
  key: poolKey,
  kernel: ([x], _, attrs, caps) => maxPool2dIndicesKernel({ ...attrs, input: x! }, caps),
  flops: (_, [y], w) => y!.layout.size * w.kernel[0] * w.kernel[1],
});

const maxPool2dBackward: OpDef<PoolWindow> = defineOp<PoolWindow>({
  name: "maxPool2dBackward",
  doc: "Gradient of maxPool2d from its input and the output's gradient.",
  facts: { epilogue: true },
  saves: { inputs: [0] },
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: x!.dtype }],
  key: poolKey,
  kernel: ([x, g], _, attrs, caps, around) =>
    maxPool2dBackwardKernel({ ...attrs, ...after(around), input: x!, grad: g! }, caps),
  vjp: ({ grad, input, metas, needs, attrs, run }) => {
    if (!needs(1)) return [null, null];
    // Each window picks from the place that took its gradient.
    const { shape } = metas[1]!,
      plane = (s: Shape): Shape => [s[0]!, s[1]!, s[2]! * s[3]!],
      places = run(reshape, [run(maxPool2dIndices, [input(0)], attrs)], { shape: plane(shape) });
    return [
      null,
      run(
        reshape,
        [
          run(gather, [run(reshape, [grad], { shape: plane(metas[0]!.shape) }), places], {
            axis: 2,
          }),
        ],
        { shape },
      ),
    ];
  },
});

export const maxPool2d: OpDef<PoolWindow> = defineOp<PoolWindow>({
  name: "maxPool2d",
  doc: "Largest element of each window; NaN wins, padding never does. The first maximum takes the gradient.",
  facts: { reduces: true },
  saves: { inputs: [0] },
  infer: ([x], attrs) => inferPool("maxPool2d", x, attrs),
  key: poolKey,
  kernel: ([x], _, attrs, caps) => maxPool2dKernel({ ...attrs, input: x! }, caps),
  flops: (_, [y], w) => y!.layout.size * w.kernel[0] * w.kernel[1],
  vjp: ({ grad, input, attrs, run }) => [run(maxPool2dBackward, [input(0), grad], attrs)],
});

type AvgPool = PoolWindow & { readonly countIncludePad: boolean };
const avgPool2dBackward: OpDef<AvgPool & { readonly shape: Shape }> = defineOp<
  AvgPool & { readonly shape: Shape }
>({
  name: "avgPool2dBackward",
  doc: "Gradient of avgPool2d from the output's gradient.",
  facts: { epilogue: true },
  infer: ([g], { shape }) => [{ shape, dtype: g!.dtype }],
  key: (attrs) => [...poolKey(attrs), attrs.countIncludePad ? 1 : 0, ...attrs.shape],
  kernel: ([g], _, { shape, ...attrs }, caps, around) =>
    avgPool2dBackwardKernel({ ...attrs, ...after(around), grad: g!, inputShape: shape }, caps),
  vjp: ({ grad, attrs, run }) => [
    run(avgPool2d, [grad], { ...poolOf(attrs), countIncludePad: attrs.countIncludePad }),
  ],
});

export const avgPool2d: OpDef<AvgPool> = defineOp<AvgPool>({
  name: "avgPool2d",
  doc: "Mean of each window, padding counted as zeros unless countIncludePad is false.",
  facts: { reduces: true },
  infer: ([x], attrs) => inferPool("avgPool2d", x, attrs),
  key: (attrs) => [...poolKey(attrs), attrs.countIncludePad ? 1 : 0],
  kernel: ([x], _, attrs, caps) => avgPool2dKernel({ ...attrs, input: x! }, caps),
  flops: (_, [y], w) => y!.layout.size * w.kernel[0] * w.kernel[1],
  vjp: ({ grad, metas, attrs, run }) => [
    run(avgPool2dBackward, [grad], { ...attrs, shape: metas[0]!.shape }),
  ],
});

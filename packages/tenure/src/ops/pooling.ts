/**
 * Max and average pooling over NCHW images, with their gradients. One dispatch each. Run by
 * `tensor/run.ts`; records own nothing.
 */
export type { PoolWindow } from "../kernels/shapes.ts";
import { type PoolWindow, poolShape } from "../kernels/shapes.ts";
import { at } from "../base/access.ts";
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { checkFloat } from "./conv.ts";
import { gather } from "./gather.ts";
import { type OpDef, after, defineOp } from "./op.ts";
import { reshape } from "./views.ts";

function inferPool(op: string, x: View, w: PoolWindow): { shape: Shape; dtype: View["dtype"] }[] {
  const { shape } = x.layout;
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
  if (w.padding.some((n, i) => !Number.isInteger(n) || n < 0 || 2 * n > at(w.kernel, i)))
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
  return [{ shape: out, dtype: x.dtype }];
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

/** Where in its plane, row-major, the first maximum of each window lies; NaN wins. */
export const maxPool2dIndices: OpDef<PoolWindow> = defineOp<PoolWindow, [View], [View]>({
  name: "maxPool2dIndices",
  facts: { reduces: true },
  family: "images",
  infer: ([x], attrs) => [{ shape: at(inferPool("maxPool2d", x, attrs), 0).shape, dtype: "int32" }],
  key: poolKey,
  kernel: ([x], _, attrs, caps, kernels) =>
    kernels.maxPool2dIndicesKernel({ ...attrs, input: x }, caps),
  flops: (_, [y], w) => y.layout.size * w.kernel[0] * w.kernel[1],
});

/** Gradient of `maxPool2d`. Inputs: x, gradient. */
export const maxPool2dBackward: OpDef<PoolWindow> = defineOp<PoolWindow, [View, View]>({
  name: "maxPool2dBackward",
  facts: { epilogue: true },
  family: "images",
  saves: { inputs: [0] },
  infer: ([x]) => [{ shape: x.layout.shape, dtype: x.dtype }],
  key: poolKey,
  kernel: ([x, g], _, attrs, caps, kernels, around) =>
    kernels.maxPool2dBackwardKernel({ ...attrs, ...after(around), input: x, grad: g }, caps),
  vjp: ({ grad, input, metas, needs, attrs, run }) => {
    if (!needs(1)) return [null, null];
    // Each window picks from the place that took its gradient.
    const { shape } = at(metas, 1),
      plane = (s: Shape): Shape => [at(s, 0), at(s, 1), at(s, 2) * at(s, 3)],
      places = run(reshape, [run(maxPool2dIndices, [input(0)], attrs)], { shape: plane(shape) });
    return [
      null,
      run(
        reshape,
        [
          run(gather, [run(reshape, [grad], { shape: plane(at(metas, 0).shape) }), places], {
            axis: 2,
          }),
        ],
        { shape },
      ),
    ];
  },
});

/**
 * Largest element of each window; NaN wins, padding never does. The first maximum takes the
 * gradient.
 */
export const maxPool2d: OpDef<PoolWindow> = defineOp<PoolWindow, [View], [View]>({
  name: "maxPool2d",
  facts: { reduces: true },
  family: "images",
  saves: { inputs: [0] },
  infer: ([x], attrs) => inferPool("maxPool2d", x, attrs),
  key: poolKey,
  kernel: ([x], _, attrs, caps, kernels) => kernels.maxPool2dKernel({ ...attrs, input: x }, caps),
  flops: (_, [y], w) => y.layout.size * w.kernel[0] * w.kernel[1],
  vjp: ({ grad, input, attrs, run }) => [run(maxPool2dBackward, [input(0), grad], attrs)],
});

type AvgPool = PoolWindow & { readonly countIncludePad: boolean };

/** Gradient of `avgPool2d`. Input: gradient. */
export const avgPool2dBackward: OpDef<AvgPool & { readonly shape: Shape }> = defineOp<
  AvgPool & { readonly shape: Shape },
  [View]
>({
  name: "avgPool2dBackward",
  facts: { epilogue: true },
  family: "images",
  infer: ([g], { shape }) => [{ shape, dtype: g.dtype }],
  key: (attrs) => [...poolKey(attrs), attrs.countIncludePad ? 1 : 0, ...attrs.shape],
  kernel: ([g], _, { shape, ...attrs }, caps, kernels, around) =>
    kernels.avgPool2dBackwardKernel(
      { ...attrs, ...after(around), grad: g, inputShape: shape },
      caps,
    ),
  vjp: ({ grad, attrs, run }) => [
    run(avgPool2d, [grad], { ...poolOf(attrs), countIncludePad: attrs.countIncludePad }),
  ],
});

/** Mean of each window, padding counted as zeros unless countIncludePad is false. */
export const avgPool2d: OpDef<AvgPool> = defineOp<AvgPool, [View], [View]>({
  name: "avgPool2d",
  facts: { reduces: true },
  family: "images",
  infer: ([x], attrs) => inferPool("avgPool2d", x, attrs),
  key: (attrs) => [...poolKey(attrs), attrs.countIncludePad ? 1 : 0],
  kernel: ([x], _, attrs, caps, kernels) => kernels.avgPool2dKernel({ ...attrs, input: x }, caps),
  flops: (_, [y], w) => y.layout.size * w.kernel[0] * w.kernel[1],
  vjp: ({ grad, metas, attrs, run }) => [
    run(avgPool2dBackward, [grad], { ...attrs, shape: at(metas, 0).shape }),
  ],
});

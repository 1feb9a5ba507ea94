/**
 * 2-D convolution and its two gradients, NCHW with OIHW weights, any strides in memory, with
 * stride, padding, dilation and groups. Direct: no im2col, so no memory beyond operands and result.
 * Sizes are parameters; the window is part of the structure and is unrolled.
 *
 *   forward a tile of output channels × pixels of a row per invocation; an input row is loaded once
 *   for all taps of a kernel row
 *   backward input the same kernel on the gradient with flipped weights (stride 1), or a gather
 *   over the taps that hit (stride > 1)
 *   backward weight a workgroup per (channels, kernel row); its invocations share the pixels of the
 *   whole batch and meet once in workgroup memory
 *   implicit all three as matrix products whose blocks are gathered from the images into workgroup
 *   memory: where it was measured to be faster, and conv-implicit.ts is there
 *
 * Letters: N batch, C input channels, O output channels, H × W input, P × Q output, R × S kernel.
 * Owns nothing.
 */
import { at } from "../base/access.ts";
import { directKernel } from "./conv-direct.ts";
import type { Implicit } from "./conv-problem.ts";
import type { Epilogue } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { type ConvWindow, convShape } from "./shapes.ts";

/** Bindings: input [N, C, H, W], weight [O, C / groups, R, S], output [N, O, P, Q] (contiguous). */
export function conv2dKernel(
  spec: ConvWindow & { readonly input: View; readonly weight: View; readonly after?: Epilogue },
  caps: DeviceCaps,
  implicit: Implicit | null = null,
): Kernel {
  const { input, weight, groups } = spec,
    [, , P, Q] = convShape(input.layout.shape, weight.layout.shape, spec);
  const w = weight.layout.strides;
  return directKernel(
    {
      name: "conv2d",
      source: input,
      weight,
      groups,
      channelsIn: at(weight.layout.shape, 1),
      channelsOut: at(weight.layout.shape, 0) / groups,
      weightOffset: weight.layout.offset,
      weightStrides: [at(w, 0), at(w, 1), at(w, 2), at(w, 3)],
      weightGroup: (at(weight.layout.shape, 0) / groups) * at(w, 0),
      rows: P,
      columns: Q,
      kernel: [at(weight.layout.shape, 2), at(weight.layout.shape, 3)],
      stride: spec.stride,
      dilation: spec.dilation,
      padding: spec.padding,
      transposed: false,
      after: spec.after,
    },
    caps,
    implicit,
  );
}

/**
 * Gradient for the input. Bindings: grad [N, O, P, Q], weight [O, C / groups, R, S], result
 * `inputShape` [N, C, H, W] (contiguous).
 */
export function conv2dBackwardInputKernel(
  spec: ConvWindow & {
    readonly grad: View;
    readonly weight: View;
    readonly inputShape: readonly number[];
    readonly after?: Epilogue;
  },
  caps: DeviceCaps,
  implicit: Implicit | null = null,
): Kernel {
  const { grad, weight, groups, stride, dilation, padding } = spec,
    w = weight.layout.strides,
    [O, Cg, R, S] = weight.layout.shape as [number, number, number, number];
  const flipped = stride[0] === 1 && stride[1] === 1;
  return directKernel(
    {
      name: "conv2dBackwardInput",
      source: grad,
      weight,
      groups,
      channelsIn: O / groups,
      channelsOut: Cg,
      weightGroup: (O / groups) * at(w, 0),
      weightOffset: weight.layout.offset + (flipped ? (R - 1) * at(w, 2) + (S - 1) * at(w, 3) : 0),
      weightStrides: [
        at(w, 1),
        at(w, 0),
        flipped ? -at(w, 2) : at(w, 2),
        flipped ? -at(w, 3) : at(w, 3),
      ],
      rows: at(spec.inputShape, 2),
      columns: at(spec.inputShape, 3),
      kernel: [R, S],
      stride,
      dilation,
      padding: flipped
        ? [dilation[0] * (R - 1) - padding[0], dilation[1] * (S - 1) - padding[1]]
        : padding,
      transposed: !flipped,
      after: spec.after,
    },
    caps,
    implicit,
  );
}

/**
 * A convolution in the form that its kernels share: the forward pass and the gradient for the input
 * are both a window that slides over images. Made by conv.ts. Owns nothing.
 */
import type { Epilogue } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import type { ConvWindow } from "./shapes.ts";

/** A window that slides over images. */
export interface Direct {
  readonly name: string;
  /** What the window slides over, [N, groups · channelsIn, height, width]. */
  readonly source: View;
  readonly weight: View;
  readonly groups: number;
  /** Per group. */
  readonly channelsIn: number;
  readonly channelsOut: number;
  readonly weightOffset: number;
  /** Strides of (out channel, in channel, row, column) and of a whole group. */
  readonly weightStrides: readonly [number, number, number, number];
  readonly weightGroup: number;
  /** Size of the result. */
  readonly rows: number;
  readonly columns: number;
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly dilation: readonly [number, number];
  /** May be negative for a flipped window. */
  readonly padding: readonly [number, number];
  /**
   * Tap (r, s) of output (p, q) reads source ((p + pad − r·dil) / stride, …) where that divides.
   */
  readonly transposed: boolean;
  readonly after: Epilogue | undefined;
}

/** What the gradient for the weight is computed from. */
export type WeightSpec = ConvWindow & {
  readonly input: View;
  readonly grad: View;
  readonly weightShape: readonly number[];
  readonly after?: Epilogue;
};

/** The kernels of conv-implicit.ts. */
export interface Implicit {
  /** Whether a device can run them. */
  readonly possible: (caps: DeviceCaps) => boolean;
  readonly direct: (d: Direct, caps: DeviceCaps) => Kernel;
  readonly weight: (spec: WeightSpec, caps: DeviceCaps) => Kernel;
}

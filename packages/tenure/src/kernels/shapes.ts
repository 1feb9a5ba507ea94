/**
 * What ops say of their results before any kernel is made: shapes, windows, block sizes. Apart from
 * the generators, which are loaded with the device, while ops are recorded before. Called by both.
 * Owns nothing.
 */
import { at, last } from "../base/access.ts";
import { type Layout, stridedLayout } from "../base/layout.ts";
import { type Shape, broadcastShapes } from "../base/shape.ts";

/** Window of a convolution. Pairs are (vertical, horizontal). */
export interface ConvWindow {
  readonly stride: readonly [number, number];
  /** Zeros added at both ends. */
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly groups: number;
}

/** Output size along one dimension; 0 or less when the window does not fit. */
export function convOutputSize(
  input: number,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
): number {
  return Math.floor((input + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1;
}

/** Shape [N, O, P, Q] of the output for input [N, C, H, W] and weight [O, C / groups, R, S]. */
export function convShape(
  input: readonly number[],
  weight: readonly number[],
  w: ConvWindow,
): [number, number, number, number] {
  return [
    at(input, 0),
    at(weight, 0),
    convOutputSize(at(input, 2), at(weight, 2), w.stride[0], w.padding[0], w.dilation[0]),
    convOutputSize(at(input, 3), at(weight, 3), w.stride[1], w.padding[1], w.dilation[1]),
  ];
}

/** Pairs are (vertical, horizontal). */
export interface PoolWindow {
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  /**
   * At most half the kernel. Never a maximum; counted as zeros by the average unless
   * `countIncludePad` is false.
   */
  readonly padding: readonly [number, number];
  /**
   * Windows may reach past the end, as long as they begin before it. The average then counts what
   * lies within the padding.
   */
  readonly ceil?: boolean;
}

/** Shape [N, C, P, Q] of the output. */
export function poolShape(
  input: readonly number[],
  w: PoolWindow,
): [number, number, number, number] {
  const size = (i: 0 | 1): number => {
    const [length, pad, steps] = [
      at(input, 2 + i),
      w.padding[i],
      (at(input, 2 + i) + 2 * w.padding[i] - w.kernel[i]) / w.stride[i],
    ];
    if (w.ceil !== true) return Math.floor(steps) + 1;
    return Math.ceil(steps) * w.stride[i] >= length + pad ? Math.ceil(steps) : Math.ceil(steps) + 1;
  };
  return [at(input, 0), at(input, 1), size(0), size(1)];
}

/**
 * Shape of the product; batch dimensions broadcast. The caller has checked that the operands fit.
 */
export function matmulShape(a: Shape, b: Shape): number[] {
  const ab = a.slice(0, -2);
  const bb = b.slice(0, -2);
  const rank = Math.max(ab.length, bb.length);
  const batch = Array.from({ length: rank }, (_, i) => {
    const x = ab[i - (rank - ab.length)] ?? 1;
    const y = bb[i - (rank - bb.length)] ?? 1;
    return x === 1 ? y : x;
  });
  return [...batch, at(a, a.length - 2), last(b)];
}

/** The layout of a list of indices as if it had `shape`, whose axis it runs along. */
export function alongAxis(indices: Layout, shape: Shape, axis: number): Layout {
  return stridedLayout(
    shape.map((d, i) => (i === axis ? at(indices.shape, 0) : d)),
    shape.map((_, i) => (i === axis ? at(indices.strides, 0) : 0)),
    indices.offset,
  );
}

/**
 * Longest list that is kept: beyond it, keeping it in order costs as much as sorting everything.
 */
export const pickLimit = 32;

/**
 * Groups to deal `length` candidates out to: few enough that each has many times `count` of them,
 * and one when there are few to begin with.
 */
export function pickGroups(length: number, count: number): number {
  return length <= 512 ? 1 : Math.floor(length / Math.max(256, 8 * count));
}

/**
 * Elements of a block that is sorted by counting: about as many comparisons each as the merges up
 * to some thousand elements take.
 */
export const sortBlock = 32;

/**
 * Shape [..., L, S] of the scores of attention. query [..., L, E], key [..., S, E], value [..., S,
 * F].
 */
export function scoresShape(query: Shape, key: Shape, value: Shape): number[] {
  const name = "scaledDotProductAttention";
  const lead = (shape: Shape): Shape => shape.slice(0, -2);
  const batch = broadcastShapes(name, broadcastShapes(name, lead(query), lead(key)), lead(value));
  return [...batch, at(query, query.length - 2), at(key, key.length - 2)];
}

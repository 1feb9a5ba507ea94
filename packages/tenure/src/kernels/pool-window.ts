/**
 * What the poolings and their gradients share: the window, the shape of the result, and the text
 * that finds an element of an image. Called by pooling.ts and pooling-backward.ts. Owns
 * nothing.
 */
import { at } from "../base/access.ts";
import type { View } from "./kernel.ts";
import { type PoolWindow } from "./shapes.ts";
import { type Params, type StorageDecl, loadElement } from "./wgsl.ts";

/**
 * Cells of the window at py, px that lie within the padded image: all of them, unless windows may
 * reach past it.
 */
export function area({ kernel, stride, padding, ceil }: PoolWindow, H: string, W: string): string {
  if (ceil !== true) return `${kernel[0] * kernel[1]}.0`;
  const length = (at: string, i: 0 | 1, size: string): string =>
    `f32(min(${at} * ${stride[i]}u + ${kernel[i]}u, ${size} + ${2 * padding[i]}u) - ${at} ` +
    `* ${stride[i]}u)`;
  return `(${length("py", 0, H)} * ${length("px", 1, W)})`;
}

/** WGSL of a [N, C, height, width] view. */
export interface ImageView {
  /** Index of the plane (n, c). */
  readonly base: string;
  /** Strides of rows and columns. */
  readonly y: string;
  readonly x: string;
  load(base: string, y: string, x: string): string;
  at(index: string): string;
}

/** Fields and a loader for a [N, C, height, width] view. */
export function imageView(
  params: Params,
  name: string,
  v: View,
  binding: number,
  decl: StorageDecl,
): ImageView {
  const strides = v.layout.strides.map((s, i) => params.u32(`${name}${i}`, s));
  return {
    base: `(${params.u32(name, v.layout.offset)} + n * ${strides[0]} + c * ${strides[1]})`,
    y: at(strides, 2),
    x: at(strides, 3),
    at: (index) => loadElement(decl, binding, index),
    load: (base, y, x) =>
      loadElement(decl, binding, `${base} + ${y} * ${strides[2]} + ${x} * ${strides[3]}`),
  };
}

/** Lines that split the invocation into image `n`, channel `c`, row and column; the rest return. */
export function decompose(
  total: string,
  width: string,
  height: string,
  channels: string,
  y: string,
  x: string,
): string[] {
  return [
    `let id = (wg.y * grid.x + wg.x) * 64u + lane;`,
    `if (id >= ${total}) { return; }`,
    `let ${x} = id % ${width};`,
    `var rest = id / ${width};`,
    `let ${y} = rest % ${height};`,
    `rest /= ${height};`,
    `let c = rest % ${channels};`,
    `let n = rest / ${channels};`,
  ];
}

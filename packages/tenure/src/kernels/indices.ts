/**
 * Index arithmetic as text: coordinates from an element number, offsets from coordinates. Called by
 * the generators in this folder; owns nothing.
 */
import { at } from "../base/access.ts";
import type { Shape } from "../base/shape.ts";
import type { Params } from "./wgsl.ts";

/** Lines that decompose `index` over `shape` into `<c>0, <c>1, …`. */
export function split(index: string, shape: Shape, c: string, params: Params): string[] {
  if (shape.length === 1) return [`let ${c}0 = ${index};`];
  const lines = [`var ${c}rest = ${index};`];
  for (let k = shape.length - 1; k > 0; k--) {
    const d = params.u32(`${c}d${k}`, at(shape, k));
    lines.push(
      `let ${c}${k} = ${c}rest % ${d};`,
      k > 1 ? `${c}rest /= ${d};` : `let ${c}0 = ${c}rest / ${d};`,
    );
  }
  return lines;
}

/** `c_k * stride_k` for every stride that is not 0, strides in units of `unit` elements. */
export function terms(
  c: string,
  strides: readonly number[],
  name: string,
  unit: number,
  params: Params,
): string[] {
  return strides.flatMap((s, k) =>
    s === 0
      ? []
      : s === unit
        ? [`${c}${k}`]
        : [`${c}${k} * ${params.u32(`${name}${k}`, s / unit)}`],
  );
}

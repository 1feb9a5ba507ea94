/**
 * The stable order of the elements along an axis, without workgroup memory or barriers. Short
 * blocks are sorted by counting, for each element, how many come before it; then pairs of sorted
 * blocks are merged, each element finding its place in the other block by binary search. One
 * dispatch for the blocks and one per doubling. NaN counts as the largest value, as in PyTorch; -0
 * equals 0. Owns nothing.
 */
import type { DType } from "../base/dtype.ts";
import { axisKernel } from "./axis.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { sortBlock } from "./shapes.ts";
import { Params, indent } from "./wgsl.ts";

/** A WGSL function from a raw element to a u32 that sorts alike. */
export function keyFunction(dtype: DType, descending: boolean): string {
  const flip = descending ? "~" : "";
  switch (dtype) {
    case "float32":
    case "float16":
      return `fn keyOf(x: ${dtype === "float16" ? "f16" : "f32"}) -> u32 {
  let bits = bitcast<u32>(f32(x));
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return ${flip}0xffffffffu; }
  if ((bits << 1u) == 0u) { return ${flip}0x80000000u; }
  return ${flip}(bits ^ select(0x80000000u, 0xffffffffu, (bits >> 31u) != 0u));
}\n`;
    case "int32":
      return `fn keyOf(x: i32) -> u32 { return ${flip}(bitcast<u32>(x) ^ 0x80000000u); }\n`;
    case "uint32":
    case "bool":
      return `fn keyOf(x: u32) -> u32 { return ${flip}x; }\n`;
  }
}

/**
 * Bindings: input, order (int32, contiguous, same shape): positions along the axis that sort each
 * block of `sortBlock` elements.
 */
export function sortBlocksKernel(
  spec: { input: View; axis: number; descending: boolean },
  caps: DeviceCaps,
): Kernel {
  const { input, axis, descending } = spec,
    params = new Params(),
    block = params.u32("block", sortBlock);
  return axisKernel(
    {
      name: "sortBlocks",
      shape: input.layout.shape,
      axis,
      sources: [{ view: input, indices: true }],
      dtype: "int32",
      params,
      globals: keyFunction(input.dtype, descending),
      target: "first + rank",
      body: ([x]) =>
        [
          `let first = d / ${block} * ${block};`,
          `let mine = keyOf(${x!.load("d")});`,
          "var rank = 0u;",
          `for (var j = first; j < min(first + ${block}, ${x!.size}); j++) {`,
          indent(
            [
              `let other = keyOf(${x!.load("j")});`,
              "if (other < mine || (other == mine && j < d)) { rank++; }",
            ].join("\n"),
          ),
          "}",
          "r = T(i32(d));",
        ].join("\n"),
    },
    caps,
  );
}

/**
 * Bindings: input, order, result (int32, contiguous): merges neighbouring sorted blocks of `width`
 * elements.
 */
export function mergeBlocksKernel(
  spec: { input: View; order: View; axis: number; descending: boolean; width: number },
  caps: DeviceCaps,
): Kernel {
  const { input, axis, descending } = spec,
    params = new Params(),
    width = params.u32("width", spec.width);
  return axisKernel(
    {
      name: "mergeBlocks",
      shape: input.layout.shape,
      axis,
      sources: [
        { view: input, indices: true },
        { view: spec.order, indices: true },
      ],
      dtype: "int32",
      params,
      globals: keyFunction(input.dtype, descending),
      target: "place",
      body: ([x, order]) =>
        [
          `let place0 = ${order!.load("d")};`,
          `let mine = keyOf(${x!.load("u32(place0)")});`,
          `let pair = d / (2u * ${width}) * 2u * ${width};`,
          `let left = d < pair + ${width};`,
          // How many of the other block come before this element: equal ones only when they are on
          // the left.
          `var low = min(select(pair, pair + ${width}, left), ${x!.size});`,
          `let begin = low;`,
          `var high = min(low + ${width}, ${x!.size});`,
          "while (low < high) {",
          indent(
            [
              "let middle = (low + high) / 2u;",
              `let other = keyOf(${x!.load(`u32(${order!.load("middle")})`)});`,
              "if (other < mine || (other == mine && !left)) { low = middle + 1u; } else { " +
                "high = middle; }",
            ].join("\n"),
          ),
          "}",
          `let place = select(d - ${width}, d, left) + (low - begin);`,
          "r = T(place0);",
        ].join("\n"),
    },
    caps,
  );
}

/**
 * A tensor with a border around it: constant, mirrored without the edge, or the edge repeated.
 * Every output element finds its source by itself; one dispatch for all dimensions. Owns nothing.
 */
import { at } from "../base/access.ts";
import { sizeOf } from "../base/shape.ts";
import { wgslType } from "../base/dtype.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { Params, flatWorkgroup, gridOf, indent, makeKernel } from "./wgsl.ts";

/** What the border holds. */
export type PadMode = "constant" | "reflect" | "replicate";

/**
 * Bindings: input, output (contiguous). `before[i]` elements are added in front of dimension i.
 * Scalar 0: the constant, in the stored type (f32 for float16).
 */
export function padKernel(
  spec: { input: View; output: View; before: readonly number[]; mode: PadMode },
  caps: DeviceCaps,
): Kernel {
  const { input, output, before, mode } = spec,
    params = new Params(),
    { shape } = output.layout,
    size = sizeOf(shape),
    total = params.u32("total", size);
  const raw = wgslType(input.dtype),
    scalar = raw === "f16" ? "f32" : raw;
  const lines = [
    `let id = (${flatWorkgroup}) * 64u + lane;`,
    `if (id >= ${total}) { return; }`,
    "var rest = id;",
    "var inside = true;",
    `var at = ${params.u32("offset", input.layout.offset)};`,
  ];
  for (let k = shape.length - 1; k >= 0; k--) {
    const d = params.u32(`d${k}`, at(shape, k)),
      n = params.i32(`n${k}`, at(input.layout.shape, k)),
      b = params.i32(`b${k}`, at(before, k)),
      s = params.u32(`s${k}`, at(input.layout.strides, k));
    lines.push(
      "{",
      indent(
        [
          `var i = i32(rest % ${d}) - ${b};`,
          `rest /= ${d};`,
          mode === "constant"
            ? `inside = inside && i >= 0 && i < ${n};`
            : mode === "replicate"
              ? `i = clamp(i, 0, ${n} - 1);`
              : `i = abs(i);\nif (i >= ${n}) { i = 2 * (${n} - 1) - i; }`,
          `at += u32(i) * ${s};`,
        ].join("\n"),
      ),
      "}",
    );
  }
  const constant = mode === "constant" ? params.scalar("constant", scalar, 0) : "";
  lines.push(
    mode === "constant"
      ? `var r = ${raw}(${constant});\nif (inside) { r = b0[at]; }\nb1[id] = r;`
      : "b1[id] = b0[at];",
  );
  return makeKernel(
    {
      name: `pad.${mode}`,
      storages: [
        { dtype: input.dtype, vec: false, access: "read" },
        { dtype: output.dtype, vec: false, access: "read_write" },
      ],
      params,
      workgroupSize: [64, 1, 1],
      main: lines.join("\n"),
      workgroups: gridOf(Math.ceil(size / 64), caps),
    },
    caps,
  );
}

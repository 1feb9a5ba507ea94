/**
 * Zeros with a tensor placed at every `step`-th position along one axis: the gradient of a slice.
 * Every output element is written. Owns nothing.
 */
import { at } from "../base/access.ts";
import { wgslType } from "../base/dtype.ts";
import { sizeOf } from "../base/shape.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { Params, flatWorkgroup, gridOf, makeKernel, vec4Type } from "./wgsl.ts";

/**
 * Bindings: input [outer, count, inner] (contiguous), output [outer, dim, inner]. Position `from +
 * k·step` of the axis takes input `k`.
 */
export function unsliceKernel(
  spec: { input: View; output: View; axis: number; from: number; step: number },
  caps: DeviceCaps,
): Kernel {
  const { input, output, axis } = spec,
    shape = output.layout.shape,
    width = sizeOf(shape.slice(axis + 1));
  const wide = width % 4 === 0 && input.layout.offset % 4 === 0,
    unit = wide ? 4 : 1,
    size = sizeOf(shape) / unit;
  const params = new Params(),
    alone = sizeOf(shape.slice(0, axis)) === 1;
  const total = params.u32("total", size),
    inner = params.u32("inner", width / unit),
    dim = params.u32("dim", at(shape, axis));
  const count = params.u32("count", at(input.layout.shape, axis)),
    from = params.u32("start", spec.from),
    step = params.u32("step", spec.step),
    offset = params.u32("offset", input.layout.offset / unit);
  const type = wide ? vec4Type(input.dtype) : wgslType(input.dtype);
  return makeKernel(
    {
      name: "unslice",
      storages: [
        { dtype: input.dtype, vec: wide, access: "read" },
        { dtype: output.dtype, vec: wide, access: "read_write" },
      ],
      params,
      workgroupSize: [64, 1, 1],
      workgroups: gridOf(Math.ceil(size / 64), caps),
      main:
        `let i = (${flatWorkgroup}) * 64u + lane;
if (i >= ${total}) { return; }
let line = i / ${inner};
${alone ? "let d = line;" : `let o = line / ${dim};\nlet d = line - o * ${dim};`}
let past = d - min(d, ${from});
let k = ${spec.step === 1 ? "past" : `past / ${step}`};
var value: ${type};
if (d >= ${from} && k < ${count}${spec.step === 1 ? "" : ` && past == k * ${step}`}) { ` +
        `value = b0[${offset} + ${alone ? "k" : `(o * ${count} + k)`} * ${inner} + (i - ` +
        `line * ${inner})]; }
b1[i] = value;`,
    },
    caps,
  );
}

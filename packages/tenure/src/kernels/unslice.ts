/**
 * Zeros with a tensor placed at every `step`-th position along one axis: the gradient of a slice. Every output element is written. Owns nothing.
 */
import { sizeOf } from "../base/shape.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { Params, computeType, flatWorkgroup, gridOf, loadElement, makeKernel, toStored } from "./wgsl.ts";

/** Bindings: input [outer, count, inner] (contiguous), output [outer, dim, inner]. Position `from + k·step` of the axis takes input `k`. */
export function unsliceKernel(spec: { input: View; output: View; axis: number; from: number; step: number }, caps: DeviceCaps): Kernel {
  const { input, output, axis } = spec, shape = output.layout.shape, size = sizeOf(shape);
  const params = new Params();
  const total = params.u32("total", size), inner = params.u32("inner", sizeOf(shape.slice(axis + 1))), dim = params.u32("dim", shape[axis]!);
  const count = params.u32("count", input.layout.shape[axis]!), from = params.u32("start", spec.from), step = params.u32("step", spec.step), offset = params.u32("offset", input.layout.offset);
  const source = { dtype: input.dtype, vec: false, access: "read" } as const;
  const type = computeType(input.dtype);
  return makeKernel({
    name: "unslice", storages: [source, { dtype: output.dtype, vec: false, access: "read_write" }], params, workgroupSize: [64, 1, 1], workgroups: gridOf(Math.ceil(size / 64), caps),
    main: `let i = (${flatWorkgroup}) * 64u + lane;
if (i >= ${total}) { return; }
let at = i % ${inner};
let rest = i / ${inner};
let d = rest % ${dim};
let k = (d - min(d, ${from})) / ${step};
var value = ${type === "bool" ? "false" : `${type}(0)`};
if (d >= ${from} && k < ${count} && d == ${from} + k * ${step}) { value = ${loadElement(source, 0, `${offset} + (rest / ${dim} * ${count} + k) * ${inner} + at`)}; }
b1[i] = ${toStored(output.dtype, "value")};`,
  }, caps);
}

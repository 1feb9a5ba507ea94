/**
 * From a recorded op to its kernel: what the op's own generator makes, or the elementwise kernel of its expression with every storage bound once. Called by
 * compile.ts on a plan-cache miss. Owns nothing.
 */
import { DeviceError, internal } from "../base/errors.ts";
import { elementwiseKernel } from "../kernels/elementwise.ts";
import type { DeviceCaps, Kernel } from "../kernels/kernel.ts";
import type { RecordedOp } from "./record.ts";

/** The kernel of a recorded op and, per storage binding, the local index of the storage. */
export function lower({ op, inputs, outputs, attrs }: RecordedOp, caps: DeviceCaps): { kernel: Kernel; operands: readonly number[] } {
  if (op.kernel !== undefined) {
    const operands = [...inputs, ...outputs].map((o) => o.storage.programIndex);
    const kernel = op.kernel(inputs, outputs, attrs, caps);
    if (kernel.bindings.length !== operands.length) throw internal(`${op.name} has ${operands.length} operands but its kernel ${kernel.bindings.length} bindings`);
    return { kernel, operands };
  }
  if (op.expression === undefined) throw internal(`${op.name} has no kernel`);
  // One binding per storage: WebGPU refuses a buffer that is bound twice in a dispatch that writes it.
  const operands: number[] = [], access: ("read" | "read_write")[] = [];
  const bind = (local: number, how: "read" | "read_write"): number => {
    let at = operands.indexOf(local);
    if (at === -1) { at = operands.push(local) - 1; access.push(how); }
    else if (how === "read_write") access[at] = how;
    return at;
  };
  const ins = inputs.map((view) => ({ view, binding: bind(view.storage.programIndex, "read") }));
  const inplace = op.facts.inplaceOf ?? [];
  const outs = outputs.map((view, k) => ({ dtype: view.dtype, binding: bind(view.storage.programIndex, "read_write"), ...((inplace[k] ?? -1) === -1 ? {} : { view }) }));
  if (operands.length > caps.maxStorageBuffers) throw new DeviceError(op.name, `expected at most ${caps.maxStorageBuffers} different tensors in one op on this device, got ${operands.length}; split the op`);
  const e = op.expression(inputs, attrs);
  const kernel = elementwiseKernel({
    shape: outputs[0]!.layout.shape, operands: ins, outputs: outs, bindings: access, name: op.name, body: e.body,
    ...(e.helpers === undefined ? {} : { helpers: e.helpers }), ...(e.scalars === undefined ? {} : { scalars: e.scalars }), ...(e.needsIndex === undefined ? {} : { needsIndex: e.needsIndex }),
  }, caps);
  return { kernel, operands };
}

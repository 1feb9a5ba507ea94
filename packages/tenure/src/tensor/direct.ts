/**
 * Updates of a parameter from its gradient, recorded without handles for the gradient and the
 * results: what an optimizer does to every parameter in every step. Called by optimizers, who fall
 * back to `update` where anything is unusual, errors included. Makes nothing.
 */
import { sameShape } from "../base/shape.ts";
import { HANDLE } from "../ownership/handle.ts";
import type { OpDef } from "../ops/op.ts";
import type { TensorHandle } from "./body.ts";
import { type Operand, beforeOp, opRecorded, record, redirectReads } from "./dispatch.ts";
import { duplicate } from "./run.ts";
import { tensorState } from "./tensor-state.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Does what `update(op, [parameter, parameter.grad, ...states], attrs, scalars)` does, for an op
 * that writes float32 inputs in place and is none that autocast knows. Called with gradients off.
 * @returns false, with nothing done, where there is no gradient or `update` has something to check
 */
export function updateDirectly<A>(
  op: OpDef<A>,
  parameter: Tensor,
  states: readonly Tensor[],
  attrs: A,
  scalars: readonly number[],
): boolean {
  const { observer, tape } = tensorState();
  const target = parameter[HANDLE];
  const grad = target.gradient?.grad;
  if (grad == null || observer !== null || tape.gradMode.enabled) return false;
  if (!isPlain(target) || !isReady(grad, target)) return false;
  const inputs: Operand[] = [target, grad];
  for (const state of states) {
    const handle = state[HANDLE];
    if (!isPlain(handle) || !isReady(handle, target) || handle.storage === grad.storage)
      return false;
    inputs.push(handle);
  }
  beforeOp(op.name, inputs);
  const outputs = (op.facts.inplaceOf ?? []).map((i) =>
    i === 0 ? target : states[i - 2]![HANDLE],
  );
  for (const { storage } of outputs) redirectReads(storage, () => duplicate(storage));
  record(op, inputs, outputs, attrs, scalars);
  for (const handle of outputs) handle.version = handle.storage.version;
  opRecorded();
  return true;
}

/** Whether it can be written as it is. */
function isPlain(handle: TensorHandle): boolean {
  return handle.isLive && handle.storage.trouble() === null && handle.layout.contiguous;
}

/** Whether it can be read along with the target. */
function isReady({ storage, layout }: Operand, target: TensorHandle): boolean {
  return (
    layout.contiguous &&
    storage !== target.storage &&
    storage.trouble() === null &&
    sameShape(layout.shape, target.layout.shape)
  );
}

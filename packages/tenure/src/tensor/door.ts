/**
 * How functions on tensors reach the runtime without importing the class: they check handles and
 * run records here, and the class lends its constructor. Tensor methods can then be written in
 * other files. Called within this folder and by layers above; results belong to the current scope.
 */
import { ArgumentError, internal } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type Handle, handleOf } from "../ownership/handle.ts";
import type { OpDef } from "../ops/op.ts";
import { TensorHandle } from "./body.ts";
import { runOp } from "./run.ts";
import type { Tensor } from "./tensor.ts";

/** Set by tensor.ts: a tensor for a fresh handle, owned by the current scope. */
export const maker: { wrap: (handle: TensorHandle) => Tensor } = {
  wrap: () => {
    throw internal("the tensor class is not loaded");
  },
};

/**
 * The live handle behind a tensor. @throws DisposedError; ArgumentError for anything that is no
 * tensor
 */
export function handleIn(op: string, t: Tensor): TensorHandle {
  const handle: Handle | undefined = handleOf(t);
  if (!(handle instanceof TensorHandle))
    throw new ArgumentError(op, "a tensor", describeValue(t), "make one with tensor(…)");
  handle.assertLive(op);
  return handle;
}

/** Runs an op that has one result. */
export function apply<A>(
  op: OpDef<A>,
  inputs: readonly Tensor[],
  attrs: A,
  words?: readonly number[],
): Tensor {
  return maker.wrap(
    runOp(
      op,
      inputs.map((t) => handleIn(op.name, t)),
      attrs,
      words,
    )[0]!,
  );
}

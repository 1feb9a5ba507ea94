/**
 * How functions and methods on tensors run ops: `live` turns a tensor into an operand, `call` runs
 * an op and gives the result the kind of its inputs. Neither knows the class `Tensor`, which is
 * made of methods that call them. Called within this folder and by the layers above; results belong
 * to the current scope.
 */
import { isForeign, joinCopies } from "../base/copies.ts";
import { ArgumentError, internal } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type HANDLE, type Handle, handleOf } from "../ownership/handle.ts";
import type { OpDef } from "../ops/op.ts";
import { TensorHandle } from "./body.ts";
import { runOp } from "./run.ts";

/** Property of a tensor that makes another of its kind. */
export const WRAP: unique symbol = Symbol("tenure.wrap");

/** A tensor, as far as ops are concerned. */
export interface Wrapping {
  readonly [HANDLE]: TensorHandle;
  /** A tensor for a fresh handle, owned by the current scope. */
  [WRAP](handle: TensorHandle): this;
}

/**
 * The live handle behind a tensor. @throws DisposedError; ArgumentError for anything that is no
 * tensor
 */
export function live(t: Wrapping, op: string): TensorHandle {
  const handle: Handle | undefined = handleOf(t);
  if (!(handle instanceof TensorHandle)) throw noTensor(t, op);
  handle.assertLive(op);
  return handle;
}

function noTensor(value: unknown, op: string): ArgumentError {
  return isForeign(value)
    ? new ArgumentError(
        op,
        "a tensor of this copy of tenure",
        "one that another copy made",
        joinCopies,
      )
    : new ArgumentError(op, "a tensor", describeValue(value), "make one with tensor(…)");
}

/** Runs an op that has one result, on one input or more. */
export function call<A, T extends Wrapping>(
  op: OpDef<A>,
  inputs: readonly T[],
  attrs: A,
  scalars?: readonly number[],
): T {
  const handles = operands(op.name, inputs), // the caller's word is checked before ours
    [first] = inputs;
  if (first === undefined) throw internal(`${op.name} was called without inputs`);
  const out = only(runOp(op, handles, attrs, scalars));
  return first[WRAP](out);
}

/** Runs an in-place op for its effect; its results are dropped. */
export function update<A>(
  op: OpDef<A>,
  inputs: readonly Wrapping[],
  attrs: A,
  scalars?: readonly number[],
): void {
  for (const out of runOp(op, operands(op.name, inputs), attrs, scalars)) out.discard();
}

/** The first result of an op; the others are dropped. */
export function only(results: readonly TensorHandle[]): TensorHandle {
  const [result] = results;
  if (result === undefined) throw internal("an op without results was asked for one");
  for (let k = 1; k < results.length; k++) results[k]!.discard();
  return result;
}

function operands(op: string, inputs: readonly Wrapping[]): TensorHandle[] {
  const list = new Array<TensorHandle>(inputs.length);
  for (let i = 0; i < inputs.length; i++) list[i] = live(inputs[i]!, op);
  return list;
}

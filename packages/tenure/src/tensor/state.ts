/**
 * What the tensor layer and autograd remember between calls: modes, tape, generator, hooks. One per
 * instance of the library, made by compose.ts and read through `tensorState()`. Owns no tensor.
 */
import { current } from "../base/realm.ts";

/** Modes, tape and generator. */
export class TensorState {}

/** The tensor layer's state in the current instance. */
export function tensorState(): TensorState {
  return current<{ readonly tensors: TensorState }>().tensors;
}

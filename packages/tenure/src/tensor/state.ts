/**
 * What the tensor layer and autograd remember between calls: modes, tape, generator, hooks. One per
 * instance of the library, made by compose.ts and read through `tensorState()`. Owns no tensor.
 */
import { current } from "../base/realm.ts";
import type { TensorHandle } from "./body.ts";
import type { BackwardOptions } from "./tape.ts";

/** What the tensor layer needs of autograd above it. */
export interface TensorStateOptions {
  /** Accumulates gradients from a root, and the gradient that starts them, into the leaves. */
  readonly backward: (
    root: TensorHandle,
    gradient: TensorHandle | null,
    options: BackwardOptions,
  ) => void;
}

/** Modes, tape and generator. */
export class TensorState {
  readonly backward: TensorStateOptions["backward"];

  constructor({ backward }: TensorStateOptions) {
    this.backward = backward;
  }
}

/** The tensor layer's state in the current instance. */
export function tensorState(): TensorState {
  return current<{ readonly tensors: TensorState }>().tensors;
}

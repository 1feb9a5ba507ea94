/**
 * What the tensor layer and autograd remember between calls: modes, tape, generator, hooks. One per
 * instance of the library, made by compose.ts and read through `tensorState()`. Owns no tensor.
 */
import { current } from "../base/realm.ts";
import type { AnyOp } from "../ops/op.ts";
import type { TensorHandle } from "./body.ts";
import { Generator } from "./generator.ts";
import { type BackwardOptions, Tape } from "./tape.ts";

/** What the tensor layer needs of autograd above it. */
export interface TensorStateOptions {
  /** Accumulates gradients from a root, and the gradient that starts them, into the leaves. */
  readonly backward: (
    root: TensorHandle,
    gradient: TensorHandle | null,
    options: BackwardOptions,
  ) => void;
}

/** Sees an op that was recorded, and its results. */
export type OpObserver = (
  op: AnyOp,
  inputs: readonly TensorHandle[],
  outputs: readonly TensorHandle[],
) => void;

/** Sees a module that was called, with its arguments and its result. */
export type ModuleObserver = (module: object, args: readonly unknown[], result: unknown) => void;

/** Modes, tape and generator. */
export class TensorState {
  readonly backward: TensorStateOptions["backward"];
  readonly tape: Tape = new Tape();
  readonly generator: Generator = new Generator();
  /**
   * Sees every op that computes, with its results, right after it was recorded. For anomaly
   * detection; null costs nothing.
   */
  observer: OpObserver | null = null;
  /** Hears of every call of a module while it is set: how `summary` learns the shapes. */
  moduleObserver: ModuleObserver | null = null;

  constructor({ backward }: TensorStateOptions) {
    this.backward = backward;
  }
}

/** The tensor layer's state in the current instance. */
export function tensorState(): TensorState {
  return current<{ readonly tensors: TensorState }>().tensors;
}

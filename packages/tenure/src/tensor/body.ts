/**
 * The handle behind a `Tensor`: one reference on a storage, a layout over it, and one on the
 * gradient record when it is differentiable. Made by run.ts, wrapped by tensor.ts; a handle that is
 * never wrapped must be `discard`ed.
 */
import type { DType } from "../base/dtype.ts";
import type { Layout } from "../base/layout.ts";
import { formatShape } from "../base/shape.ts";
import { Handle } from "../ownership/handle.ts";
import { type LifetimeStatistics, statistics } from "../ownership/statistics.ts";
import type { Operand, Storage } from "./dispatch.ts";
import type { Gradient } from "./tape.ts";

/**
 * The handle of a tensor: a view of a storage, and what autograd knows of it. Holds one reference
 * on the storage until it is released.
 */
export class TensorHandle extends Handle implements Operand {
  readonly storage: Storage;
  readonly layout: Layout;
  readonly dtype: DType;
  /** Shared by all aliases of a differentiable value; null when no gradient is wanted. */
  gradient: Gradient | null;
  /**
   * Version of the storage at which `gradient` describes it: an in-place op through another alias
   * leaves this one behind.
   */
  version: number;
  name = "";

  /** Takes one reference on each. */
  constructor(storage: Storage, layout: Layout, dtype: DType, gradient: Gradient | null) {
    super();
    this.storage = storage.retain();
    this.layout = layout;
    this.dtype = dtype;
    this.gradient = gradient === null ? null : gradient.retain();
    this.version = storage.version;
  }

  protected release(): void {
    this.storage.release();
    this.gradient?.release();
  }

  /** Another handle on the same value, which no wrapper has got yet. */
  alias(): TensorHandle {
    const other = new TensorHandle(this.storage, this.layout, this.dtype, this.gradient);
    other.version = this.version;
    other.name = this.name;
    return other;
  }

  /** Ends a handle that no wrapper ever got and no counter has seen. */
  discard(): void {
    this.release();
  }

  setGradient(gradient: Gradient | null): void {
    gradient?.retain();
    this.gradient?.release();
    this.gradient = gradient;
    this.version = this.storage.version;
  }

  describe(): string {
    const name = this.name === "" ? "" : ` "${this.name}"`;
    return `tensor${name} ${this.dtype} ${formatShape(this.layout.shape)}`;
  }
  get bytes(): number {
    return this.storage.bytes;
  }
  override followBytes(): number {
    this.storage.logged = true;
    return this.storage.id;
  }
  get statistics(): LifetimeStatistics {
    return statistics().tensor;
  }
}

/**
 * The tape: what autograd remembers. A differentiable value has a `Gradient` record, shared by all
 * its aliases; a result's record leads to the node of the op that made it, the node to the records
 * of its inputs. Nodes hold references on saved *storages*, never on handles, so closing a scope
 * cannot break a backward pass, and dropping the last handle of a result frees its whole graph at
 * once. Written by run.ts, read by autograd/. Everything is reference-counted.
 */
import type { DType } from "../base/dtype.ts";
import type { Layout } from "../base/layout.ts";
import { current } from "../base/realm.ts";
import type { AnyOp, Meta } from "../ops/op.ts";
import { type Storage, dropUntilDiscarded, regain, whenDiscarded } from "./dispatch.ts";

/** A switch that holds for the running job. */
export interface Mode {
  enabled: boolean;
}

/** Whether ops choose a dtype, and which. */
export interface CastMode extends Mode {
  /**
   * The dtype an op wants its float inputs in; undefined when it does not matter. Comes with the
   * first autocast: programs without one need not hold a table of all ops.
   */
  precisionOf: (op: AnyOp) => "float16" | "float32" | undefined;
}

/** Sees what a function does to the host's books, so that it can be done again without it. */
export interface TapeWatcher {
  /** A leaf from now on has another gradient, or none. Called before it has. */
  setGrad(leaf: Gradient, grad: Saved | null): void;
  /** Somebody looks at a leaf's gradient. */
  readGrad(leaf: Gradient): void;
  /** A backward pass goes through a node. */
  visits(node: GradNode): void;
  /** A tensor is used; what is done with it would refuse one that is not live. */
  uses(handle: { readonly isLive: boolean; readonly storage: Storage }): void;
  /** A tensor becomes a leaf, or ceases to be one. */
  switches(handle: { readonly isLive: boolean; readonly storage: Storage }): void;
  /** Something that cannot be repeated without running the function. */
  refuse(why: string): void;
  /** A random op takes the next numbers; `displaced` where they were taken before. */
  took(scalars: readonly number[], displaced: boolean): void;
  /** Something that is simply called again: `act` of `who`. */
  again(who: object, act: () => void): void;
}

/** What autograd remembers besides the graph itself, which the results hold. */
export class Tape {
  /** Whether ops record nodes now. Changed only through noGrad and enableGrad. */
  readonly gradMode: Mode = { enabled: true };
  /**
   * Whether ops choose the dtype of their float inputs now. Changed only through autocast, and off
   * in a backward pass.
   */
  readonly castMode: CastMode = { enabled: false, precisionOf: () => undefined };
  /** True while a checkpointed function runs for the second time. */
  recomputing = false;
  /** Sees what changes; null mostly. */
  watcher: TapeWatcher | null = null;
  /**
   * Counts changes of what decides which ops a function records, and no argument says: modes of
   * modules, who wants gradients, groups of optimizers, hooks.
   */
  changes = 0;
  #lastNodeId = 0;

  /** A number above those of all nodes so far. */
  nextNodeId(): number {
    return ++this.#lastNodeId;
  }
}

/** The tape of the current instance. */
export function tape(): Tape {
  return current<{ readonly tensors: { readonly tape: Tape } }>().tensors.tape;
}

/** Extra arguments of `backward`. */
export interface BackwardOptions {
  /**
   * Keep what the graph saved, so that backward can run again. For second derivatives see `grad(fn,
   * { createGraph: true })`.
   */
  readonly retainGraph?: boolean;
}

/** A storage seen through a layout, kept alive by one reference. */
export interface Saved {
  readonly storage: Storage;
  readonly layout: Layout;
  readonly dtype: DType;
  /** The storage's version when it was saved: a later in-place write makes it useless. */
  readonly version: number;
}

/**
 * Sees a gradient, and may return another of the same shape in its place. Typed by tensor.ts, which
 * knows what it is called with.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the tape does not know Tensor
export type GradientHook = (gradient: any) => any;

/** The differentiable identity of a value. */
export class Gradient {
  refs = 0;
  /** The op that made the value; null for a leaf. */
  node: GradNode | null;
  /** A leaf's accumulated gradient, one reference on its storage. */
  grad: Saved | null = null;
  /** For messages. */
  name: string | null = null;
  /** Called with the complete gradient in every backward pass. */
  hooks: Set<GradientHook> | null = null;

  constructor(node: GradNode | null) {
    this.node = node;
    if (node !== null) node.refs++;
  }

  /** Adds one reference. */
  retain(): this {
    this.refs++;
    return this;
  }

  /** Lets go of one reference; with the last one, of the graph below. */
  release(): void {
    const unreferenced: Gradient[] = [];
    this.releaseInto(unreferenced);
    // A list, not recursion: graphs are as deep as the user's loops.
    for (let g = unreferenced.pop(); g !== undefined; g = unreferenced.pop()) g.#free(unreferenced);
  }

  /** Lets go of one reference; with the last one, the record joins those to be freed. */
  releaseInto(unreferenced: Gradient[]): void {
    if (--this.refs <= 0) unreferenced.push(this);
  }

  #free(unreferenced: Gradient[]): void {
    this.setGrad(null);
    const { node } = this;
    this.node = null;
    if (node !== null && --node.refs === 0) node.free(unreferenced);
  }

  /**
   * Replaces the accumulated gradient. Takes over the reference held by `grad`. What is recorded
   * and cannot run, or is only traced, leaves the gradient as it was.
   */
  setGrad(grad: Saved | null): void {
    if (this.refs > 0) tape().watcher?.setGrad(this, grad);
    const before = this.grad;
    this.grad = grad;
    if (before === null && grad === null) return;
    if (this.refs <= 0) {
      before?.storage.release();
      return;
    }
    if (before !== null) dropUntilDiscarded(before.storage);
    whenDiscarded(
      () => () => {
        const last = this.grad;
        this.grad = this.refs > 0 ? before : null;
        // first: both may be one storage, which must not be freed in between
        if (this.grad !== null) regain(this.grad.storage);
        last?.storage.release();
      },
      true,
    );
  }
}

/** One recorded differentiable op. */
export class GradNode {
  /** Rises with recording order: a node comes after everything it depends on. */
  readonly id: number = tape().nextNodeId();
  readonly op: AnyOp;
  readonly attrs: unknown;
  readonly scalars: readonly number[];
  readonly metas: readonly Meta[];
  /** The inputs' records; null where no gradient is wanted. Each holds one reference. */
  readonly edges: readonly (Gradient | null)[];
  readonly layer: string;
  /** The output's record, not counted: it is what holds this node. */
  output: Gradient | null = null;
  refs = 0;
  savedInputs: (Saved | null)[];
  savedOutputs: readonly Saved[];
  /** Set once a backward pass has used and freed what was saved. */
  consumed = false;

  constructor(
    op: AnyOp,
    attrs: unknown,
    scalars: readonly number[],
    metas: readonly Meta[],
    edges: readonly (Gradient | null)[],
    savedInputs: (Saved | null)[],
    savedOutputs: readonly Saved[],
    layer: string,
  ) {
    this.op = op;
    this.attrs = attrs;
    this.scalars = scalars;
    this.metas = metas;
    this.edges = edges;
    this.savedInputs = savedInputs;
    this.savedOutputs = savedOutputs;
    this.layer = layer;
    for (const edge of edges) edge?.retain();
  }

  /** Lets go of the saved storages. */
  releaseSaved(): void {
    for (const saved of this.savedInputs) saved?.storage.release();
    for (const saved of this.savedOutputs) saved.storage.release();
    this.savedInputs = [];
    this.savedOutputs = [];
  }

  /** Nobody leads here any more: lets go of everything. */
  free(unreferenced: Gradient[]): void {
    this.releaseSaved();
    for (const edge of this.edges) edge?.releaseInto(unreferenced);
  }
}

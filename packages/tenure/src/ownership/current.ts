/**
 * Which scope is current. Within one job: a linked list of frames, pushed when a scope opens and
 * unlinked when it ends. Across `await`: the host's async context (AsyncContext, or Node's
 * AsyncLocalStorage), entered by `scope.run`. A frame that is still open at its job's microtask
 * checkpoint has crossed an `await`: it is suspended, so the ambient scope of other code is never
 * wrong. Called by scopes and by everything that makes handles. Frames own nothing.
 */
import { builtin } from "../base/env.ts";
import { current } from "../base/realm.ts";

/** Where a scope keeps its frame. */
export const FRAME: unique symbol = Symbol("frame");

/** What frames need to know of a scope. */
export interface FrameScope<S> {
  /** Its frame, if it was pushed and has not been removed. */
  [FRAME]: Frame<S> | null;
  readonly disposed: boolean;
  /** The nearest scope around it that still takes handles. */
  readonly outer: S | null;
  isInside(scope: S): boolean;
  /** It was still open when its job, or the function it was opened in, gave way. */
  suspend(): void;
  /** Work finds that the scope it ran under has ended. */
  noteOutlived(): void;
}

/**
 * One entry of the current job's stack. Frames are for currency; `scope.outer` is for ownership.
 */
export interface Frame<S> {
  /**
   * The scope that is current while this frame is on top; null hides everything below (a barrier
   * without scope).
   */
  readonly scope: S | null;
  /** The frame below; null at the base and below a barrier. */
  below: Frame<S> | null;
  /** The frame above; null at the top. */
  above: Frame<S> | null;
  /** Stands for the stack it is part of; null while it is put aside. */
  stack: object | null;
  /**
   * A frame of `scope.run`: not the user's opening, so it is never reported as having crossed an
   * await.
   */
  readonly barrier: boolean;
  /**
   * The async context it was pushed in; undefined while the host's is not in use. In any other
   * context the frame does not count.
   */
  readonly context: S | null | undefined;
}

/** The host's async context. */
export interface AsyncVariable<S> {
  run<T>(value: S | null, fn: () => T): T;
  get(): S | null | undefined;
}

/** A new variable in the host's async context; null where there is none (browsers). */
export function hostVariable<S>(): AsyncVariable<S> | null {
  const native = (globalThis as { AsyncContext?: { Variable: new () => AsyncVariable<S> } })
    .AsyncContext;
  if (native !== undefined) return new native.Variable();
  const hooks = builtin<{
    AsyncLocalStorage: new () => {
      run<T>(value: S | null, fn: () => T): T;
      getStore(): S | null | undefined;
    };
  }>("node:async_hooks");
  if (hooks === undefined) return null;
  const storage = new hooks.AsyncLocalStorage();
  return {
    run: (value, fn) => storage.run(value, fn),
    get: () => storage.getStore(),
  };
}

/** The frames of the job that runs now, and the scopes under all jobs. */
export class Frames<S extends FrameScope<S>> {
  #top: Frame<S> | null = null;
  /** Stands for the frames from the top down to the base of the job, or to a barrier. */
  #stack: object = {};
  /** Bottom-most scopes, under all jobs: `newDisposeScope({ root: true })`. */
  #roots: S[] = [];
  #variable: AsyncVariable<S> | null | undefined;
  readonly #armCheckpoint: () => void;

  /** `armCheckpoint` makes sure that `endJob` is called once this job is over. */
  constructor(armCheckpoint: () => void) {
    this.#armCheckpoint = armCheckpoint;
  }

  /** The scope that owns whatever is made now, or null. */
  current(): S | null {
    const frame = this.#top;
    if (frame === null) return this.#ambient();
    // A frame left open by a raw await is still here until its job's checkpoint; other contexts
    // that run in between do not see it.
    if (this.#variable != null && this.#variable.get() !== frame.context) return this.#ambient();
    const { scope } = frame;
    if (scope !== null && scope.disposed) return this.#skipEnded(frame);
    return scope;
  }

  /** A scope may end while its frame is put aside: by `wait`, or below a barrier. */
  #skipEnded(ended: Frame<S>): S | null {
    // a barrier stays until its function returns
    if (ended.barrier) return ended.scope === null ? null : ended.scope.outer;
    this.#pop(ended);
    return this.current();
  }

  /** The host's async context, made at first need; null where there is none (browsers). */
  asyncContext(): AsyncVariable<S> | null {
    if (this.#variable === undefined) this.#variable = hostVariable<S>();
    return this.#variable;
  }

  #outlived(scope: S): S | null {
    scope.noteOutlived();
    return scope.outer;
  }

  #ambient(): S | null {
    if (this.#variable != null) {
      const scope = this.#variable.get();
      if (scope === null) return null; // an explicit barrier without a scope
      if (scope !== undefined) return scope.disposed ? this.#outlived(scope) : scope;
    }
    return this.#roots.at(-1) ?? null;
  }

  #context(): S | null | undefined {
    return this.#variable == null ? undefined : this.#variable.get();
  }

  /** Makes `scope` current for the rest of the job or until it ends. */
  push(scope: S): void {
    const below = this.#top;
    const context = this.#context();
    const frame = { scope, below, above: null, stack: this.#stack, barrier: false, context };
    this.#top = scope[FRAME] = frame;
    if (below !== null) below.above = frame;
    this.#armCheckpoint();
  }

  #pop({ below }: Frame<S>): void {
    this.#top = below;
    if (below !== null) below.above = null;
  }

  /** A frame at the bottom of a stack of its own. */
  #barrier(scope: S | null): Frame<S> {
    const context = this.#context();
    const frame: Frame<S> = {
      scope,
      below: null,
      above: null,
      stack: null,
      barrier: true,
      context,
    };
    frame.stack = frame;
    return frame;
  }

  /** Lays a scope under all jobs. */
  addRoot(scope: S): void {
    this.#roots.push(scope);
  }

  /**
   * Takes a scope out of the frames and roots. A frame that is put aside stays there, to be skipped
   * later. @returns the first scope opened inside it that is still open, or null
   */
  remove(scope: S): S | null {
    const frame = scope[FRAME];
    scope[FRAME] = null;
    if (frame === null) {
      if (this.#roots.length > 0) this.#roots = this.#roots.filter((s) => s !== scope);
      return null;
    }
    if (frame === this.#top) this.#pop(frame);
    const { above, below } = frame;
    if (above === null || frame.stack !== this.#stack) return null;
    // top … above -> frame -> below … becomes   top … above -> below …
    above.below = below;
    if (below !== null) below.above = above;
    for (let over: Frame<S> | null = above; over !== null; over = over.above)
      if (over.scope?.isInside(scope) === true) return over.scope;
    return null;
  }

  /**
   * Runs `fn` with exactly `scope` current (null: no scope), hiding the caller's frames; the caller
   * finds its own frames again whatever happens.
   */
  within<T>(scope: S | null, fn: () => T): T {
    const saved = this.#top;
    const stack = this.#stack;
    this.#stack = this.#top = this.#barrier(scope);
    try {
      return fn();
    } finally {
      // opened inside and still open: they crossed an await of `fn`, or were forgotten
      this.#suspendOpen();
      this.#top = saved;
      this.#stack = stack;
    }
  }

  /**
   * Like `within` for a function that goes on later: what it leaves open is put aside in `kept`,
   * and is open again in the next segment.
   */
  segment<T>(scope: S, kept: { frames: Frame<S> | null }, fn: () => T): T {
    const saved = this.#top;
    const stack = this.#stack;
    const base = this.#barrier(scope);
    this.#stack = this.#top = base;
    this.#putBack(kept.frames);
    kept.frames = null;
    try {
      const result = fn();
      kept.frames = this.#takeAbove(base);
      return result;
    } finally {
      this.#suspendOpen(); // nothing, unless `fn` threw
      this.#top = saved;
      this.#stack = stack;
    }
  }

  /** Runs `fn` under `scope` now and after every `await` inside it. Needs `asyncContext()`. */
  withinAsync<T>(context: AsyncVariable<S>, scope: S | null, fn: () => T): T {
    return context.run(scope, () => this.within(scope, fn));
  }

  /**
   * Takes the frames that a function opened, from the top down to and including `scope`'s, off the
   * job for a later `enter`. Where `scope` is current without a frame of its own (inside `run`,
   * or in an async context), these are the frames above it. Null when there are none.
   */
  take(scope: S): Frame<S> | null {
    const context = this.#context();
    let above: Frame<S> | null = null;
    for (
      let frame = this.#top;
      frame !== null && frame.context === context;
      above = frame, frame = frame.below
    ) {
      if (frame.barrier) return frame.scope === scope ? this.#takeAbove(frame) : null;
      // top … frame | below   becomes   taken: top … frame, and the job keeps: below
      if (frame.scope === scope) return this.#takeAbove(frame.below);
    }
    return above !== null && this.#ambient() === scope ? this.#takeAbove(above.below) : null;
  }

  /** Takes all frames above `base` off the job. */
  #takeAbove(base: Frame<S> | null): Frame<S> | null {
    const taken = this.#top;
    if (taken === base || taken === null) return null;
    assignStack(taken, null, base).below = null;
    this.#top = base;
    if (base !== null) base.above = null;
    return taken;
  }

  #putBack(taken: Frame<S> | null): void {
    if (taken === null) return;
    const last = assignStack(taken, this.#stack);
    last.below = this.#top;
    if (this.#top !== null) this.#top.above = last;
    this.#top = taken;
  }

  /**
   * Puts taken frames on the stack of a job that has just begun: whatever is still open there
   * crossed a raw await of an earlier job.
   */
  enter(taken: Frame<S> | null): void {
    this.#suspendOpen();
    this.#begin();
    this.#putBack(taken);
  }

  /**
   * Ends a bracket opened with `enter` in its own microtask: what is still open crossed a raw
   * await.
   */
  leave(): void {
    this.#suspendOpen();
    this.#begin();
  }

  /** A stack of no frames. */
  #begin(): void {
    this.#top = null;
    this.#stack = {};
  }

  #suspendOpen(): void {
    for (let frame = this.#top; frame !== null; frame = frame.below)
      if (frame.scope !== null && !frame.barrier) frame.scope.suspend();
  }

  /** The job is over: what is still open has crossed an await. */
  endJob(): void {
    if (this.#top === null) return;
    try {
      this.#suspendOpen();
    } finally {
      this.#begin();
    }
  }
}

/** Makes frames part of a stack, or of none. @returns the last one above `base` */
function assignStack<S>(
  top: Frame<S>,
  stack: object | null,
  base: Frame<S> | null = null,
): Frame<S> {
  let last = top;
  last.stack = stack;
  while (last.below !== null && last.below !== base) {
    last = last.below;
    last.stack = stack;
  }
  return last;
}

/** The frames of the current instance, of whatever kind of scopes they are. */
export function frames<S extends FrameScope<S>>(): Frames<S> {
  return current<{ readonly ledger: { readonly frames: Frames<S> } }>().ledger.frames;
}

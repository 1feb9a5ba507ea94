/**
 * Which scope is current. Within one job: a linked list of frames, pushed when a scope opens and
 * unlinked when it ends. Across `await`: the host's async context (AsyncContext, or Node's
 * AsyncLocalStorage), entered by `scope.run`. A frame that is still open at its job's microtask
 * checkpoint has crossed an `await`: it is suspended, so the ambient scope of other code is never
 * wrong. Called by scopes and by everything that makes handles. Frames own nothing.
 */
import { builtin } from "../base/env.ts";
import { armCheckpoint, onCheckpoint } from "./handle.ts";
import type { DisposeScope } from "./scope.ts";

/**
 * One entry of the current job's stack. Frames are for currency; `scope.outer` is for ownership.
 */
export interface Frame {
  /**
   * The scope that is current while this frame is on top; null hides everything below (a barrier
   * without scope).
   */
  readonly scope: DisposeScope | null;
  /** The frame below; null at the base and below a barrier. */
  below: Frame | null;
  /**
   * A frame of `scope.run`: not the user's opening, so it is never reported as having crossed an
   * await.
   */
  readonly barrier: boolean;
  /**
   * The async context it was pushed in; undefined while the host's is not in use. In any other
   * context the frame does not count.
   */
  readonly context: DisposeScope | null | undefined;
}

let top: Frame | null = null;
/** Bottom-most scopes, under all jobs: `newDisposeScope({ root: true })`. */
let roots: DisposeScope[] = [];

interface AsyncVariable {
  run<T>(value: DisposeScope | null, fn: () => T): T;
  get(): DisposeScope | null | undefined;
}

let asyncVariable: AsyncVariable | null | undefined;

/** The host's async context, made at first need; null where there is none (browsers). */
export function asyncContext(): AsyncVariable | null {
  if (asyncVariable !== undefined) return asyncVariable;
  const native = (globalThis as { AsyncContext?: { Variable: new () => AsyncVariable } })
    .AsyncContext;
  if (native !== undefined) return (asyncVariable = new native.Variable());
  const hooks = builtin<{
    AsyncLocalStorage: new () => {
      run<T>(value: DisposeScope | null, fn: () => T): T;
      getStore(): DisposeScope | null | undefined;
    };
  }>("node:async_hooks");
  if (hooks === undefined) return (asyncVariable = null);
  const storage = new hooks.AsyncLocalStorage();
  return (asyncVariable = {
    run: (value, fn) => storage.run(value, fn),
    get: () => storage.getStore(),
  });
}

/** Set by scope.ts. */
export const hooks: {
  /** Work finds that the scope it ran under has ended: who owns what it makes now? */
  nearestLive: (scope: DisposeScope) => DisposeScope | null;
  /** A scope was still open when its job, or the function it was opened in, gave way. */
  crossedAwait: (scope: DisposeScope) => void;
} = { nearestLive: (s) => s, crossedAwait: () => undefined };

/** The scope that owns whatever is made now, or null. */
export function currentScope(): DisposeScope | null {
  const frame = top;
  if (frame === null) return ambientScope();
  // A frame left open by a raw await is still here until its job's checkpoint; other contexts that
  // run in between do not see it.
  if (asyncVariable != null && asyncVariable.get() !== frame.context) return ambientScope();
  const { scope } = frame;
  if (scope !== null && scope.disposed) return skipEnded(frame);
  return scope;
}

/** A scope may end while its frame is put aside: by `wait`, or below a barrier. */
function skipEnded(ended: Frame): DisposeScope | null {
  if (ended.barrier) return ended.scope!.outer; // a barrier stays until its function returns
  top = ended.below;
  return currentScope();
}

function ambientScope(): DisposeScope | null {
  if (asyncVariable != null) {
    const scope = asyncVariable.get();
    if (scope === null) return null; // an explicit barrier without a scope
    if (scope !== undefined) return scope.disposed ? hooks.nearestLive(scope) : scope;
  }
  return roots.length === 0 ? null : roots[roots.length - 1]!;
}

function contextNow(): DisposeScope | null | undefined {
  return asyncVariable == null ? undefined : asyncVariable.get();
}

/** Makes `scope` current for the rest of the job or until it ends. */
export function pushFrame(scope: DisposeScope): void {
  top = { scope, below: top, barrier: false, context: contextNow() };
  armCheckpoint();
}

export function addRoot(scope: DisposeScope): void {
  roots.push(scope);
}

/**
 * Takes a scope out of the frames and roots. @returns a scope opened inside it that is still open,
 * or null
 */
export function removeFrame(scope: DisposeScope): DisposeScope | null {
  if (top !== null && top.scope === scope && !top.barrier) {
    top = top.below;
    return null;
  }
  let inner: DisposeScope | null = null;
  for (let frame = top; frame !== null; frame = frame.below) {
    if (inner === null && !frame.barrier && frame.scope?.isInside(scope) === true)
      inner = frame.scope;
    const { below } = frame;
    // top … frame -> below -> rest   becomes   top … frame -> rest
    if (below !== null && below.scope === scope && !below.barrier) {
      frame.below = below.below;
      return inner;
    }
  }
  if (roots.length > 0) roots = roots.filter((s) => s !== scope);
  return null;
}

/**
 * Runs `fn` with exactly `scope` current (null: no scope), hiding the caller's frames; the caller
 * finds its own frames again whatever happens.
 */
export function withScope<T>(scope: DisposeScope | null, fn: () => T): T {
  const saved = top;
  top = { scope, below: null, barrier: true, context: contextNow() };
  try {
    return fn();
  } finally {
    // opened inside and still open: they crossed an await of `fn`, or were forgotten
    suspendOpenFrames();
    top = saved;
  }
}

/**
 * Like `withScope` for a function that goes on later: what it leaves open is put aside in `kept`,
 * and is open again in the next segment.
 */
export function segment<T>(scope: DisposeScope, kept: { frames: Frame | null }, fn: () => T): T {
  const saved = top,
    base: Frame = { scope, below: null, barrier: true, context: contextNow() };
  top = base;
  putBack(kept.frames);
  kept.frames = null;
  try {
    const result = fn();
    kept.frames = takeAbove(base);
    return result;
  } finally {
    suspendOpenFrames(); // nothing, unless `fn` threw
    top = saved;
  }
}

/** Runs `fn` under `scope` now and after every `await` inside it. Needs `asyncContext()`. */
export function withAsyncScope<T>(
  context: AsyncVariable,
  scope: DisposeScope | null,
  fn: () => T,
): T {
  return context.run(scope, () => withScope(scope, fn));
}

/**
 * Takes the frames that a function opened, from the top down to and including `scope`'s, off the
 * job for a later `enterFrames`. Where `scope` is current without a frame of its own (inside `run`,
 * or in an async context), these are the frames above it. Null when there are none.
 */
export function takeFrames(scope: DisposeScope): Frame | null {
  const context = contextNow();
  let above: Frame | null = null;
  for (
    let frame = top;
    frame !== null && frame.context === context;
    above = frame, frame = frame.below
  ) {
    if (frame.barrier) return frame.scope === scope ? takeAbove(frame) : null;
    if (frame.scope !== scope) continue;
    // top … frame | below   becomes   taken: top … frame, and the job keeps: below
    const taken = top;
    top = frame.below;
    frame.below = null;
    return taken;
  }
  return above !== null && ambientScope() === scope ? takeAbove(above.below) : null;
}

/** Takes all frames above `base` off the job. */
function takeAbove(base: Frame | null): Frame | null {
  if (top === base) return null;
  const taken = top!;
  let last = taken;
  while (last.below !== base) last = last.below!;
  last.below = null;
  top = base;
  return taken;
}

function putBack(taken: Frame | null): void {
  if (taken === null) return;
  let last = taken;
  while (last.below !== null) last = last.below;
  last.below = top;
  top = taken;
}

/**
 * Puts taken frames on the stack of a job that has just begun: whatever is still open there crossed
 * a raw await of an earlier job.
 */
export function enterFrames(taken: Frame | null): void {
  suspendOpenFrames();
  top = taken;
}

/**
 * Ends a bracket opened with `enterFrames` in its own microtask: what is still open crossed a raw
 * await.
 */
export function leaveFrames(): void {
  suspendOpenFrames();
  top = null;
}

function suspendOpenFrames(): void {
  for (let frame = top; frame !== null; frame = frame.below)
    if (frame.scope !== null && !frame.barrier) hooks.crossedAwait(frame.scope);
}

onCheckpoint(() => {
  if (top === null) return;
  try {
    suspendOpenFrames();
  } finally {
    top = null;
  }
});

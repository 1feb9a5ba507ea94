/**
 * Which scope is current. Within one job: a linked list of frames, pushed when a scope opens and unlinked when it ends. Across `await`: the host's async
 * context (AsyncContext, or Node's AsyncLocalStorage), entered by `scope.run`. A frame that is still open at its job's microtask checkpoint has crossed an
 * `await`: it is suspended, so the ambient scope of other code is never wrong. Called by scopes and by everything that makes handles. Frames own nothing.
 */
import { builtin } from "../base/env.ts";
import { armCheckpoint, onCheckpoint } from "./handle.ts";
import type { DisposeScope } from "./scope.ts";

/** One entry of the current job's stack. Frames are for currency; `scope.outer` is for ownership. */
export interface Frame {
  /** The scope that is current while this frame is on top; null hides everything below (a barrier without scope). */
  readonly scope: DisposeScope | null;
  /** The frame below; null at the base and below a barrier. */
  below: Frame | null;
  /** A frame of `scope.run`: not the user's opening, so it is never reported as having crossed an await. */
  readonly barrier: boolean;
}

let top: Frame | null = null;
/** Bottom-most scope, under all jobs: `newDisposeScope({ root: true })`. */
let roots: DisposeScope[] = [];

interface AsyncVariable { run<T>(value: DisposeScope | null, fn: () => T): T; get(): DisposeScope | null | undefined }

let asyncVariable: AsyncVariable | null | undefined;

/** The host's async context, made at first need; null where there is none (browsers). */
export function asyncContext(): AsyncVariable | null {
  if (asyncVariable !== undefined) return asyncVariable;
  const native = (globalThis as { AsyncContext?: { Variable: new () => AsyncVariable } }).AsyncContext;
  if (native !== undefined) return (asyncVariable = new native.Variable());
  const hooks = builtin<{ AsyncLocalStorage: new () => { run<T>(value: DisposeScope | null, fn: () => T): T; getStore(): DisposeScope | null | undefined } }>("node:async_hooks");
  if (hooks === undefined) return (asyncVariable = null);
  const storage = new hooks.AsyncLocalStorage();
  return (asyncVariable = { run: (value, fn) => storage.run(value, fn), get: () => storage.getStore() });
}

/** Called when work finds that the scope it ran under has ended. Set by scope.ts. */
export const hooks: {
  nearestLive: (scope: DisposeScope) => DisposeScope | null;
  crossedAwait: (scope: DisposeScope) => void;
} = { nearestLive: (s) => s, crossedAwait: () => undefined };

/** The scope that owns whatever is made now, or null. */
export function currentScope(): DisposeScope | null {
  if (top !== null) return top.scope;
  return ambientScope();
}

function ambientScope(): DisposeScope | null {
  if (asyncVariable !== undefined && asyncVariable !== null) {
    const scope = asyncVariable.get();
    if (scope === null) return null; // an explicit barrier without a scope
    if (scope !== undefined) return scope.disposed ? hooks.nearestLive(scope) : scope;
  }
  return roots.length === 0 ? null : roots[roots.length - 1]!;
}

/** Makes `scope` current for the rest of the job or until it ends. */
export function pushFrame(scope: DisposeScope): void {
  top = { scope, below: top, barrier: false };
  armCheckpoint();
}

export function addRoot(scope: DisposeScope): void { roots.push(scope); }

/** Takes a scope out of the frames and roots. True when it was the innermost frame, or in no frame at all. */
export function removeFrame(scope: DisposeScope): boolean {
  if (top !== null && top.scope === scope && !top.barrier) { top = top.below; return true; }
  for (let frame = top; frame?.below != null; frame = frame.below) {
    // top … frame -> below -> rest   becomes   top … frame -> rest
    if (frame.below.scope === scope && !frame.below.barrier) { frame.below = frame.below.below; return false; }
  }
  if (roots.length > 0) roots = roots.filter((s) => s !== scope);
  return true;
}

/** Scopes opened by frames in this job, innermost first. */
export function openScopes(): DisposeScope[] {
  const scopes: DisposeScope[] = [];
  for (let frame = top; frame !== null; frame = frame.below) if (frame.scope !== null && !frame.barrier) scopes.push(frame.scope);
  return scopes;
}

/** Runs `fn` with exactly `scope` current (null: no scope), hiding the caller's frames; the caller finds its own frames again whatever happens. */
export function withScope<T>(scope: DisposeScope | null, fn: () => T): T {
  const saved = top;
  top = { scope, below: null, barrier: true };
  try {
    return fn();
  } finally {
    suspendOpenFrames(); // opened inside and still open: they crossed an await of `fn`, or were forgotten
    top = saved;
  }
}

/** Runs `fn` under `scope` now and after every `await` inside it. Needs `asyncContext()`. */
export function withAsyncScope<T>(context: AsyncVariable, scope: DisposeScope | null, fn: () => T): T {
  return context.run(scope, () => withScope(scope, fn));
}

/** Takes the frames from the top down to and including `scope`'s off the job, for a later `enterFrames`. Undefined when the scope has no frame here. */
export function takeFrames(scope: DisposeScope): Frame | undefined {
  for (let frame = top; frame !== null; frame = frame.below) {
    if (frame.scope !== scope || frame.barrier) continue;
    const taken = top!;
    top = frame.below;
    frame.below = null;
    return taken;
  }
  return undefined;
}

/** Puts taken frames on the current job's stack. */
export function enterFrames(taken: Frame | null): void {
  if (taken === null) return;
  let base = taken;
  while (base.below !== null) base = base.below;
  base.below = top;
  top = taken;
}

/** Ends a bracket opened with `enterFrames` in its own microtask: what is still open crossed a raw await. */
export function leaveFrames(): void { suspendOpenFrames(); top = null; }

function suspendOpenFrames(): void {
  for (let frame = top; frame !== null; frame = frame.below) if (frame.scope !== null && !frame.barrier) hooks.crossedAwait(frame.scope);
}

onCheckpoint(() => {
  if (top === null) return;
  suspendOpenFrames();
  top = null;
});

/**
 * Dispose scopes: TorchSharp's `DisposeScope` with its holes closed. A scope owns handles (tensors and any `Disposable`), frees what does not leave it in
 * reverse order of registration, and is exact across `await` when entered through `run`, `wait` or `go`. Called by users and by library code.
 */
import { isDev, warn } from "../base/env.ts";
import { ArgumentError, AsyncScopeError, ScopeDisposedError, TenureError, internal } from "../base/errors.ts";
import { suppressed } from "../base/polyfills.ts";
import { addRoot, asyncContext, currentScope, enterFrames, hooks, leaveFrames, pushFrame, removeFrame, takeFrames, withAsyncScope, withScope } from "./current.ts";
import { DisposableHandle, type Handle, type HandleHolder, handleOf, wrappersOf } from "./handle.ts";
import { type Capture, captureSite, formatSite, tracking } from "./site.ts";

/** What a scope can own: tensors, modules, anything with `[Symbol.dispose]()`. */
export type Owned = HandleHolder | Disposable;
/** One argument comes back as itself, several as a tuple, none as undefined. */
export type Returned<A extends readonly unknown[]> = A extends readonly [] ? undefined : A extends readonly [infer X] ? X : { [K in keyof A]: A[K] };

/** Options of `newDisposeScope`. A string stands for `{ name }`. */
export interface ScopeOptions {
  /** For reports and errors. */
  readonly name?: string;
  /** Lies under all jobs until disposed: for test hooks, components, a REPL. Exempt from the check for raw awaits. */
  readonly root?: boolean;
  /** Disposing the scope twice throws instead of doing nothing. */
  readonly strict?: boolean;
}

/** What happened in a scope so far. */
export interface ScopeReport {
  readonly name: string;
  /** Where it was opened, when tracking recorded it. */
  readonly site: string | undefined;
  /** Entries alive in the scope now. */
  readonly live: number;
  /** Device bytes those entries keep alive, shared storages counted once per entry. */
  readonly bytes: number;
  /** Entries that came in, by creation or attachment. */
  readonly entered: number;
  /** Entries the scope or somebody else disposed. */
  readonly disposed: number;
  /** Entries that moved to another scope or were detached. */
  readonly left: number;
  /** Most bytes held at one time. */
  readonly peakBytes: number;
  toString(): string;
}

/** Property under which an object lists the tensors it owns, so that `scoped` can move them out with it. */
export const tensors: unique symbol = Symbol.for("tenure.tensors");

let nextScopeId = 1;

/** Owns what is made while it is current. Open one with `using s = newDisposeScope()`. */
export class DisposeScope implements Disposable, AsyncDisposable {
  readonly id: number = nextScopeId++;
  readonly name: string;
  readonly #strict: boolean;
  readonly #outer: DisposeScope | null;
  readonly #opened: Capture | null;
  #ended: Capture | null = null;
  #disposed = false;
  #suspended = false;
  #oldest: Handle | null = null;
  #newest: Handle | null = null;
  #count = 0;
  #bytes = 0;
  #peakBytes = 0;
  #entered = 0;
  #left = 0;
  #afterEnd: (() => void)[] | null = null;

  /** Use `newDisposeScope()`, which also makes the scope current. */
  constructor(options: ScopeOptions, outer: DisposeScope | null) {
    this.name = options.name ?? "";
    this.#strict = options.strict ?? false;
    this.#outer = outer;
    this.#opened = tracking.scopes ? captureSite() : null;
  }

  // === Looking ===

  /** The nearest enclosing scope that is still alive. */
  get outer(): DisposeScope | null {
    let scope = this.#outer;
    while (scope !== null && scope.#disposed) scope = scope.#outer;
    return scope;
  }
  get disposed(): boolean { return this.#disposed; }
  /** True after a raw `await` took the scope out of its job: it still owns and can be disposed, but is no longer current. */
  get suspended(): boolean { return this.#suspended; }
  /** Entries owned now. */
  get count(): number { return this.#count; }
  /** Device bytes the entries keep alive, counted once per entry. */
  get bytes(): number { return this.#bytes; }
  /** Where it was opened, when tracking recorded it. */
  get site(): string | undefined { return formatSite(this.#opened); }

  /** The tensors owned now, oldest first. */
  tensors(): object[] {
    this.#check("tensors");
    const handles: Handle[] = [];
    for (let h = this.#oldest; h !== null; h = h.next) if (!(h instanceof DisposableHandle)) handles.push(h);
    return wrappersOf(handles);
  }

  /** Whether `thing` is owned by this very scope. False for a scope that ended. */
  contains(thing: object): boolean { return !this.#disposed && handleOf(thing)?.scope === this; }

  describe(): string {
    const site = this.site;
    return `scope ${this.name === "" ? `#${this.id}` : `"${this.name}"`}${site === undefined ? "" : ` (opened at ${site})`}`;
  }

  report(): ScopeReport {
    const report = {
      name: this.name, site: this.site, live: this.#count, bytes: this.#bytes, entered: this.#entered,
      disposed: this.#entered - this.#left - this.#count, left: this.#left, peakBytes: this.#peakBytes,
    };
    const text = `${this.describe()}: ${report.live} live (${report.bytes} bytes, peak ${report.peakBytes}), ${report.entered} entered, ${report.disposed} disposed, ${report.left} left`;
    return { ...report, toString: () => text };
  }

  // === Moving ===

  /**
   * Takes ownership of things, from whichever scope has them.
   * @throws DisposedError for a dead tensor, ScopeDisposedError when this scope has ended. Checks everything before it moves anything.
   */
  attach<A extends readonly Owned[]>(...things: A): Returned<A> {
    this.#check("attach");
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle === undefined) disposable("attach", thing); else handle.assertLive("attach");
    }
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle === undefined) this.use(thing); else this.attachHandle(handle);
    }
    return returned(things);
  }

  /** Gives up ownership: nothing but the holder will dispose them. Things this scope does not own are left alone. */
  detach<A extends readonly Owned[]>(...things: A): Returned<A> {
    this.#check("detach");
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle?.scope === this) detachHandle(handle);
    }
    return returned(things);
  }

  /** Hands things of this scope to the enclosing one; without an enclosing scope they are detached. Things this scope does not own are left alone. */
  moveToOuter<A extends readonly Owned[]>(...things: A): Returned<A> {
    this.#check("moveToOuter");
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle === undefined) continue;
      if (handle.scope === this) { moveHandle(handle, this.outer, this.#outer !== null); continue; }
      if (isDev && handle.scope?.isInside(this) === true) {
        throw new TenureError("moveToOuter", `expected a tensor of ${this.describe()}, got ${handle.describe()} of ${handle.scope.describe()} nested inside it, where it would die; call moveToOuter on the inner scope first`);
      }
    }
    return returned(things);
  }

  /** Hands things of this scope to `target`; null detaches them. */
  moveTo<A extends readonly Owned[]>(target: DisposeScope | null, ...things: A): Returned<A> {
    this.#check("moveTo");
    if (target !== null) target.#check("moveTo");
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle?.scope === this) moveHandle(handle, target, false);
    }
    return returned(things);
  }

  /** Frees everything owned now; the scope stays open. All disposers run, errors are chained as SuppressedError. */
  disposeEverything(): void {
    this.#check("disposeEverything");
    this.#sweep(null);
  }

  /** Frees everything owned now but `keep`, which stays until the scope ends. Things owned elsewhere are left alone. */
  disposeEverythingBut<A extends readonly Owned[]>(...keep: A): Returned<A> {
    this.#check("disposeEverythingBut");
    const kept = new Set<Handle>();
    for (const thing of keep) {
      const handle = handleOf(thing);
      if (handle?.scope === this) kept.add(handle);
      else if (isDev) warn(`disposeEverythingBut: ${handle?.describe() ?? "a value"} is not owned by ${this.describe()}, so there is nothing to keep`);
    }
    this.#sweep(kept);
    return returned(keep);
  }

  /**
   * The loop-carried value: `acc = scope.carry(acc, acc.add(x))`. `next` takes the place of `prev`, in whichever scope that was, and `prev` is disposed.
   * @throws DisposedError when either is dead.
   */
  carry<T extends HandleHolder>(prev: HandleHolder, next: T): T {
    this.#check("carry");
    const from = handleOf(prev), to = handleOf(next);
    if (from === undefined || to === undefined) throw new ArgumentError("carry", "two tensors", "something else", "pass the old and the new value");
    from.assertLive("carry");
    to.assertLive("carry");
    if (from === to) return next;
    if (to.scope !== from.scope) {
      if (from.scope === null) { to.scope?.unlink(to); to.scope = null; to.keeper = from.keeper; }
      else relink(to, from.scope);
      to.statistics.moved++;
    }
    to.statistics.carried++;
    from.dispose();
    return next;
  }

  // === Any Disposable, as in DisposableStack ===

  /** Owns a disposable. `null` and `undefined` pass through. @throws ArgumentError when it has no `[Symbol.dispose]`. */
  use<D extends Owned | null | undefined>(value: D): D {
    this.#check("use");
    if (value === null || value === undefined) return value;
    const handle = handleOf(value);
    if (handle !== undefined) { handle.assertLive("use"); this.attach(value as Owned); return value; }
    const d = disposable("use", value);
    DisposableHandle.into(this, d, () => { d[Symbol.dispose](); });
    return value;
  }

  /** Owns any value together with the function that frees it. */
  adopt<V>(value: V, free: (value: V) => void): V {
    this.#check("adopt");
    DisposableHandle.into(this, { adopted: value }, () => { free(value); });
    return value;
  }

  /** Runs `fn` when the scope ends, in turn with everything else it owns. */
  defer(fn: () => void): void {
    this.#check("defer");
    // A fresh wrapper each time: the same function deferred twice runs twice.
    DisposableHandle.into(this, Object.defineProperty(() => undefined, "name", { value: fn.name }), fn);
  }

  /** All contents in a new scope that is not current; this one ends empty. */
  move(): DisposeScope {
    this.#check("move");
    const moved = new DisposeScope({ name: this.name }, this.outer);
    while (this.#oldest !== null) {
      this.#oldest.statistics.moved++;
      relink(this.#oldest, moved);
    }
    this.dispose();
    return moved;
  }

  // === Being current ===

  /**
   * Runs `fn` with this scope current. An async `fn` stays in the scope across its awaits where the host has an async context (Node, Bun, Deno).
   * @throws AsyncScopeError (as a rejection) for an async `fn` on a host without one; use `wait`, `go` or synchronous segments there.
   */
  run<T>(fn: (scope: this) => T): T {
    this.#check("run");
    const context = asyncContext();
    if (context !== null) return withAsyncScope(context, this, () => fn(this));
    const result = withScope(this, () => fn(this));
    if (isThenable(result)) {
      Promise.resolve(result).catch(() => undefined); // its own failure is hidden by ours, which is thrown first
      return Promise.reject(noAsyncContext("run")) as T;
    }
    return result;
  }

  /**
   * `await scope.wait(p)`: waits with this scope exact on both sides, on every host. Call it on the outermost scope the function opened; inner scopes are
   * put back too. The result is for one `await` only.
   */
  wait<T>(promise: PromiseLike<T>): PromiseLike<T> {
    this.#check("wait");
    const frames = takeFrames(this) ?? null;
    let used = false;
    const enter = (): void => { enterFrames(frames); };
    return {
      then<R1, R2>(resolve?: ((value: T) => R1 | PromiseLike<R1>) | null, reject?: ((reason: unknown) => R2 | PromiseLike<R2>) | null): PromiseLike<R1 | R2> {
        if (used) throw new AsyncScopeError("wait", "expected one await per wait(), got a second; call scope.wait(…) again, and wrap Promise.all(…) as a whole");
        used = true;
        // Resolving the awaiting function with a value that is no thenable queues its continuation at once: nothing can run between these three microtasks.
        return Promise.resolve(promise).then(
          (value) => { queueMicrotask(enter); const r = resolve?.(value); queueMicrotask(leaveFrames); return r as R1; },
          (reason: unknown) => { queueMicrotask(enter); const r = reject?.(reason); queueMicrotask(leaveFrames); return r as R2; },
        );
      },
    };
  }

  /** Drives a generator whose `yield` stands for `await`: this scope is current in every segment, on every host. */
  async go<T>(fn: (scope: this) => Generator<unknown, T, unknown>): Promise<T> {
    this.#check("go");
    const segments = withScope(this, () => fn(this));
    let step = withScope(this, () => segments.next());
    while (step.done !== true) {
      let resume: () => IteratorResult<unknown, T>;
      try {
        const value = await (step.value as Promise<unknown>);
        resume = () => segments.next(value);
      } catch (error) {
        resume = () => segments.throw(error);
      }
      this.#check("go");
      step = withScope(this, resume);
    }
    return step.value;
  }

  // === Ending ===

  /** Frees everything, newest first, and leaves the stack. All disposers run; their errors come out as one SuppressedError chain. A second call does nothing. */
  dispose(): void {
    if (this.#disposed) {
      if (this.#strict) throw new ScopeDisposedError("dispose", `expected an open scope, got ${this.describe()}, which has ended already; dispose it once`, this.#sites());
      return;
    }
    if (tracking.all) this.#ended = captureSite();
    if (!removeFrame(this) && isDev) warn(`${this.describe()} was disposed before scopes opened inside it; end scopes in reverse order, or use \`using\``);
    try {
      this.#sweep(null);
    } finally {
      this.#disposed = true;
      const after = this.#afterEnd;
      this.#afterEnd = null;
      if (after !== null) for (const listener of after) listener();
    }
  }

  [Symbol.dispose](): void { this.dispose(); }

  /** Disposes, then waits until work submitted so far has finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    await settled();
  }

  // === For the rest of Tenure ===

  /** Runs `listener` once this scope has ended and freed its contents. */
  afterEnd(listener: () => void): void {
    this.#afterEnd ??= [];
    if (!this.#afterEnd.includes(listener)) this.#afterEnd.push(listener);
  }

  isInside(scope: DisposeScope): boolean {
    for (let s = this.#outer; s !== null; s = s.#outer) if (s === scope) return true;
    return false;
  }

  /** `attach` for a live handle. */
  attachHandle(handle: Handle): void {
    this.#check("attach");
    if (handle.scope === this) return;
    if (handle.scope !== null) handle.statistics.moved++;
    handle.statistics.attachedToScopeCount++;
    relink(handle, this);
  }

  /** Appends a handle that is in no scope. */
  link(handle: Handle): void {
    // oldest … newest <-> handle
    handle.scope = this;
    handle.prev = this.#newest;
    handle.next = null;
    if (this.#newest === null) this.#oldest = handle; else this.#newest.next = handle;
    this.#newest = handle;
    this.#count++;
    this.#entered++;
    this.#bytes += handle.bytes;
    if (this.#bytes > this.#peakBytes) this.#peakBytes = this.#bytes;
  }

  /** Takes a handle of this scope out of the list. `leaves` when it lives on elsewhere. */
  unlink(handle: Handle, leaves = false): void {
    if (handle.scope !== this) throw internal("a handle was unlinked from a scope it is not in");
    // prev <-> handle <-> next   becomes   prev <-> next
    if (handle.prev === null) this.#oldest = handle.next; else handle.prev.next = handle.next;
    if (handle.next === null) this.#newest = handle.prev; else handle.next.prev = handle.prev;
    handle.prev = handle.next = null;
    handle.scope = null;
    this.#count--;
    this.#bytes -= handle.bytes;
    if (leaves) this.#left++;
  }

  /** Marks the scope as taken out of its job by a raw await. */
  suspend(): void {
    if (this.#suspended || this.#disposed) return;
    this.#suspended = true;
    const text = `an await was reached while ${this.describe()} was open, so it is suspended: it still owns its tensors, but what is made after the await is not in it. Write \`await scopedAsync(async () => …)\`, or \`await scope.wait(promise)\`, or close the scope before the await`;
    if (isDev || !warnedInProduction) warn(text);
    warnedInProduction = true;
  }

  #sweep(keep: ReadonlySet<Handle> | null): void {
    let failure: { error: unknown } | null = null;
    const kept: Handle[] = [];
    for (let handle = this.#newest; handle !== null; handle = this.#newest) {
      if (keep?.has(handle) === true) { this.unlink(handle, true); this.#left--; kept.push(handle); continue; }
      handle.disposedBy = this;
      // A disposer that throws has still been unlinked and counted, so the loop always advances.
      try { handle.end("disposed"); }
      catch (error) { failure = { error: failure === null ? error : suppressed(error, failure.error) }; }
    }
    for (const handle of kept.reverse()) { this.link(handle); this.#entered--; }
    if (failure !== null) throw failure.error;
  }

  #check(op: string): void {
    if (!this.#disposed) return;
    throw new ScopeDisposedError(op, `expected an open scope, got ${this.describe()}, which has ended; open a new one`, this.#sites());
  }

  #sites(): { opened: string | undefined; disposed: string | undefined } { return { opened: this.site, disposed: formatSite(this.#ended) }; }
}

let warnedInProduction = false;
let settled: () => Promise<void> = () => Promise.resolve();

/** Sets what `await using` waits for after the scope has been disposed. Called once by the runtime. */
export function setSettled(wait: () => Promise<void>): void { settled = wait; }

hooks.nearestLive = (scope) => {
  if (isDev) warn(`work outlived ${scope.describe()}: what it makes belongs to the nearest scope still open; await the work inside the scope`);
  return scope.outer;
};
hooks.crossedAwait = (scope) => { scope.suspend(); };

/** Opens a scope and makes it current until it ends. Use it with `using`. */
export function newDisposeScope(options?: string | ScopeOptions): DisposeScope {
  const o = typeof options === "string" ? { name: options } : options ?? {};
  const scope = new DisposeScope(o, currentScope());
  if (o.root === true) addRoot(scope);
  else pushFrame(scope);
  return scope;
}

/** The scope that owns whatever is made now, or null. */
export function currentDisposeScope(): DisposeScope | null { return currentScope(); }

/**
 * Runs `fn` in a scope of its own; tensors in its result (also in arrays, plain objects, Map, Set, and objects with `[tensors]()`) move to the caller's scope.
 * When `fn` throws, nothing escapes. @throws AsyncScopeError when `fn` returns a promise: use `scopedAsync`.
 */
export function scoped<T>(fn: (scope: DisposeScope) => T, name?: string): T {
  const scope = newDisposeScope(name);
  let failed = true;
  try {
    const result = fn(scope);
    if (isThenable(result)) {
      Promise.resolve(result).catch(() => undefined);
      throw new AsyncScopeError("scoped", "expected a function that returns a value, got one that returns a promise; use scopedAsync(async () => …)");
    }
    escape(result, scope);
    failed = false;
    return result;
  } catch (error) {
    if (failed) { try { scope.dispose(); } catch (later) { throw suppressed(later, error); } }
    throw error;
  } finally {
    if (!failed) scope.dispose();
  }
}

/**
 * `scoped` for async functions, exact across every `await` inside, whatever else runs meanwhile.
 * @throws AsyncScopeError (as a rejection) on hosts without an async context (browsers today): use `scope.wait(p)`, `scope.go(function* …)` or synchronous scopes.
 */
export async function scopedAsync<T>(fn: (scope: DisposeScope) => Promise<T>, name?: string): Promise<T> {
  const context = asyncContext();
  if (context === null) throw noAsyncContext("scopedAsync");
  const scope = new DisposeScope(name === undefined ? {} : { name }, currentScope());
  let result: T;
  try {
    result = await withAsyncScope(context, scope, () => fn(scope));
    escape(result, scope);
  } catch (error) {
    try { scope.dispose(); } catch (later) { throw suppressed(later, error); }
    throw error;
  }
  scope.dispose();
  return result;
}

/** Moves the tensors reachable in `result` that belong to `scope`, or to a scope inside it, to the scope around it. */
export function escape(result: unknown, scope: DisposeScope): void {
  const outer = scope.outer;
  walk(result, new Set(), (handle) => {
    if (handle.isLive && handle.scope !== null && (handle.scope === scope || handle.scope.isInside(scope))) moveHandle(handle, outer, false);
  });
}

function walk(value: unknown, seen: Set<object>, visit: (handle: Handle) => void): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  const handle = handleOf(value);
  if (handle !== undefined) { visit(handle); return; }
  const listed = (value as { [tensors]?: () => Iterable<unknown> })[tensors];
  if (typeof listed === "function") { for (const t of listed.call(value)) walk(t, seen, visit); return; }
  if (Array.isArray(value) || value instanceof Set) { for (const item of value) walk(item, seen, visit); return; }
  if (value instanceof Map) { for (const [key, item] of value) { walk(key, seen, visit); walk(item, seen, visit); } return; }
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) for (const item of Object.values(value)) walk(item, seen, visit);
}

// === Moves on handles, shared with Tensor's methods ===

function relink(handle: Handle, target: DisposeScope): void {
  handle.scope?.unlink(handle, true);
  handle.keeper = null;
  target.link(handle);
}

/** Takes a handle out of all scopes, counted. */
export function detachHandle(handle: Handle): void {
  if (handle.scope === null) return;
  handle.scope.unlink(handle, true);
  handle.statistics.detachedFromScopeCount++;
}

/** Moves a handle to `target`; null detaches it, as orphaned when an enclosing scope was there but has died. */
export function moveHandle(handle: Handle, target: DisposeScope | null, hadOuter: boolean): void {
  if (target === null) {
    if (hadOuter) handle.statistics.orphaned++;
    detachHandle(handle);
    return;
  }
  if (handle.scope === target) return;
  if (handle.scope === null) handle.statistics.attachedToScopeCount++; else handle.statistics.moved++;
  relink(handle, target);
}

/** `t.moveToOuter()`: one level up from the scope that owns it now; nothing when no scope does. */
export function moveHandleToOuter(handle: Handle): void {
  handle.assertLive("moveToOuter");
  const owner = handle.scope;
  if (owner === null) return;
  if (isDev && owner !== currentScope()) warn(`${handle.describe()} moves out of ${owner.describe()}, which is not the current scope; scope.moveToOuter(t) says which scope it leaves`);
  moveHandle(handle, owner.outer, false);
}

/** `t.moveTo(target)`: into a scope, or beside another handle's owner (nowhere when that has none). */
export function moveHandleTo(handle: Handle, target: DisposeScope | Handle): void {
  handle.assertLive("moveTo");
  if (target instanceof DisposeScope) { target.attachHandle(handle); return; }
  target.assertLive("moveTo");
  if (target.scope === null) detachHandle(handle); else target.scope.attachHandle(handle);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === "object" && value !== null || typeof value === "function") && typeof (value as { then?: unknown }).then === "function";
}

function disposable(op: string, value: unknown): Disposable {
  if (typeof (value as Partial<Disposable> | null)?.[Symbol.dispose] === "function") return value as Disposable;
  throw new ArgumentError(op, "a tensor or an object with [Symbol.dispose]()", value === null ? "null" : typeof value, "use adopt(value, free) for anything else");
}

function noAsyncContext(op: string): AsyncScopeError {
  return new AsyncScopeError(op, "expected a host with an async context (AsyncContext, or Node's AsyncLocalStorage), got none; use `await scope.wait(promise)`, `scope.go(function* …)`, or close the scope before each await");
}

function returned<A extends readonly unknown[]>(things: A): Returned<A> {
  return (things.length === 1 ? things[0] : things.length === 0 ? undefined : things) as Returned<A>;
}

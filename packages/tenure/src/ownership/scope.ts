/**
 * Dispose scopes: TorchSharp's `DisposeScope` with its holes closed. A scope owns handles (tensors
 * and any `Disposable`), frees what does not leave it in reverse order of registration, and is
 * exact across `await` when entered through `run`, `wait` or `go`. For users and library code.
 */
import "../base/polyfills.ts";
import { isDev } from "../base/env.ts";
import { checkFunction } from "../base/options.ts";
import {
  ended,
  endedAlready,
  notTwoTensors,
  warnNothingToKeep,
  warnOutOfOrder,
  warnOutlived,
  warnSuspended,
  wouldDieInside,
} from "./complaints.ts";
import { driveIn, refuseAsync, waitIn } from "./crossing.ts";
import { FRAME, type Frame, frames } from "./current.ts";
import { DisposableHandle, wrappersOf } from "./disposable.ts";
import { Entries } from "./entries.ts";
import { type Farewell, type Handle, type HandleHolder, type Owner, handleOf } from "./handle.ts";
import { log } from "./log.ts";
import { carryHandle, detachHandle, moveHandle } from "./moves.ts";
import { type Owned, type Returned, disposable, liveHandles, noScope, returned } from "./owned.ts";
import { type ScopeReport, scopeReport } from "./report.ts";
import { scopes } from "./scopes.ts";
import { type Capture, captureSite, sites } from "./site.ts";
import { formatSite, madeOutside } from "./stack.ts";

/** Options of `newDisposeScope`. A string stands for `{ name }`. */
export interface ScopeOptions {
  /** For reports and errors. */
  readonly name?: string;
  /**
   * Lies under all jobs until disposed: for test hooks, components, a REPL. Exempt from the check
   * for raw awaits.
   */
  readonly root?: boolean;
  /** Disposing the scope twice throws instead of doing nothing. */
  readonly strict?: boolean;
}

/**
 * Owns what is made while it is current. Open one with `using s = newDisposeScope()`. `T` is what
 * the layer above wraps its handles in, which is what `tensors()` lists.
 */
export class DisposeScope<T extends object = object> implements Disposable, AsyncDisposable, Owner {
  readonly id: number = scopes<DisposeScope>().nextId();
  readonly name: string;
  /** Disposing it, or what it owned, a second time throws. */
  readonly strict: boolean;
  /** The scope around it, alive or not; shortened to a living one when somebody looks. */
  #outer: DisposeScope<T> | null;
  /** Whether there was a scope around it at all. */
  readonly #nested: boolean;
  readonly #opened: Capture | null;
  #ended: Capture | null = null;
  #disposed = false;
  #suspended = false;
  /** Work that ran on after the end was reported. */
  #outlived = false;
  /** @internal */
  [FRAME]: Frame<DisposeScope<T>> | null = null;
  readonly #entries = new Entries();
  #afterEnd: (() => void)[] | null = null;

  /** Use `newDisposeScope()`, which also makes the scope current. */
  constructor(options: ScopeOptions, outer: DisposeScope<T> | null) {
    this.name = options.name ?? "";
    this.strict = options.strict ?? false;
    this.#outer = outer;
    this.#nested = outer !== null;
    const known = sites();
    this.#opened = known.scopes && known.sampleScope() ? known.capture() : null;
    if (this.#opened !== null) log("open", this.id, 0, this.#title(), this.#opened);
  }

  // === Looking ===

  /**
   * The nearest enclosing scope that is still alive, and not suspended: what a suspended scope
   * frees, and when, is its own matter.
   */
  get outer(): DisposeScope<T> | null {
    let scope = this.#outer;
    while (scope !== null && (scope.#disposed || scope.#suspended)) scope = scope.#outer;
    return (this.#outer = scope);
  }
  get disposed(): boolean {
    return this.#disposed;
  }
  /**
   * True after a raw `await` took the scope out of its job: it still owns and can be disposed, but
   * is no longer current.
   */
  get suspended(): boolean {
    return this.#suspended;
  }
  /** Entries owned now. */
  get count(): number {
    return this.#entries.count;
  }
  /** Device bytes the entries keep alive, counted once per entry. */
  get bytes(): number {
    return this.#entries.bytes;
  }
  /** Where it was opened, when tracking recorded it. */
  get site(): string | undefined {
    return formatSite(this.#opened);
  }
  /** Where it ended, when tracking recorded it. */
  get endSite(): string | undefined {
    return formatSite(this.#ended);
  }

  /** The tensors owned now, oldest first. */
  tensors(): T[] {
    this.#check("tensors");
    const owned = [...this.#entries].filter((h) => !(h instanceof DisposableHandle));
    return wrappersOf(owned) as T[];
  }

  /** Whether `thing` is owned by this very scope. False for a scope that ended. */
  contains(thing: object): boolean {
    return !this.#disposed && handleOf(thing)?.scope === this;
  }

  /** `scope "step" (opened at train.ts:12:5)` */
  describe(): string {
    const site = this.site;
    return `scope ${this.#title()}${site === undefined ? "" : ` (opened at ${site})`}`;
  }

  #title(): string {
    return this.name === "" ? `#${this.id}` : `"${this.name}"`;
  }

  /** What happened in the scope so far; also after its end. */
  report(): ScopeReport {
    return scopeReport(this, this.#entries);
  }

  // === Moving ===

  /**
   * Takes ownership of things, from whichever scope has them.
   * @throws DisposedError for a dead tensor, ScopeDisposedError when this scope has ended. Checks
   *   everything before it moves anything.
   */
  attach<A extends readonly Owned[]>(...things: A): Returned<A> {
    this.#check("attach");
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle === undefined) disposable("attach", thing);
      else handle.assertLive("attach");
    }
    for (const thing of things) {
      const handle = handleOf(thing);
      if (handle === undefined) this.use(thing);
      else this.attachHandle(handle);
    }
    return returned(things);
  }

  /**
   * Gives up ownership: nothing but the holder will dispose them. Things this scope does not own
   * are left alone. @throws DisposedError for a dead tensor
   */
  detach<A extends readonly Owned[]>(...things: A): Returned<A> {
    this.#check("detach");
    for (const handle of liveHandles("detach", things))
      if (handle.scope === this) detachHandle(handle);
    return returned(things);
  }

  /**
   * Hands things of this scope to the enclosing one; without an enclosing scope they are detached.
   * Things this scope does not own are left alone.
   * @throws DisposedError for a dead tensor
   */
  moveToOuter<A extends readonly Owned[]>(...things: A): Returned<A> {
    this.#check("moveToOuter");
    const handles = liveHandles("moveToOuter", things);
    if (isDev) {
      for (const handle of handles)
        if (handle.scope?.isInside(this) === true) throw wouldDieInside(this, handle, handle.scope);
    }
    for (const handle of handles) if (handle.scope === this) this.moveHandleOut(handle);
    return returned(things);
  }

  /**
   * Hands things of this scope to `target`; null detaches them. @throws DisposedError for a dead
   * tensor, ScopeDisposedError for a scope that has ended
   */
  moveTo<A extends readonly Owned[]>(target: DisposeScope | null, ...things: A): Returned<A> {
    this.#check("moveTo");
    if (target instanceof DisposeScope) target.#check("moveTo");
    else if ((target as unknown) !== null) throw noScope("moveTo", target);
    for (const handle of liveHandles("moveTo", things)) {
      if (handle.scope !== this || target === this) continue;
      if (target === null) detachHandle(handle);
      else moveHandle(handle, target);
    }
    return returned(things);
  }

  /** Frees everything owned now; the scope stays open. Errors are chained as in `dispose`. */
  disposeEverything(): void {
    this.#check("disposeEverything");
    this.#entries.sweep(this, null);
  }

  /**
   * Frees everything owned now but `keep`, which stays until the scope ends. Things owned elsewhere
   * are left alone.
   */
  disposeEverythingBut<A extends readonly Owned[]>(...keep: A): Returned<A> {
    this.#check("disposeEverythingBut");
    const kept = new Set<Handle>();
    for (const thing of keep) {
      const handle = handleOf(thing);
      if (handle?.scope === this) kept.add(handle);
      else if (isDev) warnNothingToKeep(this, handle);
    }
    this.#entries.sweep(this, kept);
    return returned(keep);
  }

  /**
   * The loop-carried value: `acc = scope.carry(acc, acc.add(x))`. `next` takes the place of `prev`,
   * in whichever scope that was, and `prev` is disposed.
   * @throws DisposedError when either is dead.
   */
  carry<N extends HandleHolder>(prev: HandleHolder, next: N): N {
    this.#check("carry");
    const from = handleOf(prev);
    const to = handleOf(next);
    if (from === undefined || to === undefined) throw notTwoTensors();
    carryHandle(from, to);
    return next;
  }

  // === Any Disposable, as in DisposableStack ===

  /**
   * Owns a disposable. `null` and `undefined` pass through. @throws ArgumentError when it has no
   * `[Symbol.dispose]`.
   */
  use<D extends Owned | null | undefined>(value: D): D {
    this.#check("use");
    if (value === null || value === undefined) return value;
    const handle = handleOf(value);
    if (handle !== undefined) {
      handle.assertLive("use");
      this.attach(value);
      return value;
    }
    DisposableHandle.use(this, disposable("use", value));
    return value;
  }

  /** Owns any value together with the function that frees it. */
  adopt<V>(value: V, free: (value: V) => void): V {
    this.#check("adopt");
    checkFunction("adopt", free, "pass the function that frees it");
    DisposableHandle.adopt(this, value, free);
    return value;
  }

  /** Runs `fn` when the scope ends, in turn with everything else it owns. */
  defer(fn: () => void): void {
    this.#check("defer");
    checkFunction("defer", fn);
    DisposableHandle.defer(this, fn);
  }

  /** All contents in a new scope that is not current; this one ends empty. */
  move(): DisposeScope<T> {
    this.#check("move");
    const moved = new DisposeScope<T>({ name: this.name, strict: this.strict }, this.outer);
    for (let h = this.#entries.oldest; h !== null; h = this.#entries.oldest) moveHandle(h, moved);
    this.dispose();
    return moved;
  }

  // === Being current ===

  /**
   * Runs `fn` with this scope current. An async `fn` stays in the scope across its awaits where the
   * host has an async context (Node, Bun, Deno).
   * @throws AsyncScopeError (as a rejection) for an async `fn` on a host without one; use `wait`,
   *   `go` or synchronous segments there.
   */
  run<R>(fn: (scope: this) => R): R {
    this.#check("run");
    checkFunction("run", fn);
    const own = frames<DisposeScope>();
    const context = own.asyncContext();
    if (context !== null) return own.withinAsync(context, this, () => fn(this));
    const result = own.within(this, () => fn(this));
    return refuseAsync("run", result, this);
  }

  /**
   * `run` for a function that is known to be synchronous: never touches the host's async context,
   * which makes every later `await` of the process slower.
   */
  enter<R>(fn: () => R): R {
    this.#check("enter");
    checkFunction("enter", fn);
    return frames<DisposeScope>().within(this, fn);
  }

  /**
   * `await scope.wait(p)`: waits with this scope exact on both sides, on every host. Call it on the
   * outermost scope the function opened; inner scopes are put back too. The result is for one
   * `await` only.
   */
  wait<R>(promise: PromiseLike<R>): PromiseLike<R> {
    this.#check("wait");
    return waitIn<DisposeScope, R>(this, promise, { opened: this.site, scope: this.#title() });
  }

  /**
   * Drives a generator whose `yield` stands for `await`: this scope, and the scopes the generator
   * opened inside it, are current in every segment, on every host. When the scope ends meanwhile,
   * the generator's next `yield` throws ScopeDisposedError, so that its own clean-up runs.
   */
  async go<R>(fn: (scope: this) => Generator<unknown, R>): Promise<R> {
    this.#check("go");
    checkFunction("go", fn, "pass function* () { … }");
    return driveIn<DisposeScope, R>(
      this,
      () => fn(this),
      () => ended("go", this, this.#title()),
    );
  }

  // === Ending ===

  /**
   * Frees everything, newest first, and leaves the stack. All disposers run; their errors come out
   * as one SuppressedError chain. A second call does nothing, or throws when the scope is strict.
   * As in DisposableStack, the scope has ended for its disposers already: they cannot add to it.
   */
  dispose(): void {
    if (this.#disposed) {
      if (this.strict) throw endedAlready(this, this.#title());
      return;
    }
    this.#disposed = true;
    if (sites().all) this.#ended = captureSite();
    const inner = frames<DisposeScope>().remove(this);
    if (inner !== null && isDev) warnOutOfOrder(this, inner);
    try {
      this.#entries.sweep(this, null);
    } finally {
      if (this.#opened !== null)
        log("close", this.id, this.#entries.peakBytes, this.#title(), this.#opened);
      const after = this.#afterEnd;
      this.#afterEnd = null;
      if (after !== null) for (const listener of after) listener();
      scopes<DisposeScope>().onEnd?.(this);
    }
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Disposes, then waits until work submitted so far has finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    await scopes<DisposeScope>().settled();
  }

  // === For the rest of Tenure ===

  /** @internal Runs `listener` once this scope has ended and freed its contents. */
  afterEnd(listener: () => void): void {
    this.#afterEnd ??= [];
    if (!this.#afterEnd.includes(listener)) this.#afterEnd.push(listener);
  }

  /** @internal Whether it was opened inside `scope`. */
  isInside(scope: object): boolean {
    for (let s = this.#outer; s !== null; s = s.#outer) if (s === scope) return true;
    return false;
  }

  /** @internal Hands a handle of this scope to the scope around it, or to nobody. */
  moveHandleOut(handle: Handle): void {
    const { outer } = this;
    if (outer !== null) moveHandle(handle, outer);
    else detachHandle(handle, this.#nested ? "orphaned" : "noOuter");
  }

  /** @internal `attach` for a live handle. */
  attachHandle(handle: Handle): void {
    this.#check("attach");
    if (handle.scope === this) return;
    handle.statistics.attachedToScopeCount++;
    moveHandle(handle, this);
  }

  /** @internal Appends a handle that is in no scope. */
  link(handle: Handle, made: boolean): void {
    this.#entries.link(handle, this, made);
  }

  /** @internal Takes a handle of this scope out of the list, and counts how it went. */
  unlink(handle: Handle, how: Farewell): void {
    this.#entries.unlink(handle, this, how);
  }

  /** @internal The handles owned now, oldest first. For checks. */
  handles(): Iterable<Handle> {
    return this.#entries;
  }

  /** @internal Tells once that work ran on after the end. */
  noteOutlived(): void {
    if (this.#outlived) return;
    this.#outlived = true;
    if (isDev) warnOutlived(this);
  }

  /**
   * @internal Marks the scope as taken out of its job by a raw await. What others made in the same
   * job after its function had given way came into it by mistake: as far as stacks were recorded
   * that can be seen, and it is handed on.
   */
  suspend(): void {
    if (this.#suspended || this.#disposed) return;
    this.#suspended = true;
    if (this.#opened !== null) log("suspend", this.id, 0, this.#title(), this.#opened);
    const opened = this.#opened;
    if (opened !== null)
      for (const h of [...this.#entries])
        if (h.created !== null && madeOutside(opened, h.created)) this.moveHandleOut(h);
    if (scopes<DisposeScope>().firstSuspension(this.site)) warnSuspended(this);
  }

  #check(op: string): void {
    if (this.#disposed) throw ended(op, this, this.#title());
  }
}

/**
 * Dispose scopes: TorchSharp's `DisposeScope` with its holes closed. A scope owns handles (tensors
 * and any `Disposable`), frees what does not leave it in reverse order of registration, and is
 * exact across `await` when entered through `run`, `wait` or `go`. Called by users and by library
 * code.
 */
import { isDev, warn } from "../base/env.ts";
import {
  ArgumentError,
  AsyncScopeError,
  ScopeDisposedError,
  TenureError,
  internal,
} from "../base/errors.ts";
import { checkFlag, checkFunction, checkOptions, describeValue } from "../base/options.ts";
import { suppressed } from "../base/polyfills.ts";
import {
  type Frame,
  addRoot,
  asyncContext,
  currentScope,
  enterFrames,
  hooks,
  leaveFrames,
  pushFrame,
  removeFrame,
  segment,
  takeFrames,
  withAsyncScope,
  withScope,
} from "./current.ts";
import {
  DisposableHandle,
  type Handle,
  type HandleHolder,
  handleOf,
  wrappersOf,
} from "./handle.ts";
import { log } from "./log.ts";
import { type ScopeReport, SiteTally, Tally, scopeReport } from "./report.ts";
import { ledger } from "./ledger.ts";
import {
  type Capture,
  captureSite,
  formatSite,
  madeOutside,
  sampleScope,
  tracking,
} from "./site.ts";

/** What a scope can own: tensors, modules, anything with `[Symbol.dispose]()`. */
export type Owned = HandleHolder | Disposable;
/** One argument comes back as itself, several as a tuple, none as undefined. */
export type Returned<A extends readonly unknown[]> = A extends readonly []
  ? undefined
  : A extends readonly [infer X]
    ? X
    : { [K in keyof A]: A[K] };

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

/** What `scope.tensors()` lists; the tensor layer says what that is. */
export interface ScopeTensor {}

let nextScopeId = 1;

/** Owns what is made while it is current. Open one with `using s = newDisposeScope()`. */
export class DisposeScope implements Disposable, AsyncDisposable {
  readonly id: number = nextScopeId++;
  readonly name: string;
  /** Disposing it, or what it owned, a second time throws. */
  readonly strict: boolean;
  /** The scope around it, alive or not; shortened to a living one when somebody looks. */
  #outer: DisposeScope | null;
  /** Whether there was a scope around it at all. */
  readonly #nested: boolean;
  readonly #opened: Capture | null;
  #ended: Capture | null = null;
  #disposed = false;
  #suspended = false;
  /** Work that ran on after the end was reported. */
  #outlived = false;
  #oldest: Handle | null = null;
  #newest: Handle | null = null;
  #count = 0;
  #bytes = 0;
  #peakBytes = 0;
  readonly #tally = new Tally();
  /** What was made here, by line; only at the highest tracking level. */
  #made: SiteTally | null = null;
  #afterEnd: (() => void)[] | null = null;

  /** Use `newDisposeScope()`, which also makes the scope current. */
  constructor(options: ScopeOptions, outer: DisposeScope | null) {
    this.name = options.name ?? "";
    this.strict = options.strict ?? false;
    this.#outer = outer;
    this.#nested = outer !== null;
    this.#opened = tracking.scopes && sampleScope() ? captureSite() : null;
    if (this.#opened !== null) log("open", this.id, 0, this.#title(), this.#opened);
  }

  // === Looking ===

  /**
   * The nearest enclosing scope that is still alive, and not suspended: what a suspended scope
   * frees, and when, is its own matter.
   */
  get outer(): DisposeScope | null {
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
    return this.#count;
  }
  /** Device bytes the entries keep alive, counted once per entry. */
  get bytes(): number {
    return this.#bytes;
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
  tensors(): ScopeTensor[] {
    this.#check("tensors");
    const handles: Handle[] = [];
    for (let h = this.#oldest; h !== null; h = h.next)
      if (!(h instanceof DisposableHandle)) handles.push(h);
    return wrappersOf(handles) as ScopeTensor[];
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
    return scopeReport(
      {
        name: this.name,
        title: this.describe(),
        site: this.site,
        live: this.#count,
        bytes: this.#bytes,
        peakBytes: this.#peakBytes,
      },
      this.#tally,
      this.#made,
    );
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
      for (const handle of handles) {
        if (handle.scope?.isInside(this) !== true) continue;
        throw new TenureError(
          "moveToOuter",
          `expected a tensor of ${this.describe()}, got ${handle.describe()} of ${handle.scope.describe()} nested inside it, where it would die; call moveToOuter on the inner scope first`,
        );
      }
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
    if (target !== null) target.#check("moveTo");
    for (const handle of liveHandles("moveTo", things)) {
      if (handle.scope !== this || target === this) continue;
      if (target === null) detachHandle(handle);
      else moveHandle(handle, target);
    }
    return returned(things);
  }

  /**
   * Frees everything owned now; the scope stays open. All disposers run, errors are chained as
   * SuppressedError.
   */
  disposeEverything(): void {
    this.#check("disposeEverything");
    this.#sweep(null);
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
      else if (isDev)
        warn(
          `disposeEverythingBut: ${handle?.describe() ?? "a value"} is not owned by ${this.describe()}, so there is nothing to keep`,
        );
    }
    this.#sweep(kept);
    return returned(keep);
  }

  /**
   * The loop-carried value: `acc = scope.carry(acc, acc.add(x))`. `next` takes the place of `prev`,
   * in whichever scope that was, and `prev` is disposed.
   * @throws DisposedError when either is dead.
   */
  carry<T extends HandleHolder>(prev: HandleHolder, next: T): T {
    this.#check("carry");
    const from = handleOf(prev),
      to = handleOf(next);
    if (from === undefined || to === undefined)
      throw new ArgumentError(
        "carry",
        "two tensors",
        "something else",
        "pass the old and the new value",
      );
    from.assertLive("carry");
    to.assertLive("carry");
    if (from === to) return next;
    if (to.scope !== from.scope) {
      to.depart("carried");
      if (from.scope === null) to.scope?.unlink(to, "moved");
      else relink(to, from.scope);
      to.keeper = from.keeper;
      to.statistics.moved++;
    }
    to.statistics.carried++;
    from.dispose();
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
    const d = disposable("use", value);
    DisposableHandle.into(this, d, () => {
      d[Symbol.dispose]();
    });
    return value;
  }

  /** Owns any value together with the function that frees it. */
  adopt<V>(value: V, free: (value: V) => void): V {
    this.#check("adopt");
    checkFunction("adopt", free, "pass the function that frees it");
    const own =
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      handleOf(value) === undefined;
    DisposableHandle.into(this, own ? value : { adopted: value }, () => {
      free(value);
    });
    return value;
  }

  /** Runs `fn` when the scope ends, in turn with everything else it owns. */
  defer(fn: () => void): void {
    this.#check("defer");
    checkFunction("defer", fn);
    // A fresh wrapper each time: the same function deferred twice runs twice.
    DisposableHandle.into(
      this,
      Object.defineProperty(() => undefined, "name", { value: fn.name }),
      fn,
    );
  }

  /** All contents in a new scope that is not current; this one ends empty. */
  move(): DisposeScope {
    this.#check("move");
    const moved = new DisposeScope({ name: this.name, strict: this.strict }, this.outer);
    while (this.#oldest !== null) moveHandle(this.#oldest, moved);
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
  run<T>(fn: (scope: this) => T): T {
    this.#check("run");
    checkFunction("run", fn);
    const context = asyncContext();
    if (context !== null) return withAsyncScope(context, this, () => fn(this));
    const result = withScope(this, () => fn(this));
    if (isThenable(result)) {
      // its own failure is hidden by ours, which is thrown first
      Promise.resolve(result).catch(() => undefined);
      return Promise.reject(noAsyncContext("run", this)) as T;
    }
    return result;
  }

  /**
   * `run` for a function that is known to be synchronous: never touches the host's async context,
   * which makes every later `await` of the process slower.
   */
  enter<T>(fn: () => T): T {
    this.#check("enter");
    checkFunction("enter", fn);
    return withScope(this, fn);
  }

  /**
   * `await scope.wait(p)`: waits with this scope exact on both sides, on every host. Call it on the
   * outermost scope the function opened; inner scopes are put back too. The result is for one
   * `await` only.
   */
  wait<T>(promise: PromiseLike<T>): PromiseLike<T> {
    this.#check("wait");
    const frames = takeFrames(this),
      about = { opened: this.site, scope: this.#title() };
    let used = false;
    const enter = (): void => {
      enterFrames(frames);
    };
    return {
      then<R1, R2>(
        resolve?: ((value: T) => R1 | PromiseLike<R1>) | null,
        reject?: ((reason: unknown) => R2 | PromiseLike<R2>) | null,
      ): PromiseLike<R1 | R2> {
        if (used)
          throw new AsyncScopeError(
            "wait",
            "expected one await per wait(), got a second; call scope.wait(…) again, and wrap Promise.all(…) as a whole",
            about,
          );
        used = true;
        // Resolving the awaiting function with a value that is no thenable queues its continuation
        // at once: nothing can run between these three microtasks.
        return Promise.resolve(promise).then(
          (value) => {
            queueMicrotask(enter);
            const r = resolve?.(value);
            queueMicrotask(leaveFrames);
            return r as R1;
          },
          (reason: unknown) => {
            queueMicrotask(enter);
            const r = reject?.(reason);
            queueMicrotask(leaveFrames);
            return r as R2;
          },
        );
      },
    };
  }

  /**
   * Drives a generator whose `yield` stands for `await`: this scope, and the scopes the generator
   * opened inside it, are current in every segment, on every host. When the scope ends meanwhile,
   * the generator's next `yield` throws ScopeDisposedError, so that its own clean-up runs.
   */
  async go<T>(fn: (scope: this) => Generator<unknown, T>): Promise<T> {
    this.#check("go");
    checkFunction("go", fn, "pass function* () { … }");
    const kept: { frames: Frame | null } = { frames: null };
    const generator = withScope(this, () => fn(this));
    let step = segment(this, kept, () => generator.next());
    while (step.done !== true) {
      let resume: () => IteratorResult<unknown, T>;
      try {
        const value = await (step.value as Promise<unknown>);
        resume = () => generator.next(value);
      } catch (error) {
        resume = () => generator.throw(error);
      }
      if (this.#disposed) resume = () => generator.throw(this.#endedError("go"));
      step = segment(this, kept, resume);
    }
    segment(this, kept, () => undefined); // what it left open has crossed its end
    return step.value;
  }

  // === Ending ===

  /**
   * Frees everything, newest first, and leaves the stack. All disposers run; their errors come out
   * as one SuppressedError chain. A second call does nothing, or throws when the scope is strict.
   * As in DisposableStack, the scope has ended for its disposers already: they cannot add to it.
   */
  dispose(): void {
    if (this.#disposed) {
      if (this.strict)
        throw new ScopeDisposedError(
          "dispose",
          `expected an open scope, got ${this.describe()}, which has ended already; dispose it once`,
          this.#sites(),
          this.#title(),
        );
      return;
    }
    this.#disposed = true;
    if (tracking.all) this.#ended = captureSite();
    const inner = removeFrame(this);
    if (inner !== null && isDev)
      warn(
        `${this.describe()} was disposed before ${inner.describe()}, which was opened inside it; end scopes in reverse order, with \`using\`. A generator that yields while its scope is open does this: end the scope before each yield`,
      );
    try {
      this.#sweep(null);
    } finally {
      if (this.#opened !== null)
        log("close", this.id, this.#peakBytes, this.#title(), this.#opened);
      const after = this.#afterEnd;
      this.#afterEnd = null;
      if (after !== null) for (const listener of after) listener();
      if (scopeEnded.observer !== null) scopeEnded.observer(this);
    }
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Disposes, then waits until work submitted so far has finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    await ledger().settled();
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

  /** Hands a handle of this scope to the scope around it, or to nobody. */
  moveHandleOut(handle: Handle): void {
    const { outer } = this;
    if (outer !== null) moveHandle(handle, outer);
    else detachHandle(handle, this.#nested ? "orphaned" : "noOuter");
  }

  /** `attach` for a live handle. */
  attachHandle(handle: Handle): void {
    this.#check("attach");
    if (handle.scope === this) return;
    handle.statistics.attachedToScopeCount++;
    moveHandle(handle, this);
  }

  /** Appends a handle that is in no scope. */
  link(handle: Handle, made: boolean): void {
    // oldest … newest <-> handle
    handle.scope = this;
    handle.prev = this.#newest;
    handle.next = null;
    if (this.#newest === null) this.#oldest = handle;
    else this.#newest.next = handle;
    this.#newest = handle;
    this.#count++;
    const { bytes } = handle;
    this.#bytes += bytes;
    if (this.#bytes > this.#peakBytes) this.#peakBytes = this.#bytes;
    if (!made) {
      this.#tally.attached++;
      return;
    }
    this.#tally.created++;
    if (tracking.all && handle.created !== null)
      (this.#made ??= new SiteTally()).add(handle.created, bytes);
  }

  /** Takes a handle of this scope out of the list, and counts how it went. */
  unlink(handle: Handle, how: keyof Tally): void {
    if (handle.scope !== this) throw internal("a handle was unlinked from a scope it is not in");
    // prev <-> handle <-> next   becomes   prev <-> next
    if (handle.prev === null) this.#oldest = handle.next;
    else handle.prev.next = handle.next;
    if (handle.next === null) this.#newest = handle.prev;
    else handle.next.prev = handle.prev;
    handle.prev = handle.next = null;
    handle.scope = null;
    this.#count--;
    this.#bytes -= handle.bytes;
    this.#tally[how]++;
  }

  /** The handles owned now, oldest first. For checks. */
  *handles(): Generator<Handle> {
    for (let h = this.#oldest; h !== null; h = h.next) yield h;
  }

  /** Tells once that work ran on after the end. */
  noteOutlived(): void {
    if (this.#outlived) return;
    this.#outlived = true;
    if (isDev)
      warn(
        `work outlived ${this.describe()}: what it makes belongs to the nearest scope still open; await the work inside the scope`,
      );
  }

  /**
   * Marks the scope as taken out of its job by a raw await. What others made in the same job after
   * its function had given way came into it by mistake: as far as stacks were recorded that can be
   * seen, and it is handed on.
   */
  suspend(): void {
    if (this.#suspended || this.#disposed) return;
    this.#suspended = true;
    if (this.#opened !== null) log("suspend", this.id, 0, this.#title(), this.#opened);
    const opened = this.#opened;
    if (opened !== null)
      for (const h of [...this.handles()])
        if (h.created !== null && madeOutside(opened, h.created)) this.moveHandleOut(h);
    const told = warnedInProduction;
    warnedInProduction = true;
    if (isDev || !told)
      warn(
        `an await was reached while ${this.describe()} was open, so it is suspended: it still owns its tensors, but what is made after the await is not in it. Write \`await scopedAsync(async () => …)\`, or \`await scope.wait(promise)\`, or close the scope before the await`,
      );
  }

  #sweep(keep: ReadonlySet<Handle> | null): void {
    let failure: { error: unknown } | null = null,
      again = true;
    while (again) {
      again = false; // a disposer may add to a scope that stays open
      for (let handle = this.#newest; handle !== null;) {
        if (keep?.has(handle) === true) {
          handle = handle.prev;
          continue;
        }
        const older: Handle | null = handle.prev;
        handle.disposedBy = this;
        // A disposer that throws has still been unlinked and counted, so the loop always advances.
        try {
          handle.end("disposed");
        } catch (error) {
          failure = { error: failure === null ? error : suppressed(error, failure.error) };
        }
        again = true;
        // it may have disposed or moved its neighbour
        handle = older === null || older.scope === this ? older : this.#newest;
      }
    }
    if (failure !== null) throw failure.error;
  }

  #check(op: string): void {
    if (this.#disposed) throw this.#endedError(op);
  }

  #endedError(op: string): ScopeDisposedError {
    return new ScopeDisposedError(
      op,
      `expected an open scope, got ${this.describe()}, which has ended; open a new one`,
      this.#sites(),
      this.#title(),
    );
  }

  #sites(): { opened: string | undefined; disposed: string | undefined } {
    return { opened: this.site, disposed: this.endSite };
  }
}

/** Told about every scope that ends, while somebody watches. */
export const scopeEnded: { observer: ((scope: DisposeScope) => void) | null } = { observer: null };

let warnedInProduction = false;

hooks.nearestLive = (scope) => {
  scope.noteOutlived();
  return scope.outer;
};
hooks.crossedAwait = (scope) => {
  scope.suspend();
};

function checkScopeOptions(options: ScopeOptions): void {
  checkOptions("newDisposeScope", options, ["name", "root", "strict"]);
  checkFlag("newDisposeScope", "root", options.root);
  checkFlag("newDisposeScope", "strict", options.strict);
}

/** Opens a scope and makes it current until it ends. Use it with `using`. */
export function newDisposeScope(options?: string | ScopeOptions): DisposeScope {
  const o = typeof options === "string" ? { name: options } : (options ?? {});
  if (options !== undefined && typeof options !== "string") checkScopeOptions(options);
  const scope = new DisposeScope(o, currentScope());
  if (o.root === true) addRoot(scope);
  else pushFrame(scope);
  return scope;
}

/** The scope that owns whatever is made now, or null. */
export function currentDisposeScope(): DisposeScope | null {
  return currentScope();
}

// === Moves on handles, shared with Tensor's methods ===

function relink(handle: Handle, target: DisposeScope): void {
  if (handle.scope !== null) handle.scope.unlink(handle, "moved");
  handle.keeper = null;
  target.link(handle, false);
}

/** Takes a handle out of all scopes, counted. */
export function detachHandle(
  handle: Handle,
  how: "detached" | "noOuter" | "orphaned" = "detached",
): void {
  if (handle.scope === null) return;
  handle.depart(how);
  handle.scope.unlink(handle, "detached");
  handle.statistics.detachedFromScopeCount++;
  if (how === "orphaned") handle.statistics.orphaned++;
}

/** Moves a handle to `target`, which is open. */
function moveHandle(handle: Handle, target: DisposeScope): void {
  if (handle.scope !== null) handle.statistics.moved++;
  handle.depart("moved");
  relink(handle, target);
}

/** `t.moveToOuter()`: one level up from the scope that owns it now; nothing when no scope does. */
export function moveHandleToOuter(handle: Handle): void {
  handle.assertLive("moveToOuter");
  const owner = handle.scope;
  if (owner === null) return;
  if (isDev && owner !== currentScope())
    warn(
      `${handle.describe()} moves out of ${owner.describe()}, which is not the current scope; scope.moveToOuter(t) says which scope it leaves`,
    );
  owner.moveHandleOut(handle);
}

/**
 * `t.moveTo(target)`: into a scope, or beside another handle's owner (nowhere when that has none).
 */
export function moveHandleTo(handle: Handle, target: DisposeScope | Handle): void {
  handle.assertLive("moveTo");
  if (target instanceof DisposeScope) {
    target.attachHandle(handle);
    return;
  }
  target.assertLive("moveTo");
  if (target.scope === null) detachHandle(handle);
  else target.scope.attachHandle(handle);
}

/**
 * The handles behind things, all checked before any is returned. Things without one are left out.
 */
function liveHandles(op: string, things: readonly unknown[]): Handle[] {
  const handles: Handle[] = [];
  for (const thing of things) {
    const handle = handleOf(thing);
    if (handle === undefined) {
      if ((typeof thing !== "object" && typeof thing !== "function") || thing === null)
        throw new ArgumentError(
          op,
          "tensors or other things a scope can own",
          describeValue(thing),
          "pass the tensor itself",
        );
      continue;
    }
    handle.assertLive(op);
    handles.push(handle);
  }
  return handles;
}

/** Whether `await` would wait for it. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

function disposable(op: string, value: unknown): Disposable {
  if (typeof (value as Partial<Disposable> | null | undefined)?.[Symbol.dispose] === "function")
    return value as Disposable;
  throw new ArgumentError(
    op,
    "a tensor or an object with [Symbol.dispose]()",
    value === null ? "null" : typeof value,
    "use adopt(value, free) for anything else",
  );
}

/** What hosts without an async context say. */
export function noAsyncContext(op: string, scope?: DisposeScope): AsyncScopeError {
  return new AsyncScopeError(
    op,
    "expected a host with an async context (AsyncContext, or Node's AsyncLocalStorage), got none; use `await scope.wait(promise)`, `scope.go(function* …)`, or close the scope before each await",
    scope === undefined ? undefined : { opened: scope.site, scope: scope.describe() },
  );
}

function returned<A extends readonly unknown[]>(things: A): Returned<A> {
  return (
    things.length === 1 ? things[0] : things.length === 0 ? undefined : things
  ) as Returned<A>;
}

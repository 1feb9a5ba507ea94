/**
 * Handles: the unit of ownership. A wrapper the user sees (a `Tensor`, say) holds its handle
 * strongly; the handle reaches the wrapper only weakly, so that the garbage collector can tell that
 * a wrapper was dropped. A handle is linked into at most one scope's list. Tensors subclass
 * `Handle`; any other `Disposable` gets a `DisposableHandle`. Who owns the resource behind a
 * handle: the handle, until `release()` is called once.
 */
import { DisposedError } from "../base/errors.ts";
import { suppressed } from "../base/polyfills.ts";
import { log } from "./log.ts";
import type { DisposeScope } from "./scope.ts";
import {
  type Capture,
  captureSite,
  formatSite,
  refillSamples,
  sampleCreation,
  sampleDisposal,
  tracking,
} from "./site.ts";
import { type LifetimeStatistics, containerStatistics } from "./statistics.ts";

/** Property of a wrapper that leads to its handle. */
export const HANDLE: unique symbol = Symbol("tenure.handle");

/** A wrapper that is owned through a handle. */
export interface HandleHolder {
  readonly [HANDLE]: Handle;
}

/**
 * How a handle last left a scope alive, for reports. `noOuter`: moved out of a scope that had none
 * around it. `orphaned`: the scopes around it had ended.
 */
export type Departure = "moved" | "carried" | "detached" | "noOuter" | "orphaned";

let nextId = 1;

/**
 * One owner's claim. Live handles also form one intrusive list, oldest to newest, which makes leak
 * reports possible without a Set.
 */
export abstract class Handle {
  readonly id: number = nextId++;
  /** The scope that will dispose this handle, or null when nobody but its holder will. */
  scope: DisposeScope | null = null;
  /** Neighbours in the scope's list. */
  prev: Handle | null = null;
  next: Handle | null = null;
  /** Neighbours in the list of all live handles. */
  olderLive: Handle | null = null;
  newerLive: Handle | null = null;
  state: "live" | "disposed" | "finalized" = "live";
  /** What keeps a handle that no scope owns, for reports: a module's or an optimizer's name. */
  keeper: string | null = null;
  /** How it last left a scope, and where, when tracking recorded it. */
  departure: Departure | null = null;
  departedAt: Capture | null = null;
  /** Disposing it a second time throws: it died in a scope opened with `strict`. */
  strict = false;
  /** Where it was made, when tracking recorded it. */
  created: Capture | null = null;
  /** Where it was disposed by hand, when tracking recorded it. */
  disposedAt: Capture | null = null;
  /** The scope that disposed it, when a scope did. */
  disposedBy: DisposeScope | null = null;
  /** Set once the wrapper has outlived its first job; until then the nursery holds it. */
  wrapper: WeakRef<object> | null = null;

  /** Gives back the resource. Called exactly once, by the ownership layer only. */
  protected abstract release(): void;
  /**
   * One line for reports and errors, for example `tensor "w" float32 [3,4]`. Valid after disposal.
   */
  abstract describe(): string;
  /** Device bytes this handle alone would keep alive; 0 for anything that is no tensor. */
  abstract get bytes(): number;
  /** Which counters it belongs to. */
  abstract get statistics(): LifetimeStatistics;

  get isLive(): boolean {
    return this.state === "live";
  }

  /**
   * Disposes by hand: unlinks, counts, releases. A second call does nothing, unless a strict scope
   * owned it.
   */
  dispose(): void {
    if (this.state !== "live") {
      if (this.strict) throw this.disposedError("dispose");
      return;
    }
    if (tracking.samples && sampleDisposal()) this.disposedAt = captureSite();
    this.end("disposed");
  }

  /** Unlinks from scope and live list, counts, and releases. The only way a handle dies. */
  end(how: "disposed" | "finalized"): void {
    const stats = this.statistics,
      { scope } = this;
    if (how === "finalized") stats.finalized++;
    else if (scope !== null) stats.disposedInScopeCount++;
    else stats.disposedOutsideScopeCount++;
    stats.threadTotalLiveCount--;
    if (scope !== null) {
      this.strict = scope.strict;
      scope.unlink(this, how);
    }
    unlinkLive(this);
    this.state = how;
    if (this.wrapper !== null) forget(this);
    if (this.created !== null)
      log(
        how === "disposed" ? "dispose" : "finalize",
        this.id,
        this.bytes,
        this.describe(),
        this.created,
      );
    this.release();
  }

  /** Remembers how it leaves its scope alive. */
  depart(how: Departure): void {
    this.departure = how;
    this.departedAt = tracking.all ? captureSite() : null;
  }

  /**
   * Who will end it, for reports: `in scope "step" (opened at …)`, `kept by Linear`, `detached at
   * …`.
   */
  owner(): string {
    if (this.scope !== null) return `in ${this.scope.describe()}`;
    if (this.keeper !== null) return `kept by ${this.keeper}`;
    const at = formatSite(this.departedAt);
    const how =
      this.departure === "detached"
        ? "detached"
        : this.departure === "orphaned"
          ? "moved out after the scopes around its own had ended"
          : this.departure === null
            ? "made outside any scope"
            : this.departure === "carried"
              ? "carried into the place of a tensor without scope"
              : "moved out of the outermost scope";
    return at === undefined ? how : `${how} at ${at}`;
  }

  /** @throws DisposedError, naming what it was, where it was made and who ended it. */
  assertLive(op: string): void {
    if (this.state !== "live") throw this.disposedError(op);
  }

  disposedError(op: string): DisposedError {
    const created = formatSite(this.created),
      disposed = formatSite(this.disposedAt);
    const by = this.disposedBy;
    const how =
      this.state === "finalized"
        ? "was reclaimed by the garbage collector"
        : by !== null
          ? `was disposed when ${by.describe()} ended`
          : disposed !== undefined
            ? `was disposed at ${disposed}`
            : "was disposed";
    const hint =
      by !== null
        ? "; move it out with scope.moveToOuter(t) before the scope ends, or use t.alias()"
        : disposed === undefined
          ? '; call memory.track("full") to see where'
          : "; dispose it after its last use, or keep a t.alias()";
    const what = this.describe();
    return new DisposedError(
      op,
      `expected a live tensor, got ${what}, which ${how}${created === undefined ? "" : ` (made at ${created})`}${hint}`,
      {
        created,
        disposed: disposed ?? by?.endSite ?? by?.site,
      },
      { tensor: what, scope: by?.describe() },
    );
  }
}

/** Ends of the list of live handles. */
export const live: { oldest: Handle | null; newest: Handle | null } = {
  oldest: null,
  newest: null,
};

/**
 * Counts a new handle, links it into `scope` and the live list, and gives its wrapper to the
 * nursery. Called once per handle; `wrapper` is null for what its handle holds strongly.
 */
export function register(handle: Handle, wrapper: object | null, scope: DisposeScope | null): void {
  const stats = handle.statistics;
  if (tracking.samples && sampleCreation(handle.bytes)) {
    handle.created = captureSite();
    log("create", handle.id, handle.bytes, handle.describe(), handle.created);
  }
  stats.threadTotalLiveCount++;
  if (scope !== null) {
    stats.createdInScopeCount++;
    scope.link(handle, true);
  } else stats.createdOutsideScopeCount++;
  // oldest … newest <-> handle
  handle.olderLive = live.newest;
  if (live.newest === null) live.oldest = handle;
  else live.newest.newerLive = handle;
  live.newest = handle;
  if (wrapper === null) return;
  nursery.push(wrapper);
  if (!armed) armCheckpoint();
  else if (nursery.length >= compactAt) compactNursery();
}

function unlinkLive(h: Handle): void {
  // older <-> h <-> newer   becomes   older <-> newer
  if (h.olderLive === null) live.oldest = h.newerLive;
  else h.olderLive.newerLive = h.newerLive;
  if (h.newerLive === null) live.newest = h.olderLive;
  else h.newerLive.olderLive = h.olderLive;
  h.olderLive = h.newerLive = null;
}

// === Nursery and garbage-collected fallback ===
// Wrappers made in this job are held strongly until its microtask checkpoint; those that died young
// never touch the FinalizationRegistry.

let nursery: object[] = [];
let compactAt = 4096;
let armed = false;
const atCheckpoint: (() => void)[] = [];

/**
 * Runs `listener` at every checkpoint: once per job in which handles were made or scopes opened.
 */
export function onCheckpoint(listener: () => void): void {
  atCheckpoint.push(listener);
}

/** Makes sure a checkpoint follows this job. */
export function armCheckpoint(): void {
  if (armed) return;
  armed = true;
  queueMicrotask(checkpoint);
}

function checkpoint(): void {
  armed = false;
  try {
    for (const listener of atCheckpoint) listener();
  } finally {
    refillSamples();
    const young = nursery;
    nursery = [];
    compactAt = 4096;
    for (const wrapper of young) {
      const handle = (wrapper as HandleHolder)[HANDLE];
      if (handle.state !== "live") continue;
      handle.wrapper = new WeakRef(wrapper);
      registry.register(wrapper, handle, handle);
    }
  }
}

/**
 * Drops the wrappers of handles that already died, so that a long synchronous job does not hold
 * them.
 */
function compactNursery(): void {
  nursery = nursery.filter((w) => (w as HandleHolder)[HANDLE].state === "live");
  compactAt = Math.max(4096, nursery.length * 2);
}

const reclaimable: Handle[] = [];
// Passive on purpose: the callback may run between any two jobs, so it only queues.
const registry = new FinalizationRegistry<Handle>((handle) => {
  reclaimable.push(handle);
  if (reclaimable.length === 1) queueMicrotask(reclaim);
});

function forget(handle: Handle): void {
  registry.unregister(handle);
  handle.wrapper = null;
}

/** Tensors the garbage collector had to reclaim that have something in common. */
export interface ReclaimedRow {
  /** The line that made them, as far as tracking recorded it. */
  readonly site: string;
  readonly count: number;
  /** Bytes of their storages, aliases counted each. */
  readonly bytes: number;
  /**
   * What went wrong: `dropped without dispose`, `detached, never disposed`, `kept by Linear, which
   * was never disposed`. Harmless: `dropped before its scope ended`.
   */
  readonly how: string;
  /** Where they left their scope, when they did and tracking recorded it. */
  readonly left: string | undefined;
  /** One of them, described. */
  readonly example: string;
}

/** Handles reclaimed so far that no open scope would have freed. */
export const forgotten = { count: 0 };
const reclaimed = new Map<string, ReclaimedRow>();
const onReclaim: ((handle: Handle) => void)[] = [];

/**
 * Ends the handles whose wrappers the collector took. Counted, and grouped by the line that dropped
 * them when that is known.
 */
export function reclaim(): void {
  let failure: { error: unknown } | null = null;
  for (let handle = reclaimable.pop(); handle !== undefined; handle = reclaimable.pop()) {
    if (handle.state !== "live") continue;
    noteReclaimed(handle);
    handle.wrapper = null;
    try {
      handle.end("finalized");
    } catch (error) {
      failure = { error: failure === null ? error : suppressed(error, failure.error) };
    }
  }
  if (failure !== null) throw failure.error;
}

function noteReclaimed(handle: Handle): void {
  if (handle.scope === null) forgotten.count++;
  const site = formatSite(handle.created) ?? "(site not recorded)",
    left = handle.scope === null ? formatSite(handle.departedAt) : undefined;
  const how =
    handle.keeper !== null
      ? `kept by ${handle.keeper}, which was never disposed`
      : handle.scope !== null
        ? "dropped before its scope ended"
        : handle.departure !== null
          ? "detached, never disposed"
          : "dropped without dispose";
  const key = `${site}|${how}|${left}`,
    row = reclaimed.get(key);
  reclaimed.set(key, {
    site,
    how,
    left,
    count: (row?.count ?? 0) + 1,
    bytes: (row?.bytes ?? 0) + handle.bytes,
    example: row?.example ?? handle.describe(),
  });
  for (const listener of onReclaim) listener(handle);
}

/** Calls `listener` for every handle the collector took, until the returned function is called. */
export function watchReclaimed(listener: (handle: Handle) => void): () => void {
  onReclaim.push(listener);
  return () => {
    onReclaim.splice(onReclaim.indexOf(listener), 1);
  };
}

/** What the garbage collector reclaimed, by line and reason, most first. */
export function reclaimedRows(): ReclaimedRow[] {
  return [...reclaimed.values()].sort((a, b) => b.count - a.count);
}

/** Clears what `reclaimedRows` reports. */
export function resetReclaimed(): void {
  reclaimed.clear();
  forgotten.count = 0;
}

// === Other disposables ===

const foreign = new WeakMap<object, Handle>();

/**
 * The handle behind a wrapper, or behind a disposable some scope was given; `undefined` for
 * anything else.
 */
export function handleOf(value: unknown): Handle | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null)
    return undefined;
  return (value as Partial<HandleHolder>)[HANDLE] ?? foreign.get(value);
}

/** The wrappers of live handles, in order; those that nobody holds any more are left out. */
export function wrappersOf(handles: readonly Handle[]): object[] {
  let young: Map<Handle, object> | undefined;
  const wrappers: object[] = [];
  for (const handle of handles) {
    let wrapper: object | undefined;
    if (handle instanceof DisposableHandle) wrapper = handle.value;
    else if (handle.wrapper !== null) wrapper = handle.wrapper.deref();
    else {
      young ??= new Map(nursery.map((w) => [(w as HandleHolder)[HANDLE], w]));
      wrapper = young.get(handle);
    }
    if (wrapper !== undefined) wrappers.push(wrapper);
  }
  return wrappers;
}

/**
 * Any `Disposable` or callback owned by a scope. The scope holds it strongly: it is only as alive
 * as its owner.
 */
export class DisposableHandle extends Handle {
  readonly value: object;
  readonly #dispose: () => void;

  constructor(value: object, dispose: () => void) {
    super();
    this.value = value;
    this.#dispose = dispose;
  }

  protected release(): void {
    foreign.delete(this.value);
    this.#dispose();
  }
  describe(): string {
    if (typeof this.value === "function")
      return `deferred call ${this.value.name || "(anonymous)"}`;
    // none on Object.create(null)
    const { constructor } = this.value as { constructor?: { name?: string } };
    return constructor?.name || "disposable";
  }
  get bytes(): number {
    return 0;
  }
  get statistics(): LifetimeStatistics {
    return containerStatistics;
  }

  /** Puts a disposable that no scope has seen into `scope`. */
  static into(scope: DisposeScope, value: object, dispose: () => void): DisposableHandle {
    const handle = new DisposableHandle(value, dispose);
    foreign.set(value, handle);
    register(handle, null, scope);
    return handle;
  }
}

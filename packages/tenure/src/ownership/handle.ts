/**
 * Handles: the unit of ownership. A wrapper the user sees (a `Tensor`, say) holds its handle
 * strongly; the handle reaches the wrapper only weakly, so that the garbage collector can tell that
 * a wrapper was dropped. A handle is linked into at most one scope's list. Tensors subclass
 * `Handle`; any other `Disposable` gets a `DisposableHandle`. Who owns the resource behind a
 * handle: the handle, until `release()` is called once.
 */
import { afterJob } from "../base/env.ts";
import { DisposedError } from "../base/errors.ts";
import { suppressed } from "../base/polyfills.ts";
import { current } from "../base/realm.ts";
import { log } from "./log.ts";
import type { Reclaimed } from "./reclaimed.ts";
import { type Capture, captureSite, sites } from "./site.ts";
import { formatSite } from "./stack.ts";
import type { LifetimeStatistics } from "./statistics.ts";

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

/** What can keep a handle that no scope owns. */
export type KeeperKind = "module" | "optimizer" | "loader";

/** Departures in words, for a handle that nobody owns now. */
const left: Readonly<Record<Departure, string>> = {
  detached: "detached",
  orphaned: "moved out after the scopes around its own had ended",
  carried: "carried into the place of a tensor without scope",
  moved: "moved out of the outermost scope",
  noOuter: "moved out of the outermost scope",
};

/** What a handle needs of the scope that owns it. */
export interface Owner {
  /** Disposing it, or what it owned, a second time throws. */
  readonly strict: boolean;
  readonly disposed: boolean;
  /** Where it was opened and where it ended, when tracking recorded it. */
  readonly site: string | undefined;
  readonly endSite: string | undefined;
  /** One line for reports and errors. */
  describe(): string;
  isInside(scope: Owner): boolean;
  /** Entries and bytes owned now, and the entries themselves. */
  readonly count: number;
  readonly bytes: number;
  handles(): Iterable<Handle>;
  link(handle: Handle, made: boolean): void;
  unlink(handle: Handle, how: Farewell): void;
  attachHandle(handle: Handle): void;
  moveHandleOut(handle: Handle): void;
}

/** How an entry of a scope goes. */
export type Farewell = "disposed" | "finalized" | "moved" | "detached";

/**
 * One owner's claim. Live handles also form one intrusive list, oldest to newest, which makes leak
 * reports possible without a Set.
 */
export abstract class Handle {
  readonly id: number = handles().nextId();
  /** The scope that will dispose this handle, or null when nobody but its holder will. */
  scope: Owner | null = null;
  /** Neighbours in the scope's list. */
  prev: Handle | null = null;
  next: Handle | null = null;
  /** Neighbours in the list of all live handles. */
  olderLive: Handle | null = null;
  newerLive: Handle | null = null;
  state: "live" | "disposed" | "finalized" = "live";
  /** What keeps a handle that no scope owns, for reports: a module's or an optimizer's name. */
  keeper: string | null = null;
  /** What kind of thing the keeper is. */
  keeperKind: KeeperKind | null = null;
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
  disposedBy: Owner | null = null;
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
  /** Asks to log the end of its bytes as well. @returns the number of its storage, 0 for none */
  followBytes(): number {
    return 0;
  }
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
    const known = sites();
    if (known.samples && known.sampleDisposal()) this.disposedAt = known.capture();
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
    const table = handles();
    table.unlink(this);
    this.state = how;
    if (this.wrapper !== null) table.forget(this);
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
    this.departedAt = sites().all ? captureSite() : null;
  }

  /** Who owns it, in short, for the log; empty for nobody. */
  #ownedBy(): string {
    if (this.scope !== null) return this.scope.describe();
    return this.keeper === null ? "" : `${this.keeperKind ?? "module"} ${this.keeper}`;
  }

  /** Logs that it was made, or that it has another owner now; only what was sampled is logged. */
  logOwner(kind: "create" | "own"): void {
    if (this.created === null) return;
    const owner = this.#ownedBy();
    const { id, bytes } = this;
    if (kind === "own") log(kind, id, bytes, this.owner(), this.departedAt, { owner });
    else
      log(kind, id, bytes, this.describe(), this.created, { owner, storage: this.followBytes() });
  }

  /**
   * Who will end it, for reports: `in scope "step" (opened at …)`, `kept by Linear`, `detached at
   * …`.
   */
  owner(): string {
    if (this.scope !== null) return `in ${this.scope.describe()}`;
    if (this.keeper !== null) return `kept by ${this.keeper}`;
    const at = formatSite(this.departedAt);
    const how = this.departure === null ? "made outside any scope" : left[this.departure];
    return at === undefined ? how : `${how} at ${at}`;
  }

  /** @throws DisposedError, naming what it was, where it was made and who ended it. */
  assertLive(op: string): void {
    if (this.state !== "live") throw this.disposedError(op);
  }

  /** The error of whoever uses it after its end. */
  disposedError(op: string): DisposedError {
    const created = formatSite(this.created),
      disposed = formatSite(this.disposedAt),
      by = this.disposedBy,
      what = this.describe(),
      made = created === undefined ? "" : ` (made at ${created})`;
    return new DisposedError(
      op,
      `expected a live tensor, got ${what}, which ${this.#ending(disposed)}${made}; ` +
        this.#remedy(disposed),
      {
        created,
        disposed: disposed ?? by?.endSite ?? by?.site,
      },
      { tensor: what, scope: by?.describe() },
    );
  }

  #ending(disposed: string | undefined): string {
    if (this.state === "finalized") return "was reclaimed by the garbage collector";
    if (this.disposedBy !== null) return `was disposed when ${this.disposedBy.describe()} ended`;
    return disposed === undefined ? "was disposed" : `was disposed at ${disposed}`;
  }

  #remedy(disposed: string | undefined): string {
    if (this.disposedBy !== null)
      return "move it out with scope.moveToOuter(t) before the scope ends, or use t.alias()";
    return disposed === undefined
      ? 'call memory.track("full") to see where'
      : "dispose it after its last use, or keep a t.alias()";
  }
}

/** What the table of handles needs of the rest of the ledger. */
export interface HandleTableOptions {
  /** Called once per job in which handles were made or scopes opened, when the job is over. */
  readonly atCheckpoint: () => void;
  /** Hears of every handle the garbage collector took. */
  readonly reclaimed: Reclaimed;
}

/** Wrappers made in one job after which those that died already are dropped. */
const compactEvery = 4096;

/**
 * All live handles, oldest to newest, and the wrappers the garbage collector may take. Wrappers
 * made in this job are held strongly until its microtask checkpoint (the nursery); those that died
 * young never touch the FinalizationRegistry.
 */
export class HandleTable {
  oldest: Handle | null = null;
  newest: Handle | null = null;
  /** Handles of disposables that are no wrappers. */
  readonly foreign = new WeakMap<object, Handle>();
  readonly #atCheckpoint: () => void;
  readonly #reclaimed: Reclaimed;
  #lastId = 0;
  #nursery: object[] = [];
  #compactAt = compactEvery;
  #armed = false;
  readonly #reclaimable: Handle[] = [];
  // Passive on purpose: the callback may run between any two jobs, so it only queues.
  readonly #registry = new FinalizationRegistry<Handle>((handle) => {
    this.#reclaimable.push(handle);
    if (this.#reclaimable.length === 1)
      afterJob(() => {
        this.reclaim();
      });
  });

  constructor({ atCheckpoint, reclaimed }: HandleTableOptions) {
    this.#atCheckpoint = atCheckpoint;
    this.#reclaimed = reclaimed;
  }

  /** A number no other handle has. */
  nextId(): number {
    return ++this.#lastId;
  }

  /** Appends a new handle to the list. */
  link(handle: Handle): void {
    // oldest … newest <-> handle
    handle.olderLive = this.newest;
    if (this.newest === null) this.oldest = handle;
    else this.newest.newerLive = handle;
    this.newest = handle;
  }

  /** Takes a handle that ends out of the list. */
  unlink(h: Handle): void {
    // older <-> h <-> newer   becomes   older <-> newer
    if (h.olderLive === null) this.oldest = h.newerLive;
    else h.olderLive.newerLive = h.newerLive;
    if (h.newerLive === null) this.newest = h.olderLive;
    else h.newerLive.olderLive = h.olderLive;
    h.olderLive = h.newerLive = null;
  }

  /** Holds a fresh wrapper until its job is over. */
  nurse(wrapper: object): void {
    this.#nursery.push(wrapper);
    if (!this.#armed) this.armCheckpoint();
    else if (this.#nursery.length >= this.#compactAt) this.#compact();
  }

  /** The wrapper of a handle that was made in this job. */
  young(): Map<Handle, object> {
    return new Map(this.#nursery.map((w) => [(w as HandleHolder)[HANDLE], w]));
  }

  /** Makes sure a checkpoint follows this job. */
  armCheckpoint(): void {
    if (this.#armed) return;
    this.#armed = true;
    afterJob(() => {
      this.#checkpoint();
    });
  }

  #checkpoint(): void {
    this.#armed = false;
    try {
      this.#atCheckpoint();
    } finally {
      const young = this.#nursery;
      this.#nursery = [];
      this.#compactAt = compactEvery;
      for (const wrapper of young) {
        const handle = (wrapper as HandleHolder)[HANDLE];
        if (handle.state !== "live") continue;
        handle.wrapper = new WeakRef(wrapper);
        this.#registry.register(wrapper, handle, handle);
      }
    }
  }

  /**
   * Drops the wrappers of handles that already died, so that a long synchronous job does not hold
   * them.
   */
  #compact(): void {
    this.#nursery = this.#nursery.filter((w) => (w as HandleHolder)[HANDLE].state === "live");
    this.#compactAt = Math.max(compactEvery, this.#nursery.length * 2);
  }

  /** The handle has ended: the collector need not watch its wrapper any more. */
  forget(handle: Handle): void {
    this.#registry.unregister(handle);
    handle.wrapper = null;
  }

  /**
   * Ends the handles whose wrappers the collector took. Counted, and grouped by the line that
   * dropped them when that is known.
   */
  reclaim(): void {
    let failure: { error: unknown } | null = null;
    const list = this.#reclaimable;
    for (let handle = list.pop(); handle !== undefined; handle = list.pop()) {
      if (handle.state !== "live") continue;
      this.#reclaimed.note(handle);
      handle.wrapper = null;
      try {
        handle.end("finalized");
      } catch (error) {
        failure = { error: failure === null ? error : suppressed(error, failure.error) };
      }
    }
    if (failure !== null) throw failure.error;
  }
}

/** The handles of the current instance. */
export function handles(): HandleTable {
  return current<{ readonly ledger: { readonly handles: HandleTable } }>().ledger.handles;
}

/**
 * Counts a new handle, links it into `scope` and the live list, and gives its wrapper to the
 * nursery. Called once per handle; `wrapper` is null for what its handle holds strongly.
 */
export function register(handle: Handle, wrapper: object | null, scope: Owner | null): void {
  const stats = handle.statistics,
    known = sites(),
    table = handles();
  if (known.samples && known.sampleCreation(handle.bytes)) handle.created = known.capture();
  stats.threadTotalLiveCount++;
  if (scope !== null) {
    stats.createdInScopeCount++;
    scope.link(handle, true);
  } else stats.createdOutsideScopeCount++;
  table.link(handle);
  handle.logOwner("create");
  if (wrapper !== null) table.nurse(wrapper);
}

/**
 * The handle behind a wrapper, or behind a disposable some scope was given; `undefined` for
 * anything else.
 */
export function handleOf(value: unknown): Handle | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null)
    return undefined;
  return (value as Partial<HandleHolder>)[HANDLE] ?? handles().foreign.get(value);
}

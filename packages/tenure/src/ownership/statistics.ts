/**
 * The counters of TorchSharp's `ThreadDisposeScopeStatistics`, per kind of entry, with ours beside
 * them. One per instance. Written by handles and scopes only; read through `memory.stats()`. Law:
 * created = live + disposed + finalized, at every moment.
 */
import { current } from "../base/realm.ts";

/** Lifetime counters since start or the last `reset()`. */
export interface LifetimeStatistics {
  /** Handles made while no scope was current. */
  createdOutsideScopeCount: number;
  /** Handles disposed while no scope owned them. */
  disposedOutsideScopeCount: number;
  /** Handles made into a scope. */
  createdInScopeCount: number;
  /** Handles disposed by or out of a scope that owned them. */
  disposedInScopeCount: number;
  /** Handles attached to a scope by hand; a move by `attach` counts too. */
  attachedToScopeCount: number;
  /** Handles taken out of all scopes, `moveToOuter` without an outer scope included. */
  detachedFromScopeCount: number;
  /** Handles alive now. The name is TorchSharp's; JavaScript has one thread per realm. */
  threadTotalLiveCount: number;
  /** Handles that went from one scope to another. */
  moved: number;
  /** `carry` calls: loop values that took over their predecessor's place. */
  carried: number;
  /** Handles detached because no scope above theirs was alive any more. */
  orphaned: number;
  /**
   * Handles reclaimed by the garbage collector instead of their owner: each is a leak that was
   * forgiven.
   */
  finalized: number;
}

function zero(): LifetimeStatistics {
  return {
    createdOutsideScopeCount: 0,
    disposedOutsideScopeCount: 0,
    createdInScopeCount: 0,
    disposedInScopeCount: 0,
    attachedToScopeCount: 0,
    detachedFromScopeCount: 0,
    threadTotalLiveCount: 0,
    moved: 0,
    carried: 0,
    orphaned: 0,
    finalized: 0,
  };
}

/** The counters of both kinds of entries. */
export class Statistics {
  /** Counters of tensor handles. */
  readonly tensor: LifetimeStatistics = zero();
  /** Counters of everything else a scope was given: modules, loaders, callbacks. */
  readonly container: LifetimeStatistics = zero();
  /** Handles of each kind that were alive at the last reset: created before the counting began. */
  readonly #before = new Map<LifetimeStatistics, number>([
    [this.tensor, 0],
    [this.container, 0],
  ]);

  /**
   * Sets every counter to zero except the number of live handles, which stays true (TorchSharp's
   * goes negative after a reset).
   */
  reset(): void {
    for (const s of this.#before.keys()) {
      const alive = s.threadTotalLiveCount;
      Object.assign(s, zero(), { threadTotalLiveCount: alive });
      this.#before.set(s, alive);
    }
  }

  /**
   * What the law of conservation leaves over: created - live - disposed - finalized. Zero, or a
   * bug.
   */
  unaccounted(s: LifetimeStatistics): number {
    const created = (this.#before.get(s) ?? 0) + s.createdInScopeCount + s.createdOutsideScopeCount;
    return (
      created -
      s.threadTotalLiveCount -
      s.disposedInScopeCount -
      s.disposedOutsideScopeCount -
      s.finalized
    );
  }

  /** The sum of both kinds. */
  total(): LifetimeStatistics {
    const sum = zero();
    for (const key of Object.keys(sum) as (keyof LifetimeStatistics)[])
      sum[key] = this.tensor[key] + this.container[key];
    return sum;
  }
}

/** The counters of the current instance. */
export function statistics(): Statistics {
  return current<{ readonly ledger: { readonly statistics: Statistics } }>().ledger.statistics;
}

// === Bytes ===

/** Bytes as the runtime and the device layer count them. */
export interface ByteStatistics {
  /** Bytes of all storages somebody owns, allocated or not. */
  readonly liveBytes: number;
  /** Most `liveBytes` so far. */
  readonly peakBytes: number;
  /** Number of storages that somebody owns. */
  readonly storages: number;
  /** Bytes of free buffers kept for reuse. */
  readonly poolBytes: number;
  /** Bytes of all buffers on the device, staging included. */
  readonly deviceBytes: number;
  /** Most bytes of buffers for tensors that the device held at one time, free ones included. */
  readonly devicePeakBytes: number;
}

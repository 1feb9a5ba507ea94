/**
 * The books of ownership: what the ownership layer remembers between calls, each part an object of
 * the file that works with it. One per instance of the library, made by compose.ts and read through
 * `ledger()`, or part by part through `handles()`, `frames()`, `sites()` and the like. Owns no
 * tensor.
 */
import { current } from "../base/realm.ts";
import { Frames } from "./current.ts";
import { type Handle, HandleTable } from "./handle.ts";
import { EventLog } from "./log.ts";
import { Reclaimed } from "./reclaimed.ts";
import type { DisposeScope } from "./scope.ts";
import { Scopes } from "./scopes.ts";
import { Sites } from "./site.ts";
import { type ByteStatistics, Statistics } from "./statistics.ts";
import type { DriftWatch } from "./watch.ts";

/** One thing that keeps a tensor or its bytes alive. */
export interface Reason {
  /**
   * `scope`, `keeper`, `holder`: what owns this very handle. `alias`: another handle on the same
   * bytes. `graph`: saved for a backward pass. `gradient`: it is a leaf's accumulated gradient.
   * `read`: a read has not come back. `unknown`: references that nobody claims.
   */
  readonly kind:
    "scope" | "keeper" | "holder" | "alias" | "graph" | "gradient" | "read" | "unknown";
  readonly text: string;
}

/** What the ledger needs of the layers above it. */
export interface LedgerOptions {
  /** Resolves once reads under way and submitted work are done: what `await using` waits for. */
  readonly settled: () => Promise<void>;
  /** Bytes as the runtime and the device layer count them. */
  readonly bytes: () => ByteStatistics;
  /** What else keeps a handle's bytes alive: aliases, the graph, reads. */
  readonly reasons: (handle: Handle) => Reason[];
}

/** Scopes, live handles, statistics, evidence. */
export class Ledger {
  readonly bytes: () => ByteStatistics;
  readonly reasons: (handle: Handle) => Reason[];
  readonly sites: Sites = new Sites();
  readonly statistics: Statistics = new Statistics();
  readonly reclaimed: Reclaimed = new Reclaimed();
  /** Made by whoever watches first. */
  drift: DriftWatch | null = null;
  readonly log: EventLog;
  readonly scopes: Scopes<DisposeScope>;
  readonly handles: HandleTable;
  readonly frames: Frames<DisposeScope>;

  constructor({ settled, bytes, reasons }: LedgerOptions) {
    this.bytes = bytes;
    this.reasons = reasons;
    this.log = new EventLog(bytes);
    this.scopes = new Scopes<DisposeScope>(settled);
    this.handles = new HandleTable({
      reclaimed: this.reclaimed,
      atCheckpoint: () => {
        this.#endJob();
      },
    });
    this.frames = new Frames<DisposeScope>(() => {
      this.handles.armCheckpoint();
    });
  }

  #endJob(): void {
    try {
      this.frames.endJob();
    } finally {
      this.sites.refill();
    }
  }
}

/** The ledger of the current instance. */
export function ledger(): Ledger {
  return current<{ readonly ledger: Ledger }>().ledger;
}

/**
 * The books of ownership: what the ownership layer remembers between calls. One per instance of the
 * library, made by compose.ts and read through `ledger()`. Owns no tensor.
 */
import { current } from "../base/realm.ts";
import type { ByteStatistics } from "./statistics.ts";

/** What the ledger needs of the layers above it. */
export interface LedgerOptions {
  /** Resolves once reads under way and submitted work are done: what `await using` waits for. */
  readonly settled: () => Promise<void>;
  /** Bytes as the runtime and the device layer count them. */
  readonly bytes: () => ByteStatistics;
}

/** Scopes, live handles, statistics, evidence. */
export class Ledger {
  readonly settled: () => Promise<void>;
  readonly bytes: () => ByteStatistics;

  constructor({ settled, bytes }: LedgerOptions) {
    this.settled = settled;
    this.bytes = bytes;
  }
}

/** The ledger of the current instance. */
export function ledger(): Ledger {
  return current<{ readonly ledger: Ledger }>().ledger;
}

/**
 * The books of ownership: what the ownership layer remembers between calls. One per instance of the
 * library, made by compose.ts and read through `ledger()`. Owns no tensor.
 */
import { current } from "../base/realm.ts";

/** What the ledger needs of the layers above it. */
export interface LedgerOptions {
  /** Resolves once reads under way and submitted work are done: what `await using` waits for. */
  readonly settled: () => Promise<void>;
}

/** Scopes, live handles, statistics, evidence. */
export class Ledger {
  readonly settled: () => Promise<void>;

  constructor({ settled }: LedgerOptions) {
    this.settled = settled;
  }
}

/** The ledger of the current instance. */
export function ledger(): Ledger {
  return current<{ readonly ledger: Ledger }>().ledger;
}

/**
 * What the scopes of one instance have in common: their numbers, and who is told when one ends.
 * Held by the ledger; owns nothing.
 */
import { current } from "../base/realm.ts";

/** What scopes remember together. */
export class Scopes<S> {
  /** Resolves once reads under way and submitted work are done: what `await using` waits for. */
  readonly settled: () => Promise<void>;
  /** Told about every scope that ends, while somebody watches. */
  onEnd: ((scope: S) => void) | null = null;
  #lastId = 0;
  #suspendedBefore = false;

  constructor(settled: () => Promise<void>) {
    this.settled = settled;
  }

  /** A number no other scope has. */
  nextId(): number {
    return ++this.#lastId;
  }

  /** Whether no scope was suspended before: said once in production. */
  firstSuspension(): boolean {
    const first = !this.#suspendedBefore;
    this.#suspendedBefore = true;
    return first;
  }
}

/** The common memory of scopes in the current instance, of whatever kind they are. */
export function scopes<S>(): Scopes<S> {
  return current<{ readonly ledger: { readonly scopes: Scopes<S> } }>().ledger.scopes;
}

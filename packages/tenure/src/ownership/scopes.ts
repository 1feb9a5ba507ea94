/**
 * What the scopes of one instance have in common: their numbers, and who is told when one ends.
 * Held by the ledger; owns nothing.
 */
import { current } from "../base/realm.ts";

/** Places remembered; code that is made over and over again has no end of them. */
const mostSites = 1000;

/** What scopes remember together. */
export class Scopes<S> {
  /** Resolves once reads under way and submitted work are done: what `await using` waits for. */
  readonly settled: () => Promise<void>;
  /** Told about every scope that ends, while somebody watches. */
  onEnd: ((scope: S) => void) | null = null;
  #lastId = 0;
  readonly #suspendedAt = new Set<string>();

  constructor(settled: () => Promise<void>) {
    this.settled = settled;
  }

  /** A number no other scope has. */
  nextId(): number {
    return ++this.#lastId;
  }

  /**
   * Whether no scope opened at `site` was suspended before: a loop is told once. Where scopes do
   * not know where they were opened (production), once for all.
   */
  firstSuspension(site = ""): boolean {
    const first = !this.#suspendedAt.has(site);
    if (this.#suspendedAt.size < mostSites) this.#suspendedAt.add(site);
    return first;
  }
}

/** The common memory of scopes in the current instance, of whatever kind they are. */
export function scopes<S>(): Scopes<S> {
  return current<{ readonly ledger: { readonly scopes: Scopes<S> } }>().ledger.scopes;
}

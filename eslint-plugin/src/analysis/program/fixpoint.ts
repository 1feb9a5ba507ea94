/**
 * Fixpoint: answers that depend on each other, such as what mutually recursive functions do. Each
 * group of keys that depend on one another (a strongly connected component, found with Tarjan's
 * algorithm while the answers are asked for) is solved by itself: all its answers start at the
 * bottom and are computed again, all from those of the round before, until none changes. So an
 * answer never depends on which key was asked first. A group that does not settle gives up. Used by
 * `summary.ts`, `scope-context.ts` and `untyped.ts`.
 */

/** What there is to solve. */
export interface Equations<K extends object, V> {
  /** The answer before anything is known. */
  bottom(key: K): V;
  /** The answer, given what `get` says of the keys it asks for. */
  compute(key: K): V;
  /** Whether two answers are the same. */
  same(a: V, b: V): boolean;
  /** The answer for a key whose group does not settle. */
  unknown(key: K): V;
}

/** After this many rounds a group counts as not settling. */
const mostRounds = 40;

/** A key that is asked for and not settled. */
interface Open<V> {
  /** Its place in the order the open keys were met. */
  index: number;
  /** The earliest open key its answer depends on. */
  low: number;
  estimate: V;
  /** Whether its estimate was used. */
  used: boolean;
}

/** Solves equations on demand; answers are kept as long as the object lives. */
export class Fixpoint<K extends object, V> {
  readonly #equations: Equations<K, V>;
  readonly #settled = new Map<K, V>();
  /** Keys that are asked for and not settled, in the order they were met. */
  #open = new Map<K, Open<V>>();
  /** The keys being computed, innermost last. */
  #stack: Open<V>[] = [];

  constructor(equations: Equations<K, V>) {
    this.#equations = equations;
  }

  /** Whether nothing is being solved. */
  get isIdle(): boolean {
    return this.#stack.length === 0;
  }

  /** The answer for a key; an estimate while the group of the key is being solved. */
  get(key: K): V {
    if (this.#settled.has(key)) return this.#settled.get(key) as V;
    const open = this.#open.get(key);
    if (open) {
      open.used = true;
      const asking = this.#stack[this.#stack.length - 1];
      if (asking) asking.low = Math.min(asking.low, open.index);
      return open.estimate;
    }
    const outermost = this.#stack.length === 0;
    try {
      return this.#solve(key);
    } finally {
      if (outermost) {
        this.#open = new Map(); // empty unless the computation threw
        this.#stack = [];
      }
    }
  }

  /** Whether the answer for a key is known, and no estimate. */
  isSettled(key: K): boolean {
    return this.#settled.has(key);
  }

  #solve(key: K): V {
    const index = this.#open.size;
    const own: Open<V> = { index, low: index, estimate: this.#equations.bottom(key), used: false };
    this.#open.set(key, own);
    const asking = this.#stack[this.#stack.length - 1];
    const value = this.#compute(key, own);
    if (own.low === index) {
      if (!own.used && this.#open.size === index + 1) this.#settle(key, value);
      else own.low = this.#iterate(index);
    }
    if (own.low === index) return this.#settled.get(key) as V;
    // part of a group that a key further out will solve
    if (asking) asking.low = Math.min(asking.low, own.low);
    return own.estimate;
  }

  #compute(key: K, own: Open<V>): V {
    this.#stack.push(own);
    try {
      return this.#equations.compute(key);
    } finally {
      this.#stack.pop();
    }
  }

  #membersFrom(index: number): [K, Open<V>][] {
    return [...this.#open].slice(index);
  }

  /**
   * Solves the group of all open keys from `index` on; keys met on the way join it.
   *
   * @returns `index`, or that of an earlier open key the group turned out to depend on: it is then
   *   left open, to be solved with that
   */
  #iterate(index: number): number {
    for (let round = 0; round < mostRounds; round++) {
      const members = this.#membersFrom(index);
      const next = members.map(([key, own]) => this.#compute(key, own));
      const all = this.#membersFrom(index);
      const low = Math.min(...all.map(([, own]) => own.low));
      if (all.length > members.length || low < index) {
        for (const [key, own] of all) own.estimate = this.#equations.bottom(key);
        if (low < index) return low;
        continue; // the group has grown: start again
      }
      const changed = members.filter(
        ([, own], i) => !this.#equations.same(own.estimate, next[i] as V),
      );
      members.forEach(([, own], i) => (own.estimate = next[i] as V));
      if (changed.length > 0) continue;
      for (const [key, own] of members) this.#settle(key, own.estimate);
      return index;
    }
    for (const [key] of this.#membersFrom(index)) this.#settle(key, this.#equations.unknown(key));
    return index;
  }

  #settle(key: K, value: V): void {
    this.#settled.set(key, value);
    this.#open.delete(key);
  }
}

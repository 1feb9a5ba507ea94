/**
 * Random numbers of the harnesses: from a seed, the same on every machine. Owns nothing.
 */

/** A stream of random numbers (mulberry32). */
export class Random {
  #state: number;

  /** @param seed any integer */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** One of a list, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    const item = list[this.int(list.length)];
    if (item === undefined && list.length === 0) throw new Error("pick: the list is empty");
    return item as T;
  }

  /** True with a probability of `p`. */
  chance(p: number): boolean {
    return this.next() < p;
  }

  /** A stream of its own, which this one decides. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}

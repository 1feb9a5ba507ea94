/**
 * Two trees over places: one knows the most bytes live at any place while values come and go, the
 * other the last use of a value while its users move. Each change takes the logarithm of the places
 * or users. Called by live-places.ts, which owns them; they hold numbers only.
 */

/** Numbers at places, with the largest of all: a number can be added to a range of them. */
export class RangeMost {
  readonly #size: number;
  /**
   * What is added to everything under each node, and the largest number under it, that included.
   * Node k has the nodes 2k and 2k + 1 under it, node `size + p` is place p.
   */
  readonly #added: Float64Array;
  readonly #most: Float64Array;
  /** Nodes that were changed so far. */
  steps = 0;

  constructor(places: number) {
    this.#size = Math.max(1, places);
    this.#added = new Float64Array(this.#size);
    this.#most = new Float64Array(2 * this.#size);
  }

  /** The largest number of all; 0 when all are less. */
  get most(): number {
    return Math.max(0, this.#most[1]!);
  }

  /** Adds to the places from `first` to before `end`. */
  add(first: number, end: number, number: number): void {
    if (first >= end || number === 0) return;
    let low = first + this.#size;
    let high = end + this.#size;
    for (; low < high; low >>= 1, high >>= 1) {
      if ((low & 1) === 1) this.#addTo(low++, number);
      if ((high & 1) === 1) this.#addTo(--high, number);
    }
    this.#climb(first + this.#size);
    this.#climb(end - 1 + this.#size);
  }

  #addTo(node: number, number: number): void {
    this.steps++;
    this.#most[node]! += number;
    if (node < this.#size) this.#added[node]! += number;
  }

  /** Corrects the nodes above one. */
  #climb(node: number): void {
    for (let k = node >> 1; k > 0; k >>= 1) {
      this.steps++;
      this.#most[k] = Math.max(this.#most[2 * k]!, this.#most[2 * k + 1]!) + this.#added[k]!;
    }
  }
}

/** For lists of numbers, the largest of each list while single numbers change. */
export class LargestOfEach {
  /** Where the tree of each list begins: of n numbers it takes 2n places, its top is place 1. */
  readonly #begin: Int32Array;
  readonly #length: Int32Array;
  readonly #tree: Int32Array;

  /** @param lengths how many numbers each list has, all -1 at first */
  constructor(lengths: readonly number[]) {
    this.#length = Int32Array.from(lengths);
    this.#begin = new Int32Array(lengths.length);
    let total = 0;
    for (const [k, length] of lengths.entries()) {
      this.#begin[k] = total;
      total += 2 * length;
    }
    this.#tree = new Int32Array(total).fill(-1);
  }

  /** The largest number of a list; -1 for an empty one. */
  largest(list: number): number {
    return this.#length[list] === 0 ? -1 : this.#tree[this.#begin[list]! + 1]!;
  }

  /** One number of a list. */
  get(list: number, index: number): number {
    return this.#tree[this.#begin[list]! + this.#length[list]! + index]!;
  }

  /** Sets one number of a list. */
  set(list: number, index: number, number: number): void {
    const begin = this.#begin[list]!;
    let k = index + this.#length[list]!;
    this.#tree[begin + k] = number;
    for (k >>= 1; k > 0; k >>= 1)
      this.#tree[begin + k] = Math.max(this.#tree[begin + 2 * k]!, this.#tree[begin + 2 * k + 1]!);
  }
}

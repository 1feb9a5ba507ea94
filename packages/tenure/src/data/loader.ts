/**
 * The loader that feeds batches of a dataset to a training loop. A batch belongs to the loader: it
 * is freed when the next one is asked for, when the loop ends and when the loader is disposed,
 * whatever scopes are open. Keep a tensor longer with `alias()`.
 */
import "../compose.ts";
import "../base/polyfills.ts";
import { at } from "../base/access.ts";
import { ArgumentError, TenureError } from "../base/errors.ts";
import { type OptionTable, checkArgument, describeValue, readOptions } from "../base/options.ts";
import type { Batch, Dataset } from "./dataset.ts";
import { AsyncEpoch, type Epoch, SyncEpoch } from "./epoch.ts";

/** Options of `DataLoader`. */
export interface DataLoaderOptions {
  /** Samples per batch. */
  readonly batchSize: number;
  /** Another order each epoch, decided by `seed`. */
  readonly shuffle?: boolean;
  /** What decides the orders; 0 by default. */
  readonly seed?: number;
  /** Leave out a last batch that is not full: all steps then have the same plan. */
  readonly dropLast?: boolean;
  /** Batches that `for await` loads ahead while the device works; 2 by default, 0 for none. */
  readonly prefetch?: number;
}

/** A number of things. */
const count = { type: "integer", range: "[0, Infinity)" } as const;
const loaderOptions = {
  batchSize: {
    type: "integer",
    range: "[1, Infinity)",
    required: true,
    remedy: "pass for example { batchSize: 32 }",
  },
  shuffle: { type: "flag", default: false },
  seed: { type: "integer", default: 0, remedy: "pass for example { seed: 1 }" },
  dropLast: { type: "flag", default: false },
  prefetch: { type: "integer", range: "[0, Infinity)", default: 2, remedy: "pass 0 for none" },
} satisfies OptionTable<DataLoaderOptions>;

/** Where a loader stands: plain numbers. */
export interface LoaderState {
  /** Epochs begun. */
  readonly epoch: number;
  /** Batches that the loop under way has had, of the last of them; 0 between loops. */
  readonly position?: number;
  /** What decides the orders. */
  readonly seed?: number;
  /** Samples per batch, without which a position says nothing. */
  readonly batchSize?: number;
}

/**
 * Batches of a dataset. Each `for … of` or `for await … of` is one epoch; the second kind loads the
 * next batches while the device computes.
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * const points = new ArrayDataset({ x: { data: new Float32Array(12), shape: [3] } });
 * using loader = new DataLoader(points, { batchSize: 3 });
 * for await (const { x } of loader) console.log(x.shape.join()); // → 3,3
 * ```
 */
export class DataLoader<B extends Batch> implements Iterable<B>, AsyncIterable<B>, Disposable {
  readonly #dataset: Dataset<B>;
  #options: Required<DataLoaderOptions>;
  readonly #open = new Set<Epoch<B>>();
  #epoch = 0;
  /** The loop begun last, while it is under way. */
  #latest: Epoch<B> | null = null;
  /** Batches to leave out of the next loop, which goes on with an epoch that was saved half way. */
  #skip = 0;
  #disposed = false;

  constructor(dataset: Dataset<B>, options: DataLoaderOptions) {
    const source = dataset as Partial<Dataset<B>> | null | undefined;
    if (typeof source?.batch !== "function" || !Number.isSafeInteger(source.length))
      throw new ArgumentError(
        "DataLoader",
        "a dataset with length and batch(indices)",
        describeValue(dataset),
        typeof (dataset as { get?: unknown } | null | undefined)?.get === "function"
          ? "wrap single samples: new DataLoader(collated(dataset), …)"
          : "pass for example an ArrayDataset",
      );
    this.#dataset = dataset;
    this.#options = readOptions("DataLoader", options, loaderOptions);
  }

  /** Batches per epoch. */
  get length(): number {
    const n = this.#dataset.length / this.#options.batchSize;
    return this.#options.dropLast ? Math.floor(n) : Math.ceil(n);
  }

  /** The batches of the next epoch, for datasets that need not wait. */
  [Symbol.iterator](): Iterator<B, undefined> {
    return this.#begin((...args) => new SyncEpoch<B>(...args));
  }
  /** The batches of the next epoch, for every dataset. */
  [Symbol.asyncIterator](): AsyncIterator<B, undefined> {
    return this.#begin((...args) => new AsyncEpoch<B>(this.#options.prefetch, ...args));
  }

  #begin<E extends Epoch<B>>(
    make: (dataset: Dataset<B>, batches: readonly (readonly number[])[], onEnd: () => void) => E,
  ): E {
    if (this.#disposed)
      throw new TenureError(
        "DataLoader",
        "expected a live loader, got one that was disposed; make a new one",
      );
    const { shuffle, seed, batchSize } = this.#options,
      order = Array.from({ length: this.#dataset.length }, (_, i) => i);
    if (shuffle) shuffleInPlace(order, seed + this.#epoch);
    this.#epoch++;
    const skipped = this.#skip,
      batches = Array.from({ length: this.length }, (_, i) =>
        order.slice(i * batchSize, (i + 1) * batchSize),
      ).slice(skipped);
    this.#skip = 0;
    const epoch = make(this.#dataset, batches, () => {
      this.#open.delete(epoch);
      if (this.#latest === epoch) this.#latest = null;
    });
    epoch.skipped = skipped;
    this.#open.add(epoch);
    this.#latest = epoch;
    return epoch;
  }

  /**
   * Where the loader stands. Taken inside a loop, it counts the batch in hand as done: the next one
   * is where to go on.
   */
  stateDict(): LoaderState {
    const { seed, batchSize } = this.#options,
      given = this.#latest === null ? this.#skip : this.#latest.skipped + this.#latest.given,
      done = given >= this.length;
    // A loop that had no batch yet, or a position loaded and not yet used, has not begun its epoch.
    let begun = this.#epoch;
    if (this.#latest !== null && given === 0) begun--;
    if (this.#latest === null && this.#skip > 0) begun++;
    return { epoch: begun, position: done ? 0 : given, seed, batchSize };
  }

  /** A state, with what it leaves out. @throws ArgumentError as `loadStateDict` does */
  #readState(state: LoaderState): Required<LoaderState> {
    const known = this.#options;
    const given = (state as Partial<LoaderState> | null | undefined) ?? {};
    const { epoch = NaN, position = 0, seed = known.seed, batchSize = known.batchSize } = given;
    const remedy = "pass what stateDict() gave";
    checkArgument("DataLoader", "an epoch", epoch, { ...count, remedy });
    checkArgument("DataLoader", "seed", seed, { type: "integer", remedy });
    const within = Number.isSafeInteger(position) && position >= 0 && position <= this.length;
    if (!within || (position > 0 && epoch === 0))
      throw new ArgumentError(
        "DataLoader",
        `a position among ${this.length} batches of an epoch that has begun`,
        describeValue(position),
        "check that the state belongs to this dataset",
      );
    if (position > 0 && batchSize !== known.batchSize)
      throw new ArgumentError(
        "DataLoader",
        `a state of batches of ${known.batchSize}`,
        describeValue(batchSize),
        "make the loader with the same batchSize",
      );
    return { epoch, position, seed, batchSize };
  }

  /** Checks what `loadStateDict` would load, and changes nothing. @throws ArgumentError */
  checkStateDict(state: LoaderState): void {
    this.#readState(state);
  }

  /**
   * The next loop gives the batches that came next when `stateDict` was taken: the rest of an epoch
   * left half way, else a new one. Ends no loop under way.
   * @throws ArgumentError for numbers that are none, and for a position among batches of another
   *   size. Then nothing has changed.
   */
  loadStateDict(state: LoaderState): void {
    const { epoch, position, seed } = this.#readState(state);
    this.#options = { ...this.#options, seed };
    this.#skip = position === this.length ? 0 : position;
    this.#epoch = this.#skip > 0 ? epoch - 1 : epoch;
    this.#latest = null;
  }

  /**
   * Frees the batches of loops still under way. A loop that then wants its next batch gets a
   * TenureError, and no new one can begin.
   */
  dispose(): void {
    this.#disposed = true;
    for (const epoch of [...this.#open]) epoch.dispose();
  }
  /** The same as `dispose`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Fisher and Yates, driven by splitmix32. */
function shuffleInPlace(list: number[], seed: number): void {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [list[i], list[j]] = [at(list, j), at(list, i)];
  }
}

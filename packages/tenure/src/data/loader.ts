/**
 * Datasets and the loader that feeds batches to a training loop. A batch belongs to the loader: it
 * is freed when the next one is asked for, when the loop ends and when the loader is disposed,
 * whatever scopes are open. Keep a tensor longer with `alias()`.
 */
import { type DType, checkDType } from "../base/dtype.ts";
import { ArgumentError, TenureError } from "../base/errors.ts";
import { checkFlag, checkOptions, describeValue } from "../base/options.ts";
import { HANDLE } from "../ownership/handle.ts";
import { detachHandle } from "../ownership/scope.ts";
import { scoped } from "../ownership/scoped.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type HostColumn, toTensors } from "./samples.ts";

/** Tensors of one batch by name, first dimension the batch. */
export type Batch = Readonly<Record<string, Tensor>>;

/** Something with samples. */
export interface Dataset<B extends Batch = Batch> {
  /** Number of samples. */
  readonly length: number;
  /** The given samples as tensors. They may be made in any scope: the loader takes them. */
  batch(indices: readonly number[]): B;
  /**
   * The host's part of `batch`, for loops that prefetch: gathers the samples now, or soon, and
   * gives a function that makes the tensors when their turn comes. Makes no tensors itself. Without
   * it, `for await` calls `batch` when it is time.
   */
  load?(indices: readonly number[]): (() => B) | Promise<() => B>;
}

/** One column of an `ArrayDataset`: all samples one after the other in host memory. */
export interface Column {
  readonly data: ArrayLike<number>;
  /** Shape of one sample; `[]` for a number. */
  readonly shape: readonly number[];
  /** Dtype of the batch tensor; float32 by default. */
  readonly dtype?: DType;
  /** Elements become `value * scale + offset` on the way. */
  readonly scale?: number;
  readonly offset?: number;
}

/** Samples in host arrays, one column per name. The arrays stay the caller's. */
export class ArrayDataset<K extends string> implements Dataset<Readonly<Record<K, Tensor>>> {
  readonly length: number;
  readonly #columns: readonly (readonly [K, Column, number])[];

  constructor(columns: Readonly<Record<K, Column>>) {
    if (typeof columns !== "object" || (columns as unknown) === null)
      throw new ArgumentError(
        "ArrayDataset",
        "columns by name",
        describeValue(columns),
        "pass { name: { data, shape }, … }",
      );
    this.#columns = (Object.entries(columns) as [K, Column][]).map(([name, column]) => {
      checkOptions("ArrayDataset", column, ["data", "shape", "dtype", "scale", "offset"]);
      if (
        typeof (column.data as unknown) !== "object" ||
        (column.data as unknown) === null ||
        !Number.isSafeInteger(column.data.length)
      )
        throw new ArgumentError(
          "ArrayDataset",
          `data in column ${name}`,
          describeValue(column.data),
          "pass { data: an array of numbers, shape: [] }",
        );
      if (
        !(Array.isArray as (value: unknown) => boolean)(column.shape) ||
        column.shape.some((d) => !Number.isSafeInteger(d) || d < 0)
      )
        throw new ArgumentError(
          "ArrayDataset",
          `the shape of one sample in column ${name}`,
          Array.isArray(column.shape) ? `[${column.shape.join(",")}]` : describeValue(column.shape),
          "pass [] for a number per sample",
        );
      for (const key of ["scale", "offset"] as const)
        if (column[key] !== undefined && typeof (column[key] as unknown) !== "number")
          throw new ArgumentError(
            "ArrayDataset",
            `${key} of column ${name} to be a number`,
            describeValue(column[key]),
            "pass a plain number",
          );
      if (column.dtype !== undefined) checkDType("ArrayDataset", column.dtype);
      return [name, column, column.shape.reduce((n, d) => n * d, 1)] as const;
    });
    const counts = this.#columns.map(([name, { data }, size]) => {
      if (size === 0 || data.length % size !== 0)
        throw new ArgumentError(
          "ArrayDataset",
          `column ${name} to hold whole samples of ${size} elements`,
          `${data.length} elements`,
          "check the sample shape",
        );
      return data.length / size;
    });
    this.length = counts[0] ?? 0;
    if (counts.some((n) => n !== this.length))
      throw new ArgumentError(
        "ArrayDataset",
        "columns with equally many samples",
        this.#columns.map(([name], i) => `${name}: ${counts[i]}`).join(", "),
        "check the sample shapes",
      );
  }

  batch(indices: readonly number[]): Readonly<Record<K, Tensor>> {
    return this.load(indices)();
  }

  load(indices: readonly number[]): () => Readonly<Record<K, Tensor>> {
    for (const i of indices)
      if (!Number.isInteger(i) || i < 0 || i >= this.length)
        throw new ArgumentError(
          "ArrayDataset",
          `positions of ${this.length} samples`,
          describeValue(i),
          `count from 0 to ${this.length - 1}`,
        );
    const columns = this.#columns.map(
      ([name, { data, shape, dtype = "float32", scale = 1, offset = 0 }, size]) => {
        const out =
          dtype === "int32" || dtype === "bool"
            ? new Int32Array(indices.length * size)
            : dtype === "uint32"
              ? new Uint32Array(indices.length * size)
              : new Float32Array(indices.length * size);
        for (let b = 0, at = 0; b < indices.length; b++) {
          const from = indices[b]! * size;
          for (let i = 0; i < size; i++) out[at++] = data[from + i]! * scale + offset;
        }
        return [name, { data: out, shape: [indices.length, ...shape], dtype }] as const;
      },
    );
    return () => toTensors(Object.fromEntries(columns) as unknown as Record<K, HostColumn>);
  }
}

export interface DataLoaderOptions {
  /** Samples per batch. */
  readonly batchSize: number;
  /** Another order each epoch, decided by `seed`. */
  readonly shuffle?: boolean;
  readonly seed?: number;
  /** Leave out a last batch that is not full: all steps then have the same plan. */
  readonly dropLast?: boolean;
  /** Batches that `for await` loads ahead while the device works; 2 by default, 0 for none. */
  readonly prefetch?: number;
}

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
    if ((options as unknown) === undefined)
      throw new ArgumentError(
        "DataLoader",
        "options with batchSize",
        "none",
        "pass { batchSize: 32 }",
      );
    checkOptions("DataLoader", options, ["batchSize", "shuffle", "seed", "dropLast", "prefetch"]);
    checkFlag("DataLoader", "shuffle", options.shuffle);
    checkFlag("DataLoader", "dropLast", options.dropLast);
    const { batchSize, shuffle = false, seed = 0, dropLast = false, prefetch = 2 } = options;
    if (!Number.isInteger(batchSize) || batchSize < 1)
      throw new ArgumentError(
        "DataLoader",
        "batchSize to be a positive integer",
        describeValue(batchSize),
        "pass for example { batchSize: 32 }",
      );
    if (!Number.isSafeInteger(seed))
      throw new ArgumentError(
        "DataLoader",
        "seed to be an integer",
        describeValue(seed),
        "pass for example { seed: 1 }",
      );
    if (!Number.isInteger(prefetch) || prefetch < 0)
      throw new ArgumentError(
        "DataLoader",
        "prefetch to be a whole number of 0 or more",
        describeValue(prefetch),
        "pass 0 for none",
      );
    this.#dataset = dataset;
    this.#options = { batchSize, shuffle, seed, dropLast, prefetch };
  }

  /** Batches per epoch. */
  get length(): number {
    const n = this.#dataset.length / this.#options.batchSize;
    return this.#options.dropLast ? Math.floor(n) : Math.ceil(n);
  }

  [Symbol.iterator](): Iterator<B, undefined> {
    return this.#begin((...args) => new SyncEpoch<B>(...args));
  }
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
    const begun =
      this.#latest !== null && given === 0
        ? this.#epoch - 1
        : this.#latest === null && this.#skip > 0
          ? this.#epoch + 1
          : this.#epoch;
    return { epoch: begun, position: done ? 0 : given, seed, batchSize };
  }

  /**
   * The next loop gives the batches that came next when `stateDict` was taken: the rest of an epoch
   * left half way, else a new one. Ends no loop under way.
   * @throws ArgumentError for numbers that are none, and for a position among batches of another
   *   size. Then nothing has changed.
   */
  loadStateDict(state: LoaderState): void {
    const {
        epoch,
        position = 0,
        seed = this.#options.seed,
        batchSize = this.#options.batchSize,
      } = (state as Partial<LoaderState> | null | undefined) ?? {},
      fix = "pass what stateDict() gave";
    if (!Number.isSafeInteger(epoch) || epoch! < 0)
      throw new ArgumentError("DataLoader", "an epoch of 0 or more", describeValue(epoch), fix);
    if (!Number.isSafeInteger(seed))
      throw new ArgumentError("DataLoader", "seed to be an integer", describeValue(seed), fix);
    if (
      !Number.isSafeInteger(position) ||
      position < 0 ||
      position > this.length ||
      (position > 0 && epoch === 0)
    )
      throw new ArgumentError(
        "DataLoader",
        `a position among ${this.length} batches of an epoch that has begun`,
        describeValue(position),
        "check that the state belongs to this dataset",
      );
    if (position > 0 && batchSize !== this.#options.batchSize)
      throw new ArgumentError(
        "DataLoader",
        `a state of batches of ${this.#options.batchSize}`,
        describeValue(batchSize),
        "make the loader with the same batchSize",
      );
    this.#options = { ...this.#options, seed };
    this.#skip = position === this.length ? 0 : position;
    this.#epoch = this.#skip > 0 ? epoch! - 1 : epoch!;
    this.#latest = null;
  }

  /** Frees the batches of loops still under way, and ends these loops. No new ones can begin. */
  dispose(): void {
    this.#disposed = true;
    for (const epoch of [...this.#open]) epoch.end();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/**
 * One walk through the data: an iterator, not a generator, because a generator's scope would leak
 * into its consumer.
 */
abstract class Epoch<B extends Batch> {
  protected readonly dataset: Dataset<B>;
  protected readonly batches: readonly (readonly number[])[];
  readonly #onEnd: () => void;
  #current: B | null = null;
  protected ended = false;
  /** Batches of the epoch left out, which were given before a resume. */
  skipped = 0;
  /** Batches the loop has had. */
  given = 0;

  constructor(dataset: Dataset<B>, batches: readonly (readonly number[])[], onEnd: () => void) {
    this.dataset = dataset;
    this.batches = batches;
    this.#onEnd = onEnd;
  }

  /**
   * Makes a batch and takes it for the loop; the one before is gone by now. Whatever else `make`
   * makes, or leaves when it throws, is freed.
   */
  protected take(make: () => B): IteratorYieldResult<B> {
    let batch: B | undefined;
    scoped(() => {
      const made = make() as B | null | undefined;
      if (typeof made !== "object" || made === null || made instanceof Promise)
        throw new ArgumentError(
          "DataLoader",
          "batches that are tensors by name",
          describeValue(made),
          "return { name: tensor, … } from the dataset's batch",
        );
      for (const [name, t] of Object.entries(made))
        if (!(t instanceof Tensor))
          throw new ArgumentError(
            "DataLoader",
            `tensors in batches`,
            `${describeValue(t)} as ${name}`,
            "return { name: tensor, … } from the dataset's batch",
          );
      batch = made;
      return Object.values<Tensor>(made);
    }, "DataLoader");
    for (const t of Object.values<Tensor>(batch!)) {
      detachHandle(t[HANDLE]);
      t[HANDLE].keeper = "DataLoader";
    }
    this.#current = batch!;
    this.given++;
    return { done: false, value: batch! };
  }

  protected free(): void {
    if (this.#current !== null) for (const t of Object.values(this.#current)) t.dispose();
    this.#current = null;
  }

  end(): IteratorReturnResult<undefined> {
    this.free();
    this.ended = true;
    this.#onEnd();
    return { done: true, value: undefined };
  }
}

class SyncEpoch<B extends Batch> extends Epoch<B> implements Iterator<B, undefined> {
  #at = 0;

  next(): IteratorResult<B, undefined> {
    this.free();
    if (this.ended || this.#at >= this.batches.length) return this.end();
    try {
      return this.take(() => this.dataset.batch(this.batches[this.#at++]!));
    } catch (error) {
      this.end();
      throw error;
    }
  }

  return(): IteratorReturnResult<undefined> {
    return this.end();
  }
}

/**
 * A batch's host work: begun by a timer, in a job of its own while the loop waits for the device,
 * or at once when the loop wants it earlier.
 */
class Job<B extends Batch> {
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #work: () => (() => B) | Promise<() => B>;
  #result: Promise<() => B> | null = null;

  constructor(work: () => (() => B) | Promise<() => B>) {
    this.#work = work;
    this.#timer = setTimeout(() => {
      this.begin().catch(() => undefined);
    }, 0); // a failure is told when the batch is asked for
  }

  begin(): Promise<() => B> {
    clearTimeout(this.#timer);
    return (this.#result ??= (async () => this.#work())());
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#result?.catch(() => undefined);
  }
}

class AsyncEpoch<B extends Batch> extends Epoch<B> implements AsyncIterator<B, undefined> {
  readonly #prefetch: number;
  readonly #jobs: Job<B>[] = [];
  #at = 0;

  constructor(
    prefetch: number,
    dataset: Dataset<B>,
    batches: readonly (readonly number[])[],
    onEnd: () => void,
  ) {
    super(dataset, batches, onEnd);
    this.#prefetch = prefetch;
  }

  #enqueue(count: number): void {
    while (this.#jobs.length < count && this.#at < this.batches.length) {
      const indices = this.batches[this.#at++]!,
        { dataset } = this;
      this.#jobs.push(new Job(() => dataset.load?.(indices) ?? (() => dataset.batch(indices))));
    }
  }

  async next(): Promise<IteratorResult<B, undefined>> {
    this.free();
    if (this.ended) return this.end();
    this.#enqueue(1);
    const job = this.#jobs.shift();
    if (job === undefined) return this.end();
    try {
      const loading = job.begin();
      this.#enqueue(this.#prefetch);
      const make = await loading;
      // The loader may have been disposed while this waited.
      return this.ended ? this.end() : this.take(make);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    return this.end();
  }

  override end(): IteratorReturnResult<undefined> {
    for (const job of this.#jobs.splice(0)) job.cancel();
    return super.end();
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
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
}

/**
 * Datasets and the loader that feeds batches to a training loop. A batch belongs to the loader: it is freed when the next one is asked for, when the loop ends
 * and when the loader is disposed, whatever scopes are open. Keep a tensor longer with `alias()`.
 */
import { type DType, checkDType } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { HANDLE } from "../ownership/handle.ts";
import { detachHandle } from "../ownership/scope.ts";
import { tensor } from "../tensor/create.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Tensors of one batch by name, first dimension the batch. */
export type Batch = Readonly<Record<string, Tensor>>;

/** Something with samples. */
export interface Dataset<B extends Batch = Batch> {
  /** Number of samples. */
  readonly length: number;
  /** The given samples as tensors. They may be made in any scope: the loader takes them. */
  batch(indices: readonly number[]): B;
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
    this.#columns = (Object.entries(columns) as [K, Column][]).map(([name, column]) => {
      if (column.dtype !== undefined) checkDType("ArrayDataset", column.dtype);
      return [name, column, column.shape.reduce((n, d) => n * d, 1)] as const;
    });
    const counts = this.#columns.map(([name, { data }, size]) => {
      if (size === 0 || data.length % size !== 0) throw new ArgumentError("ArrayDataset", `column ${name} to hold whole samples of ${size} elements`, `${data.length} elements`, "check the sample shape");
      return data.length / size;
    });
    this.length = counts[0] ?? 0;
    if (counts.some((n) => n !== this.length)) throw new ArgumentError("ArrayDataset", "columns with equally many samples", this.#columns.map(([name], i) => `${name}: ${counts[i]}`).join(", "));
  }

  batch(indices: readonly number[]): Readonly<Record<K, Tensor>> {
    const made = this.#columns.map(([name, { data, shape, dtype = "float32", scale = 1, offset = 0 }, size]) => {
      const out = dtype === "int32" || dtype === "bool" ? new Int32Array(indices.length * size) : dtype === "uint32" ? new Uint32Array(indices.length * size) : new Float32Array(indices.length * size);
      for (let b = 0, at = 0; b < indices.length; b++) {
        const from = indices[b]! * size;
        for (let i = 0; i < size; i++) out[at++] = data[from + i]! * scale + offset;
      }
      return [name, tensor(out, { shape: [indices.length, ...shape], dtype })] as const;
    });
    return Object.fromEntries(made) as Readonly<Record<K, Tensor>>;
  }
}

export interface DataLoaderOptions {
  readonly batchSize: number;
  /** Another order each epoch, decided by `seed`. */
  readonly shuffle?: boolean;
  readonly seed?: number;
  /** Leave out a last batch that is not full: all steps then have the same plan. */
  readonly dropLast?: boolean;
}

/** Batches of a dataset; each `for … of` is one epoch. */
export class DataLoader<B extends Batch> implements Iterable<B>, Disposable {
  readonly #dataset: Dataset<B>;
  readonly #options: Required<DataLoaderOptions>;
  readonly #open = new Set<Epoch<B>>();
  #epoch = 0;

  constructor(dataset: Dataset<B>, options: DataLoaderOptions) {
    const { batchSize, shuffle = false, seed = 0, dropLast = false } = options;
    if (!Number.isInteger(batchSize) || batchSize < 1) throw new ArgumentError("DataLoader", "batchSize to be a positive integer", String(batchSize));
    if (!Number.isSafeInteger(seed)) throw new ArgumentError("DataLoader", "seed to be an integer", String(seed));
    this.#dataset = dataset;
    this.#options = { batchSize, shuffle, seed, dropLast };
  }

  /** Batches per epoch. */
  get length(): number {
    const n = this.#dataset.length / this.#options.batchSize;
    return this.#options.dropLast ? Math.floor(n) : Math.ceil(n);
  }

  [Symbol.iterator](): Iterator<B, undefined> {
    const { shuffle, seed } = this.#options, order = Array.from({ length: this.#dataset.length }, (_, i) => i);
    if (shuffle) shuffleInPlace(order, seed + this.#epoch);
    this.#epoch++;
    const epoch = new Epoch(this.#dataset, order, this.#options.batchSize, this.length, () => { this.#open.delete(epoch); });
    this.#open.add(epoch);
    return epoch;
  }

  /** Frees the batches of loops still under way. */
  dispose(): void { for (const epoch of [...this.#open]) epoch.return(); }
  [Symbol.dispose](): void { this.dispose(); }
}

/** An iterator, not a generator: a generator's scope would leak into its consumer. */
class Epoch<B extends Batch> implements Iterator<B, undefined> {
  readonly #dataset: Dataset<B>;
  readonly #order: readonly number[];
  readonly #batchSize: number;
  readonly #batches: number;
  readonly #onEnd: () => void;
  #at = 0;
  #current: B | null = null;

  constructor(dataset: Dataset<B>, order: readonly number[], batchSize: number, batches: number, onEnd: () => void) {
    this.#dataset = dataset;
    this.#order = order;
    this.#batchSize = batchSize;
    this.#batches = batches;
    this.#onEnd = onEnd;
  }

  next(): IteratorResult<B, undefined> {
    this.#free();
    if (this.#at >= this.#batches) return this.return();
    const from = this.#at++ * this.#batchSize;
    const batch = this.#dataset.batch(this.#order.slice(from, from + this.#batchSize));
    for (const t of Object.values(batch)) {
      detachHandle(t[HANDLE]);
      t[HANDLE].keeper = "DataLoader";
    }
    this.#current = batch;
    return { done: false, value: batch };
  }

  return(): IteratorReturnResult<undefined> {
    this.#free();
    this.#at = this.#batches;
    this.#onEnd();
    return { done: true, value: undefined };
  }

  #free(): void {
    if (this.#current !== null) for (const t of Object.values(this.#current)) t.dispose();
    this.#current = null;
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

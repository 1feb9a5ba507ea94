/**
 * What a loader takes batches from, and the dataset over arrays in host memory. The tensors of a
 * batch belong to the loader that asks for them; the arrays stay the caller's.
 */
import { type DType, checkDType } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { type OptionTable, checkArgument, checkOptions, describeValue } from "../base/options.ts";
import { sizeOf } from "../base/shape.ts";
import { type HostColumn, toTensors } from "./samples.ts";
import { type Tensor } from "../tensor/tensor.ts";

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
      checkColumn(name, column);
      return [name, column, sizeOf(column.shape)] as const;
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
        const out = hostArray(dtype, indices.length * size);
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

const columnOptions = {
  data: { type: "any" },
  shape: { type: "any" },
  dtype: { type: "any", check: checkDType },
  scale: { type: "number", remedy: "pass a plain number" },
  offset: { type: "number", remedy: "pass a plain number" },
} satisfies OptionTable<Column>;

/** @throws ArgumentError for what is no column; DTypeError for a dtype that does not exist */
function checkColumn(name: string, column: Column): void {
  const { scale, offset, dtype } = columnOptions;
  checkOptions("ArrayDataset", column, Object.keys(columnOptions));
  const { data, shape } = column as { readonly data: unknown; readonly shape: unknown };
  if (!Number.isSafeInteger((data as { length?: unknown } | null | undefined)?.length))
    throw new ArgumentError(
      "ArrayDataset",
      `data in column ${name}`,
      describeValue(data),
      "pass { data: an array of numbers, shape: [] }",
    );
  if (!Array.isArray(shape) || shape.some((d) => !Number.isSafeInteger(d) || d < 0))
    throw new ArgumentError(
      "ArrayDataset",
      `the shape of one sample in column ${name}`,
      Array.isArray(shape) ? `[${shape.join(",")}]` : describeValue(shape),
      "pass [] for a number per sample",
    );
  const rows = { scale, offset, dtype };
  for (const key of ["scale", "offset", "dtype"] as const)
    if (column[key] !== undefined)
      checkArgument("ArrayDataset", `${key} of column ${name}`, column[key], rows[key]);
}

/** A typed array for elements of a dtype; bools as integers. */
function hostArray(dtype: DType, length: number): Int32Array | Uint32Array | Float32Array {
  if (dtype === "int32" || dtype === "bool") return new Int32Array(length);
  return dtype === "uint32" ? new Uint32Array(length) : new Float32Array(length);
}

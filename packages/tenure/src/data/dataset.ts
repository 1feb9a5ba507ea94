/**
 * What a loader takes batches from, and the dataset over arrays in host memory. The tensors of a
 * batch belong to the loader that asks for them; the arrays stay the caller's.
 */
import { type DType, checkDType } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
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

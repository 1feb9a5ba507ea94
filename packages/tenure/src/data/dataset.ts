/**
 * What a loader takes batches from, and the dataset over arrays in host memory. The tensors of a
 * batch belong to the loader that asks for them; the arrays stay the caller's.
 */
import { type DType, checkDType } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { type OptionTable, checkArray, describeValue, readOptions } from "../base/options.ts";
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

/**
 * Samples in host arrays, one column per name. The arrays stay the caller's.
 * @throws ArgumentError for columns of different lengths, DTypeError for an unknown dtype
 * @example
 * ```ts
 * const points = new ArrayDataset({ x: { data: new Float32Array(12), shape: [3] } });
 * console.log(points.length); // → 4
 * ```
 */
export class ArrayDataset<K extends string> implements Dataset<Readonly<Record<K, Tensor>>> {
  readonly length: number;
  readonly #columns: readonly (readonly [K, Required<Column>, number])[];

  constructor(columns: Readonly<Record<K, Column>>) {
    if (typeof columns !== "object" || (columns as unknown) === null)
      throw new ArgumentError(
        "ArrayDataset",
        "columns by name",
        describeValue(columns),
        "pass { name: { data, shape }, … }",
      );
    this.#columns = (Object.entries(columns) as [K, Column][]).map(([name, column]) => {
      const given = readOptions("ArrayDataset", column, columnOptions(name));
      return [name, given, sizeOf(given.shape)] as const;
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
    checkArray("ArrayDataset", "indices", indices);
    for (const i of indices)
      if (!Number.isInteger(i) || i < 0 || i >= this.length)
        throw new ArgumentError(
          "ArrayDataset",
          `positions of ${this.length} samples`,
          describeValue(i),
          `count from 0 to ${this.length - 1}`,
        );
    const columns = this.#columns.map(([name, { data, shape, dtype, scale, offset }, size]) => {
      const out = hostArray(dtype, indices.length * size);
      for (let b = 0, at = 0; b < indices.length; b++) {
        const from = indices[b]! * size;
        for (let i = 0; i < size; i++) out[at++] = data[from + i]! * scale + offset;
      }
      return [name, { data: out, shape: [indices.length, ...shape], dtype }] as const;
    });
    return () => toTensors(Object.fromEntries(columns) as unknown as Record<K, HostColumn>);
  }
}

const number = { type: "number", remedy: "pass a plain number" } as const;

/** Rows of a column, under its name. */
function columnOptions(name: string) {
  return {
    data: {
      type: "any",
      required: true,
      what: `data in column ${name}`,
      check: (op, value) => {
        checkData(op, name, value);
      },
      remedy: dataRemedy,
    },
    shape: {
      type: "list",
      of: "integer",
      range: "[0, Infinity)",
      required: true,
      what: `the shape of one sample in column ${name}`,
      remedy: "pass [] for a number per sample",
    },
    dtype: { type: "any", check: checkDType, default: "float32" },
    scale: { ...number, what: `scale of column ${name}`, default: 1 },
    offset: { ...number, what: `offset of column ${name}`, default: 0 },
  } satisfies OptionTable<Column>;
}

const dataRemedy = "pass { data: an array of numbers, shape: [] }";

function checkData(op: string, column: string, value: unknown): void {
  if (!Number.isSafeInteger((value as { length?: unknown } | null)?.length))
    throw new ArgumentError(op, `data in column ${column}`, describeValue(value), dataRemedy);
}

/** A typed array for elements of a dtype; bools as integers. */
function hostArray(dtype: DType, length: number): Int32Array | Uint32Array | Float32Array {
  if (dtype === "int32" || dtype === "bool") return new Int32Array(length);
  return dtype === "uint32" ? new Uint32Array(length) : new Float32Array(length);
}

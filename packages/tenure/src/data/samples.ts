/**
 * Datasets of single samples: `get(i)` gives one, `collate` puts a list of them into the columns of
 * a batch. Host memory only until a batch's turn comes; the tensors belong to the loader that asks
 * for them.
 */
import { type DType, checkDType } from "../base/dtype.ts";
import { at } from "../base/access.ts";
import { ArgumentError, ShapeError, calledAs } from "../base/errors.ts";
import {
  type OptionTable,
  checkFunction,
  describeValue,
  readOptions,
  checkArray,
} from "../base/options.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { tensor } from "../tensor/create.ts";
import { type TensorData, flatten } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";

/**
 * One field of all samples of a batch, in host memory. The shape's first dimension is the batch.
 */
export interface HostColumn {
  readonly data: ArrayBufferView;
  readonly shape: readonly number[];
  readonly dtype?: DType;
}

/**
 * Samples one at a time: what most datasets are at heart. `get` may read a file: `for await` asks
 * for all samples of a batch at once.
 */
export interface Samples<S> {
  readonly length: number;
  /** The sample at a position, from 0. */
  get(index: number): S | Promise<S>;
}

/**
 * A field of a sample: a number or bool, nested arrays, a typed array, or one with shape and dtype.
 */
export type SampleValue =
  | TensorData
  | { readonly data: TensorData; readonly shape?: readonly number[]; readonly dtype?: DType };

/** @internal Uploads columns as tensors of the current scope. */
export function toTensors<K extends string>(
  columns: Readonly<Record<K, HostColumn>>,
): Readonly<Record<K, Tensor>> {
  const made: [string, Tensor][] = [];
  try {
    for (const [name, { data, shape, dtype }] of Object.entries<HostColumn>(columns))
      made.push([name, tensor(data, { shape, ...(dtype === undefined ? {} : { dtype }) })]);
  } catch (error) {
    for (const [, t] of made) t.dispose();
    throw error;
  }
  return Object.fromEntries(made) as Readonly<Record<K, Tensor>>;
}

interface Field {
  readonly data: TensorData;
  readonly shape?: readonly number[];
  readonly dtype?: DType;
}

const fieldRows = {
  data: { type: "any", required: true },
  shape: { type: "list", of: "integer", range: "[0, Infinity)" },
  dtype: { type: "any", check: checkDType },
} satisfies OptionTable<Field>;

/** A field with what it says of itself. @throws ArgumentError, DTypeError for what is none */
function parts(value: SampleValue): Field {
  return typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value)
    ? readOptions<Field, typeof fieldRows>("stackSamples", value as Field, fieldRows)
    : { data: value as TensorData };
}

/** The names of fields as errors show them. */
function fieldList(names: readonly string[]): string {
  const more = names.length > 8 ? ` and ${names.length - 8} more` : "";
  return names.length === 0 ? "none" : names.slice(0, 8).join(", ") + more;
}

/** @throws ArgumentError for anything but records, and for none of them */
function checkSamples(samples: readonly unknown[]): void {
  checkArray("stackSamples", "samples", samples);
  if (samples.length === 0)
    throw new ArgumentError("stackSamples", "at least one sample", "none", "pass a sample or more");
  for (const sample of samples)
    if (typeof sample !== "object" || sample === null)
      throw new ArgumentError(
        "stackSamples",
        "samples with fields by name",
        describeValue(sample),
        "pass for example { x: [1, 2], y: 0 }",
      );
}

/**
 * Stacks the fields of samples: numbers become [N], arrays [N, …]. Dtypes follow the data as in
 * `tensor`, unless a field says another.
 * @throws ArgumentError for what are no samples, and for different fields, ShapeError for fields of
 *   different shapes, DTypeError for an unknown dtype
 * @example
 * ```ts
 * const batch = stackSamples([
 *   { x: [1, 2], y: 0 },
 *   { x: [3, 4], y: 1 },
 * ]);
 * console.log(batch.x.shape.join(), batch.y.shape.join()); // → 2,2 2
 * ```
 */
export function stackSamples<S extends Readonly<Record<string, SampleValue>>>(
  samples: readonly S[],
): Readonly<Record<keyof S & string, HostColumn>> {
  checkSamples(samples);
  const names = Object.keys(at(samples, 0));
  const columns = names.map((name) => {
    let out: Float32Array | Int32Array | Uint32Array | Uint8Array | undefined,
      shape: readonly number[] = [],
      dtype: DType = "float32",
      filled = 0;
    for (const sample of samples) {
      if (!Object.hasOwn(sample, name) || Object.keys(sample).length !== names.length)
        throw new ArgumentError(
          "stackSamples",
          `samples with the fields ${fieldList(names)}`,
          fieldList(Object.keys(sample)),
          "pass a collate function of your own",
        );
      const { data, shape: given, dtype: wanted } = parts(sample[name]!),
        host = calledAs("stackSamples", () => flatten(data)),
        own = given ?? host.shape;
      if (out === undefined) {
        shape = own;
        dtype = wanted ?? host.dtype;
        const n = samples.length * host.values.length;
        out =
          dtype === "int32"
            ? new Int32Array(n)
            : dtype === "uint32"
              ? new Uint32Array(n)
              : dtype === "bool"
                ? new Uint8Array(n)
                : new Float32Array(n);
      }
      if (!sameShape(own, shape) || host.values.length !== shape.reduce((n, d) => n * d, 1))
        throw new ShapeError(
          "stackSamples",
          `${name} of one shape, ${formatShape(shape)}`,
          formatShape(own),
          "pad or crop the samples, or pass a collate function of your own",
        );
      out.set(host.values, filled);
      filled += host.values.length;
    }
    return [name, { data: out!, shape: [samples.length, ...shape], dtype }] as const;
  });
  return Object.fromEntries(columns) as unknown as Readonly<Record<keyof S & string, HostColumn>>;
}

/** @throws ArgumentError for anything but something with samples */
function checkSource(samples: unknown): void {
  const { length, get } = (samples as Partial<Samples<unknown>> | null | undefined) ?? {};
  if (!Number.isSafeInteger(length) || typeof get !== "function")
    throw new ArgumentError(
      "collated",
      "samples with a length and a get()",
      describeValue(samples),
      "pass { length, get: (index) => a sample }",
    );
}

/** A dataset for `DataLoader` over single samples. */
export interface Collated<K extends string> {
  readonly length: number;
  /** These samples as one batch: tensors of the current scope. */
  batch(indices: readonly number[]): Readonly<Record<K, Tensor>>;
  /** Fetches these samples; what it returns makes their batch, in the scope it is called in. */
  load(
    indices: readonly number[],
  ): (() => Readonly<Record<K, Tensor>>) | Promise<() => Readonly<Record<K, Tensor>>>;
}

/**
 * Samples as a dataset. Without `collate`, samples are records whose fields are stacked by
 * `stackSamples`. Errors of `get` and `collate` reach the loop.
 * @throws ArgumentError for what are no samples with fields by name, ShapeError for different
 *   shapes, DTypeError for an unknown dtype
 */
export function collated<S extends Readonly<Record<string, SampleValue>>>(
  samples: Samples<S>,
): Collated<keyof S & string>;
/** Samples of any kind as a dataset, stacked by `collate`. */
export function collated<S, K extends string>(
  samples: Samples<S>,
  collate: (samples: readonly S[]) => Readonly<Record<K, HostColumn>>,
): Collated<K>;
export function collated<S, K extends string>(
  samples: Samples<S>,
  collate?: (samples: readonly S[]) => Readonly<Record<K, HostColumn>>,
): Collated<K> {
  checkSource(samples);
  if (collate !== undefined) checkFunction("collated", collate, "pass (samples) => the columns");
  const stack =
    collate ??
    (stackSamples as unknown as (samples: readonly S[]) => Readonly<Record<K, HostColumn>>);
  const finish = (list: readonly S[]): (() => Readonly<Record<K, Tensor>>) => {
    const columns = stack(list);
    return () => toTensors(columns);
  };
  const load = (indices: readonly number[]): ReturnType<Collated<K>["load"]> => {
    checkArray("collated", "indices", indices);
    const list = Array.from(indices, (i) => samples.get(i));
    return list.some((s) => s instanceof Promise)
      ? Promise.all(list).then(finish)
      : finish(list as S[]);
  };
  return {
    get length() {
      return samples.length;
    },
    load,
    batch: (indices) => {
      const loaded = load(indices);
      if (typeof loaded === "function") return loaded();
      loaded.catch(() => undefined);
      throw new ArgumentError(
        "DataLoader",
        "samples that are there at once",
        "a promise",
        "loop with `for await (const batch of loader)`",
      );
    },
  };
}

/**
 * Reads cases.bin.gz, which generate.py wrote: calls with what PyTorch answers. Used by the oracle
 * test; tensors made here belong to the current scope.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type Tensor, tensor } from "tenure";

/** The dtype, shape and place of a tensor's numbers. */
export type Ref = readonly [dtype: "float32" | "int32" | "bool", shape: number[], at: number];

/** One call, its inputs, and what should come of it. */
export interface OracleCase {
  readonly name: string;
  readonly kind: "method" | "function" | "F" | "layer" | "optimizer" | "schedule" | "clip";
  readonly call: string;
  readonly args: readonly unknown[];
  readonly tensors: readonly Ref[];
  readonly out: readonly Ref[];
  /** Gradients of inputs, by their number. */
  readonly grad: readonly (readonly [number, Ref])[];
  /** Relative and absolute. */
  readonly tol: readonly [number, number];
  /** Of layers: what `call` is given, parameters and buffers before, buffers after. */
  readonly given?: readonly unknown[];
  readonly training?: boolean;
  readonly state?: Readonly<Record<string, Ref>>;
  readonly after?: Readonly<Record<string, Ref>>;
  readonly gradients?: Readonly<Record<string, Ref>>;
  /** Of schedules. */
  readonly lr?: number;
  readonly metrics?: readonly number[] | null;
  readonly rates?: readonly number[];
}

const raw = gunzipSync(readFileSync(new URL("cases.bin.gz", import.meta.url)));
const end = raw.indexOf(10);
const blob = raw.subarray(end + 1);

/** PyTorch's version and all cases, in the order they were made. */
export const { torch, cases } = JSON.parse(raw.toString("utf8", 0, end)) as {
  torch: string;
  cases: OracleCase[];
};

const size = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

/** The numbers a reference means. */
export function numbersAt([dtype, shape, at]: Ref): Float32Array | Int32Array | Uint8Array {
  const n = size(shape);
  if (dtype === "bool") return new Uint8Array(blob.subarray(at, at + n));
  const bytes = Uint8Array.from(blob.subarray(at, at + 4 * n)).buffer;
  return dtype === "float32" ? new Float32Array(bytes) : new Int32Array(bytes);
}

/** A tensor of the numbers a reference means. */
export function tensorAt(ref: Ref, requiresGrad = false): Tensor {
  return tensor(numbersAt(ref), { dtype: ref[0], shape: ref[1], requiresGrad });
}

/** What the gradient of an output starts from; the generator has the same formula. */
export function cotangent(shape: readonly number[]): Tensor {
  const values = Float32Array.from(
    { length: size(shape) },
    (_, k) => (((7 * k) % 5) - 2) / 2 + 0.25,
  );
  return tensor(values, { shape: [...shape] });
}

/** Arguments as they are passed: `{ $: k }` is the k-th tensor, `{ number: "inf" }` a number. */
export function argumentsOf(value: unknown, tensors: readonly Tensor[]): unknown {
  if (Array.isArray(value)) return value.map((v) => argumentsOf(v, tensors));
  if (typeof value !== "object" || value === null) return value;
  if ("$" in value) return tensors[value.$ as number];
  if ("number" in value) {
    const text = String(value.number);
    return text === "nan" ? NaN : text === "inf" ? Infinity : -Infinity;
  }
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, argumentsOf(v, tensors)]));
}

/**
 * Tensors on the host in float64, and the device tensors that hold the same elements under
 * different strides. Used by the op tests only.
 */
import type { DType } from "../../../src/base/dtype.ts";
import { HANDLE } from "../../../src/ownership/handle.ts";
import type { AnyOp } from "../../../src/ops/op.ts";
import { runOp } from "../../../src/tensor/run.ts";
import { type Tensor, wrap } from "../../../src/tensor/tensor.ts";
import { scoped, tensor } from "tenure";
import { count, indices } from "../../helpers.ts";

/** Elements in row-major order. Booleans are 0 and 1. */
export interface Host {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly values: readonly number[];
}

/**
 * How a device tensor holds its elements. `expanded` needs elements that repeat along the first
 * axis.
 */
export type ViewKind = "plain" | "transposed" | "sliced" | "offset" | "expanded";

export function host(
  shape: readonly number[],
  values: readonly number[],
  dtype: DType = "float32",
): Host {
  if (values.length !== count(shape))
    throw new Error(`${values.length} values for [${shape.join()}]`);
  return { shape, dtype, values };
}

/** A device tensor with the elements of `h`, in the current scope. */
export function upload(h: Host, kind: ViewKind = "plain"): Tensor {
  const { shape, dtype, values } = h,
    rank = shape.length;
  const make = (s: readonly number[], v: readonly number[]): Tensor =>
    tensor(v, { shape: s, dtype });
  if (kind === "plain" || values.length === 0) return make(shape, values);
  return scoped(() => {
    if (rank === 0) return make([3], [7, values[0]!, 9]).select(0, 1);
    switch (kind) {
      case "transposed": {
        const back = [...shape.keys()].reverse(),
          turned = [...shape].reverse();
        const moved = [...indices(turned)].map((i) => values[at(shape, [...i].reverse())]!);
        return make(turned, moved).permute(back);
      }
      case "sliced": {
        // every second position of the last axis, from 1 on
        const last = shape[rank - 1]!,
          wide = [...shape.slice(0, -1), 2 * last + 1];
        const padded = [...indices(wide)].map((i) => {
          const k = i[rank - 1]!;
          return k % 2 === 1 ? values[at(shape, [...i.slice(0, -1), (k - 1) / 2])]! : 77;
        });
        return make(wide, padded).slice(rank - 1, 1, 2 * last, 2);
      }
      case "offset":
        return make(
          [shape[0]! + 1, ...shape.slice(1)],
          [...Array<number>(values.length / shape[0]!).fill(77), ...values],
        ).slice(0, 1);
      case "expanded":
        return make([1, ...shape.slice(1)], values.slice(0, values.length / shape[0]!)).expand(
          shape,
        );
    }
  });
}

export function at(shape: readonly number[], index: readonly number[]): number {
  return shape.reduce((n, d, k) => n * d + index[k]!, 0);
}

/** Runs an op record on tensors; one tensor per output, in the current scope. */
export function execute(
  op: AnyOp,
  inputs: readonly Tensor[],
  attrs: unknown,
  words: readonly number[],
): Tensor[] {
  return runOp(
    op,
    inputs.map((t) => t[HANDLE]),
    attrs,
    words,
  ).map((h) => wrap(h));
}

/** A host tensor computed element by element over a shape. */
export function build(
  shape: readonly number[],
  dtype: DType,
  f: (index: number[]) => number,
): Host {
  return host(shape, [...indices(shape)].map(f), dtype);
}

/** Nearest value a dtype can hold, as the device would store a float64 result of that type. */
export function store(dtype: DType, x: number): number {
  switch (dtype) {
    case "float32":
    case "float16":
      return Math.fround(x);
    case "int32":
      return x | 0;
    case "uint32":
      return x >>> 0;
    case "bool":
      return x !== 0 ? 1 : 0;
  }
}

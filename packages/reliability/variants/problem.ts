/**
 * What the harness of variants computes: inputs on the host, a function of tensors, and what plain
 * arithmetic in float64 says of it. Whole numbers make most sums exact, so that no order of adding
 * up may change a bit. Used by the families beside and by `judge.ts`. Owns nothing.
 */
import type { Tensor } from "tenure";
import type { DType } from "../../tenure/src/base/dtype.ts";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import { type Host, type ViewKind, host } from "../../tenure/test/gpu/ops/host.ts";
import type { Random } from "../random.ts";

/** A result as it should be, and how far off it may be. */
export interface Expected {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
  /** Absolute tolerance, and one in shares of the magnitude; 0 for the same number. */
  readonly abs: number;
  readonly rel: number;
}

/** Something to compute in every way. */
export interface Problem {
  readonly label: string;
  readonly inputs: readonly Host[];
  /** How each input lies in memory. */
  readonly views: readonly ViewKind[];
  /** Results, in the current scope. */
  readonly run: (inputs: readonly Tensor[]) => readonly Tensor[];
  readonly expected: readonly Expected[];
}

/** A family of problems: one that a stream of random numbers decides. */
export type Family = (random: Random) => Problem;

/** Whole numbers from -3 to 3. */
export function whole(random: Random, shape: readonly number[], dtype: DType = "float32"): Host {
  const low = dtype === "uint32" ? 0 : -3;
  return host(
    shape,
    Array.from({ length: sizeOf(shape) }, () => low + random.int(4 - low)),
    dtype,
  );
}

/** Numbers in [-2, 2), as float32 holds them. */
export function real(random: Random, shape: readonly number[]): Host {
  return host(
    shape,
    Array.from({ length: sizeOf(shape) }, () => Math.fround(4 * random.next() - 2)),
  );
}

/** Some way to lie in memory that does not ask for equal rows. */
export function anyView(random: Random): ViewKind {
  const strided = ["transposed", "sliced", "offset"] as const;
  return random.chance(0.5) ? "plain" : random.pick(strided);
}

/** A result to the bit. */
export function exactly(shape: readonly number[], values: ArrayLike<number>): Expected {
  return { shape, values, abs: 0, rel: 0 };
}

/** A result within the rounding of float32; `abs` in shares of the largest magnitude. */
export function nearly(
  shape: readonly number[],
  values: ArrayLike<number>,
  tolerance = 2e-5,
): Expected {
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const x = Math.abs(values[i] ?? 0);
    if (x < Infinity) most = Math.max(most, x);
  }
  return { shape, values, abs: tolerance * Math.max(most, 0.1), rel: tolerance };
}

/** Strides of a row-major shape as it broadcasts to `to`; 0 where it repeats. */
export function broadcastStrides(shape: readonly number[], to: readonly number[]): number[] {
  const strides = to.map(() => 0);
  let step = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    const size = shape[d] ?? 1;
    if (size !== 1) strides[to.length - shape.length + d] = step;
    step *= size;
  }
  return strides;
}

/** Calls `visit` with the position in each broadcast operand, for every index of a shape. */
export function eachIndex(
  shape: readonly number[],
  strides: readonly (readonly number[])[],
  visit: (n: number, positions: readonly number[]) => void,
): void {
  const total = sizeOf(shape);
  const index = shape.map(() => 0);
  for (let n = 0; n < total; n++) {
    visit(
      n,
      strides.map((s) => s.reduce((at, step, d) => at + step * (index[d] ?? 0), 0)),
    );
    for (let d = shape.length - 1; d >= 0; d--) {
      const next = (index[d] ?? 0) + 1;
      index[d] = next === shape[d] ? 0 : next;
      if (next !== shape[d]) break;
    }
  }
}

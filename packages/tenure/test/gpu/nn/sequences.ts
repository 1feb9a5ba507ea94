/**
 * What the tests of layers for sequences share: the arithmetic of attention and of affine maps on
 * plain arrays, in float64, and a module's weights as such arrays.
 */
import { type Tensor } from "tenure";

/** Rows of numbers. */
export type Matrix = readonly (readonly number[])[];
/** The sum of a list. */
export const sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0);
/** The inner product of two lists. */
export const dot = (a: readonly number[], b: readonly number[]): number =>
  sum(a.map((v, i) => v * b[i]!));
/** The logistic function. */
export const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
/** A flat list as rows of a width. */
export const rows = (v: readonly number[], width: number): number[][] =>
  Array.from({ length: v.length / width }, (_, i) => v.slice(i * width, (i + 1) * width));
/** W·x + b. */
export const affine = (
  w: Matrix,
  b: readonly number[] | undefined,
  x: readonly number[],
): number[] => w.map((row, i) => dot(row, x) + (b?.[i] ?? 0));

/** A module's parameters as matrices (vectors as one row), by name. */
export async function weightsOf(module: {
  namedParameters(): Iterable<[string, Tensor]>;
}): Promise<Record<string, number[][]>> {
  return Object.fromEntries(
    await Promise.all(
      [...module.namedParameters()].map(
        async ([name, p]) => [name, rows([...(await p.data())], p.shape.at(-1)!)] as const,
      ),
    ),
  );
}

/** Attention of one sample. `hidden(head, l, s)` says what is masked. */
export function attend(
  w: Record<string, number[][]>,
  q: Matrix,
  k: Matrix,
  v: Matrix,
  heads: number,
  hidden: (h: number, l: number, s: number) => boolean,
  added: (l: number, s: number) => number = () => 0,
  shown?: number[][][],
): number[][] {
  const e = q[0]!.length,
    d = e / heads,
    bias = w["in_proj_bias"]?.[0],
    weight = (part: number): number[][] =>
      w[["q_proj_weight", "k_proj_weight", "v_proj_weight"][part]!] ??
      w["in_proj_weight"]!.slice(part * e, (part + 1) * e);
  const project = (x: Matrix, part: number): number[][] =>
    x.map((row) => affine(weight(part), bias?.slice(part * e, (part + 1) * e), row));
  const [Q, K, V] = [project(q, 0), project(k, 1), project(v, 2)];
  const attended = Q.map((query, l) =>
    Array.from({ length: heads }, (_, h) => {
      const part = (row: readonly number[]): number[] => row.slice(h * d, (h + 1) * d);
      const scores = K.map((key, s) =>
          hidden(h, l, s) ? -Infinity : dot(part(query), part(key)) / Math.sqrt(d) + added(l, s),
        ),
        top = Math.max(...scores),
        weights = scores.map((x) => Math.exp(x - top)),
        total = sum(weights);
      if (shown !== undefined) (shown[h] ??= [])[l] = weights.map((x) => x / total);
      return Array.from({ length: d }, (_unused, i) =>
        sum(V.map((row, s) => (weights[s]! / total) * part(row)[i]!)),
      );
    }).flat(),
  );
  return attended.map((row) => affine(w["out_proj.weight"]!, w["out_proj.bias"]?.[0], row));
}

/** Channels, heads, samples, queries and keys of what is attended to. */
export const E = 4,
  HEADS = 2,
  N = 2,
  L = 3,
  S = 5;
/** Sample `n` of `[length, N, E]`, as rows. */
export const sampleOf = (x: readonly number[], length: number, n: number): Matrix =>
  Array.from({ length }, (_, l) => x.slice((l * N + n) * E, (l * N + n + 1) * E));
/** Samples as rows, put together as `[length, N, E]`. */
export const timeFirst = (samples: readonly Matrix[]): number[] =>
  samples[0]!.map((_, l) => samples.map((s) => s[l]!)).flat(2);

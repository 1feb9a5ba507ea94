/**
 * What a case of an op is, and what most tables of cases are made with. Pure host code.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { count, numbers } from "../../../helpers.ts";
import { samples } from "./references.ts";
import { type Host, type ViewKind, host } from "../host.ts";

export interface Case {
  readonly label: string;
  readonly inputs: readonly Host[];
  readonly attrs?: unknown;
  readonly words?: readonly number[];
  /** One per output. */
  readonly expected: readonly Host[];
  readonly rel?: number;
  readonly abs?: number;
  /** How the inputs lie in memory; each entry is one run. Plain when absent. */
  readonly views?: readonly (readonly ViewKind[])[];
}

/** Points at which gradients are compared with finite differences. */
export interface GradCase {
  readonly label: string;
  /** Float inputs to be checked. */
  readonly points: readonly {
    readonly shape: readonly number[];
    readonly values: readonly number[];
  }[];
  /** Further inputs that carry no gradient, by position. */
  readonly fixed?: Readonly<Record<number, Host>>;
  readonly attrs?: unknown;
  readonly words?: readonly number[];
  readonly step?: number;
  readonly tolerance?: number;
  /** Check the gradient's gradient too. */
  readonly second?: boolean;
}

/** The cases of each op, made when they are asked for. */
export type CaseTable = Readonly<Record<string, () => Case[]>>;

/** The gradient cases of each op, made when they are asked for. */
export type GradTable = Readonly<Record<string, () => GradCase[]>>;

/** Every kind of view for every one of `n` inputs. */
export const allViews = (n: number): ViewKind[][] => {
  const kinds: ViewKind[] = ["plain", "transposed", "sliced", "offset"];
  return kinds.map((_, k) => Array.from({ length: n }, (_x, i) => kinds[(k + i) % kinds.length]!));
};

/** Random numbers of a shape, [-2, 2) unless told. */
export const floats = (shape: readonly number[], seed: number, low = -2, high = 2): Host =>
  host(shape, numbers(count(shape), seed, low, high));

/** Exact comparison. */
export const exact = { rel: 0, abs: 0 } as const;

/** Random arguments of a dtype. */
export function filled(shape: readonly number[], dtype: DType, seed: number): Host {
  return host(shape, samples(dtype, count(shape), seed), dtype);
}

export const point = (
  shape: readonly number[],
  seed: number,
  low = -2,
  high = 2,
): GradCase["points"][number] => ({ shape, values: numbers(count(shape), seed, low, high) });

export const grad = (
  label: string,
  points: GradCase["points"],
  more: Partial<GradCase> = {},
): GradCase => ({ label, points, ...more });

export const distinct = (shape: readonly number[]): GradCase["points"][number] => {
  // no ties, and none within a step
  const order = numbers(count(shape), 75)
      .map((v, i) => [v, i] as const)
      .sort((a, b) => a[0] - b[0]),
    values = Array<number>(order.length);
  order.forEach(([, i], rank) => {
    values[i] = rank / 8 - 1;
  });
  return { shape, values };
};

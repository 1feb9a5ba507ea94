/**
 * The elementwise ops in float64 and integer JavaScript: what every one of them must compute, and
 * on which arguments. A table for the op tests.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { numbers } from "../../../helpers.ts";
import { moreBinary, moreUnary } from "./special-functions.ts";

/** A computation on numbers per type it can be done in. A missing one falls back on `float`. */
export interface Reference {
  readonly float: (...x: number[]) => number;
  readonly int?: (...x: number[]) => number;
  readonly uint?: (...x: number[]) => number;
  /**
   * `same`: the dtype arithmetic gives. `sum`: that too, but two bools give a bool. `float`: always
   * a float. `bool`: a truth value computed in the promoted type. `truth`: of the operands as truth
   * values.
   */
  readonly kind: "same" | "sum" | "float" | "bool" | "truth";
  /** Relative tolerance; 0 compares exactly. */
  readonly rel?: number;
  readonly abs?: number;
  /** Special arguments left out, with the reason in the table. */
  readonly without?: (...x: number[]) => boolean;
  /** Points for gradient checks: range of the arguments, per argument, kept away from kinks. */
  readonly range?: readonly (readonly [number, number])[];
  /** Step and tolerance of the gradient check where the defaults don't fit. */
  readonly step?: number;
  /** Has a gradient that is not zero almost everywhere, so a second derivative is checked too. */
  readonly smooth?: boolean;
}

const mostInt = 2147483647,
  leastInt = -2147483648;
export const specialFloats: readonly number[] = [
  NaN,
  Infinity,
  -Infinity,
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  -2.5,
  3,
  -3,
  1e-30,
  1e30,
  -1e30,
  88,
  89,
  -104,
  1e-3,
  -1e-3,
  16777216,
  0.99999994,
].map(Math.fround);
export const specialInts: readonly number[] = [
  0,
  1,
  -1,
  2,
  -2,
  3,
  7,
  -7,
  13,
  100,
  -100,
  mostInt,
  leastInt,
];
export const specialUints: readonly number[] = [0, 1, 2, 3, 7, 13, 100, 4294967295, 2147483648];

/** Arguments of a dtype: specials first, then random numbers. */
export function samples(dtype: DType, n: number, seed: number): number[] {
  switch (dtype) {
    case "float32":
    case "float16":
      return numbers(n, seed, -3, 3);
    case "int32":
      return numbers(n, seed, -20, 20).map((x) => Math.trunc(x) + 0);
    case "uint32":
      return numbers(n, seed, 0, 20).map((x) => Math.trunc(x) + 0);
    case "bool":
      return numbers(n, seed, 0, 2).map((x) => Math.trunc(x) + 0);
  }
}
export function specials(dtype: DType): readonly number[] {
  return dtype === "int32"
    ? specialInts
    : dtype === "uint32"
      ? specialUints
      : dtype === "bool"
        ? [0, 1]
        : specialFloats;
}

// log2 near 1 has an absolute error only, which a large exponent multiplies.
const nearlyOne = (x: number): boolean => x !== 1 && Math.abs(x - 1) < 1e-6;
const id = (x: number): number => x;
const large = (x: number): boolean => Math.abs(x) > 1e3;

function roundEven(x: number): number {
  if (!Number.isFinite(x)) return x;
  const low = Math.floor(x),
    rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

export const unary: Readonly<Record<string, Reference>> = {
  ...moreUnary,
  neg: {
    kind: "same",
    float: (x) => -x,
    int: (x) => -x | 0,
    uint: (x) => -x >>> 0,
    rel: 0,
    smooth: true,
  },
  abs: {
    kind: "same",
    float: Math.abs,
    int: (x) => Math.abs(x) | 0,
    uint: id,
    rel: 0,
    range: [[0.2, 2]],
  },
  sign: { kind: "same", float: Math.sign, rel: 0, range: [[0.2, 2]] },
  exp: { kind: "float", float: Math.exp, rel: 3e-5, smooth: true },
  expm1: { kind: "float", float: Math.expm1, rel: 3e-5, smooth: true },
  log: { kind: "float", float: Math.log, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  log1p: { kind: "float", float: Math.log1p, rel: 1e-5, range: [[-0.4, 3]], smooth: true },
  sqrt: { kind: "float", float: Math.sqrt, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  rsqrt: {
    kind: "float",
    float: (x) => 1 / Math.sqrt(x),
    rel: 1e-5,
    range: [[0.5, 3]],
    without: (x) => Object.is(x, -0),
    smooth: true,
  }, // sign of 1/√-0 is anybody's
  square: {
    kind: "same",
    float: (x) => x * x,
    int: (x) => Math.imul(x, x),
    uint: (x) => Math.imul(x, x) >>> 0,
    rel: 1e-6,
    smooth: true,
  },
  reciprocal: { kind: "float", float: (x) => 1 / x, rel: 1e-5, range: [[0.5, 2]], smooth: true },
  // WGSL bounds the error to 2^-11, within [-π, π] only
  sin: { kind: "float", float: Math.sin, abs: 5e-4, without: large, smooth: true },
  cos: { kind: "float", float: Math.cos, abs: 5e-4, without: large, smooth: true },
  tanh: { kind: "float", float: Math.tanh, abs: 1e-5, smooth: true },
  sigmoid: { kind: "float", float: (x) => 1 / (1 + Math.exp(-x)), rel: 3e-5, smooth: true },
  softplus: {
    kind: "float",
    float: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
    rel: 3e-5,
    smooth: true,
  },
  relu: {
    kind: "same",
    float: (x) => Math.max(x, 0),
    int: (x) => Math.max(x, 0),
    uint: id,
    rel: 0,
    range: [[0.2, 2]],
  },
  floor: { kind: "same", float: Math.floor, int: id, uint: id, rel: 0, range: [[0.2, 0.8]] },
  ceil: { kind: "same", float: Math.ceil, int: id, uint: id, rel: 0, range: [[0.2, 0.8]] },
  round: { kind: "same", float: roundEven, int: id, uint: id, rel: 0, range: [[0.1, 0.4]] },
  isNaN: { kind: "bool", float: (x) => Number(Number.isNaN(x)) },
  isFinite: { kind: "bool", float: (x) => Number(Number.isFinite(x)) },
  logicalNot: { kind: "truth", float: (x) => Number(x === 0) },
};

function power(a: number, b: number): number {
  if (b === 0 || a === 1) return 1;
  if (Math.abs(a) === 1 && Math.abs(b) === Infinity) return 1;
  return Math.pow(a, b);
}

/** By repeated squaring, wrapping; 1/aⁿ truncated for negative exponents. */
function powerInt(a: number, b: number): number {
  if (b < 0) return a === 1 ? 1 : a === -1 ? (b % 2 === 0 ? 1 : -1) : 0;
  let r = 1;
  for (let base = a, n = b; n > 0; n = Math.floor(n / 2), base = Math.imul(base, base))
    if (n % 2 === 1) r = Math.imul(r, base);
  return r;
}

function modulo(a: number, b: number): number {
  const r = a % b;
  return r !== 0 && r < 0 !== b < 0 ? r + b : r;
}

const divInt = (a: number, b: number): number => (b === 0 ? 0 : Math.floor(a / b) | 0);
/** As PyTorch's floor_divide: from the exact remainder, so that it fits `modulo`. */
function quotient(a: number, b: number): number {
  if (b === 0) return a / b;
  const r = a % b;
  return Math.round((a - r) / b - (r !== 0 && r < 0 !== b < 0 ? 1 : 0));
}
const compare = (f: (a: number, b: number) => boolean): Reference => ({
  kind: "bool",
  float: (a, b) => Number(f(a, b)),
});
const extreme = (f: (a: number, b: number) => number): Reference => ({
  kind: "sum",
  float: f,
  rel: 0,
  range: [
    [0, 1],
    [1.2, 2],
  ],
});

export const binary: Readonly<Record<string, Reference>> = {
  ...moreBinary,
  add: {
    kind: "sum",
    float: (a, b) => a + b,
    int: (a, b) => (a + b) | 0,
    uint: (a, b) => (a + b) >>> 0,
    rel: 1e-6,
    smooth: true,
  },
  sub: {
    kind: "same",
    float: (a, b) => a - b,
    int: (a, b) => (a - b) | 0,
    uint: (a, b) => (a - b) >>> 0,
    rel: 1e-6,
    smooth: true,
  },
  mul: {
    kind: "sum",
    float: (a, b) => a * b,
    int: (a, b) => Math.imul(a, b),
    uint: (a, b) => Math.imul(a, b) >>> 0,
    rel: 1e-6,
    smooth: true,
  },
  div: {
    kind: "float",
    float: (a, b) => a / b,
    rel: 1e-5,
    range: [
      [-2, 2],
      [0.5, 2],
    ],
    smooth: true,
  },
  pow: {
    kind: "same",
    float: power,
    int: powerInt,
    uint: (a, b) => powerInt(a | 0, b | 0) >>> 0,
    rel: 1e-4,
    without: (a, b) =>
      nearlyOne(a) ||
      (Math.abs(b * Math.log2(Math.abs(a))) > 126 && Number.isFinite(a) && Number.isFinite(b)),
    range: [
      [0.5, 2],
      [-2, 2],
    ],
    smooth: true,
  },
  powGrad: {
    kind: "float",
    float: (a, b) => (b === 0 ? 0 : b * power(a, b - 1)),
    rel: 1e-4,
    without: (a, b) =>
      nearlyOne(a) ||
      Math.abs(b * Math.log2(Math.abs(a))) > 100 ||
      Math.abs(b) > 1e6 ||
      Number.isNaN(b),
    range: [
      [0.5, 2],
      [-2, 2],
    ],
  },
  powLog: {
    kind: "float",
    float: (a, b) => (a === 0 ? 0 : a * Math.log(b)),
    rel: 1e-5,
    without: (_, b) => nearlyOne(b),
    range: [
      [0.5, 2],
      [0.5, 2],
    ],
  },
  mod: {
    kind: "same",
    float: modulo,
    int: (a, b) => (b === 0 ? 0 : modulo(a, b) | 0),
    uint: (a, b) => (b === 0 ? 0 : a % b),
    rel: 0,
    range: [
      [1.1, 1.4],
      [0.8, 1],
    ],
  },
  floorDiv: {
    kind: "same",
    float: quotient,
    int: divInt,
    uint: (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
    rel: 1e-6,
    range: [
      [1.1, 1.4],
      [0.8, 1],
    ],
  },
  wins: {
    kind: "float",
    float: (a, b) => (a > b || Number.isNaN(a) ? (a === b ? 0.5 : 1) : a === b ? 0.5 : 0),
    rel: 0,
  },
  maximum: extreme(Math.max),
  minimum: extreme(Math.min),
  gate: {
    kind: "same",
    float: (a, b) => (b <= 0 ? 0 : a),
    rel: 0,
    range: [
      [-2, 2],
      [0.2, 2],
    ],
  },
  eq: compare((a, b) => a === b),
  ne: compare((a, b) => a !== b),
  lt: compare((a, b) => a < b),
  le: compare((a, b) => a <= b),
  gt: compare((a, b) => a > b),
  ge: compare((a, b) => a >= b),
  logicalAnd: { kind: "truth", float: (a, b) => Number(a !== 0 && b !== 0) },
  logicalOr: { kind: "truth", float: (a, b) => Number(a !== 0 || b !== 0) },
  logicalXor: { kind: "truth", float: (a, b) => Number((a !== 0) !== (b !== 0)) },
};

/** Binary ops that also come with a number for one side. */
export const withScalar: readonly string[] = [
  "add",
  "sub",
  "mul",
  "div",
  "pow",
  "mod",
  "floorDiv",
  "maximum",
  "minimum",
  "eq",
  "ne",
  "lt",
  "le",
  "gt",
  "ge",
];

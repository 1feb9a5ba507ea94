/**
 * References of the special functions and activations, in float64. Tolerances are what the
 * adapters' exp, log and sin leave of float32, times the function's own slope.
 */
import type { Reference } from "./references.ts";

/** The error function: Taylor near zero, 1 where float32 sees no difference. */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (Number.isNaN(x)) return x;
  if (z > 4.5) return Math.sign(x);
  let sum = 0,
    term = z;
  for (let n = 0; n < 200; n++) {
    sum += term / (2 * n + 1);
    term *= (-z * z) / (n + 1);
  }
  return (Math.sign(x) * sum * 2) / Math.sqrt(Math.PI);
}

const large = (x: number): boolean => Math.abs(x) > 1e3;

export const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x)),
  softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

export const cdf = (x: number): number => 0.5 * (1 + erf(x / Math.SQRT2)),
  density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

export const geluTanh = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

export const mish = (x: number): number => x * Math.tanh(softplus(x));

export const hardSigmoid = (x: number): number => Math.min(Math.max(x + 3, 0), 6) / 6;

export const selu = (x: number): number =>
  1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x));

/** x·0 at -∞, as in PyTorch. */
const beyond = (x: number): boolean => x === -Infinity || Math.abs(x) > 1e10;

export const moreUnary: Readonly<Record<string, Reference>> = {
  erf: { kind: "float", float: erf, rel: 1e-6, abs: 3e-7, smooth: true },
  exp2: {
    kind: "float",
    float: (x) => 2 ** x,
    rel: 3e-5,
    without: (x) => x < -100 && x > -200,
    smooth: true,
  },
  log2: { kind: "float", float: Math.log2, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  log10: { kind: "float", float: Math.log10, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  tan: {
    kind: "float",
    float: Math.tan,
    rel: 2e-3,
    abs: 1e-3,
    without: (x) => large(x) || Math.abs(Math.cos(x)) < 0.2,
    range: [[-1, 1]],
    smooth: true,
  }, // sin and cos are good to 2^-11
  asin: { kind: "float", float: Math.asin, rel: 1e-6, range: [[-0.8, 0.8]], smooth: true },
  acos: { kind: "float", float: Math.acos, rel: 1e-6, range: [[-0.8, 0.8]], smooth: true },
  atan: { kind: "float", float: Math.atan, rel: 1e-6, smooth: true },
  sinh: { kind: "float", float: Math.sinh, rel: 4e-5, smooth: true },
  cosh: { kind: "float", float: Math.cosh, rel: 4e-5, smooth: true },
  trunc: {
    kind: "same",
    float: Math.trunc,
    int: (x) => x,
    uint: (x) => x,
    rel: 0,
    range: [[0.2, 0.8]],
  },
  isInf: { kind: "bool", float: (x) => Number(Math.abs(x) === Infinity) },
  logSigmoid: { kind: "float", float: (x) => -softplus(-x), rel: 3e-5, smooth: true },
  rootOrZero: { kind: "float", float: Math.sqrt, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  inverseOrZero: {
    kind: "float",
    float: (x) => (x === 0 ? 0 : 1 / x),
    rel: 1e-5,
    range: [[0.5, 2]],
    smooth: true,
  },
  gelu: {
    kind: "float",
    float: (x) => x * cdf(x),
    rel: 1e-5,
    abs: 2e-6,
    without: beyond,
    smooth: true,
  },
  geluTanh: { kind: "float", float: geluTanh, rel: 1e-5, abs: 1e-5, without: beyond, smooth: true },
  silu: { kind: "float", float: (x) => x * sigmoid(x), rel: 3e-5, without: beyond, smooth: true },
  mish: { kind: "float", float: mish, rel: 3e-5, without: beyond, smooth: true },
  selu: { kind: "float", float: selu, rel: 3e-5, range: [[0.1, 2]], smooth: true },
  hardSwish: {
    kind: "float",
    float: (x) => x * hardSigmoid(x),
    rel: 1e-5,
    without: beyond,
    range: [[-2.5, 2.5]],
    smooth: true,
  },
  hardSigmoid: { kind: "float", float: hardSigmoid, rel: 1e-5, range: [[-2.5, 2.5]] },
};

export const moreBinary: Readonly<Record<string, Reference>> = {
  atan2: {
    kind: "float",
    float: (y, x) => Math.atan2(y, x),
    rel: 1e-6,
    range: [
      [0.5, 2],
      [-2, 2],
    ],
    smooth: true,
  },
};

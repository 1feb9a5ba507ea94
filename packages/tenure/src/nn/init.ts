/**
 * Initial values of weights, as PyTorch draws them: each function gives a new tensor of a shape.
 * Results belong to the current scope until a module takes them; `noGrad(() =>
 * p.copy_(init.xavierNormal(p.shape)))` draws an existing parameter anew.
 */
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { formatShape, sizeOf } from "../base/shape.ts";
import { noGrad } from "../autograd/mode.ts";
import { scoped } from "../ownership/scoped.ts";
import { full, ones, rand, randn, zeros } from "../tensor/create.ts";
import type { Tensor } from "../tensor/tensor.ts";

export { ones, zeros };

/** Every element `value`. */
export function constant(shape: readonly number[], value: number): Tensor {
  return full(shape, value);
}

/** Uniform in [-bound, bound). */
export function uniform(shape: readonly number[], bound: number): Tensor {
  return scoped(() =>
    rand(shape)
      .mul(2 * bound)
      .sub(bound),
  );
}

/** Normal with the given mean and standard deviation. */
export function normal(shape: readonly number[], mean = 0, std = 1): Tensor {
  return scoped(() => randn(shape).mul(std).add(mean));
}

/** Inputs per output of a weight [out, in, …window]. */
export function fanIn(shape: readonly number[]): number {
  return shape.slice(1).reduce((n, d) => n * d, 1);
}
/** Outputs per input of a weight [out, in, …window]. */
export function fanOut(shape: readonly number[]): number {
  return (shape[0] ?? 1) * shape.slice(2).reduce((n, d) => n * d, 1);
}

/** What follows a weight, as `gain` and Kaiming's initial values know it. */
export type Nonlinearity = "linear" | "conv" | "sigmoid" | "tanh" | "relu" | "leakyRelu" | "selu";

/** The factor that keeps the variance through a nonlinearity, as torch.nn.init.calculate_gain. */
export function gain(nonlinearity: Nonlinearity, slope = 0.01): number {
  switch (nonlinearity) {
    case "linear":
    case "conv":
    case "sigmoid":
      return 1;
    case "tanh":
      return 5 / 3;
    case "relu":
      return Math.SQRT2;
    case "leakyRelu":
      return Math.sqrt(2 / (1 + slope ** 2));
    case "selu":
      return 3 / 4;
    default:
      throw new ArgumentError(
        "gain",
        "a known nonlinearity",
        describeValue(nonlinearity satisfies never),
        "one of linear, conv, sigmoid, tanh, relu, leakyRelu, selu",
      );
  }
}

/** Options of `kaimingNormal` and `kaimingUniform`. */
export interface KaimingOptions {
  /** Negative slope, for leakyRelu. */
  readonly a?: number;
  /** "fanIn" keeps the variance of the forward pass, "fanOut" that of the backward pass. */
  readonly mode?: "fanIn" | "fanOut";
  readonly nonlinearity?: Nonlinearity;
}

function kaimingStd(op: string, shape: readonly number[], options: KaimingOptions): number {
  checkOptions(op, options, ["a", "mode", "nonlinearity"]);
  const { a = 0, mode = "fanIn", nonlinearity = "leakyRelu" } = options;
  if (!["fanIn", "fanOut"].includes(mode))
    throw new ArgumentError(
      op,
      'mode to be "fanIn" or "fanOut"',
      describeValue(mode),
      "fanIn keeps the variance of the forward pass",
    );
  return (
    gain(nonlinearity, a) / Math.sqrt(Math.max(1, mode === "fanIn" ? fanIn(shape) : fanOut(shape)))
  );
}

/**
 * The default of PyTorch's Linear and Conv weights: kaiming_uniform_(a = √5), which is uniform in
 * ±1/√fanIn.
 */
export function defaultWeight(shape: readonly number[]): Tensor {
  return uniform(shape, 1 / Math.sqrt(Math.max(1, fanIn(shape))));
}

/** He et al. 2015: normal with std gain / √fan; by default √(2 / fanIn), for ReLU. */
export function kaimingNormal(shape: readonly number[], options: KaimingOptions = {}): Tensor {
  return normal(shape, 0, kaimingStd("kaimingNormal", shape, options));
}

/** He et al. 2015: uniform in ±√3 · gain / √fan. */
export function kaimingUniform(shape: readonly number[], options: KaimingOptions = {}): Tensor {
  return uniform(shape, Math.sqrt(3) * kaimingStd("kaimingUniform", shape, options));
}

/** Glorot & Bengio 2010: uniform in ±gain · √(6 / (fanIn + fanOut)). */
export function xavierUniform(shape: readonly number[], scale = 1): Tensor {
  return uniform(shape, scale * Math.sqrt(6 / (fanIn(shape) + fanOut(shape))));
}

/** Glorot & Bengio 2010: normal with std gain · √(2 / (fanIn + fanOut)). */
export function xavierNormal(shape: readonly number[], scale = 1): Tensor {
  return normal(shape, 0, scale * Math.sqrt(2 / (fanIn(shape) + fanOut(shape))));
}

/**
 * Normal, but every draw beyond `low` or `high` drawn again. Eight tries, then clamped: at
 * PyTorch's default of two standard deviations one draw in 10^10 needs it.
 * @throws ArgumentError unless low < high and the interval lies within five standard deviations of
 *   the mean on one side
 */
export function truncNormal(
  shape: readonly number[],
  options: {
    readonly mean?: number;
    readonly std?: number;
    readonly low?: number;
    readonly high?: number;
  } = {},
): Tensor {
  checkOptions("truncNormal", options, ["mean", "std", "low", "high"]);
  const { mean = 0, std = 1, low = -2, high = 2 } = options;
  if (!(low < high) || !(std > 0))
    throw new ArgumentError(
      "truncNormal",
      "low < high and a positive std",
      `${low}, ${high} and ${std}`,
      "swap the bounds",
    );
  return scoped(() => {
    let out = normal(shape, mean, std);
    for (let i = 0; i < 7; i++) {
      const inside = out.ge(low).logicalAnd(out.le(high)).float(),
        again = normal(shape, mean, std);
      out = again.add(inside.mul(out.sub(again)));
    }
    return out.maximum(low).minimum(high);
  }, "truncNormal");
}

/**
 * Orthonormal rows (or columns, if there are more rows) of a matrix [rows, …], times `scale` (Saxe
 * et al. 2014), evenly distributed: the orthogonal part of a normal matrix, found on the device by
 * Newton and Schulz's iteration X ← 1.5·X - 0.5·X·Xᵀ·X.
 * @throws ShapeError for fewer than two dimensions
 */
export function orthogonal(shape: readonly number[], scale = 1): Tensor {
  if (shape.length < 2 || sizeOf(shape) === 0)
    throw new ShapeError(
      "orthogonal",
      "a shape of two dimensions or more",
      formatShape(shape),
      "use normal for vectors",
    );
  const rows = shape[0]!,
    columns = fanIn(shape),
    small = Math.min(rows, columns),
    large = Math.max(rows, columns);
  return noGrad(() =>
    scoped(() => {
      const start = randn([small, large]);
      let x = start.div(start.square().sum().sqrt());
      // The smallest singular value may be a millionth of the largest: each step multiplies it by
      // 1.5.
      for (let i = 0; i < 48; i++)
        x = scoped(() => x.mul(1.5).sub(x.matmul(x.transpose()).matmul(x).mul(0.5)));
      return (rows <= columns ? x : x.transpose()).mul(scale).reshape(shape);
    }, "orthogonal"),
  );
}

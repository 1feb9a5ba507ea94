/**
 * Initial values of weights, as PyTorch draws them: each function gives a new tensor of a shape.
 * Results belong to the current scope until a module takes them; `noGrad(() =>
 * p.copy_(init.xavierNormal(p.shape)))` draws an existing parameter anew.
 */
import { ArgumentError, ShapeError, calledAs } from "../base/errors.ts";
import { type OptionRow, type OptionTable, checkArgument, readOptions } from "../base/options.ts";
import { type Shape, checkShape, formatShape, sizeOf } from "../base/shape.ts";
import { finite } from "./checks.ts";
import { noGrad } from "../autograd/mode.ts";
import { composed, scoped } from "../ownership/scoped.ts";
import { full, ones, rand, randn, zeros } from "../tensor/create.ts";
import type { Tensor } from "../tensor/tensor.ts";

export { ones, zeros };

/**
 * Every element `value`.
 * @throws ShapeError for a shape that is none, ArgumentError for what is not finite
 */
export function constant(shape: Shape, value: number): Tensor {
  return calledAs("constant", () => full(shape, value));
}

/**
 * Uniform in [-bound, bound). Of the shape given.
 * @throws ShapeError for a shape that is none, ArgumentError for what is not finite
 */
export function uniform(shape: Shape, bound: number): Tensor {
  checkShape("uniform", shape);
  checkArgument("uniform", "bound", bound, finite);
  return composed(
    () =>
      rand(shape)
        .mul(2 * bound)
        .sub(bound),
    "uniform",
  );
}

/**
 * Normal with the given mean and standard deviation. Of the shape given.
 * @throws ShapeError for a shape that is none, ArgumentError for what is not finite
 */
export function normal(shape: Shape, mean = 0, std = 1): Tensor {
  checkShape("normal", shape);
  checkArgument("normal", "mean", mean, finite);
  checkArgument("normal", "std", std, finite);
  return composed(() => randn(shape).mul(std).add(mean), "normal");
}

/** Inputs per output of a weight [out, in, …window]. @throws ShapeError for a shape that is none */
export function fanIn(shape: Shape): number {
  return sizeOf(checkShape("fanIn", shape).slice(1));
}
/** Outputs per input of a weight [out, in, …window]. @throws ShapeError for a shape that is none */
export function fanOut(shape: Shape): number {
  return (checkShape("fanOut", shape)[0] ?? 1) * sizeOf(shape.slice(2));
}

/** What follows a weight, as `gain` and Kaiming's initial values know it. */
export type Nonlinearity = "linear" | "conv" | "sigmoid" | "tanh" | "relu" | "leakyRelu" | "selu";

const nonlinearityRow = {
  type: "choice",
  of: ["linear", "conv", "sigmoid", "tanh", "relu", "leakyRelu", "selu"],
  default: "leakyRelu",
} as const satisfies OptionRow<Nonlinearity>;

/**
 * The factor that keeps the variance through a nonlinearity, as torch.nn.init.calculate_gain.
 * @throws ArgumentError for an unknown nonlinearity
 */
export function gain(nonlinearity: Nonlinearity, slope = 0.01): number {
  checkArgument("gain", "nonlinearity", nonlinearity, nonlinearityRow);
  checkArgument("gain", "slope", slope, finite);
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

const kaimingOptions = {
  a: { ...finite, default: 0 },
  mode: {
    type: "choice",
    of: ["fanIn", "fanOut"],
    default: "fanIn",
    remedy: "fanIn keeps the variance of the forward pass",
  },
  nonlinearity: nonlinearityRow,
} satisfies OptionTable<KaimingOptions>;

function kaimingStd(op: string, shape: Shape, options: KaimingOptions | undefined): number {
  checkShape(op, shape);
  const { a, mode, nonlinearity } = readOptions(op, options, kaimingOptions);
  const fan = mode === "fanIn" ? fanIn(shape) : fanOut(shape);
  return gain(nonlinearity, a) / Math.sqrt(Math.max(1, fan));
}

/**
 * The default of PyTorch's Linear and Conv weights: kaiming_uniform_(a = √5), which is uniform in
 * ±1/√fanIn. Of the shape given.
 * @throws ShapeError for a shape that is none
 */
export function defaultWeight(shape: Shape): Tensor {
  return calledAs("defaultWeight", () => uniform(shape, 1 / Math.sqrt(Math.max(1, fanIn(shape)))));
}

/**
 * He et al. 2015: normal with std gain / √fan; by default √(2 / fanIn), for ReLU. Of the shape
 * given.
 * @throws ShapeError for a shape that is none, ArgumentError for options that are unknown or out of
 *   range
 * @example
 * ```ts
 * using w = init.kaimingNormal([64, 32]);
 * console.log(w.shape.join()); // → 64,32
 * ```
 */
export function kaimingNormal(shape: Shape, options?: KaimingOptions): Tensor {
  return normal(shape, 0, kaimingStd("kaimingNormal", shape, options));
}

/**
 * He et al. 2015: uniform in ±√3 · gain / √fan. Of the shape given.
 * @throws ShapeError for a shape that is none, ArgumentError for options that are unknown or out of
 *   range
 */
export function kaimingUniform(shape: Shape, options?: KaimingOptions): Tensor {
  return uniform(shape, Math.sqrt(3) * kaimingStd("kaimingUniform", shape, options));
}

/**
 * Glorot & Bengio 2010: uniform in ±gain · √(6 / (fanIn + fanOut)). Of the shape given.
 * @throws ShapeError for a shape that is none, ArgumentError for a scale that is not finite
 */
export function xavierUniform(shape: Shape, scale = 1): Tensor {
  checkShape("xavierUniform", shape);
  checkArgument("xavierUniform", "scale", scale, finite);
  return uniform(shape, scale * Math.sqrt(6 / (fanIn(shape) + fanOut(shape))));
}

/**
 * Glorot & Bengio 2010: normal with std gain · √(2 / (fanIn + fanOut)). Of the shape given.
 * @throws ShapeError for a shape that is none, ArgumentError for a scale that is not finite
 */
export function xavierNormal(shape: Shape, scale = 1): Tensor {
  checkShape("xavierNormal", shape);
  checkArgument("xavierNormal", "scale", scale, finite);
  return normal(shape, 0, scale * Math.sqrt(2 / (fanIn(shape) + fanOut(shape))));
}

/** Options of `truncNormal`. */
export interface TruncNormalOptions {
  readonly mean?: number;
  readonly std?: number;
  /** The smallest number. */
  readonly low?: number;
  /** The largest number. */
  readonly high?: number;
}
const bound = { type: "number", range: "[-Infinity, Infinity]" } as const;
const truncNormalOptions = {
  mean: { ...finite, default: 0 },
  std: { type: "number", range: "(0, Infinity)", what: "a std", default: 1 },
  low: { ...bound, default: -2 },
  high: { ...bound, default: 2 },
} satisfies OptionTable<TruncNormalOptions>;

/**
 * Normal, but every draw beyond `low` or `high` drawn again. Eight tries, then clamped: at
 * PyTorch's default of two standard deviations one draw in 10^10 needs it. Of the shape given.
 * @throws ArgumentError unless low < high and the interval lies within five standard deviations of
 *   the mean on one side, ShapeError for a shape that is none
 */
export function truncNormal(shape: Shape, options?: TruncNormalOptions): Tensor {
  checkShape("truncNormal", shape);
  const { mean, std, low, high } = readOptions("truncNormal", options, truncNormalOptions);
  if (low >= high)
    throw new ArgumentError("truncNormal", "low < high", `${low} and ${high}`, "swap the bounds");
  return composed(() => {
    // Flat while it is computed: the many ops have no dimensions to go through.
    const flat = [sizeOf(shape)];
    let out = normal(flat, mean, std);
    for (let i = 0; i < 7; i++) {
      const inside = out.ge(low).logicalAnd(out.le(high)).float(),
        again = normal(flat, mean, std);
      out = again.add(inside.mul(out.sub(again)));
    }
    return out.maximum(low).minimum(high).reshape(shape);
  }, "truncNormal");
}

/**
 * Orthonormal rows (or columns, if there are more rows) of a matrix [rows, …], times `scale` (Saxe
 * et al. 2014), evenly distributed: the orthogonal part of a normal matrix, found on the device by
 * Newton and Schulz's iteration X ← 1.5·X - 0.5·X·Xᵀ·X.
 * @throws ShapeError for fewer than two dimensions, ArgumentError for a scale that is not finite
 */
export function orthogonal(shape: Shape, scale = 1): Tensor {
  checkShape("orthogonal", shape);
  checkArgument("orthogonal", "scale", scale, finite);
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
    composed(() => {
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

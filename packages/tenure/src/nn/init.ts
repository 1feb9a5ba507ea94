/**
 * Initial values of weights, as PyTorch draws them. Results belong to the current scope until a module takes them.
 */
import { scoped } from "../ownership/scoped.ts";
import { rand, randn } from "../tensor/create.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Uniform in [-bound, bound). */
export function uniform(shape: readonly number[], bound: number): Tensor {
  return scoped(() => rand(shape).mul(2 * bound).sub(bound));
}

/** Normal with the given mean and standard deviation. */
export function normal(shape: readonly number[], mean = 0, std = 1): Tensor {
  return scoped(() => randn(shape).mul(std).add(mean));
}

/** Inputs per output of a weight [out, in, …window]. */
export function fanIn(shape: readonly number[]): number { return shape.slice(1).reduce((n, d) => n * d, 1); }

/** The default of PyTorch's Linear and Conv weights: kaiming_uniform_(a = √5), which is uniform in ±1/√fanIn. */
export function defaultWeight(shape: readonly number[]): Tensor { return uniform(shape, 1 / Math.sqrt(Math.max(1, fanIn(shape)))); }

/** He et al. 2015 for ReLU: normal with std √(2 / fanIn). */
export function kaimingNormal(shape: readonly number[]): Tensor { return normal(shape, 0, Math.sqrt(2 / Math.max(1, fanIn(shape)))); }

/** Glorot & Bengio 2010: uniform in ±√(6 / (fanIn + fanOut)). */
export function xavierUniform(shape: readonly number[]): Tensor {
  const window = shape.slice(2).reduce((n, d) => n * d, 1);
  return uniform(shape, Math.sqrt(6 / (fanIn(shape) + (shape[0] ?? 1) * window)));
}

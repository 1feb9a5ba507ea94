/**
 * The generator's seed, and random choices from it: the same seed gives the same choices on every
 * adapter. Results belong to the current scope.
 */
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { scoped } from "../ownership/scoped.ts";
import { rand } from "./create.ts";
import { live } from "./call.ts";
import { restoreGenerator } from "./generator.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Restarts the generator: the same seed gives the same numbers on every adapter.
 * @throws ArgumentError unless it is a whole number of 0 or more
 * @example
 * ```ts
 * manualSeed(1);
 * using a = rand([2]);
 * ```
 */
export function manualSeed(seed: number): void {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new ArgumentError(
      "manualSeed",
      "an integer of 0 or more",
      describeValue(seed),
      "pass for example 42",
    );
  restoreGenerator({ low: seed >>> 0, high: Math.floor(seed / 2 ** 32) >>> 0, stream: 0 });
}

/**
 * 1 with the probability each element gives, else 0; in the dtype of the probabilities.
 * @throws DTypeError unless probabilities are floats
 */
export function bernoulli(probabilities: Tensor): Tensor {
  const { dtype, layout } = live(probabilities, "bernoulli");
  if (!isFloat(dtype))
    throw new DTypeError("bernoulli", "float probabilities", dtype, "cast them to float32");
  return scoped(() => rand(layout.shape).lt(probabilities).to(dtype), "bernoulli");
}

/**
 * The numbers 0 … n - 1 in random order, int32. The result is [n].
 * @throws ArgumentError unless n is a whole number up to 2^24
 * @example
 * ```ts
 * using order = randperm(5);
 * console.log(order.shape.join(), order.dtype); // → 5 int32
 * ```
 */
export function randperm(n: number): Tensor {
  if (!Number.isInteger(n) || n < 0 || n > 2 ** 24)
    throw new ArgumentError(
      "randperm",
      "a whole number from 0 to 2^24",
      describeValue(n),
      "pass how many numbers to shuffle",
    );
  return scoped(() => rand([n]).argSort(0), "randperm");
}

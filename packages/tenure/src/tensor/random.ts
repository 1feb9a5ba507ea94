/**
 * The generator's seed, and random choices from it: the same seed gives the same choices on every
 * adapter. Results belong to the current scope.
 */
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { type OptionTable, checkArgument, describeValue, readOptions } from "../base/options.ts";
import { formatShape } from "../base/shape.ts";
import { composed } from "../ownership/scoped.ts";
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
 * 1 with the probability each element gives, else 0; in the dtype of the probabilities. Values are
 * not checked, as they may still be under way: 1 or more gives 1, less than 0 and NaN give 0.
 * @throws DTypeError unless probabilities are floats
 */
export function bernoulli(probabilities: Tensor): Tensor {
  const { dtype, layout } = live(probabilities, "bernoulli");
  if (!isFloat(dtype))
    throw new DTypeError("bernoulli", "float probabilities", dtype, "cast them to float32");
  return composed(() => rand(layout.shape).lt(probabilities).to(dtype), "bernoulli");
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
  return composed(() => rand([n]).argSort(0), "randperm");
}

/** Options of `multinomial`. */
export interface MultinomialOptions {
  /** Each draw is from all classes again; else no class is drawn twice. Default false. */
  readonly replacement?: boolean;
}

const multinomialOptions = {
  replacement: { type: "flag", default: false },
} satisfies OptionTable<MultinomialOptions>;

/**
 * Draws class numbers by weight, as `torch.multinomial` does. Weights are 0 or more and need not
 * sum to 1, so that probabilities and counts will do; a class of weight 0 is drawn only where no
 * replacement leaves no other. Values are not checked, as they may still be under way: a class
 * of a weight below 0 is drawn after all others, one of NaN before them.
 * @param weights floats, [classes] or [rows, classes]; rows are independent
 * @param count how many to draw of each row
 * @returns class numbers, int32, [count] or [rows, count]; no gradient leads through them
 * @throws DTypeError unless weights are floats, ShapeError unless they have one or two dimensions
 *   and a class, ArgumentError for a count below 1 or, without replacement, above the classes
 * @example
 * ```ts
 * using weights = tensor([0, 0, 1]);
 * using drawn = multinomial(weights, 2, { replacement: true });
 * console.log(await drawn.toArray()); // → [ 2, 2 ]
 * ```
 */
export function multinomial(weights: Tensor, count: number, options?: MultinomialOptions): Tensor {
  const { replacement } = readOptions("multinomial", options, multinomialOptions);
  const { dtype, layout } = live(weights, "multinomial");
  if (!isFloat(dtype))
    throw new DTypeError("multinomial", "float weights", dtype, "cast them to float32");
  const { shape } = layout;
  const classes = shape.at(-1) ?? 0;
  if (shape.length < 1 || shape.length > 2 || classes === 0)
    throw new ShapeError(
      "multinomial",
      "weights of shape [classes] or [rows, classes]",
      formatShape(shape),
      "reshape them, with one class or more",
    );
  checkArgument("multinomial", "count", count, {
    type: "integer",
    range: replacement ? "[1, Infinity)" : `[1, ${classes}]`,
    remedy: replacement ? "draw at least one" : "draw fewer, or pass { replacement: true }",
  });
  // The first of `classes` exponential clocks that run as fast as their weights rings for class i
  // with probability weight i / sum; the order in which they ring is a draw without replacement.
  return composed(() => {
    const rows = weights.detach().to("float32").unsqueeze(-2); // [.., 1, classes]
    const draws = replacement ? count : 1;
    const clocks = rand([...shape.slice(0, -1), draws, classes]);
    const rates = rows.div(
      clocks
        .neg()
        .log1p()
        .neg()
        .clamp(2 ** -26),
    );
    if (replacement) return rates.argMax(-1);
    return rates.topK(count, -1).indices.squeeze(-2);
  }, "multinomial");
}

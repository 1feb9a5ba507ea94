/**
 * Dropout as a function on tensors. The result belongs to the current scope.
 */
import { checkArgument, on } from "../../base/options.ts";
import { dropout as drop, probability } from "../../tensor/create.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/**
 * Zeroes elements with probability `p` while training; otherwise an alias.
 * @throws ArgumentError unless p is in [0, 1), DTypeError for integers
 * @example
 * ```ts
 * using x = ones([4]);
 * using same = functional.dropout(x, 0.5, false);
 * console.log(await same.toArray()); // → [ 1, 1, 1, 1 ]
 * ```
 */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor {
  live(x, "dropout");
  checkArgument("dropout", "p", p, probability);
  checkArgument("dropout", "training", training, on);
  return training && p > 0 ? drop(x, p) : x.alias();
}

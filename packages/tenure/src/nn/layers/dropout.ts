/**
 * Dropout as a layer. It owns nothing.
 */
import { checkArgument } from "../../base/options.ts";
import { dropout } from "../functional/dropout.ts";
import { Layer } from "../module.ts";
import { probability } from "../../tensor/create.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/**
 * Zeroes elements with probability `p` while training.
 * @throws ArgumentError unless p is in [0, 1)
 * @example
 * ```ts
 * using dropout = new Dropout(0.1);
 * dropout.eval();
 * using out = dropout.call(x); // all of x: nothing is dropped in evaluation
 * ```
 */
export class Dropout extends Layer {
  readonly p: number;
  constructor(p = 0.5) {
    super();
    checkArgument("Dropout", "p", p, probability);
    this.p = p;
  }
  forward(x: Tensor): Tensor {
    return dropout(x, this.p, this.training);
  }
}

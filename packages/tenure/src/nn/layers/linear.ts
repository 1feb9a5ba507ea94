/**
 * The linear layer. It owns its weights; the function in functional/linear.ts computes. Names and
 * layouts are PyTorch's.
 */
import * as F from "../functional/index.ts";
import { type OptionTable, checkArgument, on, readOptions } from "../../base/options.ts";
import { count } from "../checks.ts";
import { defaultWeight, uniform } from "../init.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Options of `Linear`. */
export interface LinearOptions {
  /** A learned number per output. */
  readonly bias?: boolean;
}
const linearOptions = { bias: on } satisfies OptionTable<LinearOptions>;

/**
 * x [..., in] → [..., out]. weight [out, in], bias [out].
 * @throws ArgumentError for sizes below 1 and unknown options
 * @example
 * ```ts
 * using layer = new Linear(3, 2);
 * using x = ones([5, 3]);
 * using y = layer.call(x);
 * console.log(y.shape.join()); // → 5,2
 * ```
 */
export class Linear extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  constructor(inFeatures: number, outFeatures: number, options?: LinearOptions) {
    super();
    const { bias } = readOptions("Linear", options, linearOptions);
    checkArgument("Linear", "inFeatures", inFeatures, count);
    checkArgument("Linear", "outFeatures", outFeatures, count);
    this.weight = this.parameter("weight", defaultWeight([outFeatures, inFeatures]));
    this.bias = bias
      ? this.parameter("bias", uniform([outFeatures], 1 / Math.sqrt(inFeatures)))
      : null;
  }
  forward(x: Tensor): Tensor {
    return F.linear(x, this.weight, this.bias);
  }
}

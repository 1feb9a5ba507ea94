/**
 * The linear layer. It owns its weights; the function in functional/linear.ts computes. Names and
 * layouts are PyTorch's.
 */
import * as F from "../functional/index.ts";
import { checkOptions } from "../../base/options.ts";
import { checkCount } from "../checks.ts";
import { defaultWeight, uniform } from "../init.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** x [..., in] → [..., out]. weight [out, in], bias [out]. */
export class Linear extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  constructor(inFeatures: number, outFeatures: number, options: { readonly bias?: boolean } = {}) {
    super();
    checkOptions("Linear", options, ["bias"]);
    checkCount("Linear", "inFeatures", inFeatures);
    checkCount("Linear", "outFeatures", outFeatures);
    this.weight = this.parameter("weight", defaultWeight([outFeatures, inFeatures]));
    this.bias =
      options.bias === false
        ? null
        : this.parameter("bias", uniform([outFeatures], 1 / Math.sqrt(inFeatures)));
  }
  forward(x: Tensor): Tensor {
    return F.linear(x, this.weight, this.bias);
  }
}

/**
 * Dropout as a layer. It owns nothing.
 */
import * as F from "../functional/index.ts";
import { ArgumentError } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Zeroes elements with probability `p` while training. */
export class Dropout extends Layer {
  readonly p: number;
  constructor(p = 0.5) {
    super();
    if (!(p >= 0 && p < 1))
      throw new ArgumentError(
        "Dropout",
        "a probability in [0, 1)",
        describeValue(p),
        "pass the share to drop, for example 0.5",
      );
    this.p = p;
  }
  forward(x: Tensor): Tensor {
    return F.dropout(x, this.p, this.training);
  }
}

/**
 * Dropout as a layer. It owns nothing.
 */
import { checkArgument } from "../../base/options.ts";
import { dropout } from "../functional/dropout.ts";
import { Layer } from "../module.ts";
import { probability } from "../../tensor/create.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Zeroes elements with probability `p` while training. */
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

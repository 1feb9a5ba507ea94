/**
 * Flattening dimensions as a layer. It owns nothing.
 */
import { checkArgument } from "../../base/options.ts";
import { axisRow } from "../checks.ts";
import { Layer } from "../module.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/**
 * [N, …] → [N, product].
 * @throws ArgumentError for what are no dimensions
 * @example
 * ```ts
 * using flatten = new Flatten();
 * using image = randn([2, 3, 4, 4]);
 * using out = flatten.call(image);
 * console.log(out.shape.join()); // → 2,48
 * ```
 */
export class Flatten extends Layer {
  readonly #start: number;
  constructor(start = 1) {
    super();
    checkArgument("Flatten", "start", start, axisRow);
    this.#start = start;
  }
  forward(x: Tensor): Tensor {
    live(x, "Flatten");
    return x.flatten(this.#start);
  }
}

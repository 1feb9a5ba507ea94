/**
 * Resampling as a layer. It owns nothing; functional/upsample.ts computes.
 */
import { ArgumentError } from "../../base/errors.ts";
import { type UpsampleOptions, readTarget, upsample } from "../functional/upsample.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/**
 * Another size for x [N, C, H, W], or [N, C, L], by the nearest pixel or by linear interpolation,
 * with torch.nn.Upsample's positions.
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using up = new Upsample({ size: [4, 6] });
 * using image = randn([1, 1, 2, 3]);
 * using out = up.call(image);
 * console.log(out.shape.join()); // → 1,1,4,6
 * ```
 */
export class Upsample extends Layer {
  readonly #options: UpsampleOptions;
  constructor(options: UpsampleOptions) {
    super();
    const given = readTarget("Upsample", options);
    if (given.alignCorners && given.mode === "nearest")
      throw new ArgumentError(
        "Upsample",
        "alignCorners only with bilinear",
        "nearest",
        "leave it out",
      );
    this.#options = given;
  }
  forward(x: Tensor): Tensor {
    return upsample(x, this.#options);
  }
}

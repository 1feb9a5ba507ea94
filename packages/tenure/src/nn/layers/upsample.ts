/**
 * Resampling as a layer. It owns nothing; functional/upsample.ts computes.
 */
import * as F from "../functional/index.ts";
import { ArgumentError } from "../../base/errors.ts";
import { needOptions } from "../../base/options.ts";
import { type UpsampleOptions, upsample } from "../functional/upsample.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/**
 * Another size for x [N, C, H, W], or [N, C, L], by the nearest pixel or by linear interpolation,
 * with torch.nn.Upsample's positions.
 */
export class Upsample extends Layer {
  readonly #options: UpsampleOptions;
  constructor(options: UpsampleOptions) {
    super();
    needOptions("Upsample", options, ["size", "scaleFactor", "mode", "alignCorners"]);
    const { size, scaleFactor, mode = "nearest", alignCorners = false } = options;
    if ((size === undefined) === (scaleFactor === undefined))
      throw new ArgumentError(
        "Upsample",
        "either a size or a scaleFactor",
        size === undefined ? "neither" : "both",
        "pass { size: [rows, columns] } or { scaleFactor: 2 }",
      );
    if (
      F.pair((size ?? scaleFactor)!).some(
        (n) => !(n > 0) || (size !== undefined && !Number.isInteger(n)),
      )
    )
      throw new ArgumentError(
        "Upsample",
        "a positive size or factor",
        String(size ?? scaleFactor),
        "pass for example { scaleFactor: 2 }",
      );
    if (alignCorners && mode === "nearest")
      throw new ArgumentError(
        "Upsample",
        "alignCorners only with bilinear",
        "nearest",
        "leave it out",
      );
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return upsample(x, this.#options);
  }
}

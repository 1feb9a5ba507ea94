/**
 * Resampling images and sequences to another size, as a function on tensors. The result belongs to
 * the current scope.
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import {
  type Filled,
  type OptionTable,
  describeValue,
  off,
  readOptions,
} from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { extents } from "../checks.ts";
import { type Pair, flat, pair } from "./spatial.ts";
import { resample } from "../../ops/resample.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** Options of `upsample`: either `size` or `scaleFactor` is needed. */
export interface UpsampleOptions {
  /** Rows and columns of the result; or `scaleFactor`. */
  readonly size?: Pair;
  /**
   * The result has ⌊H · factor⌋ rows; positions step by exactly 1 / factor, as in PyTorch, also
   * where that is not the ratio of the sizes.
   */
  readonly scaleFactor?: Pair;
  readonly mode?: "nearest" | "bilinear" | "linear";
  /** Bilinear: the corner pixels' centres stay where they are. */
  readonly alignCorners?: boolean;
}

const upsampleOptions = {
  size: { ...extents, remedy: "pass { size: [rows, columns] }" },
  scaleFactor: {
    type: "list",
    of: "number",
    length: 2,
    single: true,
    range: "(0, Infinity)",
    remedy: "pass for example { scaleFactor: 2 }",
  },
  mode: {
    type: "choice",
    of: ["nearest", "bilinear", "linear"],
    default: "nearest",
    remedy: "cubic and area are not there: adaptiveAvgPool2d averages",
  },
  alignCorners: off,
} satisfies OptionTable<UpsampleOptions>;

/**
 * Options of `upsample` and `Upsample` with their defaults.
 * @throws ArgumentError for wrong ones, and unless there is either a size or a factor
 */
export function readTarget(
  op: string,
  options: UpsampleOptions,
): Filled<UpsampleOptions, typeof upsampleOptions> {
  const given = readOptions(op, options, upsampleOptions);
  if ((given.size === undefined) === (given.scaleFactor === undefined))
    throw new ArgumentError(
      op,
      "either a size or a scaleFactor",
      given.size === undefined ? "neither" : "both",
      "pass { size: [rows, columns] } or { scaleFactor: 2 }",
    );
  return given;
}

/**
 * x [N, C, H, W] (or [N, C, L], mode nearest or linear) at another size; also known as interpolate.
 * @throws ShapeError for a tensor of another rank, DTypeError for integers, ArgumentError for
 *   options that are unknown or out of range
 * @example
 * ```ts
 * using image = ones([1, 1, 2, 2]);
 * using out = functional.upsample(image, { scaleFactor: 2 });
 * console.log(out.shape.join()); // → 1,1,4,4
 * ```
 */
export function upsample(x: Tensor, options: UpsampleOptions): Tensor {
  const { size, scaleFactor, mode, alignCorners } = readTarget("upsample", options);
  live(x, "upsample");
  if (x.rank === 3) {
    const to = size ?? scaleFactor!;
    if (typeof to !== "number")
      throw new ArgumentError(
        "upsample",
        "one number for a tensor [N, C, L]",
        describeValue(to),
        "pass a plain number",
      );
    return flat("upsample", x, (image) =>
      upsample(image, {
        mode,
        alignCorners,
        ...(size === undefined ? { scaleFactor: [1, to] } : { size: [1, to] }),
      }),
    );
  }
  if (x.rank !== 4)
    throw new ShapeError(
      "upsample",
      "images [N, C, H, W] or sequences [N, C, L]",
      formatShape(x.shape),
      "add missing dimensions with unsqueeze",
    );
  const factor = size === undefined ? pair(scaleFactor!) : null,
    to = factor?.map((f, i) => Math.floor(x.shape[2 + i]! * f)) ?? pair(size!),
    plain = mode === "nearest" ? ("nearest" as const) : ("bilinear" as const);
  if (mode !== "nearest" && alignCorners)
    return call(resample, [x], { size: [to[0], to[1]], mode: "bilinearCorners" });
  const exact = factor === null || factor.every((f, i) => to[i] === x.shape[2 + i]! * f);
  return call(resample, [x], {
    size: [to[0], to[1]],
    ...(exact
      ? { mode: plain }
      : { mode: `${plain}Scaled` as const, scale: [1 / factor[0], 1 / factor[1]] as const }),
  });
}

/**
 * What functions over space share: sizes for one or both directions, and sequences [N, C, L] seen
 * as images of height 1, without copies.
 */
import { ShapeError } from "../../base/errors.ts";
import { formatShape } from "../../base/shape.ts";
import { composed } from "../../ownership/scoped.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** One number for both directions, or (vertical, horizontal). */
export type Pair = number | readonly [number, number];

/**
 * The pair that one number or a pair stands for.
 * @example
 * ```ts
 * console.log(functional.pair(3).join()); // → 3,3
 * ```
 */
export function pair(value: Pair): readonly [number, number] {
  return typeof value === "number" ? [value, value] : value;
}

/** Runs `fn` on images of height 1. */
export function flat(op: string, x: Tensor, fn: (image: Tensor) => Tensor): Tensor {
  live(x, op);
  if (x.rank !== 3)
    throw new ShapeError(
      op,
      "a tensor [N, C, L]",
      formatShape(x.shape),
      "add missing dimensions with unsqueeze",
    );
  return composed(() => fn(x.unsqueeze(2)).squeeze(2), op);
}

/**
 * Borders around tensors, as a function. The result belongs to the current scope, intermediates are
 * freed here.
 */
import { f32Bits } from "../../base/bits.ts";
import { ArgumentError } from "../../base/errors.ts";
import { type OptionRow, checkArgument } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { scalarBits } from "../../ops/typing.ts";
import { pad as padOp } from "../../ops/pad.ts";
import { composed } from "../../ownership/scoped.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

const modeRow = {
  type: "choice",
  of: ["constant", "reflect", "replicate"],
} as const satisfies OptionRow;
/** The row of the number that constant borders are filled with. */
export const filling = {
  type: "number",
  what: "the filling",
  remedy: "pass for example 0",
} as const satisfies OptionRow;
const borderRow = {
  type: "list",
  of: "integer",
  what: "borders",
  remedy: "write [left, right, top, bottom]",
} as const satisfies OptionRow;

/**
 * A border around the last dimensions, given from the last one backwards as in PyTorch: [left,
 * right, top, bottom, …]. Negative constant borders cut off. Modes reflect and replicate take any
 * dimensions.
 * @throws ArgumentError for a border of more dimensions than x has, or below 0 where it repeats,
 *   ShapeError for one wider than what it repeats
 * @example
 * ```ts
 * using x = tensor([1, 2]);
 * using y = functional.pad(x, [1, 0]);
 * console.log(await y.toArray()); // → [ 0, 1, 2 ]
 * ```
 */
export function pad(
  x: Tensor,
  border: readonly number[],
  mode: "constant" | "reflect" | "replicate" = "constant",
  value = 0,
): Tensor {
  live(x, "pad");
  checkArgument("pad", "border", border, borderRow);
  checkArgument("pad", "mode", mode, modeRow);
  checkArgument("pad", "value", value, filling);
  if (border.length % 2 !== 0 || border.length > 2 * x.rank)
    throw new ArgumentError(
      "pad",
      `pairs of whole numbers for at most ${x.rank} dimensions`,
      formatShape(border),
      "write [left, right, top, bottom]",
    );
  const of = (side: 0 | 1): number[] =>
      Array.from({ length: x.rank }, (_, i) => border[2 * (x.rank - 1 - i) + side] ?? 0),
    before = of(0),
    after = of(1);
  if (border.some((n) => n < 0) && mode !== "constant")
    throw new ArgumentError(
      "pad",
      "a border of 0 or more",
      formatShape(border),
      "cut with slice first",
    );
  return composed(() => {
    const inner = before.reduce(
      (t, b, i) =>
        b < 0 || after[i]! < 0
          ? t.slice(i, Math.max(0, -b), t.shape[i]! - Math.max(0, -after[i]!))
          : t,
      x.alias(),
    );
    const scalar = x.dtype === "float16" ? f32Bits(value) : scalarBits(value, x.dtype);
    return call(
      padOp,
      [inner],
      { before: before.map((n) => Math.max(n, 0)), after: after.map((n) => Math.max(n, 0)), mode },
      [scalar],
    );
  }, "pad");
}

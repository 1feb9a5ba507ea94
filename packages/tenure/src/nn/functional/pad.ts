/**
 * Borders around tensors, as a function. The result belongs to the current scope, intermediates are
 * freed here.
 */
import { f32Bits } from "../../base/bits.ts";
import { ArgumentError } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import { scalarBits } from "../../ops/typing.ts";
import { pad as padOp } from "../../ops/pad.ts";
import { scoped } from "../../ownership/scoped.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/**
 * A border around the last dimensions, given from the last one backwards as in PyTorch: [left,
 * right, top, bottom, …]. Negative constant borders cut off. Modes reflect and replicate take any
 * dimensions.
 */
export function pad(
  x: Tensor,
  border: readonly number[],
  mode: "constant" | "reflect" | "replicate" = "constant",
  value = 0,
): Tensor {
  live(x, "pad");
  if (!(Array.isArray as (v: unknown) => boolean)(border))
    throw new ArgumentError(
      "pad",
      "a list of borders",
      describeValue(border),
      "write [left, right, top, bottom]",
    );
  if (
    border.length % 2 !== 0 ||
    border.length > 2 * x.rank ||
    border.some((n) => !Number.isInteger(n))
  )
    throw new ArgumentError(
      "pad",
      `pairs of whole numbers for at most ${x.rank} dimensions`,
      `[${border.join(",")}]`,
      "write [left, right, top, bottom]",
    );
  if (!["constant", "reflect", "replicate"].includes(mode))
    throw new ArgumentError(
      "pad",
      'mode to be "constant", "reflect" or "replicate"',
      describeValue(mode),
      "choose one of them",
    );
  const of = (side: 0 | 1): number[] =>
      Array.from({ length: x.rank }, (_, i) => border[2 * (x.rank - 1 - i) + side] ?? 0),
    before = of(0),
    after = of(1);
  if (border.some((n) => n < 0) && mode !== "constant")
    throw new ArgumentError(
      "pad",
      "a border of 0 or more",
      `[${border.join(",")}]`,
      "cut with slice first",
    );
  return scoped(() => {
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

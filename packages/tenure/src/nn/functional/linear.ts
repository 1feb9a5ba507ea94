/**
 * The affine map of `Linear`, as a function on tensors. The result belongs to the current scope;
 * intermediates are freed here.
 */
import { isFloat } from "../../base/dtype.ts";
import { DTypeError, ShapeError } from "../../base/errors.ts";
import { formatShape } from "../../base/shape.ts";
import { checkOperand } from "../checks.ts";
import { composed } from "../../ownership/scoped.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/**
 * x [..., in] → [..., out] with weight [out, in] and bias [out]: x·Wᵀ + b, as PyTorch lays it out.
 * @throws ShapeError unless x ends in the weight's inputs, and the bias has its outputs
 *   or, as in PyTorch, one number for all; DTypeError for a bias of integers
 * @example
 * ```ts
 * using w = ones([3, 4]);
 * using out = functional.linear(x, w);
 * console.log(out.shape.join()); // → 8,3
 * ```
 */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor {
  const { shape } = live(x, "linear").layout,
    wanted = live(weight, "linear").layout.shape;
  checkOperand("linear", bias);
  if (wanted.length === 2 && shape.at(-1) !== wanted[1])
    throw new ShapeError(
      "linear",
      `an input [..., ${wanted[1]}] for weight ${formatShape(wanted)}`,
      formatShape(shape),
      "check the layer's inFeatures, or flatten the input first",
    );
  if (bias != null && !isFloat(bias.dtype))
    throw new DTypeError("linear", "a float bias", bias.dtype, "cast it to float32");
  if (bias != null && (bias.rank !== 1 || ![1, wanted[0]].includes(bias.shape[0])))
    throw new ShapeError(
      "linear",
      `a bias [${wanted[0]}] for weight ${formatShape(wanted)}`,
      formatShape(bias.shape),
      "give each output one number",
    );
  return composed(() => {
    const rows = x.rank === 1 ? x.unsqueeze(0) : x;
    const y = rows.matmul(weight.transpose());
    const out = bias == null ? y : y.add(bias);
    return x.rank === 1 ? out.squeeze(0) : out;
  }, "linear");
}

/**
 * Running sums and products along an axis. Called through the runtime's door.
 */
import { type DType, isFloat } from "../base/dtype.ts";
import { cumProdBackwardKernel, cumProdKernel, cumSumKernel } from "../kernels/scan.ts";
import { type OpDef, defineOp } from "./op.ts";
import type { AxisAttrs } from "./reduce.ts";

const summed = (dtype: DType): DType => (dtype === "bool" ? "int32" : dtype);

/** `reverse` sums from the end. */
export const cumSum: OpDef<AxisAttrs & { readonly reverse: boolean }> = defineOp<AxisAttrs & { readonly reverse: boolean }>({
  name: "cumSum", doc: "Sum of all elements up to each position of an axis, or from it to the end.", facts: { reduces: true },
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: summed(x!.dtype) }],
  key: ({ axis, reverse }) => [axis, reverse ? 1 : 0],
  kernel: ([x], [y], { axis, reverse }, caps) => cumSumKernel({ input: x!, axis, dtype: y!.dtype, reverse }, caps),
  vjp: ({ grad, attrs, run }) => [run(cumSum, [grad], { axis: attrs.axis, reverse: !attrs.reverse })],
});

const cumProdBackward: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "cumProdBackward", doc: "Gradient of cumProd from its input, its output and the output's gradient; exact where elements are 0.", facts: { reduces: true },
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: x!.dtype }],
  key: ({ axis }) => [axis],
  kernel: ([x, y, g], _, { axis }, caps) => cumProdBackwardKernel({ input: x!, output: y!, grad: g!, axis }, caps),
});

export const cumProd: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
  name: "cumProd", doc: "Product of all elements up to each position of an axis.", facts: { reduces: true }, saves: { inputs: [0], output: true },
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: summed(x!.dtype) }],
  key: ({ axis }) => [axis],
  kernel: ([x], [y], { axis }, caps) => cumProdKernel({ input: x!, axis, dtype: y!.dtype }, caps),
  vjp: ({ grad, input, output, metas, attrs, run }) => [isFloat(metas[0]!.dtype) ? run(cumProdBackward, [input(0), output(), grad], attrs) : null],
});

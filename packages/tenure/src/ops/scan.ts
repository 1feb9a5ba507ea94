/**
 * Running sums and products along an axis. Run by `tensor/run.ts`.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { type DType, isFloat } from "../base/dtype.ts";
import { arange, constant } from "./creation.ts";
import { eq, where } from "./comparison.ts";
import { mul } from "./arithmetic.ts";
import { band } from "./masking.ts";
import { type OpDef, type Run, type Value, defineOp } from "./op.ts";
import { type AxisAttrs, sum } from "./reduce.ts";
import { expand, permute, reshape } from "./views.ts";

const summed = (dtype: DType): DType => (dtype === "bool" ? "int32" : dtype);

/**
 * Sum of all elements up to each position of an axis, or from it to the end. `reverse` sums from
 * the end.
 */
export const cumSum: OpDef<AxisAttrs & { readonly reverse: boolean }> = defineOp<
  AxisAttrs & { readonly reverse: boolean },
  [View],
  [View]
>({
  name: "cumSum",
  facts: { reduces: true },
  family: "sequences",
  infer: ([x]) => [{ shape: x.layout.shape, dtype: summed(x.dtype) }],
  key: ({ axis, reverse }) => [axis, reverse ? 1 : 0],
  kernel: ([x], [y], { axis, reverse }, caps, kernels) =>
    kernels.cumSumKernel({ input: x, axis, dtype: y.dtype, reverse }, caps),
  vjp: ({ grad, attrs, run }) => [
    run(cumSum, [grad], { axis: attrs.axis, reverse: !attrs.reverse }),
  ],
});

/** Gradient of `cumProd`, exact where elements are 0. Inputs: x, result, gradient. */
export const cumProdBackward: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View, View, View]>({
  name: "cumProdBackward",
  facts: { reduces: true },
  family: "sequences",
  infer: ([x]) => [{ shape: x.layout.shape, dtype: x.dtype }],
  key: ({ axis }) => [axis],
  kernel: ([x, y, g], _, { axis }, caps, kernels) =>
    kernels.cumProdBackwardKernel({ input: x, output: y, grad: g, axis }, caps),
});

/** Product of all elements up to each position of an axis. */
export const cumProd: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View], [View]>({
  name: "cumProd",
  facts: { reduces: true },
  family: "sequences",
  saves: { inputs: [0], output: true },
  infer: ([x]) => [{ shape: x.layout.shape, dtype: summed(x.dtype) }],
  key: ({ axis }) => [axis],
  kernel: ([x], [y], { axis }, caps, kernels) =>
    kernels.cumProdKernel({ input: x, axis, dtype: y.dtype }, caps),
  vjp: ({ grad, input, output, metas, attrs, recorded, run }) => {
    if (!isFloat(at(metas, 0).dtype)) return [null];
    return [
      recorded
        ? productsOfOthers(run, input(0), grad, attrs.axis)
        : run(cumProdBackward, [input(0), output(), grad], attrs),
    ];
  },
});

/**
 * The gradient of cumProd from ops that have gradients: for each element, products in which 1
 * stands in its place, exact at zeros. n² numbers per line of n.
 */
function productsOfOthers(run: Run, x: Value, grad: Value, axis: number): Value {
  const { shape } = x,
    n = at(shape, axis),
    last = shape.length - 1,
    square = [...shape.filter((_, i) => i !== axis), n, n];
  const order = [...shape.keys()].filter((i) => i !== axis).concat(axis),
    back = [...shape.keys()].map((i) => order.indexOf(i));
  const rows = (v: Value): Value => {
    const t = run(permute, [v], { order });
    return run(expand, [run(reshape, [t], { shape: [...t.shape.slice(0, -1), 1, n] })], {
      shape: square,
    });
  };
  const count = (at: readonly number[]): Value =>
    run(arange, [], { shape: at, dtype: "int32" }, [0, 1]);
  const others = run(
    where,
    [run(eq, [count([n, 1]), count([1, n])], undefined), constant(run, 1, x.dtype), rows(x)],
    undefined,
  );
  const terms = run(mul, [rows(grad), run(cumProd, [others], { axis: last + 1 })], undefined);
  return run(
    permute,
    [
      run(sum, [run(band, [terms], { upper: true }, [n, n, 0])], {
        axes: [last + 1],
        keepDims: false,
      }),
    ],
    { order: back },
  );
}

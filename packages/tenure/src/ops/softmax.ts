/**
 * Softmax, log-softmax and cross entropy along an axis, with their gradients. One dispatch each.
 * Run by `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import { isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import { f32Bits, type View } from "../kernels/kernel.ts";
import { mul, neg, sub } from "./arithmetic.ts";
import { cast } from "./casting.ts";
import { ne } from "./comparison.ts";
import { fill } from "./creation.ts";
import { exp } from "./exponentials.ts";
import { type OpDef, type Value, after, defineOp } from "./op.ts";
import { type AxisAttrs, sum } from "./reduce.ts";
import { reshape } from "./views.ts";

function softmaxLike(
  name: string,
  log: boolean,
): { forward: OpDef<AxisAttrs>; backward: OpDef<AxisAttrs> } {
  const backward: OpDef<AxisAttrs> = defineOp<AxisAttrs, [View, View]>({
    name: `${name}Backward`,
    facts: { reduces: true, epilogue: true },
    saves: { inputs: [0, 1] },
    infer: ([y]) => [{ shape: y.layout.shape, dtype: y.dtype }],
    key: ({ axis }) => [axis],
    family: "main",
    kernel: ([y, g], _, { axis }, caps, kernels, around) =>
      kernels.softmaxBackwardKernel({ ...after(around), output: y, grad: g, axis, log }, caps),
    flops: ([y]) => 4 * y.layout.size,
    vjp: ({ grad: h, input, attrs, run }) => {
      const y = input(0),
        g = input(1),
        times = (a: Value, b: Value): Value => run(mul, [a, b], undefined),
        minus = (a: Value, b: Value): Value => run(sub, [a, b], undefined);
      const total = (x: Value): Value => run(sum, [x], { axes: [attrs.axis], keepDims: true });
      if (log) {
        const p = run(exp, [y], undefined);
        return [run(neg, [times(times(h, p), total(g))], undefined), minus(h, total(times(h, p)))];
      }
      return [
        minus(times(h, minus(g, total(times(y, g)))), times(total(times(h, y)), g)),
        run(backward, [y, h], attrs),
      ];
    },
  });
  const forward = defineOp<AxisAttrs, [View]>({
    name,
    facts: { reduces: true, epilogue: true },
    saves: { output: true },
    infer: ([x]) => {
      if (!isFloat(x.dtype))
        throw new DTypeError(name, "a float tensor", x.dtype, "cast it to float32");
      return [{ shape: x.layout.shape, dtype: x.dtype }];
    },
    key: ({ axis }) => [axis],
    family: "main",
    kernel: ([x], _, { axis }, caps, kernels, around) =>
      kernels.softmaxKernel({ ...after(around), input: x, axis, log }, caps),
    flops: ([x]) => 5 * x.layout.size,
    vjp: ({ grad, output, attrs, run }) => [run(backward, [output(), grad], attrs)],
  });
  return { forward, backward };
}

/** exp(x) / Σ exp(x) along an axis, without overflow. */
export const { forward: softmax, backward: softmaxBackward } = softmaxLike("softmax", false);

/** log of softmax along an axis, without overflow or loss of small values. */
export const { forward: logSoftmax, backward: logSoftmaxBackward } = softmaxLike(
  "logSoftmax",
  true,
);

/** The target whose rows do not count, if there is one. */
export interface CrossEntropyAttrs {
  readonly ignoreIndex: number | undefined;
}

const crossEntropyKey = ({ ignoreIndex }: CrossEntropyAttrs): readonly number[] =>
  ignoreIndex === undefined ? [0, 0] : [1, ignoreIndex];

const withIgnore = ({ ignoreIndex }: CrossEntropyAttrs): { ignoreIndex?: number } =>
  ignoreIndex === undefined ? {} : { ignoreIndex };

/** Gradient of `crossEntropyRows`. Inputs: logits, targets, gradient of each row. */
export const crossEntropyBackward: OpDef<CrossEntropyAttrs> = defineOp<
  CrossEntropyAttrs,
  [View, View, View]
>({
  name: "crossEntropyBackward",
  facts: { reduces: true },
  saves: { inputs: [0, 1, 2] },
  infer: ([logits]) => [{ shape: logits.layout.shape, dtype: logits.dtype }],
  key: crossEntropyKey,
  family: "main",
  kernel: ([logits, targets, gradPerRow], _, attrs, caps, kernels) =>
    kernels.crossEntropyBackwardKernel({ logits, targets, gradPerRow, ...withIgnore(attrs) }, caps),
  flops: ([logits]) => 5 * logits.layout.size,
  vjp: ({ grad: h, input, metas, needs, attrs, run }) => {
    const [logits, targets, perRow] = [input(0), input(1), input(2)],
      rows = at(metas, 2).shape,
      times = (a: Value, b: Value): Value => run(mul, [a, b], undefined);
    const byLogits = (): Value => {
      const p = run(softmax, [logits], { axis: 1 }),
        centred = run(sub, [h, run(sum, [times(p, h)], { axes: [1], keepDims: true })], undefined);
      const ignored =
        attrs.ignoreIndex === undefined
          ? perRow
          : times(
              perRow,
              run(
                cast,
                [
                  run(
                    ne,
                    [
                      targets,
                      run(fill, [], { shape: [], dtype: "int32" }, [attrs.ignoreIndex >>> 0]),
                    ],
                    undefined,
                  ),
                ],
                { dtype: "float32" },
              ),
            );
      return times(times(p, centred), run(reshape, [ignored], { shape: [...rows, 1] }));
    };
    const byRow = (): Value =>
      run(
        sum,
        [
          times(
            h,
            run(
              crossEntropyBackward,
              [logits, targets, run(fill, [], { shape: rows, dtype: "float32" }, [f32Bits(1)])],
              attrs,
            ),
          ),
        ],
        { axes: [1], keepDims: false },
      );
    return [needs(0) ? byLogits() : null, null, needs(2) ? byRow() : null];
  },
});

/** Inputs: logits [N, C], targets [N] of class numbers. Output [N]. */
export const crossEntropyRows: OpDef<CrossEntropyAttrs> = defineOp<CrossEntropyAttrs, [View, View]>(
  {
    name: "crossEntropyRows",
    facts: { reduces: true },
    saves: { inputs: [0, 1] },
    infer: ([logits, targets]) => {
      const name = "crossEntropy",
        l = logits.layout.shape,
        t = targets.layout.shape;
      if (l.length !== 2)
        throw new ShapeError(
          name,
          "logits [N, C]",
          formatShape(l),
          "flatten leading dimensions with reshape",
        );
      if (t.length !== 1 || t[0] !== l[0])
        throw new ShapeError(
          name,
          `targets [${l[0]}], one class per row of the logits`,
          formatShape(t),
          "pass class numbers, not one-hot rows",
        );
      if (!isFloat(logits.dtype))
        throw new DTypeError(name, "float logits", logits.dtype, "cast them to float32");
      if (targets.dtype !== "int32" && targets.dtype !== "uint32")
        throw new DTypeError(
          name,
          "int32 or uint32 targets",
          targets.dtype,
          'make them with tensor(labels, { dtype: "int32" })',
        );
      return [{ shape: t, dtype: logits.dtype }];
    },
    key: crossEntropyKey,
    family: "main",
    kernel: ([logits, targets], _, attrs, caps, kernels) =>
      kernels.crossEntropyKernel({ logits, targets, ...withIgnore(attrs) }, caps),
    flops: ([logits]) => 4 * logits.layout.size,
    vjp: ({ grad, input, attrs, run }) => [
      run(crossEntropyBackward, [input(0), input(1), grad], attrs),
      null,
    ],
  },
);

/**
 * Reductions over axes, and the row-wise ops built like them: softmax, log-softmax, cross entropy.
 * One dispatch each. Called through the runtime's door.
 */
import { type DType, isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, reducedShape, sizeOf } from "../base/shape.ts";
import { f32Bits } from "../kernels/kernel.ts";
import { type ReduceOp, reduceKernel } from "../kernels/reduce.ts";
import {
  crossEntropyBackwardKernel,
  crossEntropyKernel,
  softmaxBackwardKernel,
  softmaxKernel,
} from "../kernels/softmax.ts";
import { cast } from "./casting.ts";
import { constant, fill } from "./creation.ts";
import { div, mul, mulScalar, neg, sub } from "./arithmetic.ts";
import { eq, ne, where } from "./comparison.ts";
import { exp } from "./exponentials.ts";
import { type OpDef, after, type Run, type Value, type VjpContext, defineOp } from "./op.ts";
import { expand, reshape } from "./views.ts";

/** `axes` are sorted and not negative. */
export interface ReduceAttrs {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

interface ReduceDef {
  readonly doc: string;
  readonly outDtype: (dtype: DType) => DType;
  /** Refuses an empty reduction, which has no identity. */
  readonly needsElements?: boolean;
  readonly vjp?: OpDef<ReduceAttrs>["vjp"];
  readonly saves?: OpDef<ReduceAttrs>["saves"];
}

function reduction(name: ReduceOp, def: ReduceDef): OpDef<ReduceAttrs> {
  return defineOp<ReduceAttrs>({
    name,
    doc: def.doc,
    facts: { reduces: true, prologue: 0, epilogue: true },
    saves: def.saves ?? {},
    infer: ([x], { axes, keepDims }) => {
      const { shape } = x!.layout;
      if (def.needsElements === true && axes.some((a) => shape[a] === 0))
        throw new ShapeError(
          name,
          "at least one element to choose from",
          formatShape(shape),
          "check the tensor is not empty",
        );
      return [{ shape: reducedShape(shape, axes, keepDims), dtype: def.outDtype(x!.dtype) }];
    },
    key: ({ axes, keepDims }) => [keepDims ? 1 : 0, ...axes],
    kernel: ([x], [y], { axes }, caps, around) =>
      reduceKernel({ op: name, input: x!, axes, outDtype: y!.dtype, ...around }, caps),
    flops: ([x]) => x!.layout.size,
    ...(def.vjp === undefined ? {} : { vjp: def.vjp }),
  });
}

/** A reduced value stretched back over the shape it was reduced from. */
export function stretch(run: Run, value: Value, shape: Shape, axes: readonly number[]): Value {
  return run(expand, [run(reshape, [value], { shape: reducedShape(shape, axes, true) })], {
    shape,
  });
}

const summed = (dtype: DType): DType => (dtype === "bool" ? "int32" : dtype);
const averaged = (dtype: DType): DType => (isFloat(dtype) ? dtype : "float32");

/** The gradient goes to the extremes; ties share it. */
function extremeVjp({
  grad,
  input,
  output,
  metas,
  attrs,
  run,
}: VjpContext<ReduceAttrs>): readonly Value[] {
  const { shape } = metas[0]!,
    { axes } = attrs;
  const hit = run(cast, [run(eq, [input(0), stretch(run, output(), shape, axes)], undefined)], {
    dtype: "float32",
  });
  const ties = run(sum, [hit], { axes, keepDims: true });
  return [run(div, [run(mul, [hit, stretch(run, grad, shape, axes)], undefined), ties], undefined)];
}

export const sum: OpDef<ReduceAttrs> = reduction("sum", {
  doc: "Sum over axes; bools count.",
  outDtype: summed,
  vjp: ({ grad, metas, attrs, run }) => [stretch(run, grad, metas[0]!.shape, attrs.axes)],
});
export const mean: OpDef<ReduceAttrs> = reduction("mean", {
  doc: "Mean over axes; integers give float32, an empty reduction NaN.",
  outDtype: averaged,
  vjp: ({ grad, metas, attrs, run }) => {
    const { shape } = metas[0]!,
      n = sizeOf(attrs.axes.map((a) => shape[a]!));
    return [
      stretch(
        run,
        run(mulScalar, [grad], { dtype: grad.dtype, reverse: false }, [f32Bits(1 / n)]),
        shape,
        attrs.axes,
      ),
    ];
  },
});
export const prod: OpDef<ReduceAttrs> = reduction("prod", {
  doc: "Product over axes. Where a factor is 0, the gradient is the product of the others.",
  outDtype: summed,
  saves: { inputs: [0] },
  vjp: ({ grad, input, metas, attrs, run }) => {
    // Exact at zeros: with one zero only its own gradient survives, with two none does.
    const { shape } = metas[0]!,
      { axes } = attrs,
      x = input(0),
      nothing = constant(run, 0, grad.dtype),
      zero = run(eq, [x, nothing], undefined);
    const others = run(where, [zero, constant(run, 1, grad.dtype), x], undefined),
      product = run(prod, [others], { axes, keepDims: true });
    const zeros = run(sum, [run(cast, [zero], { dtype: "float32" })], { axes, keepDims: true });
    const atZero = run(
        where,
        [run(eq, [zeros, constant(run, 1)], undefined), product, nothing],
        undefined,
      ),
      elsewhere = run(
        where,
        [
          run(eq, [zeros, constant(run, 0)], undefined),
          run(div, [product, others], undefined),
          nothing,
        ],
        undefined,
      );
    return [
      run(
        mul,
        [stretch(run, grad, shape, axes), run(where, [zero, atZero, elsewhere], undefined)],
        undefined,
      ),
    ];
  },
});
export const max: OpDef<ReduceAttrs> = reduction("max", {
  doc: "Largest element over axes; NaN wins. Ties share the gradient.",
  outDtype: summed,
  needsElements: true,
  saves: { inputs: [0], output: true },
  vjp: extremeVjp,
});
export const min: OpDef<ReduceAttrs> = reduction("min", {
  doc: "Smallest element over axes; NaN wins. Ties share the gradient.",
  outDtype: summed,
  needsElements: true,
  saves: { inputs: [0], output: true },
  vjp: extremeVjp,
});
export const argMax: OpDef<ReduceAttrs> = reduction("argMax", {
  doc: "Row-major position of the first largest element over axes; NaN counts as largest.",
  outDtype: () => "int32",
  needsElements: true,
});
export const argMin: OpDef<ReduceAttrs> = reduction("argMin", {
  doc: "Row-major position of the first smallest element over axes; NaN counts as smallest.",
  outDtype: () => "int32",
  needsElements: true,
});
export const any: OpDef<ReduceAttrs> = reduction("any", {
  doc: "Whether some element over axes is true (not 0).",
  outDtype: () => "bool",
});
export const all: OpDef<ReduceAttrs> = reduction("all", {
  doc: "Whether every element over axes is true (not 0).",
  outDtype: () => "bool",
});

// === Rows ===

export interface AxisAttrs {
  readonly axis: number;
}

function softmaxLike(
  name: string,
  log: boolean,
  doc: string,
): { forward: OpDef<AxisAttrs>; backward: OpDef<AxisAttrs> } {
  const backward: OpDef<AxisAttrs> = defineOp<AxisAttrs>({
    name: `${name}Backward`,
    doc: `Gradient of ${name} from its output.`,
    facts: { reduces: true, epilogue: true },
    saves: { inputs: [0, 1] },
    infer: ([y]) => [{ shape: y!.layout.shape, dtype: y!.dtype }],
    key: ({ axis }) => [axis],
    kernel: ([y, g], _, { axis }, caps, around) =>
      softmaxBackwardKernel({ ...after(around), output: y!, grad: g!, axis, log }, caps),
    flops: ([y]) => 4 * y!.layout.size,
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
  const forward = defineOp<AxisAttrs>({
    name,
    doc,
    facts: { reduces: true, epilogue: true },
    saves: { output: true },
    infer: ([x]) => {
      if (!isFloat(x!.dtype))
        throw new DTypeError(name, "a float tensor", x!.dtype, "cast it to float32");
      return [{ shape: x!.layout.shape, dtype: x!.dtype }];
    },
    key: ({ axis }) => [axis],
    kernel: ([x], _, { axis }, caps, around) =>
      softmaxKernel({ ...after(around), input: x!, axis, log }, caps),
    flops: ([x]) => 5 * x!.layout.size,
    vjp: ({ grad, output, attrs, run }) => [run(backward, [output(), grad], attrs)],
  });
  return { forward, backward };
}

export const { forward: softmax, backward: softmaxBackward } = softmaxLike(
  "softmax",
  false,
  "exp(x) / Σ exp(x) along an axis, without overflow.",
);
export const { forward: logSoftmax } = softmaxLike(
  "logSoftmax",
  true,
  "log of softmax along an axis, without overflow or loss of small values.",
);

export interface CrossEntropyAttrs {
  readonly ignoreIndex: number | undefined;
}

const crossEntropyKey = ({ ignoreIndex }: CrossEntropyAttrs): readonly number[] =>
  ignoreIndex === undefined ? [0, 0] : [1, ignoreIndex];
const withIgnore = ({ ignoreIndex }: CrossEntropyAttrs): { ignoreIndex?: number } =>
  ignoreIndex === undefined ? {} : { ignoreIndex };

const crossEntropyBackward: OpDef<CrossEntropyAttrs> = defineOp<CrossEntropyAttrs>({
  name: "crossEntropyBackward",
  doc: "Gradient of crossEntropyRows from logits, targets and the gradient per row.",
  facts: { reduces: true },
  saves: { inputs: [0, 1, 2] },
  infer: ([logits]) => [{ shape: logits!.layout.shape, dtype: logits!.dtype }],
  key: crossEntropyKey,
  kernel: ([logits, targets, gradPerRow], _, attrs, caps) =>
    crossEntropyBackwardKernel(
      { logits: logits!, targets: targets!, gradPerRow: gradPerRow!, ...withIgnore(attrs) },
      caps,
    ),
  flops: ([logits]) => 5 * logits!.layout.size,
  vjp: ({ grad: h, input, metas, needs, attrs, run }) => {
    const [logits, targets, perRow] = [input(0), input(1), input(2)],
      rows = metas[2]!.shape,
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
export const crossEntropyRows: OpDef<CrossEntropyAttrs> = defineOp<CrossEntropyAttrs>({
  name: "crossEntropyRows",
  doc: "-log softmax(logits)[target] per row; NaN for a target out of range, 0 for the ignored one.",
  facts: { reduces: true },
  saves: { inputs: [0, 1] },
  infer: ([logits, targets]) => {
    const name = "crossEntropy",
      l = logits!.layout.shape,
      t = targets!.layout.shape;
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
    if (!isFloat(logits!.dtype))
      throw new DTypeError(name, "float logits", logits!.dtype, "cast them to float32");
    if (targets!.dtype !== "int32" && targets!.dtype !== "uint32")
      throw new DTypeError(
        name,
        "int32 or uint32 targets",
        targets!.dtype,
        'make them with tensor(labels, { dtype: "int32" })',
      );
    return [{ shape: t, dtype: logits!.dtype }];
  },
  key: crossEntropyKey,
  kernel: ([logits, targets], _, attrs, caps) =>
    crossEntropyKernel({ logits: logits!, targets: targets!, ...withIgnore(attrs) }, caps),
  flops: ([logits]) => 4 * logits!.layout.size,
  vjp: ({ grad, input, attrs, run }) => [
    run(crossEntropyBackward, [input(0), input(1), grad], attrs),
    null,
  ],
});

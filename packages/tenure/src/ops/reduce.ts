/**
 * Reductions over axes. One dispatch each. Run by `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import { type DType, isFloat } from "../base/dtype.ts";
import { ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, reducedShape, sizeOf } from "../base/shape.ts";
import { f32Bits, type View } from "../kernels/kernel.ts";
import type { ReduceOp } from "../kernels/accumulators.ts";
import { div, mul, mulScalar } from "./arithmetic.ts";
import { cast } from "./casting.ts";
import { eq, where } from "./comparison.ts";
import { constant } from "./creation.ts";
import { type OpDef, type Run, type Value, type VjpContext, defineOp } from "./op.ts";
import { expand, reshape } from "./views.ts";

/** `axes` are sorted and not negative. */
export interface ReduceAttrs {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

interface ReduceDef {
  readonly outDtype: (dtype: DType) => DType;
  /** Refuses an empty reduction, which has no identity. */
  readonly needsElements?: boolean;
  readonly vjp?: OpDef<ReduceAttrs>["vjp"];
  readonly saves?: OpDef<ReduceAttrs>["saves"];
}

function reduction(name: ReduceOp, def: ReduceDef): OpDef<ReduceAttrs> {
  return defineOp<ReduceAttrs, [View], [View]>({
    name,
    facts: { reduces: true, prologue: 0, epilogue: true },
    saves: def.saves ?? {},
    infer: ([x], { axes, keepDims }) => {
      const { shape } = x.layout;
      if (def.needsElements === true && axes.some((a) => shape[a] === 0))
        throw new ShapeError(
          name,
          "at least one element to choose from",
          formatShape(shape),
          "check the tensor is not empty",
        );
      return [{ shape: reducedShape(shape, axes, keepDims), dtype: def.outDtype(x.dtype) }];
    },
    key: ({ axes, keepDims }) => [keepDims ? 1 : 0, ...axes],
    family: "main",
    kernel: ([x], [y], { axes }, caps, kernels, around) =>
      kernels.reduceKernel({ op: name, input: x, axes, outDtype: y.dtype, ...around }, caps),
    flops: ([x]) => x.layout.size,
    ...(def.vjp === undefined ? {} : { vjp: def.vjp }),
  });
}

/** A reduced value, expanded to the shape it was reduced from. */
export function expandBack(run: Run, value: Value, shape: Shape, axes: readonly number[]): Value {
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
  const { shape } = at(metas, 0),
    { axes } = attrs;
  const hit = run(cast, [run(eq, [input(0), expandBack(run, output(), shape, axes)], undefined)], {
    dtype: "float32",
  });
  const ties = run(sum, [hit], { axes, keepDims: true });
  return [
    run(div, [run(mul, [hit, expandBack(run, grad, shape, axes)], undefined), ties], undefined),
  ];
}

/** Sum over axes; bools count. */
export const sum: OpDef<ReduceAttrs> = reduction("sum", {
  outDtype: summed,
  vjp: ({ grad, metas, attrs, run }) => [expandBack(run, grad, at(metas, 0).shape, attrs.axes)],
});

/** Mean over axes; integers give float32, an empty reduction NaN. */
export const mean: OpDef<ReduceAttrs> = reduction("mean", {
  outDtype: averaged,
  vjp: ({ grad, metas, attrs, run }) => {
    const { shape } = at(metas, 0),
      n = sizeOf(attrs.axes.map((a) => at(shape, a)));
    return [
      expandBack(
        run,
        run(mulScalar, [grad], { dtype: grad.dtype, reverse: false }, [f32Bits(1 / n)]),
        shape,
        attrs.axes,
      ),
    ];
  },
});

/** Product over axes. Where a factor is 0, the gradient is the product of the others. */
export const prod: OpDef<ReduceAttrs> = reduction("prod", {
  outDtype: summed,
  saves: { inputs: [0] },
  vjp: ({ grad, input, metas, attrs, run }) => {
    // Exact at zeros: with one zero only its own gradient survives, with two none does.
    const { shape } = at(metas, 0),
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
        [expandBack(run, grad, shape, axes), run(where, [zero, atZero, elsewhere], undefined)],
        undefined,
      ),
    ];
  },
});

/** Largest element over axes; NaN wins. Ties share the gradient. */
export const max: OpDef<ReduceAttrs> = reduction("max", {
  outDtype: summed,
  needsElements: true,
  saves: { inputs: [0], output: true },
  vjp: extremeVjp,
});

/** Smallest element over axes; NaN wins. Ties share the gradient. */
export const min: OpDef<ReduceAttrs> = reduction("min", {
  outDtype: summed,
  needsElements: true,
  saves: { inputs: [0], output: true },
  vjp: extremeVjp,
});

/** Row-major position of the first largest element over axes; NaN counts as largest. */
export const argMax: OpDef<ReduceAttrs> = reduction("argMax", {
  outDtype: () => "int32",
  needsElements: true,
});

/** Row-major position of the first smallest element over axes; NaN counts as smallest. */
export const argMin: OpDef<ReduceAttrs> = reduction("argMin", {
  outDtype: () => "int32",
  needsElements: true,
});

/** Whether some element over axes is true (not 0). */
export const any: OpDef<ReduceAttrs> = reduction("any", {
  outDtype: () => "bool",
});

/** Whether every element over axes is true (not 0). */
export const all: OpDef<ReduceAttrs> = reduction("all", {
  outDtype: () => "bool",
});

/** The axis an op works along, not negative. */
export interface AxisAttrs {
  readonly axis: number;
}

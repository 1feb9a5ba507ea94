/**
 * The larger and the smaller of two, and values kept within bounds. Run by `tensor/run.ts`; records
 * own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { type DType, dtypeCode, isFloat, computeType } from "../base/dtype.ts";
import { mul2 } from "./arithmetic.ts";
import { type ScalarAttrs, binary, scalarForm, withInplace } from "./builders.ts";
import { fill } from "./creation.ts";
import { type OpDef, type Value, defineOp } from "./op.ts";
import { castHelpers, casts, ofType } from "./typing.ts";

/** 1 where the first wins, 1/2 on a tie, 0 else: how maximum and minimum share their gradient. */
export const wins: OpDef = binary("wins", {
  kind: "float",
  expr: "select(select(0.0, 1.0, x > y || isNan(x)), 0.5, x == y)",
  helpers: ["isNan"],
  vjp: () => [null, null],
});

/** The larger of a and b; NaN wins. A tie shares the gradient. */
export const maximum: OpDef = binary("maximum", {
  kind: "arithmetic",
  ofBools: true,
  expr: ofType("nanMax(x, y)", "max(x, y)"),
  helpers: ["nanMax"],
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    mul2(c.run, g, c.run(wins, [c.input(0), c.input(1)], undefined)),
    mul2(c.run, g, c.run(wins, [c.input(1), c.input(0)], undefined)),
  ],
});

/** The smaller of a and b; NaN wins. A tie shares the gradient. */
export const minimum: OpDef = binary("minimum", {
  kind: "arithmetic",
  ofBools: true,
  expr: ofType("nanMin(x, y)", "min(x, y)"),
  helpers: ["nanMin"],
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    mul2(c.run, g, c.run(wins, [c.input(1), c.input(0)], undefined)),
    mul2(c.run, g, c.run(wins, [c.input(0), c.input(1)], undefined)),
  ],
});

const shareScalar =
  (reverse: (x: Value, n: Value) => readonly [Value, Value]): OpDef<ScalarAttrs>["vjp"] =>
  (c) => {
    const number = c.run(fill, [], { shape: [], dtype: "float32" }, c.scalars);
    return [mul2(c.run, c.grad, c.run(wins, reverse(c.input(0), number), undefined))];
  };

/** The larger of x and a number given with the call; NaN wins. */
export const maximumScalar: OpDef<ScalarAttrs> = scalarForm(maximum, {
  kind: "arithmetic",
  expr: ofType("nanMax(x, y)", "max(x, y)"),
  helpers: ["nanMax"],
  saves: { inputs: [0] },
  vjp: shareScalar((x, n) => [x, n])!,
});

/** The smaller of x and a number given with the call; NaN wins. */
export const minimumScalar: OpDef<ScalarAttrs> = scalarForm(minimum, {
  kind: "arithmetic",
  expr: ofType("nanMin(x, y)", "min(x, y)"),
  helpers: ["nanMin"],
  saves: { inputs: [0] },
  vjp: shareScalar((x, n) => [n, x])!,
});

/** The dtype of the result. */
export interface DTypeAttrs {
  readonly dtype: DType;
}

/** Whether the bounds themselves are left out, as for hard activations. */
interface BoundsAttrs {
  readonly open: boolean;
}

/** Inputs: x, gradient. The gradient where x lies within the bounds, else 0. */
export const clampBackward: OpDef<BoundsAttrs | undefined> = defineOp<
  BoundsAttrs | undefined,
  [View, View]
>({
  name: "clampBackward",
  key: (attrs) => [attrs?.open === true ? 1 : 0],
  facts: { elementwise: true },
  saves: { inputs: [0] },
  infer: ([x, g]) => [{ shape: x.layout.shape, dtype: g.dtype }],
  expression: (_, attrs) => {
    const within = attrs?.open === true ? "a0 > s0 && a0 < s1" : "a0 >= s0 && a0 <= s1";
    return {
      body: `r0 = select(0.0, a1, ${within});`,
      scalars: [{ type: "f32" }, { type: "f32" }],
    };
  },
  vjp: ({ grad, input, attrs, scalars, run }) => [
    null,
    run(clampBackward, [input(0), grad], attrs, scalars),
  ],
});

/** `open`: no gradient at the bounds themselves. */
export interface ClampAttrs extends DTypeAttrs {
  readonly open?: boolean;
}

/**
 * x kept within two bounds; NaN stays NaN. No gradient outside them. Scalars: lower and upper bound
 * in `dtype`, which the op computes in.
 */
export const clamp: OpDef<ClampAttrs> = withInplace<ClampAttrs>({
  name: "clamp",
  facts: { elementwise: true },
  saves: { inputs: [0] },
  infer: ([x], { dtype }) => [{ shape: x!.layout.shape, dtype }],
  key: ({ dtype, open = false }) => [dtypeCode(dtype) * 2 + (open ? 1 : 0)],
  expression: ([x], { dtype }) => {
    const type = computeType(dtype),
      from = computeType(x!.dtype),
      float = type === "f32",
      scalar = type === "bool" ? "u32" : type;
    return {
      body:
        `let x = ${casts[type]("a0", from)};\nr0 = ` +
        `${float ? "nanMin(nanMax(x, s0), s1)" : "min(max(x, s0), s1)"};`,
      helpers: [...(float ? ["nanMin", "nanMax"] : []), ...castHelpers(type, from)],
      scalars: [{ type: scalar }, { type: scalar }],
    };
  },
  vjp: ({ grad, input, metas, attrs: { open = false }, scalars, run }) => [
    isFloat(at(metas, 0).dtype) ? run(clampBackward, [input(0), grad], { open }, scalars) : null,
  ],
});

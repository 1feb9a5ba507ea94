/**
 * Sums, differences, products and quotients of tensors and numbers, and the short forms in which
 * gradient rules write them. Run by `tensor/run.ts`; records own nothing.
 */
import { f32Bits } from "../kernels/kernel.ts";
import { type ScalarAttrs, binary, scalarForm, unary } from "./builders.ts";
import type { OpDef, Run, Value, VjpContext } from "./op.ts";
import { ofType } from "./typing.ts";

/** A gradient of zeros for an op that is flat wherever it has a derivative. */
export const zeroGrad = (c: VjpContext<undefined>, g: Value): Value =>
  c.run(mulScalar, [g], { dtype: g.dtype, reverse: false }, [f32Bits(0)]);

/** g·k for a number k. */
export const scale = (run: Run, g: Value, k: number): Value =>
  run(mulScalar, [g], { dtype: g.dtype, reverse: false }, [f32Bits(k)]);

/** a · b. */
export const mul2 = (run: Run, a: Value, b: Value): Value => run(mul, [a, b], undefined);

/** -x. */
export const neg: OpDef = unary("neg", {
  kind: "same",
  expr: ofType("-x", "-x", "(0u - x)"),
  vjp: (c, g) => c.run(neg, [g], undefined),
});

/** x·x. */
export const square: OpDef = unary("square", {
  kind: "same",
  expr: "(x * x)",
  saves: "input",
  vjp: (c, g) => scale(c.run, mul2(c.run, g, c.input(0)), 2),
});

/** a + b. */
export const add: OpDef = binary("add", {
  kind: "arithmetic",
  ofBools: true,
  rounding: "sum",
  expr: "(x + y)",
  vjp: (_, g) => [g, g],
});

/** a - b. */
export const sub: OpDef = binary("sub", {
  kind: "arithmetic",
  expr: "(x - y)",
  vjp: (c, g) => [g, c.needs(1) ? c.run(neg, [g], undefined) : null],
});

/** a · b, elementwise. */
export const mul: OpDef = binary("mul", {
  kind: "arithmetic",
  ofBools: true,
  rounding: "product",
  expr: "(x * y)",
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    c.needs(0) ? mul2(c.run, g, c.input(1)) : null,
    c.needs(1) ? mul2(c.run, g, c.input(0)) : null,
  ],
});

/** a / b; integers give float32. */
export const div: OpDef = binary("div", {
  kind: "float",
  expr: "(x / y)",
  saves: { inputs: [1], output: true },
  vjp: (c, g) => {
    const q = c.run(div, [g, c.input(1)], undefined);
    return [q, c.needs(1) ? c.run(neg, [mul2(c.run, q, c.output())], undefined) : null];
  },
});

const same = (c: VjpContext<ScalarAttrs>): ScalarAttrs => ({ dtype: c.grad.dtype, reverse: false });

/** x + a number given with the call. */
export const addScalar: OpDef<ScalarAttrs> = scalarForm(add, {
  kind: "arithmetic",
  rounding: "sum",
  expr: "(x + y)",
  vjp: ({ grad }) => [grad],
});

/** x - a number given with the call, or the other way round. */
export const subScalar: OpDef<ScalarAttrs> = scalarForm(sub, {
  kind: "arithmetic",
  expr: "(x - y)",
  vjp: ({ grad, attrs, run }) => [attrs.reverse ? run(neg, [grad], undefined) : grad],
});

/** x · a number given with the call. */
export const mulScalar: OpDef<ScalarAttrs> = scalarForm(mul, {
  kind: "arithmetic",
  rounding: "product",
  expr: "(x * y)",
  vjp: (c) => [c.run(mulScalar, [c.grad], same(c), c.scalars)],
});

/** x / a number given with the call, or the other way round. */
export const divScalar: OpDef<ScalarAttrs> = scalarForm(div, {
  kind: "float",
  expr: "(x / y)",
  saves: { inputs: [0], output: true },
  vjp: (c) => [
    c.attrs.reverse
      ? c.run(
          neg,
          [mul2(c.run, c.grad, c.run(div, [c.output(), c.input(0)], undefined))],
          undefined,
        )
      : c.run(divScalar, [c.grad], same(c), c.scalars),
  ],
});

/** x + k. */
export function addConst(run: Run, x: Value, k: number): Value {
  return run(addScalar, [x], { dtype: x.dtype, reverse: false }, [f32Bits(k)]);
}

/** 1 - x. */
export function oneMinus(run: Run, x: Value): Value {
  return run(subScalar, [x], { dtype: x.dtype, reverse: true }, [f32Bits(1)]);
}

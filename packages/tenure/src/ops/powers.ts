/**
 * Powers and roots, with the gradients PyTorch gives at 0. Run by `tensor/run.ts`; records own
 * nothing.
 */
import { add, addConst, div, mul2, neg, scale, square } from "./arithmetic.ts";
import { type ScalarAttrs, binary, scalarForm, unary } from "./builders.ts";
import { eq, where } from "./comparison.ts";
import { constant, fill } from "./creation.ts";
import { log } from "./exponentials.ts";
import type { OpDef, Value } from "./op.ts";
import { ofType } from "./typing.ts";

/** Square root; NaN below 0. */
export const sqrt: OpDef = unary("sqrt", {
  kind: "float",
  expr: "sqrtOf(x)",
  helpers: ["sqrtOf"],
  saves: "output",
  vjp: (c, g) => scale(c.run, c.run(div, [g, c.output()], undefined), 0.5),
});

/** 1 / sqrt(x). */
export const rsqrt: OpDef = unary("rsqrt", {
  kind: "float",
  expr: "(1.0 / sqrtOf(x))",
  helpers: ["sqrtOf"],
  saves: "output",
  vjp: (c, g) =>
    scale(
      c.run,
      mul2(c.run, g, mul2(c.run, c.output(), c.run(square, [c.output()], undefined))),
      -0.5,
    ),
});

/** 1 / x. */
export const reciprocal: OpDef = unary("reciprocal", {
  kind: "float",
  expr: "(1.0 / x)",
  saves: "output",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, c.run(square, [c.output()], undefined))], undefined),
});

/** a to the b, with PyTorch's answers for negative, zero and infinite arguments. */
export const pow: OpDef = binary("pow", {
  kind: "arithmetic",
  expr: ofType("powOf(x, y)", "powI(x, y)", "u32(powI(i32(x), i32(y)))"),
  helpers: ["powOf", "powI"],
  family: "functions",
  saves: { inputs: [0, 1], output: true },
  vjp: (c, g) => [
    c.needs(0) ? mul2(c.run, g, c.run(powGrad, [c.input(0), c.input(1)], undefined)) : null,
    c.needs(1) ? mul2(c.run, g, c.run(powLog, [c.output(), c.input(0)], undefined)) : null,
  ],
});

/** b·a^(b-1): the derivative of pow by its base; 0 where b is 0. */
export const powGrad: OpDef = binary("powGrad", {
  kind: "float",
  expr: "select(y * powOf(x, y - 1.0), 0.0, y == 0.0)",
  helpers: ["powOf"],
  family: "functions",
  saves: { inputs: [0, 1] },
  vjp: (c, g) => {
    const a = c.input(0),
      b = c.input(1),
      less = addConst(c.run, b, -1);
    const byExponent = (): Value => {
      const p = c.run(pow, [a, less], undefined);
      return c.run(add, [p, mul2(c.run, b, c.run(powLog, [p, a], undefined))], undefined);
    };
    return [
      c.needs(0) ? mul2(c.run, g, mul2(c.run, b, c.run(powGrad, [a, less], undefined))) : null,
      c.needs(1) ? mul2(c.run, g, byExponent()) : null,
    ];
  },
});

/**
 * a^b·log(a): the derivative of pow by its exponent, from output and base; 0 where the output is 0.
 */
export const powLog: OpDef = binary("powLog", {
  kind: "float",
  expr: "select(x * logOf(y), 0.0, x == 0.0)",
  helpers: ["logOf"],
  saves: { inputs: [0, 1] },
  vjp: (c, g) => {
    const out = c.input(0),
      a = c.input(1),
      zero = constant(c.run, 0),
      none = c.run(eq, [out, zero], undefined);
    const unlessZero = (x: Value): Value =>
      mul2(c.run, g, c.run(where, [none, zero, x], undefined));
    return [
      c.needs(0) ? unlessZero(c.run(log, [a], undefined)) : null,
      c.needs(1) ? unlessZero(c.run(div, [out, a], undefined)) : null,
    ];
  },
});

/** x to the power of a number given with the call, or the other way round. */
export const powScalar: OpDef<ScalarAttrs> = scalarForm(pow, {
  kind: "arithmetic",
  expr: ofType("powOf(x, y)", "powI(x, y)", "u32(powI(i32(x), i32(y)))"),
  helpers: ["powOf", "powI"],
  saves: { inputs: [0], output: true },
  vjp: (c) => {
    const number = c.run(fill, [], { shape: [], dtype: "float32" }, c.scalars);
    return [
      mul2(
        c.run,
        c.grad,
        c.attrs.reverse
          ? c.run(powLog, [c.output(), number], undefined)
          : c.run(powGrad, [c.input(0), number], undefined),
      ),
    ];
  },
});

/**
 * Square root whose gradient at 0 is 0. What standard deviations and norms end with: their gradient
 * at 0 is taken as 0, not infinite.
 */
export const rootOrZero: OpDef = unary("rootOrZero", {
  kind: "float",
  expr: "sqrtOf(x)",
  helpers: ["sqrtOf"],
  saves: "output",
  vjp: (c, g) => scale(c.run, mul2(c.run, g, c.run(inverseOrZero, [c.output()], undefined)), 0.5),
});

/** 1 / x, and 0 at 0. */
export const inverseOrZero: OpDef = unary("inverseOrZero", {
  kind: "float",
  expr: "select(1.0 / x, 0.0, x == 0.0)",
  saves: "output",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, c.run(square, [c.output()], undefined))], undefined),
});

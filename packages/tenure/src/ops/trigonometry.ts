/**
 * Trigonometric and hyperbolic functions and their inverses. Run by `tensor/run.ts`; records own
 * nothing.
 */
import { add, addConst, div, mul2, neg, oneMinus, square } from "./arithmetic.ts";
import { binary, unary } from "./builders.ts";
import type { OpDef, Value, VjpContext } from "./op.ts";
import { rsqrt } from "./powers.ts";

/** Sine, in radians. */
export const sin: OpDef = unary("sin", {
  kind: "float",
  expr: "sinOf(x)",
  helpers: ["sinOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(cos, [c.input(0)], undefined)),
});

/** Cosine, in radians. */
export const cos: OpDef = unary("cos", {
  kind: "float",
  expr: "cosOf(x)",
  helpers: ["cosOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, c.run(sin, [c.input(0)], undefined))], undefined),
});

/** Tangent, in radians. */
export const tan: OpDef = unary("tan", {
  kind: "float",
  expr: "tanOf(x)",
  helpers: ["tanOf"],
  family: "functions",
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, addConst(c.run, c.run(square, [c.output()], undefined), 1)),
});

const rootOfOneMinusSquare = (c: VjpContext<undefined>): Value =>
  c.run(rsqrt, [oneMinus(c.run, c.run(square, [c.input(0)], undefined))], undefined);

/** Arc sine; NaN outside [-1, 1]. */
export const asin: OpDef = unary("asin", {
  kind: "float",
  expr: "asinOf(x)",
  helpers: ["asinOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, rootOfOneMinusSquare(c)),
});

/** Arc cosine; NaN outside [-1, 1]. */
export const acos: OpDef = unary("acos", {
  kind: "float",
  expr: "acosOf(x)",
  helpers: ["acosOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, rootOfOneMinusSquare(c))], undefined),
});

/** Arc tangent. */
export const atan: OpDef = unary("atan", {
  kind: "float",
  expr: "atanOf(x)",
  helpers: ["atanOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) =>
    c.run(div, [g, addConst(c.run, c.run(square, [c.input(0)], undefined), 1)], undefined),
});

/** Hyperbolic sine. */
export const sinh: OpDef = unary("sinh", {
  kind: "float",
  expr: "sinhOf(x)",
  helpers: ["sinhOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(cosh, [c.input(0)], undefined)),
});

/** Hyperbolic cosine. */
export const cosh: OpDef = unary("cosh", {
  kind: "float",
  expr: "coshOf(x)",
  helpers: ["coshOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sinh, [c.input(0)], undefined)),
});

/** Angle of the point (b, a) from the positive first axis, in (-π, π]. */
export const atan2: OpDef = binary("atan2", {
  kind: "float",
  expr: "atan2Of(x, y)",
  helpers: ["atan2Of"],
  family: "functions",
  saves: { inputs: [0, 1] },
  vjp: (c, g) => {
    const [y, x] = [c.input(0), c.input(1)],
      scaled = c.run(
        div,
        [g, c.run(add, [c.run(square, [x], undefined), c.run(square, [y], undefined)], undefined)],
        undefined,
      );
    return [
      c.needs(0) ? mul2(c.run, scaled, x) : null,
      c.needs(1) ? c.run(neg, [mul2(c.run, scaled, y)], undefined) : null,
    ];
  },
});

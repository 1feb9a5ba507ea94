/**
 * Exponentials and logarithms, and the error function. Run by `tensor/run.ts`; records own nothing.
 */
import { addConst, div, mul2, neg, scale, square } from "./arithmetic.ts";
import { unary } from "./builders.ts";
import type { OpDef } from "./op.ts";

/** e to the x. */
export const exp: OpDef = unary("exp", {
  kind: "float",
  expr: "expOf(x)",
  helpers: ["expOf"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, c.output()),
});

/** exp(x) - 1, accurate near 0. */
export const expm1: OpDef = unary("expm1", {
  kind: "float",
  expr: "expm1Of(x)",
  helpers: ["expm1Of"],
  family: "functions",
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, addConst(c.run, c.output(), 1)),
});

/** Natural logarithm; NaN below 0. */
export const log: OpDef = unary("log", {
  kind: "float",
  expr: "logOf(x)",
  helpers: ["logOf"],
  saves: "input",
  vjp: (c, g) => c.run(div, [g, c.input(0)], undefined),
});

/** log(1 + x), accurate near 0. */
export const log1p: OpDef = unary("log1p", {
  kind: "float",
  expr: "log1pOf(x)",
  helpers: ["log1pOf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => c.run(div, [g, addConst(c.run, c.input(0), 1)], undefined),
});

/** The error function. */
export const erf: OpDef = unary("erf", {
  kind: "float",
  expr: "erf(x)",
  helpers: ["erf"],
  family: "functions",
  saves: "input",
  vjp: (c, g) =>
    scale(
      c.run,
      mul2(
        c.run,
        g,
        c.run(exp, [c.run(neg, [c.run(square, [c.input(0)], undefined)], undefined)], undefined),
      ),
      2 / Math.sqrt(Math.PI),
    ),
});

/** 2 to the x. */
export const exp2: OpDef = unary("exp2", {
  kind: "float",
  expr: "exp2Of(x)",
  helpers: ["exp2Of"],
  family: "functions",
  saves: "output",
  vjp: (c, g) => scale(c.run, mul2(c.run, g, c.output()), Math.LN2),
});

/** Logarithm to base 2; NaN below 0. */
export const log2: OpDef = unary("log2", {
  kind: "float",
  expr: "log2Of(x)",
  helpers: ["log2Of"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => scale(c.run, c.run(div, [g, c.input(0)], undefined), Math.LOG2E),
});

/** Logarithm to base 10; NaN below 0. */
export const log10: OpDef = unary("log10", {
  kind: "float",
  expr: "(logOf(x) * 0.43429448)",
  helpers: ["logOf"],
  saves: "input",
  vjp: (c, g) => scale(c.run, c.run(div, [g, c.input(0)], undefined), Math.LOG10E),
});

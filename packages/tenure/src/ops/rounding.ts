/**
 * Whole numbers, signs and remainders: functions whose gradient is 0 or 1 almost everywhere. Run by
 * `tensor/run.ts`; records own nothing.
 */
import { mul2, neg, scale, zeroGrad } from "./arithmetic.ts";
import { type ScalarAttrs, binary, scalarForm, unary } from "./builders.ts";
import type { OpDef } from "./op.ts";
import { ofType } from "./typing.ts";

/** Absolute value. Gradient 0 at 0. */
export const abs: OpDef = unary("abs", {
  kind: "same",
  expr: ofType("abs(x)", "abs(x)", "x"),
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sign, [c.input(0)], undefined)),
});

/** -1, 0 or 1; NaN stays NaN. */
export const sign: OpDef = unary("sign", {
  kind: "same",
  expr: ofType("signOf(x)", "sign(x)", "min(x, 1u)"),
  helpers: ["signOf"],
  vjp: zeroGrad,
});

/** Largest integer not above x. */
export const floor: OpDef = unary("floor", {
  kind: "same",
  expr: ofType("floor(x)", "x"),
  vjp: zeroGrad,
});

/** Smallest integer not below x. */
export const ceil: OpDef = unary("ceil", {
  kind: "same",
  expr: ofType("ceil(x)", "x"),
  vjp: zeroGrad,
});

/** Nearest integer, halves to even. */
export const round: OpDef = unary("round", {
  kind: "same",
  expr: ofType("round(x)", "x"),
  vjp: zeroGrad,
});

/** Remainder with the divisor's sign, as Python's %. 0 for integer division by 0. */
export const mod: OpDef = binary("mod", {
  kind: "arithmetic",
  expr: ofType("floorMod(x, y)", "floorModI(x, y)", "select(x % max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorMod", "floorModI"],
  family: "functions",
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    g,
    c.needs(1)
      ? c.run(
          neg,
          [mul2(c.run, g, c.run(floorDiv, [c.input(0), c.input(1)], undefined))],
          undefined,
        )
      : null,
  ],
});

/** Quotient rounded down. 0 for integer division by 0. */
export const floorDiv: OpDef = binary("floorDiv", {
  kind: "arithmetic",
  expr: ofType("floorDiv(x, y)", "floorDivI(x, y)", "select(x / max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorDiv", "floorDivI"],
  family: "functions",
  vjp: (c, g) => {
    const z = scale(c.run, g, 0);
    return [z, z];
  },
});

/** Remainder of the floor division by a number given with the call, or the other way round. */
export const modScalar: OpDef<ScalarAttrs> = scalarForm(mod, {
  kind: "arithmetic",
  expr: ofType("floorMod(x, y)", "floorModI(x, y)", "select(x % max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorMod", "floorModI"],
  saves: { inputs: [0] },
  vjp: (c) => [
    c.attrs.reverse
      ? c.run(
          neg,
          [
            mul2(
              c.run,
              c.grad,
              c.run(
                floorDivScalar,
                [c.input(0)],
                { dtype: c.attrs.dtype, reverse: true },
                c.scalars,
              ),
            ),
          ],
          undefined,
        )
      : c.grad,
  ],
});

/** x / a number given with the call, rounded down, or the other way round. */
export const floorDivScalar: OpDef<ScalarAttrs> = scalarForm(floorDiv, {
  kind: "arithmetic",
  expr: ofType("floorDiv(x, y)", "floorDivI(x, y)", "select(x / max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorDiv", "floorDivI"],
  vjp: ({ grad, run }) => [scale(run, grad, 0)],
});

/** The whole part of x. */
export const trunc: OpDef = unary("trunc", {
  kind: "same",
  expr: ofType("trunc(x)", "x"),
  vjp: zeroGrad,
});

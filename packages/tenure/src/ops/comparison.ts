/**
 * Truth values: comparisons, logic, tests for NaN and infinity, and the choice between two tensors
 * by a condition. Run by `tensor/run.ts`; records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { promote, computeType } from "../base/dtype.ts";
import { broadcastShapes } from "../base/shape.ts";
import { type ScalarAttrs, binary, scalarForm, unary } from "./builders.ts";
import { constant } from "./creation.ts";
import { type OpDef, defineOp } from "./op.ts";
import { castHelpers, casts, ofType } from "./typing.ts";

/** Whether x is NaN, tested by its bits. */
export const isNaNOp: OpDef = unary("isNaN", {
  kind: "bool",
  expr: ofType("isNan(x)", "false"),
  helpers: ["isNan"],
});

/** Whether x is neither NaN nor infinite. */
export const isFiniteOp: OpDef = unary("isFinite", {
  kind: "bool",
  expr: ofType("isFinite(x)", "true"),
  helpers: ["isFinite"],
});

/** True where x is 0 or false. */
export const logicalNot: OpDef = unary("logicalNot", {
  kind: "bool",
  expr: (t) => (t === "bool" ? "!x" : `!${casts.bool("x", t)}`),
  helpers: ["isNan"],
});

const compare = (name: string, operator: string): OpDef =>
  binary(name, { kind: "compare", expr: `(x ${operator} y)` });

/** a equals b; NaN equals nothing. */
export const eq: OpDef = compare("eq", "==");

/**
 * a differs from b; NaN differs from everything. Written as a negation: `x != x` is folded to false
 * on some adapters.
 */
export const ne: OpDef = binary("ne", {
  kind: "compare",
  expr: "!(x == y)",
});

/** a is below b. */
export const lt: OpDef = compare("lt", "<");

/** a is at most b. */
export const le: OpDef = compare("le", "<=");

/** a is above b. */
export const gt: OpDef = compare("gt", ">");

/** a is at least b. */
export const ge: OpDef = compare("ge", ">=");

/** Both are true or not 0. */
export const logicalAnd: OpDef = binary("logicalAnd", {
  kind: "logical",
  expr: "(x && y)",
});

/** Either is true or not 0. */
export const logicalOr: OpDef = binary("logicalOr", {
  kind: "logical",
  expr: "(x || y)",
});

/** Exactly one is true or not 0. */
export const logicalXor: OpDef = binary("logicalXor", {
  kind: "logical",
  expr: "(x != y)",
});

/** A comparison with a number given with the call. */
const compareScalar = (op: OpDef, expr: string): OpDef<ScalarAttrs> =>
  scalarForm(op, { kind: "compare", expr });

/** `eq` with a number given with the call. */
export const eqScalar: OpDef<ScalarAttrs> = compareScalar(eq, "(x == y)");
/** `ne` with a number given with the call. */
export const neScalar: OpDef<ScalarAttrs> = compareScalar(ne, "!(x == y)");
/** `lt` with a number given with the call. */
export const ltScalar: OpDef<ScalarAttrs> = compareScalar(lt, "(x < y)");
/** `le` with a number given with the call. */
export const leScalar: OpDef<ScalarAttrs> = compareScalar(le, "(x <= y)");
/** `gt` with a number given with the call. */
export const gtScalar: OpDef<ScalarAttrs> = compareScalar(gt, "(x > y)");
/** `ge` with a number given with the call. */
export const geScalar: OpDef<ScalarAttrs> = compareScalar(ge, "(x >= y)");

/** b where the condition a is true (not 0), else c; all three broadcast. */
export const where: OpDef = defineOp<undefined, [View, View, View]>({
  name: "where",
  facts: { elementwise: true },
  saves: { inputs: [0] },
  infer: ([c, a, b]) => [
    {
      shape: broadcastShapes(
        "where",
        c.layout.shape,
        broadcastShapes("where", a.layout.shape, b.layout.shape),
      ),
      dtype: promote(a.dtype, b.dtype),
    },
  ],
  expression: ([c, a, b]) => {
    const type = computeType(promote(a.dtype, b.dtype)),
      [tc, ta, tb] = [computeType(c.dtype), computeType(a.dtype), computeType(b.dtype)];
    return {
      body:
        `r0 = select(${casts[type]("a2", tb)}, ${casts[type]("a1", ta)}, ` +
        `${casts.bool("a0", tc)});`,
      helpers: [...castHelpers("bool", tc), ...castHelpers(type, ta), ...castHelpers(type, tb)],
    };
  },
  vjp: (c) => {
    const zero = constant(c.run, 0, c.grad.dtype);
    return [
      null,
      c.needs(1) ? c.run(where, [c.input(0), c.grad, zero], undefined) : null,
      c.needs(2) ? c.run(where, [c.input(0), zero, c.grad], undefined) : null,
    ];
  },
});

/** Whether x is infinite. */
export const isInf: OpDef = unary("isInf", {
  kind: "bool",
  expr: ofType("isInf(x)", "false"),
  helpers: ["isInf"],
});

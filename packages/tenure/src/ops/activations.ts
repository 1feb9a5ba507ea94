/**
 * Activations of neural networks with their slopes, and with the second derivatives that gradients
 * of gradients need. Run by `tensor/run.ts`; records own nothing.
 */
import type { Family } from "../kernels/families.ts";
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { broadcastShapes } from "../base/shape.ts";
import { mul2, neg, oneMinus, square } from "./arithmetic.ts";
import { binary, unary, withInplace } from "./builders.ts";
import { type OpDef, defineOp } from "./op.ts";
import { floatOf, ofType, typed } from "./typing.ts";

/** Hyperbolic tangent. */
export const tanh: OpDef = unary("tanh", {
  kind: "float",
  expr: "tanhOf(x)",
  helpers: ["tanhOf"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, oneMinus(c.run, c.run(square, [c.output()], undefined))),
});

/** 1 / (1 + exp(-x)). */
export const sigmoid: OpDef = unary("sigmoid", {
  kind: "float",
  expr: "sigmoid(x)",
  helpers: ["sigmoid"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, mul2(c.run, c.output(), oneMinus(c.run, c.output()))),
});

/** log(1 + exp(x)), without overflow. */
export const softplus: OpDef = unary("softplus", {
  kind: "float",
  expr: "softplus(x)",
  helpers: ["softplus"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sigmoid, [c.input(0)], undefined)),
});

/** max(x, 0); NaN stays NaN. */
export const relu: OpDef = unary("relu", {
  kind: "same",
  expr: ofType("relu(x)", "max(x, 0)", "x"),
  helpers: ["relu"],
  saves: "output",
  vjp: (c, g) => c.run(gate, [g, c.output()], undefined),
});

/** g where y is above 0: relu's gradient by its output. */
export const gate: OpDef = binary("gate", {
  kind: "arithmetic",
  expr: (t) => `select(x, ${t}(0), y <= ${t}(0))`,
  saves: { inputs: [1] },
  vjp: (c, g) => [c.run(gate, [g, c.input(1)], undefined), null],
});

/** log(1 / (1 + exp(-x))), without overflow. */
export const logSigmoid: OpDef = unary("logSigmoid", {
  kind: "float",
  expr: "(-softplus(-x))",
  helpers: ["softplus"],
  family: "functions",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sigmoid, [c.run(neg, [c.input(0)], undefined)], undefined)),
});

interface ActivationDef {
  /** In terms of `x` and the numbers `s0, …`. */
  readonly value: string;
  readonly slope: string;
  readonly curvature: string;
  readonly helpers?: readonly string[];
  readonly family?: Family;
  readonly scalars?: number;
}

/** A function of one variable with its first two derivatives, each one dispatch. */
function activation(name: string, def: ActivationDef): OpDef {
  const types = Array.from({ length: def.scalars ?? 0 }, () => ({ type: "f32" as const })),
    helpers = def.helpers ?? [];
  // a derivative at a, times b
  const times = (suffix: string, expr: string, vjp?: OpDef["vjp"]): OpDef =>
    defineOp<undefined, [View, View]>({
      name: `${name}${suffix}`,
      family: def.family,
      facts: { elementwise: true },
      infer: ([x, g]) => [
        {
          shape: broadcastShapes(name, x.layout.shape, g.layout.shape),
          dtype: floatOf(g.dtype),
        },
      ],
      expression: (inputs) =>
        typed(
          inputs,
          "f32",
          { from: "f32", dtype: floatOf(at(inputs, 1).dtype) },
          `(y * (${expr}))`,
          helpers,
          { scalars: types },
        ),
      ...(vjp === undefined ? {} : { vjp, saves: { inputs: [0, 1] } }),
    });
  const curved = times("Curvature", def.curvature);
  const backward: OpDef = times("Backward", def.slope, ({ grad, input, needs, scalars, run }) => [
    needs(0) ? mul2(run, grad, run(curved, [input(0), input(1)], undefined, scalars)) : null,
    needs(1) ? run(backward, [input(0), grad], undefined, scalars) : null,
  ]);
  const record: OpDef = {
    name,
    family: def.family,
    facts: { elementwise: true },
    gradientOps: [backward, curved],
    saves: { inputs: [0] },
    infer: ([x]) => [{ shape: x!.layout.shape, dtype: floatOf(x!.dtype) }],
    expression: (inputs) =>
      typed(
        inputs,
        "f32",
        { from: "f32", dtype: floatOf(at(inputs, 0).dtype) },
        `(${def.value})`,
        helpers,
        { scalars: types },
      ),
    vjp: ({ grad, input, scalars, run }) => [run(backward, [input(0), grad], undefined, scalars)],
  };
  return withInplace(record);
}

/** x·Φ(x) with the Gaussian's cumulative distribution. */
export const gelu: OpDef = activation("gelu", {
  value: "x * gaussianCdf(x)",
  slope: "gaussianCdf(x) + x * gaussian(x)",
  curvature: "gaussian(x) * (2.0 - x * x)",
  helpers: ["gaussian", "gaussianCdf"],
  family: "functions",
});

/** Gelu by the tanh formula of its paper. */
export const geluTanh: OpDef = activation("geluTanh", {
  value: "0.5 * x * (1.0 + geluTanhOf(x))",
  helpers: ["geluTanhOf"],
  family: "functions",
  slope:
    "0.5 * (1.0 + geluTanhOf(x)) + 0.5 * x * (1.0 - geluTanhOf(x) * geluTanhOf(x)) * " +
    "geluTanhSlope(x)",
  curvature:
    "(1.0 - geluTanhOf(x) * geluTanhOf(x)) * (geluTanhSlope(x) + x * (0.10703222 * x - " +
    "geluTanhOf(x) * geluTanhSlope(x) * geluTanhSlope(x)))",
});

/** x·sigmoid(x), also called swish. */
export const silu: OpDef = activation("silu", {
  value: "x * sigmoid(x)",
  slope: "sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))",
  curvature: "sigmoid(x) * (1.0 - sigmoid(x)) * (2.0 + x * (1.0 - 2.0 * sigmoid(x)))",
  helpers: ["sigmoid"],
});

/** x·tanh(softplus(x)). */
export const mish: OpDef = activation("mish", {
  value: "x * tanhOf(softplus(x))",
  helpers: ["tanhOf", "softplus", "sigmoid", "squared"],
  family: "functions",
  slope: "tanhOf(softplus(x)) + x * sigmoid(x) * (1.0 - squared(tanhOf(softplus(x))))",
  curvature:
    "sigmoid(x) * (1.0 - squared(tanhOf(softplus(x)))) * (2.0 + x * (1.0 - sigmoid(x) - " +
    "2.0 * tanhOf(softplus(x)) * sigmoid(x)))",
});

/** x above 0, alpha·(exp(x) - 1) below. */
export const elu: OpDef = activation("elu", {
  value: "select(s0 * expm1Of(x), x, x > 0.0)",
  slope: "select(s0 * expOf(x), 1.0, x > 0.0)",
  curvature: "select(s0 * expOf(x), 0.0, x > 0.0)",
  helpers: ["expm1Of", "expOf"],
  family: "functions",
  scalars: 1,
});

/** Scaled elu that keeps mean 0 and variance 1. */
export const selu: OpDef = activation("selu", {
  value: "1.050701 * select(1.6732632 * expm1Of(x), x, x > 0.0)",
  slope: "1.050701 * select(1.6732632 * expOf(x), 1.0, x > 0.0)",
  curvature: "1.050701 * select(1.6732632 * expOf(x), 0.0, x > 0.0)",
  helpers: ["expm1Of", "expOf"],
  family: "functions",
});

/** x above 0, slope·x below. */
export const leakyRelu: OpDef = activation("leakyRelu", {
  value: "select(s0 * x, x, x > 0.0)",
  slope: "select(s0, 1.0, x > 0.0)",
  curvature: "0.0 * x",
  scalars: 1,
});

/** x·min(max(x + 3, 0), 6) / 6. */
export const hardSwish: OpDef = activation("hardSwish", {
  value: "x * clamp(x + 3.0, 0.0, 6.0) / 6.0",
  slope: "select(select((2.0 * x + 3.0) / 6.0, 1.0, x >= 3.0), 0.0, x <= -3.0)",
  curvature: "select(0.0, 0.33333334, abs(x) < 3.0)",
});

/** Min(max(x + 3, 0), 6) / 6. */
export const hardSigmoid: OpDef = activation("hardSigmoid", {
  value: "select(clamp(x + 3.0, 0.0, 6.0) / 6.0, x, isNan(x))",
  slope: "select(0.0, 0.16666667, abs(x) < 3.0)",
  curvature: "0.0 * x",
  helpers: ["isNan"],
});

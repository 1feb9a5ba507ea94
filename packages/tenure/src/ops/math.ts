/**
 * More elementwise ops: inverse and hyperbolic functions, activations with their slopes, clamping,
 * masking, and the three-operand forms optimizers like. Built with the tools of elementwise.ts;
 * called through the runtime's door; records own nothing.
 */
import { f32Bits, fromBits } from "../base/bits.ts";
import { type DType, dtypeCode, isFloat } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { computeType } from "../kernels/wgsl.ts";
import {
  add,
  binary,
  castHelpers,
  casts,
  div,
  exp,
  floatOf,
  mul2,
  mulScalar,
  neg,
  oneMinus,
  rsqrt,
  scale,
  sigmoid,
  square,
  typed,
  unary,
  withInplace,
  addConst,
  ofType,
  zeroGrad,
} from "./elementwise.ts";
import { type OpDef, type Value, type VjpContext, defineOp } from "./op.ts";

// === Functions ===

export const erf: OpDef = unary("erf", {
  doc: "The error function.",
  kind: "float",
  expr: "erf(x)",
  helpers: ["erf"],
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
export const exp2: OpDef = unary("exp2", {
  doc: "2 to the x.",
  kind: "float",
  expr: "exp2Of(x)",
  helpers: ["exp2Of"],
  saves: "output",
  vjp: (c, g) => scale(c.run, mul2(c.run, g, c.output()), Math.LN2),
});
export const log2: OpDef = unary("log2", {
  doc: "Logarithm to base 2; NaN below 0.",
  kind: "float",
  expr: "log2Of(x)",
  helpers: ["log2Of"],
  saves: "input",
  vjp: (c, g) => scale(c.run, c.run(div, [g, c.input(0)], undefined), Math.LOG2E),
});
export const log10: OpDef = unary("log10", {
  doc: "Logarithm to base 10; NaN below 0.",
  kind: "float",
  expr: "(logOf(x) * 0.43429448)",
  helpers: ["logOf"],
  saves: "input",
  vjp: (c, g) => scale(c.run, c.run(div, [g, c.input(0)], undefined), Math.LOG10E),
});
export const tan: OpDef = unary("tan", {
  doc: "Tangent, in radians.",
  kind: "float",
  expr: "(sin(x) / cos(x))",
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, addConst(c.run, c.run(square, [c.output()], undefined), 1)),
});
const rootOfOneMinusSquare = (c: VjpContext<undefined>): Value =>
  c.run(rsqrt, [oneMinus(c.run, c.run(square, [c.input(0)], undefined))], undefined);
export const asin: OpDef = unary("asin", {
  doc: "Arc sine; NaN outside [-1, 1].",
  kind: "float",
  expr: "asinOf(x)",
  helpers: ["asinOf"],
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, rootOfOneMinusSquare(c)),
});
export const acos: OpDef = unary("acos", {
  doc: "Arc cosine; NaN outside [-1, 1].",
  kind: "float",
  expr: "acosOf(x)",
  helpers: ["acosOf"],
  saves: "input",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, rootOfOneMinusSquare(c))], undefined),
});
export const atan: OpDef = unary("atan", {
  doc: "Arc tangent.",
  kind: "float",
  expr: "atanOf(x)",
  helpers: ["atanOf"],
  saves: "input",
  vjp: (c, g) =>
    c.run(div, [g, addConst(c.run, c.run(square, [c.input(0)], undefined), 1)], undefined),
});
export const sinh: OpDef = unary("sinh", {
  doc: "Hyperbolic sine.",
  kind: "float",
  expr: "sinhOf(x)",
  helpers: ["sinhOf"],
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(cosh, [c.input(0)], undefined)),
});
export const cosh: OpDef = unary("cosh", {
  doc: "Hyperbolic cosine.",
  kind: "float",
  expr: "coshOf(x)",
  helpers: ["coshOf"],
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sinh, [c.input(0)], undefined)),
});
export const trunc: OpDef = unary("trunc", {
  doc: "The whole part of x.",
  kind: "same",
  expr: ofType("trunc(x)", "x"),
  vjp: zeroGrad,
});
export const isInf: OpDef = unary("isInf", {
  doc: "Whether x is infinite.",
  kind: "bool",
  expr: ofType("isInf(x)", "false"),
  helpers: ["isInf"],
});
export const logSigmoid: OpDef = unary("logSigmoid", {
  doc: "log(1 / (1 + exp(-x))), without overflow.",
  kind: "float",
  expr: "(-softplus(-x))",
  helpers: ["softplus"],
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sigmoid, [c.run(neg, [c.input(0)], undefined)], undefined)),
});
/** What standard deviations and norms end with: their gradient at 0 is taken as 0, not infinite. */
export const rootOrZero: OpDef = unary("rootOrZero", {
  doc: "Square root whose gradient at 0 is 0.",
  kind: "float",
  expr: "sqrtOf(x)",
  helpers: ["sqrtOf"],
  saves: "output",
  vjp: (c, g) => scale(c.run, mul2(c.run, g, c.run(inverseOrZero, [c.output()], undefined)), 0.5),
});
const inverseOrZero: OpDef = unary("inverseOrZero", {
  doc: "1 / x, and 0 at 0.",
  kind: "float",
  expr: "select(1.0 / x, 0.0, x == 0.0)",
  saves: "output",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, c.run(square, [c.output()], undefined))], undefined),
});

export const atan2: OpDef = binary("atan2", {
  doc: "Angle of the point (b, a) from the positive first axis, in (-π, π].",
  kind: "float",
  expr: "atan2Of(x, y)",
  helpers: ["atan2Of"],
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

// === Activations ===

interface ActivationDef {
  readonly doc: string;
  /** In terms of `x` and the numbers `s0, …`. */
  readonly value: string;
  readonly slope: string;
  readonly curvature: string;
  readonly helpers?: readonly string[];
  readonly scalars?: number;
}

/** A function of one variable with its first two derivatives, each one dispatch. */
function activation(name: string, def: ActivationDef): OpDef {
  const scalars = Array.from({ length: def.scalars ?? 0 }, () => ({ type: "f32" as const })),
    helpers = def.helpers ?? [];
  const times = (suffix: string, what: string, expr: string, vjp?: OpDef["vjp"]): OpDef =>
    defineOp({
      name: `${name}${suffix}`,
      doc: `${what} of ${name} at a, times b.`,
      facts: { elementwise: true },
      infer: ([x, g]) => [
        {
          shape: broadcastShapes(name, x!.layout.shape, g!.layout.shape),
          dtype: floatOf(g!.dtype),
        },
      ],
      expression: (inputs) =>
        typed(
          inputs,
          "f32",
          { from: "f32", dtype: floatOf(inputs[1]!.dtype) },
          `(y * (${expr}))`,
          helpers,
          { scalars },
        ),
      ...(vjp === undefined ? {} : { vjp, saves: { inputs: [0, 1] } }),
    });
  const curved = times("Curvature", "Second derivative", def.curvature);
  const backward: OpDef = times(
    "Backward",
    "Derivative",
    def.slope,
    ({ grad, input, needs, words, run }) => [
      needs(0) ? mul2(run, grad, run(curved, [input(0), input(1)], undefined, words)) : null,
      needs(1) ? run(backward, [input(0), grad], undefined, words) : null,
    ],
  );
  const record: OpDef = {
    name,
    doc: def.doc,
    facts: { elementwise: true },
    saves: { inputs: [0] },
    infer: ([x]) => [{ shape: x!.layout.shape, dtype: floatOf(x!.dtype) }],
    expression: (inputs) =>
      typed(
        inputs,
        "f32",
        { from: "f32", dtype: floatOf(inputs[0]!.dtype) },
        `(${def.value})`,
        helpers,
        { scalars },
      ),
    vjp: ({ grad, input, words, run }) => [run(backward, [input(0), grad], undefined, words)],
  };
  return withInplace(record);
}

export const gelu: OpDef = activation("gelu", {
  doc: "x·Φ(x) with the Gaussian's cumulative distribution.",
  value: "x * gaussianCdf(x)",
  slope: "gaussianCdf(x) + x * gaussian(x)",
  curvature: "gaussian(x) * (2.0 - x * x)",
  helpers: ["gaussian", "gaussianCdf"],
});
export const geluTanh: OpDef = activation("geluTanh", {
  doc: "gelu by the tanh formula of its paper.",
  value: "0.5 * x * (1.0 + geluTanhOf(x))",
  helpers: ["geluTanhOf"],
  slope:
    "0.5 * (1.0 + geluTanhOf(x)) + 0.5 * x * (1.0 - geluTanhOf(x) * geluTanhOf(x)) * geluTanhSlope(x)",
  curvature:
    "(1.0 - geluTanhOf(x) * geluTanhOf(x)) * (geluTanhSlope(x) + x * (0.10703222 * x - geluTanhOf(x) * geluTanhSlope(x) * geluTanhSlope(x)))",
});
export const silu: OpDef = activation("silu", {
  doc: "x·sigmoid(x), also called swish.",
  value: "x * sigmoid(x)",
  slope: "sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))",
  curvature: "sigmoid(x) * (1.0 - sigmoid(x)) * (2.0 + x * (1.0 - 2.0 * sigmoid(x)))",
  helpers: ["sigmoid"],
});
export const mish: OpDef = activation("mish", {
  doc: "x·tanh(softplus(x)).",
  value: "x * tanhOf(softplus(x))",
  helpers: ["tanhOf", "softplus", "sigmoid", "squared"],
  slope: "tanhOf(softplus(x)) + x * sigmoid(x) * (1.0 - squared(tanhOf(softplus(x))))",
  curvature:
    "sigmoid(x) * (1.0 - squared(tanhOf(softplus(x)))) * (2.0 + x * (1.0 - sigmoid(x) - 2.0 * tanhOf(softplus(x)) * sigmoid(x)))",
});
export const elu: OpDef = activation("elu", {
  doc: "x above 0, alpha·(exp(x) - 1) below.",
  value: "select(s0 * expm1Of(x), x, x > 0.0)",
  slope: "select(s0 * expOf(x), 1.0, x > 0.0)",
  curvature: "select(s0 * expOf(x), 0.0, x > 0.0)",
  helpers: ["expm1Of", "expOf"],
  scalars: 1,
});
export const selu: OpDef = activation("selu", {
  doc: "Scaled elu that keeps mean 0 and variance 1.",
  value: "1.050701 * select(1.6732632 * expm1Of(x), x, x > 0.0)",
  slope: "1.050701 * select(1.6732632 * expOf(x), 1.0, x > 0.0)",
  curvature: "1.050701 * select(1.6732632 * expOf(x), 0.0, x > 0.0)",
  helpers: ["expm1Of", "expOf"],
});
export const leakyRelu: OpDef = activation("leakyRelu", {
  doc: "x above 0, slope·x below.",
  value: "select(s0 * x, x, x > 0.0)",
  slope: "select(s0, 1.0, x > 0.0)",
  curvature: "0.0 * x",
  scalars: 1,
});
export const hardSwish: OpDef = activation("hardSwish", {
  doc: "x·min(max(x + 3, 0), 6) / 6.",
  value: "x * clamp(x + 3.0, 0.0, 6.0) / 6.0",
  slope: "select(select((2.0 * x + 3.0) / 6.0, 1.0, x >= 3.0), 0.0, x <= -3.0)",
  curvature: "select(0.0, 0.33333334, abs(x) < 3.0)",
});
export const hardSigmoid: OpDef = activation("hardSigmoid", {
  doc: "min(max(x + 3, 0), 6) / 6.",
  value: "select(clamp(x + 3.0, 0.0, 6.0) / 6.0, x, isNan(x))",
  slope: "select(0.0, 0.16666667, abs(x) < 3.0)",
  curvature: "0.0 * x",
  helpers: ["isNan"],
});

// === Bounds and masks ===

export interface DTypeAttrs {
  readonly dtype: DType;
}

const clampBackward: OpDef = defineOp({
  name: "clampBackward",
  doc: "b where a lies within the bounds, else 0.",
  facts: { elementwise: true },
  saves: { inputs: [0] },
  infer: ([x, g]) => [{ shape: x!.layout.shape, dtype: g!.dtype }],
  expression: () => ({
    body: "r0 = select(0.0, a1, a0 >= s0 && a0 <= s1);",
    scalars: [{ type: "f32" }, { type: "f32" }],
  }),
  vjp: ({ grad, input, words, run }) => [
    null,
    run(clampBackward, [input(0), grad], undefined, words),
  ],
});

/** Scalars: lower and upper bound in `dtype`, which the op computes in. */
export const clamp: OpDef<DTypeAttrs> = withInplace<DTypeAttrs>({
  name: "clamp",
  doc: "x kept within two bounds; NaN stays NaN. No gradient outside them.",
  facts: { elementwise: true },
  saves: { inputs: [0] },
  infer: ([x], { dtype }) => [{ shape: x!.layout.shape, dtype }],
  key: ({ dtype }) => [dtypeCode(dtype)],
  expression: ([x], { dtype }) => {
    const type = computeType(dtype),
      from = computeType(x!.dtype),
      float = type === "f32",
      scalar = type === "bool" ? "u32" : type;
    return {
      body: `let x = ${casts[type]("a0", from)};\nr0 = ${float ? "nanMin(nanMax(x, s0), s1)" : "min(max(x, s0), s1)"};`,
      helpers: [...(float ? ["nanMin", "nanMax"] : []), ...castHelpers(type, from)],
      scalars: [{ type: scalar }, { type: scalar }],
    };
  },
  vjp: ({ grad, input, metas, words, run }) => [
    isFloat(metas[0]!.dtype) ? run(clampBackward, [input(0), grad], undefined, words) : null,
  ],
});

/** Inputs: x, mask. Scalar: the value, in x's dtype. */
export const maskedFill: OpDef = withInplace({
  name: "maskedFill",
  doc: "A number where the mask is true (not 0), x elsewhere.",
  facts: { elementwise: true },
  saves: { inputs: [1] },
  infer: ([x, mask]) => [
    { shape: broadcastShapes("maskedFill", x!.layout.shape, mask!.layout.shape), dtype: x!.dtype },
  ],
  expression: ([x, mask]) => {
    const type = computeType(x!.dtype),
      from = computeType(mask!.dtype);
    return {
      body: `r0 = select(a0, ${type === "bool" ? "s0 != 0u" : "s0"}, ${casts.bool("a1", from)});`,
      helpers: castHelpers("bool", from),
      scalars: [{ type: type === "bool" ? "u32" : type }],
    };
  },
  vjp: ({ grad, input, run }) => [run(maskedFill, [grad, input(1)], undefined, [f32Bits(0)]), null],
});

/** Scalars: rows and columns of each matrix, and the diagonal. */
export const band: OpDef<{ readonly upper: boolean }> = defineOp<{ readonly upper: boolean }>({
  name: "band",
  doc: "Each matrix with zeros above a diagonal, or below it.",
  facts: { elementwise: true, indexed: true },
  infer: ([x]) => {
    if (x!.layout.shape.length < 2)
      throw new ShapeError(
        "tril",
        "matrices [..., rows, columns]",
        formatShape(x!.layout.shape),
        "reshape it",
      );
    return [{ shape: x!.layout.shape, dtype: x!.dtype }];
  },
  key: ({ upper }) => [upper ? 1 : 0],
  expression: ([x], { upper }) => {
    const type = computeType(x!.dtype);
    return {
      body: `let column = i32(idx % s1);\nlet row = i32((idx / s1) % s0);\nr0 = select(${type === "bool" ? "false" : `${type}(0)`}, a0, column - row ${upper ? ">=" : "<="} s2);`,
      scalars: [{ type: "u32" }, { type: "u32" }, { type: "i32" }],
      needsIndex: true,
    };
  },
  vjp: ({ grad, attrs, words, run }) => [run(band, [grad], attrs, words)],
});

// === Three operands ===

function checkFloats(op: string, inputs: readonly View[]): void {
  for (const v of inputs)
    if (!isFloat(v.dtype) || v.dtype !== inputs[0]!.dtype)
      throw new DTypeError(
        op,
        "float tensors of one dtype",
        inputs.map((x) => x.dtype).join(", "),
        "cast them first",
      );
}

function mixing(
  name: string,
  doc: string,
  expr: string,
  saved: readonly number[],
  vjp: OpDef["vjp"],
): OpDef {
  return withInplace({
    name,
    doc,
    facts: { elementwise: true },
    saves: { inputs: saved },
    vjp: vjp!,
    infer: (inputs) => {
      checkFloats(name, inputs);
      return [
        {
          shape: inputs.map((v) => v.layout.shape).reduce((a, b) => broadcastShapes(name, a, b)),
          dtype: inputs[0]!.dtype,
        },
      ];
    },
    expression: (inputs) =>
      typed(inputs, "f32", { from: "f32", dtype: inputs[0]!.dtype }, expr, [], {
        scalars: [{ type: "f32" }],
      }),
  });
}

const timesWord = (c: VjpContext<undefined>, x: Value): Value =>
  c.run(mulScalar, [x], { dtype: x.dtype, reverse: false }, c.words);

/** Scalar: the weight. */
export const lerp: OpDef = mixing(
  "lerp",
  "a + weight·(b - a).",
  "select(y - (y - x) * (1.0 - s0), x + s0 * (y - x), s0 < 0.5)",
  [],
  (c) => [
    c.needs(0) ? scale(c.run, c.grad, 1 - fromBits(c.words[0]!)) : null,
    c.needs(1) ? timesWord(c, c.grad) : null,
  ],
);
/** Scalar: the factor. */
export const addcmul: OpDef = mixing(
  "addcmul",
  "a + factor·b·c.",
  "(x + s0 * y * z)",
  [1, 2],
  (c) => [
    c.grad,
    c.needs(1) ? timesWord(c, mul2(c.run, c.grad, c.input(2))) : null,
    c.needs(2) ? timesWord(c, mul2(c.run, c.grad, c.input(1))) : null,
  ],
);
/** Scalar: the factor. */
export const addcdiv: OpDef = mixing(
  "addcdiv",
  "a + factor·b / c.",
  "(x + s0 * y / z)",
  [1, 2],
  (c) => {
    const q = c.run(div, [timesWord(c, c.grad), c.input(2)], undefined);
    return [
      c.grad,
      q,
      c.needs(2)
        ? c.run(neg, [mul2(c.run, q, c.run(div, [c.input(1), c.input(2)], undefined))], undefined)
        : null,
    ];
  },
);

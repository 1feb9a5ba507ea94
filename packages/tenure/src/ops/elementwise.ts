/**
 * Elementwise ops: one WGSL expression each, with its gradient. Binary ops broadcast; their scalar
 * forms take the number as a per-call uniform, so a learning rate that changes does not change the
 * program. Called through the runtime's door; records own nothing.
 */
import { type DType, dtypeCode, isFloat, promote } from "../base/dtype.ts";
import { DTypeError, ShapeError } from "../base/errors.ts";
import { broadcastShapes, formatShape, sameShape } from "../base/shape.ts";
import { f32Bits } from "../kernels/kernel.ts";
import type { View } from "../kernels/kernel.ts";
import { type ComputeType, computeType } from "../kernels/wgsl.ts";
import {
  type Expression,
  type Meta,
  type OpDef,
  type Run,
  type Value,
  type VjpContext,
  defineOp,
} from "./op.ts";

// === Building blocks ===

/** Adds the in-place twin of an elementwise record. */
export function withInplace<A>(op: OpDef<A>): OpDef<A> {
  const inplace = defineOp<A>({
    ...op,
    name: `${op.name}_`,
    ...(op.id === undefined ? {} : { id: `${op.id}_` }),
    doc: `${op.doc} Overwrites its first input.`,
    facts: { ...op.facts, inplaceOf: [0], recomputable: false },
    infer(inputs, attrs) {
      const target = inputs[0]!,
        result = op.infer(inputs, attrs)[0]!;
      if (!sameShape(result.shape, target.layout.shape))
        throw new ShapeError(
          this.name,
          `a result of the target's shape ${formatShape(target.layout.shape)}`,
          formatShape(result.shape),
          "use the op without underscore",
        );
      if (isFloat(result.dtype) && !isFloat(target.dtype))
        throw new DTypeError(
          this.name,
          `a target that can hold ${result.dtype}`,
          target.dtype,
          "cast the target first",
        );
      return [{ shape: target.layout.shape, dtype: target.dtype }];
    },
  });
  return defineOp<A>({ ...op, inplace });
}

export const casts: Readonly<Record<ComputeType, (x: string, from: ComputeType) => string>> = {
  f32: (x, from) => (from === "f32" ? x : `f32(${x})`),
  i32: (x, from) => (from === "i32" ? x : from === "f32" ? `toI32(${x})` : `i32(${x})`),
  u32: (x, from) => (from === "u32" ? x : from === "f32" ? `toU32(${x})` : `u32(${x})`),
  bool: (x, from) =>
    from === "bool"
      ? x
      : from === "f32"
        ? `(${x} != 0.0 || isNan(${x}))`
        : `(${x} != ${from === "i32" ? "0" : "0u"})`,
};

export function castHelpers(to: ComputeType, from: ComputeType): string[] {
  if (from !== "f32") return [];
  return to === "i32" ? ["toI32"] : to === "u32" ? ["toU32"] : to === "bool" ? ["isNan"] : [];
}

/**
 * `let x = …; let y = …;` converting the operands to type `to`, then the result converted from it
 * to the output's type.
 */
export function typed(
  inputs: readonly View[],
  to: ComputeType,
  out: { from: ComputeType; dtype: DType },
  expr: string,
  helpers: readonly string[],
  more: Partial<Expression> = {},
): Expression {
  const names = ["x", "y", "z"],
    used = [...helpers];
  const lets = inputs.map((v, i) => {
    const from = computeType(v.dtype);
    used.push(...castHelpers(to, from));
    return `let ${names[i]} = ${casts[to](`a${i}`, from)};`;
  });
  const target = computeType(out.dtype);
  used.push(...castHelpers(target, out.from));
  const result =
    target === out.from
      ? `r0 = ${expr};`
      : `let w = ${expr};\nr0 = ${casts[target]("w", out.from)};`;
  return { ...more, body: `${lets.join("\n")}\n${result}`, helpers: [...new Set(used)] };
}

/** The float dtype a float-valued op computes into: integers and bools become float32. */
export function floatOf(dtype: DType): DType {
  return isFloat(dtype) ? dtype : "float32";
}

/** The dtype arithmetic on a pair yields: as promoted, but two bools count as integers. */
function arithmeticOf(a: DType, b: DType): DType {
  const p = promote(a, b);
  return p === "bool" ? "int32" : p;
}

/** A constant of a value's shape by broadcasting: a 0-d tensor. */
export function constant(run: Run, value: number, dtype: DType = "float32"): Value {
  return run(fill, [], { shape: [], dtype }, [dtypeWord(value, dtype)]);
}

/** A JS number as the 32-bit word a uniform of the dtype's compute type holds. */
export function dtypeWord(value: number, dtype: DType): number {
  const type = computeType(dtype);
  return type === "f32" ? f32Bits(value) : type === "bool" ? (value !== 0 ? 1 : 0) : value >>> 0;
}

// === Filling ===

export interface FillAttrs {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

const scalarType = (dtype: DType): "f32" | "i32" | "u32" => {
  const t = computeType(dtype);
  return t === "bool" ? "u32" : t;
};

export const fill: OpDef<FillAttrs> = defineOp<FillAttrs>({
  name: "fill",
  doc: "Every element the same number. No inputs.",
  facts: { elementwise: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  key: ({ shape, dtype }) => [dtypeCode(dtype), ...shape],
  expression: (_, { dtype }) => ({
    body: computeType(dtype) === "bool" ? "r0 = s0 != 0u;" : "r0 = s0;",
    scalars: [{ type: scalarType(dtype) }],
  }),
});

/** `start + i·step`. */
export const arange: OpDef<FillAttrs> = defineOp<FillAttrs>({
  name: "arange",
  doc: "start + i·step at linear position i. No inputs.",
  facts: { elementwise: true, indexed: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  key: ({ shape, dtype }) => [dtypeCode(dtype), ...shape],
  expression: (_, { dtype }) => {
    const t = scalarType(dtype);
    return {
      body: `r0 = s0 + ${t}(idx) * s1;`,
      scalars: [{ type: t }, { type: t }],
      needsIndex: true,
    };
  },
});

// === Casting and copying ===

export const cast: OpDef<{ dtype: DType }> = defineOp<{ dtype: DType }>({
  name: "cast",
  doc: "Converts elements to another dtype; NaN becomes 0 in integers, floats are truncated toward zero and clamped to range.",
  facts: { elementwise: true },
  infer: ([x], { dtype }) => [{ shape: x!.layout.shape, dtype }],
  key: ({ dtype }) => [dtypeCode(dtype)],
  expression: (inputs, { dtype }) => {
    const from = computeType(inputs[0]!.dtype);
    return typed(inputs, from, { from, dtype }, "x", []);
  },
  vjp: ({ grad, metas, run }) => [
    isFloat(metas[0]!.dtype) ? run(cast, [grad], { dtype: metas[0]!.dtype }) : null,
  ],
});

export const copy: OpDef = defineOp({
  name: "copy",
  doc: "The same elements, contiguous in a storage of their own.",
  facts: { elementwise: true },
  infer: ([x]) => [{ shape: x!.layout.shape, dtype: x!.dtype }],
  expression: () => ({ body: "r0 = a0;" }),
  vjp: ({ grad }) => [grad],
});

/** Overwrites the first input with the second, broadcast and converted. */
export const assign: OpDef = defineOp({
  name: "copy_",
  doc: "Overwrites the first input with the second, broadcast and converted to its dtype.",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false, overwrites: true },
  infer: ([target, source]) => {
    const shape = broadcastShapes("copy_", target!.layout.shape, source!.layout.shape);
    if (!sameShape(shape, target!.layout.shape))
      throw new ShapeError(
        "copy_",
        `a source that broadcasts to ${formatShape(target!.layout.shape)}`,
        formatShape(source!.layout.shape),
        "reshape the source",
      );
    return [{ shape: target!.layout.shape, dtype: target!.dtype }];
  },
  expression: ([target, source]) => {
    const from = computeType(source!.dtype),
      to = computeType(target!.dtype);
    return { body: `r0 = ${casts[to]("a1", from)};`, helpers: castHelpers(to, from) };
  },
  vjp: ({ grad, metas, run }) => [
    run(mulScalar, [grad], { dtype: grad.dtype, reverse: false }, [f32Bits(0)]),
    isFloat(metas[1]!.dtype) ? grad : null,
  ],
});

// === Unary ===

export interface UnaryDef {
  readonly doc: string;
  /**
   * `same`: result has the input's dtype. `float`: integers become float32 first. `bool`: a truth
   * value.
   */
  readonly kind: "same" | "float" | "bool";
  /** In terms of `x`. Per compute type where they differ. */
  readonly expr: string | ((type: ComputeType) => string);
  readonly helpers?: readonly string[];
  readonly saves?: "input" | "output";
  /** Gradient from the incoming one and what was saved. */
  readonly vjp?: (context: VjpContext<undefined>, g: Value) => Value | null;
}

export function unary(name: string, def: UnaryDef): OpDef {
  const save =
    def.saves === "input" ? { inputs: [0] } : def.saves === "output" ? { output: true } : {};
  const record: OpDef = {
    name,
    doc: def.doc,
    facts: { elementwise: true },
    saves: save,
    infer: ([x]) => [
      {
        shape: x!.layout.shape,
        dtype:
          def.kind === "bool"
            ? "bool"
            : def.kind === "float"
              ? floatOf(x!.dtype)
              : x!.dtype === "bool"
                ? "int32"
                : x!.dtype,
      },
    ],
    expression: (inputs) => into(inputs, record.infer(inputs, undefined)[0]!.dtype),
    ...(def.vjp === undefined ? {} : { vjp: (c: VjpContext<undefined>) => [def.vjp!(c, c.grad)] }),
  };
  const into = (inputs: readonly View[], dtype: DType): Expression => {
    const type = computeType(
      def.kind === "bool" ? inputs[0]!.dtype : record.infer(inputs, undefined)[0]!.dtype,
    );
    const expr = typeof def.expr === "string" ? def.expr : def.expr(type);
    return typed(
      inputs,
      type,
      { from: def.kind === "bool" ? "bool" : type, dtype },
      expr,
      def.helpers ?? [],
    );
  };
  if (def.kind === "bool") return defineOp(record);
  const twin = withInplace(record);
  (twin.inplace as { expression: OpDef["expression"] }).expression = (inputs) =>
    into(inputs, inputs[0]!.dtype);
  return twin;
}

export const zeroGrad = (c: VjpContext<undefined>, g: Value): Value =>
  c.run(mulScalar, [g], { dtype: g.dtype, reverse: false }, [f32Bits(0)]);
/** g·k for a number k. */
export const scale = (run: Run, g: Value, k: number): Value =>
  run(mulScalar, [g], { dtype: g.dtype, reverse: false }, [f32Bits(k)]);
export const mul2 = (run: Run, a: Value, b: Value): Value => run(mul, [a, b], undefined);
export const ofType =
  (f: string, i: string, u: string = i) =>
  (t: ComputeType): string =>
    t === "f32" ? f : t === "i32" ? i : u;

export const neg: OpDef = unary("neg", {
  doc: "-x.",
  kind: "same",
  expr: ofType("-x", "-x", "(0u - x)"),
  vjp: (c, g) => c.run(neg, [g], undefined),
});
export const abs: OpDef = unary("abs", {
  doc: "Absolute value. Gradient 0 at 0.",
  kind: "same",
  expr: ofType("abs(x)", "abs(x)", "x"),
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sign, [c.input(0)], undefined)),
});
export const sign: OpDef = unary("sign", {
  doc: "-1, 0 or 1; NaN stays NaN.",
  kind: "same",
  expr: ofType("signOf(x)", "sign(x)", "min(x, 1u)"),
  helpers: ["signOf"],
  vjp: zeroGrad,
});
export const exp: OpDef = unary("exp", {
  doc: "e to the x.",
  kind: "float",
  expr: "expOf(x)",
  helpers: ["expOf"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, c.output()),
});
export const expm1: OpDef = unary("expm1", {
  doc: "exp(x) - 1, accurate near 0.",
  kind: "float",
  expr: "expm1Of(x)",
  helpers: ["expm1Of"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, addConst(c.run, c.output(), 1)),
});
export const log: OpDef = unary("log", {
  doc: "Natural logarithm; NaN below 0.",
  kind: "float",
  expr: "logOf(x)",
  helpers: ["logOf"],
  saves: "input",
  vjp: (c, g) => c.run(div, [g, c.input(0)], undefined),
});
export const log1p: OpDef = unary("log1p", {
  doc: "log(1 + x), accurate near 0.",
  kind: "float",
  expr: "log1pOf(x)",
  helpers: ["log1pOf"],
  saves: "input",
  vjp: (c, g) => c.run(div, [g, addConst(c.run, c.input(0), 1)], undefined),
});
export const sqrt: OpDef = unary("sqrt", {
  doc: "Square root; NaN below 0.",
  kind: "float",
  expr: "sqrtOf(x)",
  helpers: ["sqrtOf"],
  saves: "output",
  vjp: (c, g) => scale(c.run, c.run(div, [g, c.output()], undefined), 0.5),
});
export const rsqrt: OpDef = unary("rsqrt", {
  doc: "1 / sqrt(x).",
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
export const square: OpDef = unary("square", {
  doc: "x·x.",
  kind: "same",
  expr: "(x * x)",
  saves: "input",
  vjp: (c, g) => scale(c.run, mul2(c.run, g, c.input(0)), 2),
});
export const reciprocal: OpDef = unary("reciprocal", {
  doc: "1 / x.",
  kind: "float",
  expr: "(1.0 / x)",
  saves: "output",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, c.run(square, [c.output()], undefined))], undefined),
});
export const sin: OpDef = unary("sin", {
  doc: "Sine, in radians.",
  kind: "float",
  expr: "sin(x)",
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(cos, [c.input(0)], undefined)),
});
export const cos: OpDef = unary("cos", {
  doc: "Cosine, in radians.",
  kind: "float",
  expr: "cos(x)",
  saves: "input",
  vjp: (c, g) => c.run(neg, [mul2(c.run, g, c.run(sin, [c.input(0)], undefined))], undefined),
});
export const tanh: OpDef = unary("tanh", {
  doc: "Hyperbolic tangent.",
  kind: "float",
  expr: "tanhOf(x)",
  helpers: ["tanhOf"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, oneMinus(c.run, c.run(square, [c.output()], undefined))),
});
export const sigmoid: OpDef = unary("sigmoid", {
  doc: "1 / (1 + exp(-x)).",
  kind: "float",
  expr: "sigmoid(x)",
  helpers: ["sigmoid"],
  saves: "output",
  vjp: (c, g) => mul2(c.run, g, mul2(c.run, c.output(), oneMinus(c.run, c.output()))),
});
export const softplus: OpDef = unary("softplus", {
  doc: "log(1 + exp(x)), without overflow.",
  kind: "float",
  expr: "softplus(x)",
  helpers: ["softplus"],
  saves: "input",
  vjp: (c, g) => mul2(c.run, g, c.run(sigmoid, [c.input(0)], undefined)),
});
export const relu: OpDef = unary("relu", {
  doc: "max(x, 0); NaN stays NaN.",
  kind: "same",
  expr: ofType("relu(x)", "max(x, 0)", "x"),
  helpers: ["relu"],
  saves: "output",
  vjp: (c, g) => c.run(gate, [g, c.output()], undefined),
});
export const floor: OpDef = unary("floor", {
  doc: "Largest integer not above x.",
  kind: "same",
  expr: ofType("floor(x)", "x"),
  vjp: zeroGrad,
});
export const ceil: OpDef = unary("ceil", {
  doc: "Smallest integer not below x.",
  kind: "same",
  expr: ofType("ceil(x)", "x"),
  vjp: zeroGrad,
});
export const round: OpDef = unary("round", {
  doc: "Nearest integer, halves to even.",
  kind: "same",
  expr: ofType("round(x)", "x"),
  vjp: zeroGrad,
});
export const isNaNOp: OpDef = unary("isNaN", {
  doc: "Whether x is NaN, tested by its bits.",
  kind: "bool",
  expr: ofType("isNan(x)", "false"),
  helpers: ["isNan"],
});
export const isFiniteOp: OpDef = unary("isFinite", {
  doc: "Whether x is neither NaN nor infinite.",
  kind: "bool",
  expr: ofType("isFinite(x)", "true"),
  helpers: ["isFinite"],
});
export const logicalNot: OpDef = unary("logicalNot", {
  doc: "True where x is 0 or false.",
  kind: "bool",
  expr: (t) => (t === "bool" ? "!x" : `!${casts.bool("x", t)}`),
  helpers: ["isNan"],
});

// === Binary ===

export interface BinaryDef {
  readonly doc: string;
  /**
   * `arithmetic`: the promoted dtype. `float`: always a float. `compare`: bool, compared in the
   * promoted type. `logical`: bool of bools.
   */
  readonly kind: "arithmetic" | "float" | "compare" | "logical";
  readonly expr: string | ((type: ComputeType) => string);
  readonly helpers?: readonly string[];
  readonly saves?: { readonly inputs?: readonly number[]; readonly output?: boolean };
  readonly vjp?: (context: VjpContext<undefined>, g: Value) => readonly (Value | null)[];
}

/** The type a binary op computes in, and its result. */
function binaryTypes(
  kind: BinaryDef["kind"],
  a: DType,
  b: DType,
): { type: ComputeType; from: ComputeType; dtype: DType } {
  if (kind === "logical") return { type: "bool", from: "bool", dtype: "bool" };
  if (kind === "compare")
    return { type: computeType(arithmeticOf(a, b)), from: "bool", dtype: "bool" };
  const dtype = kind === "float" ? floatOf(promote(a, b)) : arithmeticOf(a, b);
  return { type: computeType(dtype), from: computeType(dtype), dtype };
}

export function binary(name: string, def: BinaryDef): OpDef {
  const record: OpDef = {
    name,
    doc: def.doc,
    facts: { elementwise: true },
    saves: def.saves ?? {},
    infer: ([a, b]) => [
      {
        shape: broadcastShapes(name, a!.layout.shape, b!.layout.shape),
        dtype: binaryTypes(def.kind, a!.dtype, b!.dtype).dtype,
      },
    ],
    expression: (inputs) => {
      const { type, from, dtype } = binaryTypes(def.kind, inputs[0]!.dtype, inputs[1]!.dtype);
      return typed(
        inputs,
        type,
        { from, dtype },
        typeof def.expr === "string" ? def.expr : def.expr(type),
        def.helpers ?? [],
      );
    },
    ...(def.vjp === undefined ? {} : { vjp: (c: VjpContext<undefined>) => def.vjp!(c, c.grad) }),
  };
  if (def.kind === "compare" || def.kind === "logical") return defineOp(record);
  // In place, the result is stored in the target's dtype, whatever the promotion says.
  const twin = withInplace(record);
  (twin.inplace as { expression: OpDef["expression"] }).expression = (inputs) => {
    const { type, from } = binaryTypes(def.kind, inputs[0]!.dtype, inputs[1]!.dtype);
    return typed(
      inputs,
      type,
      { from, dtype: inputs[0]!.dtype },
      typeof def.expr === "string" ? def.expr : def.expr(type),
      def.helpers ?? [],
    );
  };
  return twin;
}

export const add: OpDef = binary("add", {
  doc: "a + b.",
  kind: "arithmetic",
  expr: "(x + y)",
  vjp: (_, g) => [g, g],
});
export const sub: OpDef = binary("sub", {
  doc: "a - b.",
  kind: "arithmetic",
  expr: "(x - y)",
  vjp: (c, g) => [g, c.needs(1) ? c.run(neg, [g], undefined) : null],
});
export const mul: OpDef = binary("mul", {
  doc: "a · b, elementwise.",
  kind: "arithmetic",
  expr: "(x * y)",
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    c.needs(0) ? mul2(c.run, g, c.input(1)) : null,
    c.needs(1) ? mul2(c.run, g, c.input(0)) : null,
  ],
});
export const div: OpDef = binary("div", {
  doc: "a / b; integers give float32.",
  kind: "float",
  expr: "(x / y)",
  saves: { inputs: [1], output: true },
  vjp: (c, g) => {
    const q = c.run(div, [g, c.input(1)], undefined);
    return [q, c.needs(1) ? c.run(neg, [mul2(c.run, q, c.output())], undefined) : null];
  },
});
export const pow: OpDef = binary("pow", {
  doc: "a to the b, with PyTorch's answers for negative, zero and infinite arguments.",
  kind: "arithmetic",
  expr: ofType("powOf(x, y)", "powI(x, y)", "u32(powI(i32(x), i32(y)))"),
  helpers: ["powOf", "powI"],
  saves: { inputs: [0, 1], output: true },
  vjp: (c, g) => [
    c.needs(0) ? mul2(c.run, g, c.run(powGrad, [c.input(0), c.input(1)], undefined)) : null,
    c.needs(1) ? mul2(c.run, g, c.run(powLog, [c.output(), c.input(0)], undefined)) : null,
  ],
});
/** b·a^(b-1), and 0 where b is 0. */
const powGrad: OpDef = binary("powGrad", {
  doc: "b·a^(b-1): the derivative of pow by its base; 0 where b is 0.",
  kind: "float",
  expr: "select(y * powOf(x, y - 1.0), 0.0, y == 0.0)",
  helpers: ["powOf"],
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
/** out·log(a), and 0 where out is 0. */
const powLog: OpDef = binary("powLog", {
  doc: "a^b·log(a): the derivative of pow by its exponent, from output and base; 0 where the output is 0.",
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
export const mod: OpDef = binary("mod", {
  doc: "Remainder with the divisor's sign, as Python's %. 0 for integer division by 0.",
  kind: "arithmetic",
  expr: ofType("floorMod(x, y)", "floorModI(x, y)", "select(x % max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorMod", "floorModI"],
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
export const floorDiv: OpDef = binary("floorDiv", {
  doc: "Quotient rounded down. 0 for integer division by 0.",
  kind: "arithmetic",
  expr: ofType("floorDiv(x, y)", "floorDivI(x, y)", "select(x / max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorDiv", "floorDivI"],
  vjp: (c, g) => {
    const z = scale(c.run, g, 0);
    return [z, z];
  },
});
/** 1 where the first wins, 1/2 on a tie, 0 else: how maximum and minimum share their gradient. */
const wins: OpDef = binary("wins", {
  doc: "1 where a > b, 1/2 where equal, 0 elsewhere.",
  kind: "float",
  expr: "select(select(0.0, 1.0, x > y || isNan(x)), 0.5, x == y)",
  helpers: ["isNan"],
  vjp: () => [null, null],
});
export const maximum: OpDef = binary("maximum", {
  doc: "The larger of a and b; NaN wins. A tie shares the gradient.",
  kind: "arithmetic",
  expr: ofType("nanMax(x, y)", "max(x, y)"),
  helpers: ["nanMax"],
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    mul2(c.run, g, c.run(wins, [c.input(0), c.input(1)], undefined)),
    mul2(c.run, g, c.run(wins, [c.input(1), c.input(0)], undefined)),
  ],
});
export const minimum: OpDef = binary("minimum", {
  doc: "The smaller of a and b; NaN wins. A tie shares the gradient.",
  kind: "arithmetic",
  expr: ofType("nanMin(x, y)", "min(x, y)"),
  helpers: ["nanMin"],
  saves: { inputs: [0, 1] },
  vjp: (c, g) => [
    mul2(c.run, g, c.run(wins, [c.input(1), c.input(0)], undefined)),
    mul2(c.run, g, c.run(wins, [c.input(0), c.input(1)], undefined)),
  ],
});
/** g where y is above 0: relu's gradient by its output. */
const gate: OpDef = binary("gate", {
  doc: "a where b is not <= 0, else 0: relu's gradient from its output.",
  kind: "arithmetic",
  expr: (t) => `select(x, ${t}(0), y <= ${t}(0))`,
  saves: { inputs: [1] },
  vjp: (c, g) => [c.run(gate, [g, c.input(1)], undefined), null],
});

const compare = (name: string, doc: string, operator: string): OpDef =>
  binary(name, { doc, kind: "compare", expr: `(x ${operator} y)` });
export const eq: OpDef = compare("eq", "a equals b; NaN equals nothing.", "==");
/** Written as a negation: `x != x` is folded to false on some adapters. */
export const ne: OpDef = binary("ne", {
  doc: "a differs from b; NaN differs from everything.",
  kind: "compare",
  expr: "!(x == y)",
});
export const lt: OpDef = compare("lt", "a is below b.", "<");
export const le: OpDef = compare("le", "a is at most b.", "<=");
export const gt: OpDef = compare("gt", "a is above b.", ">");
export const ge: OpDef = compare("ge", "a is at least b.", ">=");
export const logicalAnd: OpDef = binary("logicalAnd", {
  doc: "Both are true or not 0.",
  kind: "logical",
  expr: "(x && y)",
});
export const logicalOr: OpDef = binary("logicalOr", {
  doc: "Either is true or not 0.",
  kind: "logical",
  expr: "(x || y)",
});
export const logicalXor: OpDef = binary("logicalXor", {
  doc: "Exactly one is true or not 0.",
  kind: "logical",
  expr: "(x != y)",
});

// === A tensor and a number ===

/** `dtype` is what the op computes in; `reverse` puts the number on the left. */
export interface ScalarAttrs {
  readonly dtype: DType;
  readonly reverse: boolean;
}

const scalarForms = new Map<OpDef, OpDef<ScalarAttrs>>();

function scalarForm(
  base: OpDef,
  def: {
    kind: BinaryDef["kind"];
    expr: string | ((type: ComputeType) => string);
    helpers?: readonly string[];
    vjp?: OpDef<ScalarAttrs>["vjp"];
    saves?: OpDef["saves"];
  },
): OpDef<ScalarAttrs> {
  const outOf = (dtype: DType): DType =>
    def.kind === "compare" || def.kind === "logical" ? "bool" : dtype;
  const record: OpDef<ScalarAttrs> = {
    name: base.name,
    id: `${base.name}Scalar`,
    doc: `${base.doc} One side is a number given with the call.`,
    facts: { elementwise: true },
    saves: def.saves ?? {},
    infer: ([x], { dtype }): readonly Meta[] => [{ shape: x!.layout.shape, dtype: outOf(dtype) }],
    key: ({ dtype, reverse }) => [dtypeCode(dtype) * 2 + (reverse ? 1 : 0)],
    expression: (inputs, { dtype, reverse }) => {
      const type = computeType(dtype),
        text = typeof def.expr === "string" ? def.expr : def.expr(type);
      const cast = casts[type]("a0", computeType(inputs[0]!.dtype));
      const [x, y] = reverse ? ["s0", cast] : [cast, "s0"];
      const from = def.kind === "compare" || def.kind === "logical" ? "bool" : type,
        to = computeType(outOf(dtype));
      return {
        body: `let x = ${x};\nlet y = ${y};\nlet w = ${text};\nr0 = ${casts[to]("w", from)};`,
        scalars: [{ type: scalarType(dtype) }],
        helpers: [
          ...(def.helpers ?? []),
          ...castHelpers(type, computeType(inputs[0]!.dtype)),
          ...castHelpers(to, from),
        ],
      };
    },
    ...(def.vjp === undefined ? {} : { vjp: def.vjp }),
  };
  const made =
    def.kind === "compare" || def.kind === "logical" ? defineOp(record) : withInplace(record);
  if (made.inplace !== undefined)
    (made.inplace as { expression: OpDef<ScalarAttrs>["expression"] }).expression = (
      inputs,
      attrs,
    ) => {
      const e = record.expression!(inputs, attrs),
        type = computeType(attrs.dtype),
        to = computeType(inputs[0]!.dtype);
      return {
        ...e,
        body: e.body.replace(/r0 = .*;$/, `r0 = ${casts[to]("w", type)};`),
        helpers: [...(e.helpers ?? []), ...castHelpers(to, type)],
      };
    };
  scalarForms.set(base, made);
  return made;
}

/** The form of a binary op that takes a number for one side. */
export function scalarFormOf(op: OpDef): OpDef<ScalarAttrs> {
  return scalarForms.get(op)!;
}

const same = (c: VjpContext<ScalarAttrs>): ScalarAttrs => ({ dtype: c.grad.dtype, reverse: false });
export const addScalar: OpDef<ScalarAttrs> = scalarForm(add, {
  kind: "arithmetic",
  expr: "(x + y)",
  vjp: ({ grad }) => [grad],
});
export const subScalar: OpDef<ScalarAttrs> = scalarForm(sub, {
  kind: "arithmetic",
  expr: "(x - y)",
  vjp: ({ grad, attrs, run }) => [attrs.reverse ? run(neg, [grad], undefined) : grad],
});
export const mulScalar: OpDef<ScalarAttrs> = scalarForm(mul, {
  kind: "arithmetic",
  expr: "(x * y)",
  vjp: (c) => [c.run(mulScalar, [c.grad], same(c), c.words)],
});
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
      : c.run(divScalar, [c.grad], same(c), c.words),
  ],
});
export const powScalar: OpDef<ScalarAttrs> = scalarForm(pow, {
  kind: "arithmetic",
  expr: ofType("powOf(x, y)", "powI(x, y)", "u32(powI(i32(x), i32(y)))"),
  helpers: ["powOf", "powI"],
  saves: { inputs: [0], output: true },
  vjp: (c) => {
    const number = c.run(fill, [], { shape: [], dtype: "float32" }, c.words);
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
              c.run(floorDivScalar, [c.input(0)], { dtype: c.attrs.dtype, reverse: true }, c.words),
            ),
          ],
          undefined,
        )
      : c.grad,
  ],
});
export const floorDivScalar: OpDef<ScalarAttrs> = scalarForm(floorDiv, {
  kind: "arithmetic",
  expr: ofType("floorDiv(x, y)", "floorDivI(x, y)", "select(x / max(y, 1u), 0u, y == 0u)"),
  helpers: ["floorDiv", "floorDivI"],
  vjp: ({ grad, run }) => [scale(run, grad, 0)],
});
const shareScalar =
  (reverse: (x: Value, n: Value) => readonly [Value, Value]): OpDef<ScalarAttrs>["vjp"] =>
  (c) => {
    const number = c.run(fill, [], { shape: [], dtype: "float32" }, c.words);
    return [mul2(c.run, c.grad, c.run(wins, reverse(c.input(0), number), undefined))];
  };
export const maximumScalar: OpDef<ScalarAttrs> = scalarForm(maximum, {
  kind: "arithmetic",
  expr: ofType("nanMax(x, y)", "max(x, y)"),
  helpers: ["nanMax"],
  saves: { inputs: [0] },
  vjp: shareScalar((x, n) => [x, n])!,
});
export const minimumScalar: OpDef<ScalarAttrs> = scalarForm(minimum, {
  kind: "arithmetic",
  expr: ofType("nanMin(x, y)", "min(x, y)"),
  helpers: ["nanMin"],
  saves: { inputs: [0] },
  vjp: shareScalar((x, n) => [n, x])!,
});
for (const [op, expr] of [
  [eq, "(x == y)"],
  [ne, "!(x == y)"],
  [lt, "(x < y)"],
  [le, "(x <= y)"],
  [gt, "(x > y)"],
  [ge, "(x >= y)"],
] as const)
  scalarForm(op, { kind: "compare", expr });

export function addConst(run: Run, x: Value, k: number): Value {
  return run(addScalar, [x], { dtype: x.dtype, reverse: false }, [f32Bits(k)]);
}
export function oneMinus(run: Run, x: Value): Value {
  return run(subScalar, [x], { dtype: x.dtype, reverse: true }, [f32Bits(1)]);
}

// === Choosing ===

export const where: OpDef = defineOp({
  name: "where",
  doc: "b where the condition a is true (not 0), else c; all three broadcast.",
  facts: { elementwise: true },
  saves: { inputs: [0] },
  infer: ([c, a, b]) => [
    {
      shape: broadcastShapes(
        "where",
        c!.layout.shape,
        broadcastShapes("where", a!.layout.shape, b!.layout.shape),
      ),
      dtype: promote(a!.dtype, b!.dtype),
    },
  ],
  expression: ([c, a, b]) => {
    const type = computeType(promote(a!.dtype, b!.dtype)),
      [tc, ta, tb] = [computeType(c!.dtype), computeType(a!.dtype), computeType(b!.dtype)];
    return {
      body: `r0 = select(${casts[type]("a2", tb)}, ${casts[type]("a1", ta)}, ${casts.bool("a0", tc)});`,
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

// === Random numbers: counter-based, so that a program replays them exactly ===

export interface RandomAttrs {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly distribution: "uniform" | "normal";
}

/** Scalars: seed (two words) and stream. Element `i` is a pure function of seed, stream and `i`. */
export const random: OpDef<RandomAttrs> = defineOp<RandomAttrs>({
  name: "random",
  doc: "Independent draws from [0, 1) or the standard normal. No inputs.",
  facts: { elementwise: true, random: true, indexed: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  key: ({ shape, dtype, distribution }) => [
    dtypeCode(dtype),
    distribution === "normal" ? 1 : 0,
    ...shape,
  ],
  expression: (_, { distribution }) => ({
    body: `r0 = ${distribution === "normal" ? "randomNormal" : "randomUniform"}(s0, s1, s2, idx);`,
    helpers: [distribution === "normal" ? "randomNormal" : "randomUniform"],
    scalars: [{ type: "u32" }, { type: "u32" }, { type: "u32" }],
    needsIndex: true,
  }),
});

/**
 * Scalars: seed (two words), stream, keep probability. The gradient draws the same mask again from
 * the same scalars.
 */
export const dropout: OpDef = defineOp({
  name: "dropout",
  doc: "Zeroes elements at random and scales the rest by 1/keep, so that the mean stays.",
  facts: { elementwise: true, random: true, indexed: true },
  infer: ([x]) => {
    if (!isFloat(x!.dtype))
      throw new DTypeError("dropout", "a float tensor", x!.dtype, "cast it to float32");
    return [{ shape: x!.layout.shape, dtype: x!.dtype }];
  },
  expression: () => ({
    body: "r0 = select(0.0, a0 / s3, randomUniform(s0, s1, s2, idx) < s3);",
    helpers: ["randomUniform"],
    scalars: [{ type: "u32" }, { type: "u32" }, { type: "u32" }, { type: "f32" }],
    needsIndex: true,
  }),
  vjp: ({ grad, run, words }) => [run(dropout, [grad], undefined, words)],
});

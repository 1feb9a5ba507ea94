/**
 * Builders of elementwise records: one operand, two, a tensor and a number, and the in-place twin
 * of each. A number given with a call is a per-call uniform, so a learning rate that changes does
 * not change the program. Called by the records in this folder; owns nothing.
 */
import { at } from "../base/access.ts";
import {
  type DType,
  dtypeCode,
  isFloat,
  promote,
  computeType,
  type ComputeType,
} from "../base/dtype.ts";
import { DTypeError, ShapeError, calledAs } from "../base/errors.ts";
import { broadcastShapes, formatShape, sameShape } from "../base/shape.ts";
import type { Family } from "../kernels/families.ts";
import type { View } from "../kernels/kernel.ts";
import {
  type Expression,
  type Meta,
  type OpDef,
  type Value,
  type VjpContext,
  defineOp,
} from "./op.ts";
import { arithmeticOf, castHelpers, casts, floatOf, scalarType, typed } from "./typing.ts";

/** Adds the in-place twin of an elementwise record. */
export function withInplace<A>(op: OpDef<A>): OpDef<A> {
  const inplace = defineOp<A>({
    ...op,
    name: `${op.name}_`,
    ...(op.id === undefined ? {} : { id: `${op.id}_` }),
    facts: { ...op.facts, inplaceOf: [0], recomputable: false },
    infer(inputs, attrs) {
      const target = at(inputs, 0),
        result = at(
          calledAs(this.name, () => op.infer(inputs, attrs)),
          0,
        );
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

/** An elementwise op of one operand. */
export interface UnaryDef {
  /**
   * `same`: result has the input's dtype. `float`: integers become float32 first. `bool`: a truth
   * value.
   */
  readonly kind: "same" | "float" | "bool";
  /** In terms of `x`. Per compute type where they differ. */
  readonly expr: string | ((type: ComputeType) => string);
  readonly helpers?: readonly string[];
  /** Where the helpers are, if not with the engine. */
  readonly family?: Family;
  readonly saves?: "input" | "output";
  /** Gradient from the incoming one and what was saved. */
  readonly vjp?: (context: VjpContext<undefined>, g: Value) => Value | null;
}

/** Registers an op of one operand and, unless it gives truth values, its in-place twin. */
export function unary(name: string, def: UnaryDef): OpDef {
  const save =
    def.saves === "input" ? { inputs: [0] } : def.saves === "output" ? { output: true } : {};
  const record: OpDef = {
    name,
    family: def.family,
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
    expression: (inputs) => into(inputs, at(record.infer(inputs, undefined), 0).dtype),
    ...(def.vjp === undefined ? {} : { vjp: (c: VjpContext<undefined>) => [def.vjp!(c, c.grad)] }),
  };
  const into = (inputs: readonly View[], dtype: DType): Expression => {
    const type = computeType(
      def.kind === "bool" ? at(inputs, 0).dtype : at(record.infer(inputs, undefined), 0).dtype,
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
    into(inputs, at(inputs, 0).dtype);
  return twin;
}

/** An elementwise op of two operands that broadcast. */
export interface BinaryDef {
  /**
   * `arithmetic`: the promoted dtype. `float`: always a float. `compare`: bool, compared in the
   * promoted type. `logical`: bool of bools.
   */
  readonly kind: "arithmetic" | "float" | "compare" | "logical";
  /** Two bools give a bool (not an int32): the sum is "or", the product "and". */
  readonly ofBools?: boolean;
  /** `expr` is `x + y` or `x * y` and nothing else. */
  readonly rounding?: Expression["rounding"];
  readonly expr: string | ((type: ComputeType) => string);
  readonly helpers?: readonly string[];
  /** Where the helpers are, if not with the engine. */
  readonly family?: Family;
  readonly saves?: { readonly inputs?: readonly number[]; readonly output?: boolean };
  readonly vjp?: (context: VjpContext<undefined>, g: Value) => readonly (Value | null)[];
}

/** The type a binary op computes in, and its result. */
function binaryTypes(
  { kind, ofBools = false }: Pick<BinaryDef, "kind" | "ofBools">,
  a: DType,
  b: DType,
): { type: ComputeType; from: ComputeType; dtype: DType } {
  if (kind === "logical") return { type: "bool", from: "bool", dtype: "bool" };
  if (kind === "compare")
    return { type: computeType(arithmeticOf(a, b)), from: "bool", dtype: "bool" };
  if (ofBools && a === "bool" && b === "bool") return { type: "i32", from: "i32", dtype: "bool" };
  const dtype = kind === "float" ? floatOf(promote(a, b)) : arithmeticOf(a, b);
  return { type: computeType(dtype), from: computeType(dtype), dtype };
}

/** What an expression declares of its rounding, given its result's dtype. */
function roundingOf(
  { rounding }: Pick<BinaryDef, "rounding">,
  dtype: DType,
): Pick<Expression, "rounding"> {
  return rounding === undefined || dtype !== "float32" ? {} : { rounding };
}

/** Registers an elementwise op of two operands and, for numbers, its in-place twin. */
export function binary(name: string, def: BinaryDef): OpDef {
  const record: OpDef = {
    name,
    family: def.family,
    facts: { elementwise: true },
    saves: def.saves ?? {},
    infer: ([a, b]) => [
      {
        shape: broadcastShapes(name, a!.layout.shape, b!.layout.shape),
        dtype: binaryTypes(def, a!.dtype, b!.dtype).dtype,
      },
    ],
    expression: (inputs) => {
      const { type, from, dtype } = binaryTypes(def, at(inputs, 0).dtype, at(inputs, 1).dtype);
      return typed(
        inputs,
        type,
        { from, dtype },
        typeof def.expr === "string" ? def.expr : def.expr(type),
        def.helpers ?? [],
        roundingOf(def, dtype),
      );
    },
    ...(def.vjp === undefined ? {} : { vjp: (c: VjpContext<undefined>) => def.vjp!(c, c.grad) }),
  };
  if (def.kind === "compare" || def.kind === "logical") return defineOp(record);
  // In place, the result is stored in the target's dtype, whatever the promotion says.
  const twin = withInplace(record);
  (twin.inplace as { expression: OpDef["expression"] }).expression = (inputs) => {
    const { type, from } = binaryTypes(def, at(inputs, 0).dtype, at(inputs, 1).dtype);
    return typed(
      inputs,
      type,
      { from, dtype: at(inputs, 0).dtype },
      typeof def.expr === "string" ? def.expr : def.expr(type),
      def.helpers ?? [],
    );
  };
  return twin;
}

/** `dtype` is what the op computes in; `reverse` puts the number on the left. */
export interface ScalarAttrs {
  readonly dtype: DType;
  readonly reverse: boolean;
}

/** The form of a binary op that takes a number for one side; `scalar-forms.ts` lists them. */
export function scalarForm(
  base: OpDef,
  def: {
    kind: BinaryDef["kind"];
    rounding?: Expression["rounding"];
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
    family: base.family,
    facts: { elementwise: true },
    saves: def.saves ?? {},
    infer: ([x], { dtype }): readonly Meta[] => [{ shape: x!.layout.shape, dtype: outOf(dtype) }],
    key: ({ dtype, reverse }) => [dtypeCode(dtype) * 2 + (reverse ? 1 : 0)],
    expression: (inputs, { dtype, reverse }) => {
      const type = computeType(dtype),
        text = typeof def.expr === "string" ? def.expr : def.expr(type);
      const cast = casts[type]("a0", computeType(at(inputs, 0).dtype));
      const [x, y] = reverse ? ["s0", cast] : [cast, "s0"];
      const from = def.kind === "compare" || def.kind === "logical" ? "bool" : type,
        to = computeType(outOf(dtype));
      return {
        ...roundingOf(def, at(inputs, 0).dtype === dtype ? dtype : "bool"),
        body: `let x = ${x};\nlet y = ${y};\nlet w = ${text};\nr0 = ${casts[to]("w", from)};`,
        scalars: [{ type: scalarType(dtype) }],
        helpers: [
          ...(def.helpers ?? []),
          ...castHelpers(type, computeType(at(inputs, 0).dtype)),
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
        to = computeType(at(inputs, 0).dtype);
      return {
        ...e,
        body: e.body.replace(/r0 = .*;$/, `r0 = ${casts[to]("w", type)};`),
        helpers: [...(e.helpers ?? []), ...castHelpers(to, type)],
      };
    };
  return made;
}

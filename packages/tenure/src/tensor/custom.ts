/**
 * Ops of users: a WGSL expression or kernel with a shape rule and a gradient, recorded,
 * differentiated and owned like a built-in. Called by users and by libraries on top.
 */
import "../compose.ts";
import { type DType, checkDType } from "../base/dtype.ts";
import { f32Bits, fromBits } from "../base/bits.ts";
import { ArgumentError, internal } from "../base/errors.ts";
import { type OptionTable, describeValue, readOptions } from "../base/options.ts";
import { type Shape, broadcastShapes, checkShape } from "../base/shape.ts";
import type { Meta, OpDef, Value } from "../ops/op.ts";
import { customKernel } from "../ops/shader.ts";
import { Tensor, call } from "./tensor.ts";

/** What a user's kernel looks like: a whole shader for given shapes. */
export interface CustomKernel {
  /**
   * WGSL with entry point `main`. Storage buffers are `@group(0) @binding(0…)`: the inputs
   * (`read`), then the output (`read_write`); params come after them as a uniform struct of 32-bit
   * words. Every output element must be written; inputs are contiguous.
   */
  readonly wgsl: string;
  /** At most 65535 in each dimension. */
  readonly workgroups: readonly [number, number, number];
  /** 32-bit words of the uniform struct; the op's scalars come first as f32. */
  readonly params?: readonly number[];
}

/** The definition of an op: what it takes, how it computes, how it is differentiated. */
export interface CustomOp {
  readonly name: string;
  /** What it computes, for readers of the definition; the library does not use it. */
  readonly doc?: string;
  /** Number of tensors it takes. */
  readonly inputs: number;
  /**
   * Number of plain numbers it takes with each call, after the tensors: uniforms, so changing them
   * compiles nothing.
   */
  readonly scalars?: number;
  /**
   * Shape and dtype of the result; unless given, the first input's dtype and, for an expression,
   * the shape all inputs broadcast to.
   */
  infer?(inputs: readonly Meta[]): { readonly shape: Shape; readonly dtype: DType };
  /**
   * Elementwise: WGSL statements from `a0, a1, …` and scalars `s0, …` to `r0`. Inputs have the
   * result's shape or broadcast to it.
   */
  readonly expression?: string;
  /** Anything else. */
  kernel?(inputs: readonly Meta[], output: Meta): CustomKernel;
  /**
   * Gradients of the inputs (null for none), computed with tensors. Temporaries are freed for you.
   * Each has its input's shape.
   */
  vjp?(context: {
    readonly grad: Tensor;
    readonly inputs: readonly Tensor[];
    readonly output: Tensor;
    readonly scalars: readonly number[];
  }): readonly (Tensor | null)[];
}

/**
 * Defines an op once; the result records it. The result has the shape that `infer` gives, or else
 * the inputs' shapes broadcast.
 * @throws ArgumentError for a definition that can't work; what it gives throws ShapeError and
 *   DTypeError for inputs that do not fit
 * @example
 * ```ts
 * const half = defineOp({ name: "half", doc: "x / 2", inputs: 1, expression: "r0 = a0 * 0.5;" });
 * using x = tensor([1, 4]);
 * using out = half(x);
 * console.log(out.shape.join()); // → 2
 * ```
 */
export function defineOp(spec: CustomOp): (...args: readonly (Tensor | number)[]) => Tensor {
  checkDefinition(spec);
  const { name, inputs, scalars = 0 } = spec;
  const op = recordOf(spec);
  return (...args) => {
    const tensors = args.slice(0, inputs);
    const numbers = args.slice(inputs);
    if (
      args.length !== inputs + scalars ||
      !tensors.every((t) => t instanceof Tensor) ||
      !numbers.every((n) => typeof n === "number")
    )
      throw new ArgumentError(
        name,
        `${inputs} tensors and ${scalars} numbers`,
        args.map((a) => (a instanceof Tensor ? "tensor" : typeof a)).join(", ") || "nothing",
        "pass the tensors first, then the numbers",
      );
    return call(op, tensors, undefined, numbers.map(f32Bits));
  };
}

function checkDefinition(spec: CustomOp): void {
  const refuse = (expected: string, got: string, remedy: string): never => {
    throw new ArgumentError("defineOp", expected, got, remedy);
  };
  const { name, expression, kernel } = readOptions("defineOp", spec, definition);
  if (!/^[A-Za-z]\w*$/.test(name))
    refuse("a name of letters and digits", describeValue(name), 'pass for example name: "myOp"');
  if ((expression === undefined) === (kernel === undefined))
    refuse(
      "either an expression or a kernel",
      expression === undefined ? "neither" : "both",
      "see CustomOp",
    );
}

const definition = {
  name: { type: "text", required: true, remedy: 'pass for example name: "myOp"' },
  doc: { type: "text" },
  inputs: {
    type: "integer",
    range: "[1, 7]", // every device binds 8 buffers, one is the result
    required: true,
    remedy: "pass how many tensors each call takes",
  },
  scalars: {
    type: "integer",
    range: "[0, 1024]",
    default: 0,
    remedy: "pass how many numbers each call takes",
  },
  infer: { type: "function", remedy: "pass (inputs) => ({ shape, dtype })" },
  expression: { type: "text", remedy: "pass WGSL statements that set r0" },
  kernel: { type: "function", remedy: "pass (inputs, output) => ({ wgsl, workgroups })" },
  vjp: { type: "function", remedy: "pass ({ grad, inputs }) => [ … ]" },
} satisfies OptionTable<CustomOp>;

/** The definition as a record like those of built-in ops. */
function recordOf(spec: CustomOp): OpDef {
  return {
    name: spec.name,
    facts: spec.expression === undefined ? {} : { elementwise: true },
    infer: (views) => {
      const metas = views.map((v) => ({ shape: v.layout.shape, dtype: v.dtype }));
      return [spec.infer === undefined ? inferred(spec, metas) : checkMeta(spec, metas)];
    },
    ...implementation(spec),
    ...gradient(spec),
  };
}

/** Shape and dtype of the result of an op that doesn't say. */
function inferred({ name, expression }: CustomOp, metas: readonly Meta[]): Meta {
  const [first, ...others] = metas;
  if (first === undefined) throw internal(`${name} was called without inputs`);
  if (expression === undefined) return { dtype: first.dtype, shape: first.shape };
  const shape = others.reduce((s, m) => broadcastShapes(name, s, m.shape), first.shape);
  return { dtype: first.dtype, shape };
}

/** What a user's `infer` says. @throws ArgumentError for what is no shape and dtype */
function checkMeta(spec: CustomOp, metas: readonly Meta[]): Meta {
  const { name } = spec;
  const given: unknown = spec.infer?.(metas);
  const { shape, dtype } = (given ?? {}) as Partial<Meta>;
  if (!Array.isArray(shape))
    throw new ArgumentError(
      name,
      "infer() to return { shape, dtype }",
      describeValue(given),
      "return for example { shape: inputs[0].shape, dtype: inputs[0].dtype }",
    );
  return { shape: [...checkShape(name, shape)], dtype: checkDType(name, dtype) };
}

/** How the op computes its result. */
function implementation(spec: CustomOp): Partial<OpDef> {
  const { name, inputs, scalars = 0, expression } = spec;
  if (expression !== undefined) {
    const types = Array.from({ length: scalars }, () => ({ type: "f32" as const }));
    return { expression: () => ({ body: expression, scalars: types }) };
  }
  const kernel = (given: readonly Meta[], output: Meta): CustomKernel => {
    if (spec.kernel === undefined) throw internal(`${name} has no kernel`);
    return spec.kernel(given, output);
  };
  return {
    contiguousInputs: Array.from({ length: inputs }, (_, i) => i),
    kernel: customKernel(name, scalars, kernel),
  };
}

/** How the op is differentiated, if it says so. */
function gradient(spec: CustomOp): Partial<OpDef> {
  if (spec.vjp === undefined) return {};
  const indices = Array.from({ length: spec.inputs }, (_, i) => i);
  return {
    saves: { inputs: indices, output: true },
    vjp: (c) => {
      const context = {
        grad: tensorOf(c.grad),
        inputs: indices.map((i) => tensorOf(c.input(i))),
        output: tensorOf(c.output()),
        scalars: c.scalars.map(fromBits),
      };
      return spec.vjp?.(context) ?? [];
    },
  };
}

function tensorOf(value: Value): Tensor {
  if (!(value instanceof Tensor))
    throw internal("a gradient rule was given a value that is no tensor");
  return value;
}

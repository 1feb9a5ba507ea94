/**
 * Ops of users: a WGSL expression or kernel with a shape rule and a gradient, recorded,
 * differentiated and owned like a built-in. Called by users and by libraries on top.
 */
import type { DType } from "../base/dtype.ts";
import { f32Bits, fromBits } from "../base/bits.ts";
import { ArgumentError, internal } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { type Shape, broadcastShapes } from "../base/shape.ts";
import { type Meta, type OpDef, type Value } from "../ops/op.ts";
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

export interface CustomOp {
  readonly name: string;
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
   */
  vjp?(context: {
    readonly grad: Tensor;
    readonly inputs: readonly Tensor[];
    readonly output: Tensor;
    readonly scalars: readonly number[];
  }): readonly (Tensor | null)[];
}

/**
 * Defines an op once; the result records it. @throws ArgumentError for a definition that can't work
 */
export function defineOp(spec: CustomOp): (...args: readonly (Tensor | number)[]) => Tensor {
  if (typeof spec !== "object" || (spec as unknown) === null)
    throw new ArgumentError(
      "defineOp",
      "the definition of an op",
      describeValue(spec),
      "pass { name, inputs, expression, … }",
    );
  checkOptions("defineOp", spec, [
    "name",
    "doc",
    "inputs",
    "scalars",
    "infer",
    "expression",
    "kernel",
    "vjp",
  ]);
  const { name, inputs, scalars = 0, expression } = spec;
  if (typeof (name as unknown) !== "string" || !/^[A-Za-z]\w*$/.test(name))
    throw new ArgumentError(
      "defineOp",
      "a name of letters and digits",
      describeValue(name),
      'pass for example name: "myOp"',
    );
  if (!Number.isInteger(scalars) || scalars < 0)
    throw new ArgumentError(
      "defineOp",
      "scalars to be a whole number",
      describeValue(scalars),
      "pass how many numbers each call takes",
    );
  if ((expression === undefined) === (spec.kernel === undefined))
    throw new ArgumentError(
      "defineOp",
      "either an expression or a kernel",
      expression === undefined ? "neither" : "both",
      "see CustomOp",
    );
  if (!Number.isInteger(inputs) || inputs < 1)
    throw new ArgumentError(
      "defineOp",
      "at least one input tensor",
      describeValue(inputs),
      "pass how many tensors each call takes",
    );
  const metas = (
    views: readonly { readonly layout: { readonly shape: Shape }; readonly dtype: DType }[],
  ): Meta[] => views.map((v) => ({ shape: v.layout.shape, dtype: v.dtype }));
  const types = Array.from({ length: scalars }, () => ({ type: "f32" as const }));
  const op: OpDef = {
    name,
    doc: spec.doc ?? "Defined by the user.",
    facts: expression === undefined ? {} : { elementwise: true },
    infer: (views) => {
      const given = metas(views);
      if (spec.infer !== undefined) return [spec.infer(given)];
      return [
        {
          dtype: given[0]!.dtype,
          shape:
            expression === undefined
              ? given[0]!.shape
              : given.reduce((shape, m) => broadcastShapes(name, shape, m.shape), given[0]!.shape),
        },
      ];
    },
    ...(expression === undefined
      ? {
          contiguousInputs: Array.from({ length: inputs }, (_, i) => i),
          kernel: customKernel(name, scalars, (i: readonly Meta[], o: Meta) => spec.kernel!(i, o)),
        }
      : { expression: () => ({ body: expression, scalars: types }) }),
    ...(spec.vjp === undefined
      ? {}
      : {
          saves: { inputs: Array.from({ length: inputs }, (_, i) => i), output: true },
          vjp: (c) =>
            spec.vjp!({
              grad: tensorOf(c.grad),
              inputs: Array.from({ length: inputs }, (_, i) => tensorOf(c.input(i))),
              output: tensorOf(c.output()),
              scalars: c.words.map(fromBits),
            }),
        }),
  };
  return (...args) => {
    const tensors = args.slice(0, inputs),
      numbers = args.slice(inputs);
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

function tensorOf(value: Value): Tensor {
  if (!(value instanceof Tensor))
    throw internal("a gradient rule was given a value that is no tensor");
  return value;
}

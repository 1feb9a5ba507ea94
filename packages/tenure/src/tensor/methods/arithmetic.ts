/**
 * Arithmetic and comparison as methods. Operands broadcast; a plain number stands for a 0-d tensor,
 * and takes the form of the op that gets it as a uniform.
 */
import { f32Bits } from "../../base/bits.ts";
import { type DType, isFloat } from "../../base/dtype.ts";
import { ArgumentError, internal } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import * as E from "../../ops/elementwise.ts";
import type { AnyOp, OpDef } from "../../ops/op.ts";
import { type Wrapping, call, live } from "../call.ts";
import { fits, integerRange } from "../host.ts";
import { OwnershipMethods } from "./ownership.ts";

/** Arithmetic, comparison and logic. */
export abstract class ArithmeticMethods extends OwnershipMethods {
  /**
   * this + other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   * @example
   * ```ts
   * using x = tensor([1, 2, 3]);
   * using y = x.add(10);
   * console.log(await y.toArray()); // → [ 11, 12, 13 ]
   * ```
   */
  add(other: this | number): this {
    return binary(E.add, this, other);
  }

  /**
   * this - other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  sub(other: this | number): this {
    return binary(E.sub, this, other);
  }

  /**
   * this · other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  mul(other: this | number): this {
    return binary(E.mul, this, other);
  }

  /**
   * True division, elementwise: integers give float32.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  div(other: this | number): this {
    return binary(E.div, this, other);
  }

  /**
   * this to the exponent, with PyTorch's answers for negative, zero and infinite arguments,
   * elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  pow(exponent: this | number): this {
    return binary(E.pow, this, exponent);
  }

  /**
   * Remainder with the divisor's sign, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  mod(other: this | number): this {
    return binary(E.mod, this, other);
  }

  /**
   * Quotient rounded down, elementwise. 0 for integer division by 0.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  floorDiv(other: this | number): this {
    return binary(E.floorDiv, this, other);
  }

  /**
   * The larger of this and other, elementwise; NaN wins. A tie shares the gradient.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  maximum(other: this | number): this {
    return binary(E.maximum, this, other);
  }

  /**
   * The smaller of this and other, elementwise; NaN wins. A tie shares the gradient.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  minimum(other: this | number): this {
    return binary(E.minimum, this, other);
  }

  /**
   * Whether this equals other, elementwise; NaN equals nothing.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  eq(other: this | number): this {
    return binary(E.eq, this, other);
  }

  /**
   * Whether this differs from other, elementwise; NaN differs from everything.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  ne(other: this | number): this {
    return binary(E.ne, this, other);
  }

  /**
   * Whether this is below other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  lt(other: this | number): this {
    return binary(E.lt, this, other);
  }

  /**
   * Whether this is at most other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  le(other: this | number): this {
    return binary(E.le, this, other);
  }

  /**
   * Whether this is above other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  gt(other: this | number): this {
    return binary(E.gt, this, other);
  }

  /**
   * Whether this is at least other, elementwise.
   * @throws ShapeError unless the shapes broadcast, ArgumentError for a number that the dtype does
   *   not hold
   */
  ge(other: this | number): this {
    return binary(E.ge, this, other);
  }

  /** Both are true or not 0, elementwise. @throws ShapeError unless the shapes broadcast */
  logicalAnd(other: this): this {
    return call(E.logicalAnd, [this, other], undefined);
  }

  /** Either is true or not 0, elementwise. @throws ShapeError unless the shapes broadcast */
  logicalOr(other: this): this {
    return call(E.logicalOr, [this, other], undefined);
  }

  /** Exactly one is true or not 0, elementwise. @throws ShapeError unless the shapes broadcast */
  logicalXor(other: this): this {
    return call(E.logicalXor, [this, other], undefined);
  }

  /** True where x is 0 or false, elementwise. */
  logicalNot(): this {
    return call(E.logicalNot, [this], undefined);
  }
}

/** The record of an op's in-place form. */
export function inPlace<A>(op: OpDef<A>): OpDef<A> {
  if (op.inplace === undefined) throw internal(`${op.name} has no in-place form`);
  return op.inplace;
}

function binary<T extends Wrapping>(op: OpDef, a: T, b: T | number): T {
  if (typeof b !== "number") return call(op, [a, b], undefined);
  const own = live(a, op.name).dtype,
    form = E.scalarFormOf(op);
  if (op.inplace === undefined && Number.isInteger(b) && !fits(b, own))
    return call(form, [a], { dtype: "float32", reverse: false }, [
      f32Bits(b < 0 ? -Infinity : Infinity),
    ]); // a comparison: beyond all integers of the dtype
  const dtype = scalarDType(op, own, b);
  return call(form, [a], { dtype, reverse: false }, [E.scalarBits(b, dtype)]);
}

/** A binary op that overwrites `a`, in the form that takes a number where one is given. */
export function binaryInPlace<T extends Wrapping>(op: OpDef, a: T, b: T | number): T {
  const target = inPlace(op);
  if (typeof b !== "number") return call(target, [a, b], undefined);
  const dtype = scalarDType(target, live(a, target.name).dtype, b);
  return call(inPlace(E.scalarFormOf(op)), [a], { dtype, reverse: false }, [
    E.scalarBits(b, dtype),
  ]);
}

/**
 * What an op with a number computes in: floats stay, integers stay with whole numbers, anything
 * else becomes float32. @throws ArgumentError for a whole number that the integers do not hold
 */
export function scalarDType(op: AnyOp, dtype: DType, value: number): DType {
  if (typeof value !== "number")
    throw new ArgumentError(
      op.name,
      "a tensor or a number",
      describeValue(value),
      "make a tensor with tensor(…)",
    );
  if (isFloat(dtype)) return dtype;
  if (op === E.div || op === E.div.inplace || !Number.isInteger(value)) return "float32";
  const computed = dtype === "bool" || (dtype === "uint32" && value < 0) ? "int32" : dtype;
  if (!fits(value, computed))
    throw new ArgumentError(
      op.name,
      `a number from ${integerRange[computed]?.join(" to ")} for ${dtype}`,
      describeValue(value),
      "cast the tensor with .float() first",
    );
  return computed;
}

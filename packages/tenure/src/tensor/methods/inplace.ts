/**
 * Ops that overwrite their tensor, as methods with a `_` at the end. Each returns a fresh tensor on
 * the same storage.
 */
import { calledAs } from "../../base/errors.ts";
import * as E from "../../ops/elementwise.ts";
import { WRAP, call, live, only } from "../call.ts";
import { numberBits } from "../host.ts";
import { runOp } from "../run.ts";
import { binaryInPlace, inPlace } from "./arithmetic.ts";
import { MathMethods, bounded } from "./math.ts";

/** Updates in place. */
export abstract class InPlaceMethods extends MathMethods {
  /**
   * In place: this + other, elementwise.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   * @example
   * ```ts
   * using x = tensor([1, 2, 3]);
   * using same = x.add_(1); // a handle on the same bytes
   * console.log(await x.toArray()); // → [ 2, 3, 4 ]
   * ```
   */
  add_(other: this | number): this {
    return binaryInPlace(E.add, this, other);
  }

  /**
   * In place: this - other, elementwise.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   */
  sub_(other: this | number): this {
    return binaryInPlace(E.sub, this, other);
  }

  /**
   * In place: this · other, elementwise.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   */
  mul_(other: this | number): this {
    return binaryInPlace(E.mul, this, other);
  }

  /**
   * In place: True division, elementwise: integers give float32.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   */
  div_(other: this | number): this {
    return binaryInPlace(E.div, this, other);
  }

  /**
   * In place: this to the exponent, with PyTorch's answers for negative, zero and infinite
   * arguments, elementwise.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   */
  pow_(exponent: this | number): this {
    return binaryInPlace(E.pow, this, exponent);
  }

  /**
   * In place: Remainder with the divisor's sign, elementwise.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   */
  mod_(other: this | number): this {
    return binaryInPlace(E.mod, this, other);
  }

  /**
   * In place: Quotient rounded down, elementwise. 0 for integer division by 0.
   * @throws ShapeError unless other broadcasts to this shape, DTypeError for fractions in a tensor
   *   of integers, ArgumentError for a number that the dtype does not hold
   */
  floorDiv_(other: this | number): this {
    return binaryInPlace(E.floorDiv, this, other);
  }

  /**
   * Overwrites the elements with another tensor's, broadcast and converted.
   * @throws ShapeError unless the other broadcasts to this shape
   */
  copy_(source: this): this {
    return call(E.assign, [this, source], undefined);
  }

  /**
   * Overwrites every element with a number.
   * @throws ArgumentError for a value out of the dtype's range
   */
  fill_(value: number): this {
    const target = live(this, "fill_"),
      { dtype } = target,
      source = only(runOp(E.fill, [], { shape: [], dtype }, [numberBits("fill_", value, dtype)]));
    try {
      return this[WRAP](only(runOp(E.assign, [target, source], undefined)));
    } finally {
      source.discard();
    }
  }

  /** In place: every element 0. */
  zero_(): this {
    return calledAs("zero_", () => this.fill_(0));
  }

  /** In place: -x, elementwise. */
  neg_(): this {
    return call(inPlace(E.neg), [this], undefined);
  }

  /** In place: Absolute value, elementwise. Gradient 0 at 0. */
  abs_(): this {
    return call(inPlace(E.abs), [this], undefined);
  }

  /** In place: -1, 0 or 1, elementwise; NaN stays NaN. */
  sign_(): this {
    return call(inPlace(E.sign), [this], undefined);
  }

  /** In place: e to the x, elementwise. @throws DTypeError for a tensor of integers */
  exp_(): this {
    return call(inPlace(E.exp), [this], undefined);
  }

  /**
   * In place: exp(x) - 1, accurate near 0, elementwise.
   * @throws DTypeError for a tensor of integers
   */
  expm1_(): this {
    return call(inPlace(E.expm1), [this], undefined);
  }

  /**
   * In place: Natural logarithm, elementwise; NaN below 0.
   * @throws DTypeError for a tensor of integers
   */
  log_(): this {
    return call(inPlace(E.log), [this], undefined);
  }

  /**
   * In place: log(1 + x), accurate near 0, elementwise.
   * @throws DTypeError for a tensor of integers
   */
  log1p_(): this {
    return call(inPlace(E.log1p), [this], undefined);
  }

  /**
   * In place: Square root, elementwise; NaN below 0.
   * @throws DTypeError for a tensor of integers
   */
  sqrt_(): this {
    return call(inPlace(E.sqrt), [this], undefined);
  }

  /** In place: 1 / sqrt(x), elementwise. @throws DTypeError for a tensor of integers */
  rsqrt_(): this {
    return call(inPlace(E.rsqrt), [this], undefined);
  }

  /** In place: x·x, elementwise. */
  square_(): this {
    return call(inPlace(E.square), [this], undefined);
  }

  /** In place: 1 / x, elementwise. @throws DTypeError for a tensor of integers */
  reciprocal_(): this {
    return call(inPlace(E.reciprocal), [this], undefined);
  }

  /** In place: Sine, in radians, elementwise. @throws DTypeError for a tensor of integers */
  sin_(): this {
    return call(inPlace(E.sin), [this], undefined);
  }

  /** In place: Cosine, in radians, elementwise. @throws DTypeError for a tensor of integers */
  cos_(): this {
    return call(inPlace(E.cos), [this], undefined);
  }

  /** In place: Hyperbolic tangent, elementwise. @throws DTypeError for a tensor of integers */
  tanh_(): this {
    return call(inPlace(E.tanh), [this], undefined);
  }

  /** In place: 1 / (1 + exp(-x)), elementwise. @throws DTypeError for a tensor of integers */
  sigmoid_(): this {
    return call(inPlace(E.sigmoid), [this], undefined);
  }

  /** In place: max(x, 0), elementwise; NaN stays NaN. */
  relu_(): this {
    return call(inPlace(E.relu), [this], undefined);
  }

  /** In place: Largest integer not above x, elementwise. */
  floor_(): this {
    return call(inPlace(E.floor), [this], undefined);
  }

  /** In place: Smallest integer not below x, elementwise. */
  ceil_(): this {
    return call(inPlace(E.ceil), [this], undefined);
  }

  /** In place: Halves go to the even neighbour, elementwise. */
  round_(): this {
    return call(inPlace(E.round), [this], undefined);
  }

  /** In place: The whole part, elementwise. */
  trunc_(): this {
    return call(inPlace(E.trunc), [this], undefined);
  }

  /**
   * In place: kept within bounds, elementwise; either may be left out (null). NaN stays NaN.
   * @throws ArgumentError without a bound, or for one that is no number, DTypeError for bools
   */
  clamp_(min?: number | null, max?: number | null): this {
    return bounded(this, min, max, true);
  }

  /**
   * In place: `value` where the mask is true, elementwise.
   * @throws ShapeError unless the mask broadcasts to this shape, ArgumentError for a value out of
   *   the dtype's range
   */
  maskedFill_(mask: this, value: number): this {
    return call(inPlace(E.maskedFill), [this, mask], undefined, [
      numberBits("maskedFill_", value, this.dtype),
    ]);
  }

  /**
   * In place: this + weight·(end - this), elementwise.
   * @throws ShapeError unless the others broadcast to this shape, DTypeError unless all are floats
   *   of one dtype, ArgumentError for what is no number
   */
  lerp_(end: this, weight: number): this {
    return call(inPlace(E.lerp), [this, end], undefined, [numberBits("lerp_", weight, "float32")]);
  }

  /**
   * In place: this + value·a·b, elementwise.
   * @throws ShapeError unless the others broadcast to this shape, DTypeError unless all are floats
   *   of one dtype, ArgumentError for what is no number
   */
  addcmul_(a: this, b: this, value = 1): this {
    return call(inPlace(E.addcmul), [this, a, b], undefined, [
      numberBits("addcmul_", value, "float32"),
    ]);
  }

  /**
   * In place: this + value·a / b, elementwise.
   * @throws ShapeError unless the others broadcast to this shape, DTypeError unless all are floats
   *   of one dtype, ArgumentError for what is no number
   */
  addcdiv_(a: this, b: this, value = 1): this {
    return call(inPlace(E.addcdiv), [this, a, b], undefined, [
      numberBits("addcdiv_", value, "float32"),
    ]);
  }
}

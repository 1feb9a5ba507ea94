/**
 * Functions of one element at a time as methods: exponentials, trigonometry, activations, bounds.
 */
import { f32Bits } from "../../base/bits.ts";
import { type DType, checkDType, isFloat, promote } from "../../base/dtype.ts";
import { ArgumentError, DTypeError, calledAs } from "../../base/errors.ts";
import { checkArgument, describeValue } from "../../base/options.ts";
import { composed } from "../../ownership/scoped.ts";
import * as E from "../../ops/elementwise.ts";
import { type Wrapping, call, live } from "../call.ts";
import { numberBits } from "../host.ts";
import { ArithmeticMethods, inPlace, scalarDType } from "./arithmetic.ts";

const geluRow = { type: "choice", of: ["none", "tanh"], what: "an approximation" } as const;

/** Elementwise functions and conversions. */
export abstract class MathMethods extends ArithmeticMethods {
  /** -x, elementwise. */
  neg(): this {
    return call(E.neg, [this], undefined);
  }

  /** Absolute value, elementwise. Gradient 0 at 0. */
  abs(): this {
    return call(E.abs, [this], undefined);
  }

  /** -1, 0 or 1, elementwise; NaN stays NaN. */
  sign(): this {
    return call(E.sign, [this], undefined);
  }

  /** e to the x, elementwise. */
  exp(): this {
    return call(E.exp, [this], undefined);
  }

  /** exp(x) - 1, accurate near 0, elementwise. */
  expm1(): this {
    return call(E.expm1, [this], undefined);
  }

  /** Natural logarithm, elementwise; NaN below 0. */
  log(): this {
    return call(E.log, [this], undefined);
  }

  /** log(1 + x), accurate near 0, elementwise. */
  log1p(): this {
    return call(E.log1p, [this], undefined);
  }

  /**
   * Square root, elementwise; NaN below 0.
   * @example
   * ```ts
   * using x = tensor([1, 4, 9]);
   * using y = x.sqrt();
   * console.log(await y.toArray()); // → [ 1, 2, 3 ]
   * ```
   */
  sqrt(): this {
    return call(E.sqrt, [this], undefined);
  }

  /** 1 / sqrt(x), elementwise. */
  rsqrt(): this {
    return call(E.rsqrt, [this], undefined);
  }

  /** x·x, elementwise. */
  square(): this {
    return call(E.square, [this], undefined);
  }

  /** 1 / x, elementwise. */
  reciprocal(): this {
    return call(E.reciprocal, [this], undefined);
  }

  /** Sine, in radians, elementwise. */
  sin(): this {
    return call(E.sin, [this], undefined);
  }

  /** Cosine, in radians, elementwise. */
  cos(): this {
    return call(E.cos, [this], undefined);
  }

  /** Hyperbolic tangent, elementwise. */
  tanh(): this {
    return call(E.tanh, [this], undefined);
  }

  /** 1 / (1 + exp(-x)), elementwise. */
  sigmoid(): this {
    return call(E.sigmoid, [this], undefined);
  }

  /** log(1 + exp(x)), without overflow, elementwise. */
  softplus(): this {
    return call(E.softplus, [this], undefined);
  }

  /** max(x, 0), elementwise; NaN stays NaN. */
  relu(): this {
    return call(E.relu, [this], undefined);
  }

  /** Largest integer not above x, elementwise. */
  floor(): this {
    return call(E.floor, [this], undefined);
  }

  /** Smallest integer not below x, elementwise. */
  ceil(): this {
    return call(E.ceil, [this], undefined);
  }

  /** Halves go to the even neighbour, elementwise. */
  round(): this {
    return call(E.round, [this], undefined);
  }

  /** Whether x is NaN, tested by its bits, elementwise. */
  isNaN(): this {
    return call(E.isNaNOp, [this], undefined);
  }

  /** Whether x is neither NaN nor infinite, elementwise. */
  isFinite(): this {
    return call(E.isFiniteOp, [this], undefined);
  }

  /** Whether x is infinite, elementwise. */
  isInf(): this {
    return call(E.isInf, [this], undefined);
  }

  /** The whole part, elementwise. */
  trunc(): this {
    return call(E.trunc, [this], undefined);
  }

  /** The error function, elementwise. */
  erf(): this {
    return call(E.erf, [this], undefined);
  }

  /** 2 to the x, elementwise. */
  exp2(): this {
    return call(E.exp2, [this], undefined);
  }

  /** Logarithm to base 2, elementwise; NaN below 0. */
  log2(): this {
    return call(E.log2, [this], undefined);
  }

  /** Logarithm to base 10, elementwise; NaN below 0. */
  log10(): this {
    return call(E.log10, [this], undefined);
  }

  /** Tangent, in radians, elementwise. */
  tan(): this {
    return call(E.tan, [this], undefined);
  }

  /** Arc sine, elementwise; NaN outside [-1, 1]. */
  asin(): this {
    return call(E.asin, [this], undefined);
  }

  /** Arc cosine, elementwise; NaN outside [-1, 1]. */
  acos(): this {
    return call(E.acos, [this], undefined);
  }

  /** Arc tangent, elementwise. */
  atan(): this {
    return call(E.atan, [this], undefined);
  }

  /** Hyperbolic sine, elementwise. */
  sinh(): this {
    return call(E.sinh, [this], undefined);
  }

  /** Hyperbolic cosine, elementwise. */
  cosh(): this {
    return call(E.cosh, [this], undefined);
  }

  /**
   * Angle of the point (other, this), in (-π, π], elementwise.
   * @throws ShapeError unless the shapes broadcast
   */
  atan2(other: this): this {
    return call(E.atan2, [this, other], undefined);
  }

  /** log(1 / (1 + exp(-x))), without overflow, elementwise. */
  logSigmoid(): this {
    return call(E.logSigmoid, [this], undefined);
  }

  /** x·Φ(x), or its approximation by tanh, elementwise. @throws ArgumentError for any other */
  gelu(approximate: "none" | "tanh" = "none"): this {
    checkArgument("gelu", "approximate", approximate, geluRow);
    return call(approximate === "tanh" ? E.geluTanh : E.gelu, [this], undefined);
  }

  /** x·sigmoid(x), also called swish, elementwise. */
  silu(): this {
    return call(E.silu, [this], undefined);
  }

  /** x·tanh(softplus(x)), elementwise. */
  mish(): this {
    return call(E.mish, [this], undefined);
  }

  /**
   * x above 0, alpha·(exp(x) - 1) below, elementwise.
   * @throws ArgumentError for what is no number
   */
  elu(alpha = 1): this {
    return call(E.elu, [this], undefined, [numberBits("elu", alpha, "float32")]);
  }

  /** Scaled elu that keeps mean 0 and variance 1, elementwise. */
  selu(): this {
    return call(E.selu, [this], undefined);
  }

  /** x above 0, slope·x below, elementwise. @throws ArgumentError for what is no number */
  leakyRelu(slope = 0.01): this {
    return call(E.leakyRelu, [this], undefined, [numberBits("leakyRelu", slope, "float32")]);
  }

  /** x·min(max(x + 3, 0), 6) / 6, elementwise. */
  hardSwish(): this {
    return call(E.hardSwish, [this], undefined);
  }

  /** min(max(x + 3, 0), 6) / 6, elementwise. */
  hardSigmoid(): this {
    return call(E.hardSigmoid, [this], undefined);
  }

  /**
   * Kept within bounds, elementwise; either may be left out (null). NaN stays NaN.
   * @throws ArgumentError without a bound, or for one that is no number
   */
  clamp(min?: number | null, max?: number | null): this {
    return bounded(this, min, max, false);
  }

  /**
   * `value` where the mask is true, this tensor elsewhere, elementwise.
   * @throws ShapeError unless the mask broadcasts, ArgumentError for a value out of the dtype's
   *   range
   */
  maskedFill(mask: this, value: number): this {
    return call(E.maskedFill, [this, mask], undefined, [
      numberBits("maskedFill", value, this.dtype),
    ]);
  }

  /**
   * Zeros above a diagonal of each matrix; positive ones lie above the main one.
   * @throws ShapeError for fewer than two dimensions, ArgumentError for a fraction
   */
  tril(diagonal = 0): this {
    return banded(this, false, diagonal);
  }

  /**
   * Zeros below a diagonal of each matrix.
   * @throws ShapeError for fewer than two dimensions, ArgumentError for a fraction
   */
  triu(diagonal = 0): this {
    return banded(this, true, diagonal);
  }

  /**
   * this + weight·(end - this), elementwise.
   * @throws ShapeError unless the shapes broadcast, DTypeError unless all are floats of one dtype
   */
  lerp(end: this, weight: this | number): this {
    return typeof weight === "number"
      ? call(E.lerp, [this, end], undefined, [f32Bits(weight)])
      : composed(
          () => call(E.addcmul, [this, weight, end.sub(this)], undefined, [f32Bits(1)]),
          "lerp",
        );
  }

  /**
   * this + value·a·b, elementwise.
   * @throws ShapeError unless the shapes broadcast, DTypeError unless all are floats of one dtype,
   *   ArgumentError for what is no number
   */
  addcmul(a: this, b: this, value = 1): this {
    return call(E.addcmul, [this, a, b], undefined, [numberBits("addcmul", value, "float32")]);
  }

  /**
   * this + value·a / b, elementwise.
   * @throws ShapeError unless the shapes broadcast, DTypeError unless all are floats of one dtype,
   *   ArgumentError for what is no number
   */
  addcdiv(a: this, b: this, value = 1): this {
    return call(E.addcdiv, [this, a, b], undefined, [numberBits("addcdiv", value, "float32")]);
  }

  /**
   * Another dtype, elementwise. The same dtype gives an alias. NaN becomes 0 in integers, floats
   * are truncated.
   * @throws DTypeError for an unknown dtype, or float16 where the device has none
   */
  to(dtype: DType): this {
    return dtype === live(this, "to").dtype
      ? this.alias()
      : call(E.cast, [this], { dtype: checkDType("to", dtype) });
  }

  /** `to("float32")`. The shape stays. */
  float(): this {
    return calledAs("float", () => this.to("float32"));
  }

  /** `to("float16")`. The shape stays. @throws DTypeError on a device without shader-f16 */
  half(): this {
    return calledAs("half", () => this.to("float16"));
  }

  /** `to("int32")`. The shape stays. */
  int(): this {
    return calledAs("int", () => this.to("int32"));
  }

  /** `to("bool")`. The shape stays. */
  bool(): this {
    return calledAs("bool", () => this.to("bool"));
  }

  /** The same elements and shape, contiguous in a storage of their own. */
  clone(): this {
    return calledAs("clone", () => call(E.copy, [this], undefined));
  }

  /** An alias if the elements lie in row-major order, else a copy. */
  contiguous(): this {
    return live(this, "contiguous").layout.contiguous ? this.alias() : this.clone();
  }
}

/** `clamp` and `clamp_`. @throws ArgumentError without any bound */
export function bounded<T extends Wrapping>(
  x: T,
  min: number | null | undefined,
  max: number | null | undefined,
  inplace: boolean,
): T {
  const target = inplace ? inPlace(E.clamp) : E.clamp,
    { dtype: own } = live(x, target.name),
    given = [min, max].filter((v) => v !== null && v !== undefined);
  if (given.length === 0)
    throw new ArgumentError(
      target.name,
      "a lower or an upper bound",
      "neither",
      `pass ${target.name}(min, max), null for none`,
    );
  const dtype = given.map((v) => scalarDType(target, own, v)).reduce(promote);
  const [low, high] = isFloat(dtype)
    ? [-Infinity, Infinity]
    : dtype === "uint32"
      ? [0, 0xffffffff]
      : [-0x80000000, 0x7fffffff];
  if (inplace && own === "bool")
    throw new DTypeError(target.name, "numbers", "bool", "cast to int32 first");
  return call(target, [x], { dtype }, [
    E.scalarBits(min ?? low, dtype),
    E.scalarBits(max ?? high, dtype),
  ]);
}

function banded<T extends Wrapping>(x: T, upper: boolean, diagonal: number): T {
  const { shape } = live(x, upper ? "triu" : "tril").layout;
  if (!Number.isInteger(diagonal))
    throw new ArgumentError(
      upper ? "triu" : "tril",
      "a whole number for the diagonal",
      describeValue(diagonal),
      "0 is the main diagonal",
    );
  return call(E.band, [x], { upper }, [shape.at(-2) ?? 0, shape.at(-1) ?? 0, diagonal >>> 0]);
}

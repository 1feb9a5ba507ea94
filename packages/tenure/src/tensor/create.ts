/**
 * Making tensors from host data, constants and random numbers. Results belong to the current scope
 * like any other. The random generator is counter-based: `manualSeed` sets the key, each call takes
 * the next stream, so the same seed gives the same numbers on every adapter.
 */
import "../compose.ts";
import { type DType, checkDType, isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError } from "../base/errors.ts";
import {
  type OptionRow,
  type OptionTable,
  checkArgument,
  describeValue,
  readOptions,
} from "../base/options.ts";
import { contiguousLayout } from "../base/layout.ts";
import { type Shape, checkShape } from "../base/shape.ts";
import * as E from "../ops/elementwise.ts";
import { f32Bits } from "../base/bits.ts";
import { TensorHandle } from "./body.ts";
import { Gradient } from "./tape.ts";
import { nextRandomScalars } from "./generator.ts";
import { runOp, uploadOp } from "./run.ts";
import { type TensorData, encode, flatten, numberBits } from "./host.ts";
import { call, live, only } from "./call.ts";
import { type GPUBuffer, copyBytesIn } from "./dispatch.ts";
import { type BufferPlace, type Tensor, wrap } from "./tensor.ts";
import type { OpDef } from "../ops/op.ts";
import { resolveShape } from "../ops/views.ts";
import { HANDLE } from "../ownership/handle.ts";

/** Options of everything that makes a tensor of a given shape. */
export interface CreateOptions {
  readonly dtype?: DType;
  /** Float tensors only: gradients flow to it. */
  readonly requiresGrad?: boolean;
  readonly name?: string;
}

/** Options of `tensor`. */
export interface TensorOptions extends CreateOptions {
  /** Another shape for the same elements; one dimension may be -1. */
  readonly shape?: Shape;
}

const createOptions = {
  dtype: { type: "any", check: checkDType },
  requiresGrad: { type: "flag" },
  name: { type: "text" },
} satisfies OptionTable<CreateOptions>;

/** What a shape may be is for `resolveShape` to say. */
const tensorOptions = {
  ...createOptions,
  shape: { type: "any" },
} satisfies OptionTable<TensorOptions>;

/** Most tensors are made without options: nothing is filled in here. */
function checkCreate(op: string, options: CreateOptions | undefined): void {
  if (options !== undefined) readOptions(op, options, createOptions);
}

/** The row of a probability to drop. */
export const probability = {
  type: "number",
  range: "[0, 1)",
  what: "a probability",
  remedy: "pass the share to drop, for example 0.5",
} as const satisfies OptionRow;

/**
 * Applies the options to a tensor just made; frees it when they do not fit.
 * @takes t
 */
function finish(op: string, t: Tensor, options: CreateOptions | undefined): Tensor {
  if (options?.name !== undefined) t.name = options.name;
  if (options?.requiresGrad === true) {
    if (!isFloat(t.dtype)) {
      t.dispose();
      throw new DTypeError(op, "a float dtype with requiresGrad", t.dtype, 'pass dtype: "float32"');
    }
    t[HANDLE].setGradient(new Gradient(null));
    t[HANDLE].storage.leaf = true;
    t.name = t.name; // names the gradient record too
  }
  return t;
}

/**
 * A tensor from a number, nested arrays or a typed array, copied at once. The dtype follows the
 * data unless given: numbers are float32, booleans bool, integer arrays int32 or uint32.
 * @throws ShapeError for ragged arrays or a shape that does not fit, ArgumentError for data that
 *   holds no numbers, DTypeError for an unknown dtype, or one without gradients where one is asked
 *   for
 */
export function tensor(data: TensorData, options?: TensorOptions): Tensor {
  if (options !== undefined) readOptions("tensor", options, tensorOptions);
  const host = flatten(data);
  const dtype = options?.dtype === undefined ? host.dtype : checkDType("tensor", options.dtype);
  const shape =
    options?.shape === undefined ? host.shape : resolveShape("tensor", options.shape, host.shape);
  checkGrad("tensor", dtype, options);
  return finish(
    "tensor",
    wrap(uploadOp("tensor", { shape, dtype }, encode(host.values, dtype))),
    options,
  );
}

/** Options of `tensorFromBuffer`. */
export interface BufferTensorOptions extends CreateOptions, BufferPlace {
  readonly shape: Shape;
}

const bufferOptions = {
  ...createOptions,
  shape: { type: "any", required: true },
  offset: { type: "integer", range: "[0, Infinity)", default: 0 },
} as const satisfies OptionTable<BufferTensorOptions>;

/**
 * A tensor with a copy of what lies in a buffer of your own, on the device that
 * `init({ gpuDevice })` was given. The copy is made on the device, behind what you have submitted;
 * the buffer stays yours, to be written or destroyed as soon as this returns. Elements lie in
 * row-major order; the dtype is float32 unless given.
 * @throws ArgumentError for a buffer that is mapped, too small or made without COPY_SRC,
 *   ShapeError for a shape that is none, DTypeError for bool, which is stored as uint32,
 *   DeviceLostError without such a device, OutOfMemoryError
 */
export function tensorFromBuffer(buffer: GPUBuffer, options: BufferTensorOptions): Tensor {
  const op = "tensorFromBuffer";
  const { shape, offset, dtype: given } = readOptions(op, options, bufferOptions);
  checkShape(op, shape);
  const dtype = checkDType(op, given ?? "float32");
  if (dtype === "bool")
    throw new DTypeError(op, "a dtype of numbers", "bool", 'take "uint32", and compare with ne(0)');
  checkGrad(op, dtype, options);
  const storage = copyBytesIn(op, { shape, dtype }, { buffer, offset });
  const handle = new TensorHandle(storage, contiguousLayout([...shape]), dtype, null);
  return finish(op, wrap(handle), options);
}

/**
 * Every element `value`.
 * @throws ShapeError for a shape that is none, DTypeError for an unknown dtype, or one without
 *   gradients where one is asked for, ArgumentError for a value out of the dtype's range, and
 *   for unknown options
 */
export function full(shape: Shape, value: number, options?: CreateOptions): Tensor {
  return filled("full", shape, value, options);
}

/**
 * Every element 0.
 * @throws ShapeError for a shape that is none, DTypeError for an unknown dtype, or one without
 *   gradients where one is asked for, ArgumentError for unknown options
 */
export function zeros(shape: Shape, options?: CreateOptions): Tensor {
  return filled("zeros", shape, 0, options);
}

/**
 * Every element 1.
 * @throws ShapeError for a shape that is none, DTypeError for an unknown dtype, or one without
 *   gradients where one is asked for, ArgumentError for unknown options
 */
export function ones(shape: Shape, options?: CreateOptions): Tensor {
  return filled("ones", shape, 1, options);
}

/** Runs an op without inputs. */
function made<A>(op: OpDef<A>, attrs: A, scalars: readonly number[]): Tensor {
  return wrap(only(runOp(op, [], attrs, scalars)));
}

function filled(
  op: string,
  shape: Shape,
  value: number,
  options: CreateOptions | undefined,
): Tensor {
  checkShape(op, shape);
  checkCreate(op, options);
  const dtype = checkDType(op, options?.dtype ?? "float32"),
    scalar = numberBits(op, value, dtype);
  checkGrad(op, dtype, options);
  return finish(op, made(E.fill, { shape: [...shape], dtype }, [scalar]), options);
}

/** Before anything is made. */
function checkGrad(op: string, dtype: DType, options: CreateOptions | undefined): void {
  if (options?.requiresGrad === true && !isFloat(dtype))
    throw new DTypeError(op, "a float dtype with requiresGrad", dtype, 'pass dtype: "float32"');
}

/**
 * `start, start + step, …` below `end`; `arange(n)` counts from 0. int32 when all three are whole,
 * else float32.
 * @throws ArgumentError for a step of 0 and what is not finite, DTypeError for bool
 * @example
 * ```ts
 * using x = arange(0, 10, 4);
 * console.log(x.dtype, await x.toArray()); // → int32 [ 0, 4, 8 ]
 * ```
 */
export function arange(start: number, end?: number, step = 1, options?: CreateOptions): Tensor {
  const [from, to] = end === undefined ? [0, start] : [start, end];
  if (step === 0 || !Number.isFinite(step) || !Number.isFinite(from) || !Number.isFinite(to))
    throw new ArgumentError(
      "arange",
      "finite numbers and a step that is not 0",
      [from, to, step].map(describeValue).join(", "),
      "use linspace for a number of points",
    );
  checkCreate("arange", options);
  const dtype = options?.dtype ?? ([from, to, step].every(Number.isInteger) ? "int32" : "float32");
  if (checkDType("arange", dtype) === "bool")
    throw new DTypeError("arange", "a dtype of numbers", "bool", "cast the result");
  const size = Math.max(0, Math.ceil((to - from) / step));
  if (size > 0) numberBits("arange", from + (size - 1) * step, dtype);
  return finish(
    "arange",
    made(E.arange, { shape: [size], dtype }, [
      numberBits("arange", from, dtype),
      numberBits("arange", size > 1 ? step : 0, dtype),
    ]),
    options,
  );
}

const points = {
  type: "integer",
  range: "[0, Infinity)",
  remedy: "pass how many points you want",
} as const;
const classCount = {
  type: "integer",
  range: "[1, Infinity)",
  remedy: "pass how many classes there are",
} as const;

/**
 * `count` numbers evenly spaced from `start` to `end`, both included. The result is [count].
 * @throws ArgumentError for a count below 0 and what is not finite, DTypeError for integers
 */
export function linspace(
  start: number,
  end: number,
  count: number,
  options?: CreateOptions,
): Tensor {
  checkArgument("linspace", "count", count, points);
  if (!Number.isFinite(start) || !Number.isFinite(end))
    throw new ArgumentError(
      "linspace",
      "finite numbers",
      `${describeValue(start)} and ${describeValue(end)}`,
      "pass where to begin and to end",
    );
  checkCreate("linspace", options);
  const dtype = checkDType("linspace", options?.dtype ?? "float32");
  if (!isFloat(dtype))
    throw new DTypeError("linspace", "a float dtype", dtype, "use arange for integers");
  const step = count > 1 ? (end - start) / (count - 1) : 0;
  return finish(
    "linspace",
    made(E.arange, { shape: [count], dtype }, [f32Bits(start), f32Bits(step)]),
    options,
  );
}

/**
 * The identity matrix [n, m]; square by default.
 * @throws ShapeError for a shape that is none, DTypeError for an unknown dtype, or one without
 *   gradients where one is asked for, ArgumentError for unknown options
 */
export function eye(n: number, m: number = n, options?: CreateOptions): Tensor {
  checkShape("eye", [n, m]);
  checkCreate("eye", options);
  const dtype = checkDType("eye", options?.dtype ?? "float32");
  const [rows] = runOp(E.arange, [], { shape: [n, 1], dtype: "int32" }, [0, 1]),
    [columns] = runOp(E.arange, [], { shape: [1, m], dtype: "int32" }, [0, 1]);
  const [equal] = runOp(E.eq, [rows!, columns!], undefined),
    [out] = runOp(E.cast, [equal!], { dtype });
  for (const h of [rows!, columns!, equal!]) h.discard();
  return finish("eye", wrap(out!), options);
}

/**
 * One-hot rows: [...] of class numbers → [..., classes]. A number out of range gives a row of
 * zeros.
 * @throws DTypeError unless indices are integers, ArgumentError for fewer than one class
 */
export function oneHot(indices: Tensor, classes: number, options?: CreateOptions): Tensor {
  checkArgument("oneHot", "classes", classes, classCount);
  checkCreate("oneHot", options);
  const h = live(indices, "oneHot");
  if (isFloat(h.dtype) || h.dtype === "bool")
    throw new DTypeError("oneHot", "int32 or uint32 class numbers", h.dtype, "cast them");
  const dtype = checkDType("oneHot", options?.dtype ?? "float32");
  const column = indices.reshape([...indices.shape, 1]);
  const [range] = runOp(E.arange, [], { shape: [classes], dtype: h.dtype }, [0, 1]),
    [equal] = runOp(E.eq, [column[HANDLE], range!], undefined),
    [out] = runOp(E.cast, [equal!], { dtype });
  column.dispose();
  for (const handle of [range!, equal!]) handle.discard();
  return finish("oneHot", wrap(out!), options);
}

/**
 * Elements of `a` where `condition` is true, of `b` elsewhere; all three broadcast.
 * @throws ShapeError unless the shapes broadcast
 * @example
 * ```ts
 * using x = tensor([-1, 2]);
 * using zero = zeros([2]);
 * using positive = x.gt(0);
 * using y = where(positive, x, zero);
 * console.log(await y.toArray()); // → [ 0, 2 ]
 * ```
 */
export function where(condition: Tensor, a: Tensor, b: Tensor): Tensor {
  return call(E.where, [condition, a, b], undefined);
}

// === Random numbers ===

function draw(
  op: string,
  shape: Shape,
  distribution: "uniform" | "normal",
  options: CreateOptions | undefined,
): Tensor {
  checkShape(op, shape);
  checkCreate(op, options);
  const dtype = checkDType(op, options?.dtype ?? "float32");
  if (!isFloat(dtype)) throw new DTypeError(op, "a float dtype", dtype, "use randint for integers");
  return finish(
    op,
    made(E.random, { shape: [...shape], dtype, distribution }, nextRandomScalars()),
    options,
  );
}

/**
 * Uniform draws from [0, 1). The result has the shape given.
 * @throws ShapeError for a shape that is none, DTypeError for an unknown dtype, or one without
 *   gradients where one is asked for, ArgumentError for unknown options
 */
export function rand(shape: Shape, options?: CreateOptions): Tensor {
  return draw("rand", shape, "uniform", options);
}
/**
 * Draws from the standard normal distribution. The result has the shape given.
 * @throws ShapeError for a shape that is none, DTypeError for an unknown dtype, or one without
 *   gradients where one is asked for, ArgumentError for unknown options
 */
export function randn(shape: Shape, options?: CreateOptions): Tensor {
  return draw("randn", shape, "normal", options);
}

/**
 * Integers from [low, high), int32 by default. The result has the shape given.
 * @throws ArgumentError unless low < high and both are whole, at most 2^24 apart, ShapeError for a
 *   shape that is none, DTypeError for an unknown dtype
 */
export function randint(low: number, high: number, shape: Shape, options?: CreateOptions): Tensor {
  if (!Number.isInteger(low) || !Number.isInteger(high) || high <= low)
    throw new ArgumentError(
      "randint",
      "whole numbers with low < high",
      `${describeValue(low)} and ${describeValue(high)}`,
      "pass randint(low, high, shape); high itself is never drawn",
    );
  if (high - low > 2 ** 24)
    throw new ArgumentError(
      "randint",
      "a range of at most 2^24",
      String(high - low),
      "combine two draws",
    );
  checkCreate("randint", options);
  const dtype = checkDType("randint", options?.dtype ?? "int32");
  checkShape("randint", shape);
  for (const bound of [low, high - 1]) numberBits("randint", bound, "int32");
  const [unit] = runOp(
    E.random,
    [],
    { shape: [...shape], dtype: "float32", distribution: "uniform" },
    nextRandomScalars(),
  );
  const [scaled] = runOp(E.mulScalar, [unit!], { dtype: "float32", reverse: false }, [
      f32Bits(high - low),
    ]),
    [whole] = runOp(E.floor, [scaled!], undefined);
  const [shifted] = runOp(E.cast, [whole!], { dtype: "int32" }),
    [moved] = runOp(E.addScalar, [shifted!], { dtype: "int32", reverse: false }, [low >>> 0]),
    [out] = runOp(E.cast, [moved!], { dtype });
  for (const h of [unit!, scaled!, whole!, shifted!, moved!]) h.discard();
  return finish("randint", wrap(out!), options);
}

/**
 * Zeroes elements with probability `p` and scales the rest by 1/(1-p). The gradient sees the same
 * mask.
 */
export function dropout(x: Tensor, p: number): Tensor {
  checkArgument("dropout", "p", p, probability);
  return call(E.dropout, [x], undefined, [...nextRandomScalars(), f32Bits(1 - p)]);
}

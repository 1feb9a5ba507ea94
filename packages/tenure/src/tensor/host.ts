/**
 * Host side of tensors: typed arrays to bytes and back, nested arrays, printing. Pure functions on
 * host memory, called by creation and reads.
 */
import type { Bytes, Int32s, Uint32s } from "../base/bytes.ts";
import type { DType, HostArray } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { type Shape, formatShape, sizeOf } from "../base/shape.ts";
import { scalarBits } from "../ops/typing.ts";
import { describeValue } from "../base/options.ts";

/** Nested arrays of numbers, as `toArray` gives them. */
export type NestedArray = number | boolean | NestedArray[];

/** What the integer dtypes hold. */
export const integerRange: Readonly<Partial<Record<DType, readonly [low: number, high: number]>>> =
  { int32: [-0x8000_0000, 0x7fff_ffff], uint32: [0, 0xffff_ffff] };

/** Whether the whole part of a number can be held. Floats and bools hold any. */
export function fits(value: number, dtype: DType): boolean {
  const range = integerRange[dtype];
  if (range === undefined) return true;
  const whole = Math.trunc(value);
  return whole >= range[0] && whole <= range[1];
}

function outOfRange(op: string, dtype: DType, got: string): ArgumentError {
  const [low, high] = integerRange[dtype]!;
  return new ArgumentError(
    op,
    `numbers from ${low} to ${high} for ${dtype}`,
    got,
    "use float32, or bring the numbers into range",
  );
}

/**
 * A number as the 32 bits that a kernel's uniform holds. @throws ArgumentError for anything but a
 * number, and for one that an integer dtype does not hold
 */
export function numberBits(op: string, value: number, dtype: DType): number {
  if (typeof (value as unknown) !== "number")
    throw new ArgumentError(op, "a number", describeValue(value), "pass a plain number");
  if (!fits(value, dtype)) throw outOfRange(op, dtype, describeValue(value));
  return scalarBits(value, dtype);
}

/** What `tensor` accepts: a number, a boolean, nested arrays of them, or a typed array. */
export type TensorData = number | boolean | readonly TensorData[] | ArrayBufferView;

/** Data as flat numbers, with the shape it has by itself and the dtype it suggests. */
export interface HostData {
  readonly values: ArrayLike<number>;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** Arrays inside each other; one that holds itself would have no end. */
const maxDepth = 64;

function tooDeep(): ShapeError {
  return new ShapeError(
    "tensor",
    `arrays nested at most ${maxDepth} deep`,
    "more",
    "check that no array holds itself",
  );
}

/** @throws ShapeError for ragged arrays, ArgumentError for anything that holds no numbers. */
export function flatten(data: TensorData): HostData {
  if (ArrayBuffer.isView(data)) return fromView(data);
  const shape: number[] = [];
  for (let level: unknown = data; Array.isArray(level); level = level[0]) {
    shape.push(level.length);
    if (shape.length > maxDepth) throw tooDeep();
  }
  const size = shape.reduce((n, d) => n * d, 1);
  const values = new Float64Array(size);
  let at = 0,
    bools = 0;
  const visit = (item: unknown, depth: number): void => {
    if (depth < shape.length) {
      if (!Array.isArray(item) || item.length !== shape[depth])
        throw new ShapeError(
          "tensor",
          `nested arrays of one shape, ${formatShape(shape)}`,
          `${Array.isArray(item) ? `a row of ${item.length}` : typeof item} at depth ${depth}`,
          "make all rows equally long",
        );
      for (const child of item) visit(child, depth + 1);
    } else if (typeof item === "number") values[at++] = item;
    else if (typeof item === "boolean") {
      values[at++] = item ? 1 : 0;
      bools++;
    } else
      throw Array.isArray(item)
        ? new ShapeError(
            "tensor",
            `nested arrays of one shape, ${formatShape(shape)}`,
            "a deeper array",
            "make all rows equally long",
          )
        : new ArgumentError(
            "tensor",
            "numbers or booleans",
            describeValue(item),
            "convert the data first",
          );
  };
  visit(data, 0);
  return { values, shape, dtype: size > 0 && bools === size ? "bool" : "float32" };
}

function fromView(view: ArrayBufferView, op = "tensor"): HostData {
  const of = (dtype: DType): HostData => {
    const values = view as unknown as ArrayLike<number>;
    if (values.length === 0 && isDetached(view.buffer))
      throw new ArgumentError(
        op,
        "an array with its memory",
        "one that was transferred",
        "copy it before it is sent away",
      );
    return { values, shape: [values.length], dtype };
  };
  if (view instanceof Float32Array || view instanceof Float64Array) return of("float32");
  if (view instanceof Int32Array || view instanceof Int16Array || view instanceof Int8Array)
    return of("int32");
  if (
    view instanceof Uint32Array ||
    view instanceof Uint16Array ||
    view instanceof Uint8Array ||
    view instanceof Uint8ClampedArray
  )
    return of("uint32");
  throw new ArgumentError(
    op,
    "an array of 8, 16, 32 bit integers or floats",
    view.constructor.name,
    "convert it to a Float32Array",
  );
}

/** Whether the memory of a buffer has gone elsewhere: then it has no views. */
function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    return new Uint8Array(buffer).length < 0;
  } catch {
    return true;
  }
}

/**
 * Whether `tensor(data, { shape, dtype })` would take a typed array; makes nothing.
 * @throws ArgumentError for another kind of array and for numbers that the dtype does not hold,
 *   ShapeError for another number of elements
 */
export function checkHostArray(
  op: string,
  what: string,
  data: ArrayBufferView,
  shape: Shape,
  dtype: DType,
): void {
  const { values } = fromView(data, op);
  if (values.length !== sizeOf(shape))
    throw new ShapeError(
      op,
      `a shape of the ${values.length} elements of ${what}`,
      `${formatShape(shape)} with ${sizeOf(shape)}`,
      "check that the data are complete",
    );
  checkRange(op, values, dtype);
}

/** Whether every number of an array can be held as it is, told by its kind. */
function surelyFits(values: ArrayLike<number>, dtype: DType): boolean {
  if (
    integerRange[dtype] === undefined ||
    values instanceof Uint8Array ||
    values instanceof Uint16Array ||
    values instanceof Uint8ClampedArray
  )
    return true;
  return dtype === "uint32"
    ? values instanceof Uint32Array
    : values instanceof Int32Array || values instanceof Int16Array || values instanceof Int8Array;
}

/** @throws ArgumentError for a number that the dtype does not hold */
function checkRange(op: string, values: ArrayLike<number>, dtype: DType): void {
  if (surelyFits(values, dtype)) return;
  for (let i = 0; i < values.length; i++)
    if (!fits(values[i]!, dtype)) throw outOfRange(op, dtype, `${values[i]} at position ${i}`);
}

/**
 * The device bytes of `values`, always a fresh copy, padded to 4 bytes. @throws ArgumentError for a
 * number that an integer dtype does not hold
 */
export function encode(values: ArrayLike<number>, dtype: DType, op = "tensor"): Bytes {
  const n = values.length;
  checkRange(op, values, dtype);
  if (dtype === "float16") {
    const out = new Uint16Array(Math.max(2, n + (n % 2)));
    for (let i = 0; i < n; i++) out[i] = toHalf(values[i]!);
    return new Uint8Array(out.buffer);
  }
  const length = Math.max(1, n);
  let out: Float32Array<ArrayBuffer> | Int32s | Uint32s;
  switch (dtype) {
    case "float32":
      out = new Float32Array(length);
      out.set(values);
      break;
    case "int32":
      out = new Int32Array(length);
      out.set(values);
      break;
    case "uint32":
      out = new Uint32Array(length);
      out.set(values);
      break;
    case "bool":
      out = new Uint32Array(length);
      for (let i = 0; i < n; i++) out[i] = values[i] !== 0 ? 1 : 0;
      break;
  }
  return new Uint8Array(out.buffer);
}

/** Device bytes as the host array of a dtype. */
export function decode(dtype: DType, bytes: ArrayBuffer, size: number): HostArray {
  switch (dtype) {
    case "float32":
      return new Float32Array(bytes, 0, size);
    case "int32":
      return new Int32Array(bytes, 0, size);
    case "uint32":
      return new Uint32Array(bytes, 0, size);
    case "bool":
      return Uint8Array.from(new Uint32Array(bytes, 0, size));
    case "float16":
      return Float32Array.from(new Uint16Array(bytes, 0, size), fromHalf);
    default:
      throw new DTypeError(
        "data",
        "a known dtype",
        String(dtype satisfies never),
        "pass a supported dtype",
      );
  }
}

/** IEEE 754 binary16 from a number, rounded to nearest even. */
export function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0,
    m = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (m >= 65520) return sign | 0x7c00;
  // subnormal; a carry becomes the smallest normal by itself
  if (m < 2 ** -14) return sign | roundEven(m * 2 ** 24);
  const e = Math.floor(Math.log2(m)),
    exponent = m < 2 ** e ? e - 1 : m >= 2 ** (e + 1) ? e + 1 : e;
  return sign | (((exponent + 15) << 10) + roundEven((m / 2 ** exponent - 1) * 1024));
}

function roundEven(x: number): number {
  const low = Math.floor(x),
    rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
}

/** A number from IEEE 754 binary16. */
export function fromHalf(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1,
    exponent = (bits >> 10) & 31,
    fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Values in row-major order as nested arrays; booleans for `bool`. */
export function nested(values: ArrayLike<number>, shape: Shape, dtype: DType): NestedArray {
  let at = 0;
  const build = (depth: number): NestedArray => {
    if (depth === shape.length) {
      const v = values[at++]!;
      return dtype === "bool" ? v !== 0 : v;
    }
    return Array.from({ length: shape[depth]! }, () => build(depth + 1));
  };
  return build(0);
}

/** At most 6 entries per dimension, like NumPy. */
export function preview(values: ArrayLike<number>, shape: Shape, dtype: DType): string {
  const format = (v: number): string =>
    dtype === "bool" ? String(v !== 0) : Number.isInteger(v) ? String(v) : v.toPrecision(5);
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((n, d) => n * d, 1));
  const build = (depth: number, at: number): string => {
    if (depth === shape.length) return format(values[at]!);
    const n = shape[depth]!,
      indices = n <= 6 ? [...Array(n).keys()] : [0, 1, 2, -1, n - 3, n - 2, n - 1];
    const parts = indices.map((i) => (i === -1 ? "…" : build(depth + 1, at + i * strides[depth]!)));
    return `[${parts.join(depth === shape.length - 1 ? ", " : `,\n${" ".repeat(depth + 1)}`)}]`;
  };
  return build(0, 0);
}

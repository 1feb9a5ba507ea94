/**
 * Elements of files as host arrays that tensors are made from: every number format that PyTorch and
 * NumPy write, converted to the nearest of Tenure's dtypes. What a conversion would change is an
 * error, never a surprise. Called by the readers here; results belong to the caller.
 */
import type { DType } from "../base/dtype.ts";
import { fromHalf } from "../tensor/host.ts";

/** One tensor of a file, in host memory. */
export interface HostTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostData;
}
/** Elements in host memory; bools are bytes. */
export type HostData = Float32Array | Int32Array | Uint32Array | Uint8Array;

/** Number formats, by their safetensors names. */
export type ElementType =
  | "F64"
  | "F32"
  | "F16"
  | "BF16"
  | "I64"
  | "I32"
  | "I16"
  | "I8"
  | "U64"
  | "U32"
  | "U16"
  | "U8"
  | "BOOL";

interface Element {
  readonly bytes: number;
  readonly dtype: DType;
  /** Only where bytes have to be converted: the others are the dtype's own. */
  readonly read?: (view: DataView, at: number, little: boolean) => number;
}

/** bfloat16 is the upper half of a float32. */
const scratch = new DataView(new ArrayBuffer(4));
function fromBfloat(bits: number): number {
  scratch.setUint32(0, bits * 65536);
  return scratch.getFloat32(0);
}

const elements: Readonly<Record<ElementType, Element>> = {
  F64: { bytes: 8, dtype: "float32", read: (v, at, little) => v.getFloat64(at, little) },
  F32: { bytes: 4, dtype: "float32" },
  F16: { bytes: 2, dtype: "float16", read: (v, at, little) => fromHalf(v.getUint16(at, little)) },
  BF16: {
    bytes: 2,
    dtype: "float32",
    read: (v, at, little) => fromBfloat(v.getUint16(at, little)),
  },
  I64: { bytes: 8, dtype: "int32", read: (v, at, little) => Number(v.getBigInt64(at, little)) },
  I32: { bytes: 4, dtype: "int32" },
  I16: { bytes: 2, dtype: "int32", read: (v, at, little) => v.getInt16(at, little) },
  I8: { bytes: 1, dtype: "int32", read: (v, at) => v.getInt8(at) },
  U64: { bytes: 8, dtype: "uint32", read: (v, at, little) => Number(v.getBigUint64(at, little)) },
  U32: { bytes: 4, dtype: "uint32" },
  U16: { bytes: 2, dtype: "uint32", read: (v, at, little) => v.getUint16(at, little) },
  U8: { bytes: 1, dtype: "uint32", read: (v, at) => v.getUint8(at) },
  BOOL: { bytes: 1, dtype: "bool", read: (v, at) => (v.getUint8(at) === 0 ? 0 : 1) },
};

/** Names of all formats. */
export const elementTypes: readonly ElementType[] = Object.keys(elements) as ElementType[];
/** Whether a safetensors name is one of a known number format. */
export function isElementType(name: unknown): name is ElementType {
  return typeof name === "string" && Object.hasOwn(elements, name);
}
/** Bytes of one element in a file. */
export function elementBytes(type: ElementType): number {
  return elements[type].bytes;
}
/** The dtype elements are read as. */
export function elementDType(type: ElementType): DType {
  return elements[type].dtype;
}

/** What to do with float64 numbers that float32 does not hold. */
export type Lossy = "error" | "round";

/** Says what a file should have held and stops. */
export type Fail = (expected: string, got: string, remedy?: string) => never;

function hostArray(dtype: DType, size: number): HostData {
  return dtype === "int32"
    ? new Int32Array(size)
    : dtype === "uint32"
      ? new Uint32Array(size)
      : dtype === "bool"
        ? new Uint8Array(size)
        : new Float32Array(size);
}

/**
 * Converts the elements in `bytes`, always into fresh memory. Integers out of the dtype's range
 * fail; float64 follows `lossy`, but never becomes infinite.
 */
export function readElements(
  type: ElementType,
  bytes: Uint8Array,
  options: {
    readonly littleEndian?: boolean;
    readonly lossy?: Lossy;
    readonly what: string;
    readonly fail: Fail;
  },
): HostData {
  const { littleEndian = true, lossy = "error", what, fail } = options,
    { bytes: width, dtype, read } = elements[type];
  const size = bytes.length / width,
    out = hostArray(dtype, size),
    view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (read === undefined) {
    new Uint8Array(out.buffer).set(bytes); // hosts of WebGPU are little-endian
    if (!littleEndian)
      for (let i = 0, words = new DataView(out.buffer); i < size; i++)
        words.setUint32(4 * i, words.getUint32(4 * i, true), false);
    return out;
  }
  for (let i = 0, at = 0; i < size; i++, at += width) {
    const value = read(view, at, littleEndian);
    out[i] = value;
    if (width === 8 && out[i] !== value && !Number.isNaN(value)) {
      if (type !== "F64")
        fail(
          `${type} numbers that ${dtype} holds in ${what}`,
          `${value} at position ${i}`,
          "convert the file",
        );
      if (lossy !== "round")
        fail(
          `F64 numbers that float32 holds exactly in ${what}`,
          `${value} at position ${i}`,
          'pass { lossy: "round" } to round them, or convert the file',
        );
      if (!Number.isFinite(out[i]))
        fail(
          `F64 numbers within the range of float32 in ${what}`,
          `${value} at position ${i}`,
          "scale them, or convert the file",
        );
    }
  }
  return out;
}

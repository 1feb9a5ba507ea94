/**
 * Element types: their byte size, WGSL spelling and the promotion rule for mixed operands. Used by
 * every layer; owns nothing. `bool` is stored as one u32 per element (0 or 1), since WGSL has no
 * host-shareable bool.
 */
import { DTypeError } from "./errors.ts";
import { describeValue } from "./options.ts";

/** The element types a tensor can have. */
export type DType = "float32" | "float16" | "int32" | "uint32" | "bool";

/**
 * Host array that holds elements of a dtype as they come back from the device. `float16` is read
 * back widened to float32.
 */
export type HostArray = Float32Array | Int32Array | Uint32Array | Uint8Array;

interface DTypeInfo {
  /** Bytes per element in device memory. */
  readonly bytes: number;
  /** The WGSL type of one element as stored. */
  readonly wgsl: "f32" | "f16" | "i32" | "u32";
  /** Position in the promotion order: a mixed pair takes the larger. */
  readonly rank: number;
  /** Small integer that stands for the dtype in program signatures. */
  readonly code: number;
}

const table: Readonly<Record<DType, DTypeInfo>> = {
  bool: { bytes: 4, wgsl: "u32", rank: 0, code: 0 },
  uint32: { bytes: 4, wgsl: "u32", rank: 1, code: 1 },
  int32: { bytes: 4, wgsl: "i32", rank: 2, code: 2 },
  float16: { bytes: 2, wgsl: "f16", rank: 3, code: 3 },
  float32: { bytes: 4, wgsl: "f32", rank: 4, code: 4 },
};

/** All dtypes, in promotion order. */
export const dtypes: readonly DType[] = ["bool", "uint32", "int32", "float16", "float32"];

/** Bytes of one element in device memory. */
export function dtypeBytes(dtype: DType): number {
  return table[dtype].bytes;
}

/** The WGSL scalar type an element is stored as. */
export function wgslType(dtype: DType): DTypeInfo["wgsl"] {
  return table[dtype].wgsl;
}

/** Small integer for program signatures. */
export function dtypeCode(dtype: DType): number {
  return table[dtype].code;
}

/** Whether gradients can flow through the dtype. */
export function isFloat(dtype: DType): boolean {
  return dtype === "float32" || dtype === "float16";
}

/**
 * The dtype both operands are converted to before an arithmetic op, as in PyTorch (bool < uint32 <
 * int32 < float16 < float32).
 */
export function promote(a: DType, b: DType): DType {
  return table[a].rank >= table[b].rank ? a : b;
}

/** @throws DTypeError when `value` is not the name of a dtype. */
export function checkDType(op: string, value: unknown): DType {
  if (typeof value === "string" && Object.hasOwn(table, value)) return value as DType;
  throw new DTypeError(
    op,
    `one of ${dtypes.join(", ")}`,
    describeValue(value),
    typeof value === "string" && /^(cpu|cuda|gpu|mps|webgpu)\b/.test(value)
      ? "leave it out: all tensors are on the device that init() chose"
      : "pass a supported dtype",
  );
}

/**
 * A type a body computes in. float16 is computed in f32 and rounded when stored; bool is a WGSL
 * bool.
 */
export type ComputeType = "f32" | "i32" | "u32" | "bool";

/** The type a body sees for elements of `dtype`. */
export function computeType(dtype: DType): ComputeType {
  return dtype === "bool" ? "bool" : dtype === "float16" ? "f32" : (wgslType(dtype) as ComputeType);
}

/**
 * The safetensors format: an 8-byte length, a JSON header, raw little-endian tensors. Writing reads tensors back from the device; reading is strict, because a
 * file is untrusted input, and gives host views that `loadStateDict` takes. The bytes belong to the caller.
 */
import { type DType, dtypeBytes } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { toHalf, fromHalf } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** One tensor of a file, in host memory. */
export interface HostTensor { readonly dtype: DType; readonly shape: readonly number[]; readonly data: Float32Array | Int32Array | Uint32Array | Uint8Array }

const names: Readonly<Record<DType, string>> = { float32: "F32", float16: "F16", int32: "I32", uint32: "U32", bool: "BOOL" };
const dtypeOf = new Map<string, DType>(Object.entries(names).map(([dtype, name]) => [name, dtype as DType]));
/** Bytes per element in a file: bools take one. */
const fileBytes = (dtype: DType): number => (dtype === "bool" ? 1 : dtypeBytes(dtype));
/** The published limit on headers. */
const maxHeader = 100_000_000;

/** The file's bytes. Reads are pinned at once, so the tensors may be disposed right after the call. */
export async function toSafetensors(tensors: Iterable<readonly [string, Tensor]>, metadata?: Readonly<Record<string, string>>): Promise<Uint8Array<ArrayBuffer>> {
  const list = [...tensors].map(([name, t]) => ({ name, dtype: t.dtype, shape: t.shape, size: t.size, data: t.data() }));
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  let end = 0;
  const starts = list.map(({ name, dtype, shape, size }) => {
    if (name === "__metadata__" || Object.hasOwn(header, name)) throw new ArgumentError("toSafetensors", "each name once", JSON.stringify(name));
    const start = end;
    end += size * fileBytes(dtype);
    header[name] = { dtype: names[dtype], shape, data_offsets: [start, end] };
    return start;
  });
  let json = JSON.stringify(header);
  json += " ".repeat((8 - (new TextEncoder().encode(json).length % 8)) % 8); // tensors start aligned
  const text = new TextEncoder().encode(json), out = new Uint8Array(8 + text.length + end);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  for (const [i, { dtype, data }] of list.entries()) {
    const values = await data;
    const raw = dtype === "float16" ? Uint16Array.from(values, toHalf) : values;
    out.set(new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength), 8 + text.length + starts[i]!);
  }
  return out;
}

/**
 * The tensors of a file by name, copied out of `bytes`.
 * @throws ArgumentError for anything the format forbids: lengths, offsets that overlap or leave gaps, unknown dtypes, sizes that don't match shapes
 */
export function fromSafetensors(bytes: Uint8Array, name = "safetensors data"): Map<string, HostTensor> {
  const fail = (expected: string, got: string): never => { throw new ArgumentError("fromSafetensors", `${expected} in ${name}`, got, "the file is damaged or not a safetensors file"); };
  if (bytes.length < 8) fail("at least 8 bytes", String(bytes.length));
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (length > BigInt(maxHeader) || Number(length) > bytes.length - 8) fail(`a header within the file and ${maxHeader} bytes`, `${length} bytes of ${bytes.length}`);
  const start = 8 + Number(length);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, start)));
  } catch (error) {
    fail("a JSON header", String(error));
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) return fail("a JSON object", typeof header);
  const found = Object.entries(header).filter(([key]) => key !== "__metadata__").map(([key, value]) => {
    const entry = value as { dtype?: unknown; shape?: unknown; data_offsets?: unknown } | null;
    const dtype = dtypeOf.get(entry?.dtype as string) ?? fail(`a dtype of ${[...dtypeOf.keys()].join(", ")} for ${key}`, JSON.stringify(entry?.dtype));
    const count = (n: unknown): n is number => typeof n === "number" && Number.isSafeInteger(n) && n >= 0;
    const shape: readonly number[] = Array.isArray(entry?.shape) && entry.shape.every(count) ? entry.shape : fail(`a shape for ${key}`, JSON.stringify(entry?.shape));
    const offsets: readonly number[] = Array.isArray(entry?.data_offsets) && entry.data_offsets.length === 2 && entry.data_offsets.every(count) ? entry.data_offsets : fail(`two offsets for ${key}`, JSON.stringify(entry?.data_offsets));
    const size = shape.reduce((n, d) => n * d, 1), [from, to] = offsets as readonly [number, number];
    if (!Number.isSafeInteger(size) || to - from !== size * fileBytes(dtype)) fail(`${size * fileBytes(dtype)} bytes for ${key} [${shape.join(",")}]`, `${to - from}`);
    return { key, dtype, shape, from, to };
  }).sort((a, b) => a.from - b.from || a.to - b.to);
  let at = 0;
  for (const { key, from, to } of found) {
    if (from !== at) fail(`${key} to start at ${at}, where the tensor before it ends`, String(from));
    at = to;
  }
  if (at !== bytes.length - start) fail(`${at} bytes of tensors`, `${bytes.length - start}`);
  return new Map(found.map(({ key, dtype, shape, from, to }) => {
    const raw = Uint8Array.from(bytes.subarray(start + from, start + to)).buffer; // not slice(): Node's Buffer would share its memory
    const data = dtype === "float32" ? new Float32Array(raw) : dtype === "int32" ? new Int32Array(raw) : dtype === "uint32" ? new Uint32Array(raw) : dtype === "bool" ? new Uint8Array(raw) : Float32Array.from(new Uint16Array(raw), fromHalf);
    return [key, { dtype, shape, data }];
  }));
}

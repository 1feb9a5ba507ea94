/**
 * The safetensors format: an 8-byte length, a JSON header, raw little-endian tensors. Writing reads
 * tensors back from the device; reading is strict, because a file is untrusted input, and gives
 * host arrays that `loadStateDict` takes. The bytes belong to the caller.
 */
import "../compose.ts";
import type { Bytes } from "../base/bytes.ts";
import { type DType, dtypeBytes } from "../base/dtype.ts";
import { ArgumentError, calledAs } from "../base/errors.ts";
import {
  type OptionTable,
  checkBytes,
  checkIterable,
  describeValue,
  readOptions,
} from "../base/options.ts";
import { toHalf } from "../tensor/host.ts";
import { type Tensor, live } from "../tensor/tensor.ts";
import { checksumKey, checksumOf } from "./checksum.ts";
import {
  type ElementType,
  type Fail,
  type HostTensor,
  type Lossy,
  elementBytes,
  elementDType,
  elementTypes,
  isElementType,
  readElements,
} from "./elements.ts";
import { checkJson } from "./json.ts";

const names: Readonly<Record<DType, ElementType>> = {
  float32: "F32",
  float16: "F16",
  int32: "I32",
  uint32: "U32",
  bool: "BOOL",
};
/** Bytes per element in a file: bools take one. */
const fileBytes = (dtype: DType): number => (dtype === "bool" ? 1 : dtypeBytes(dtype));
/** The published limit on headers. */
const maxHeader = 100_000_000;
/**
 * A header is an object of objects of lists. A tensor takes about twelve marks: room for 85,000
 * tensors, which take less than a second to read.
 */
const limits = { depth: 3, marks: 2 ** 20 } as const;
/** More dimensions than any tensor has. */
const maxRank = 64;

/**
 * The entries of a file that is to be written, checked.
 * @throws ArgumentError for what is no list of names with tensors, and for a name used twice
 */
function namedTensors(tensors: unknown): readonly (readonly [string, Tensor])[] {
  const op = "toSafetensors",
    what = "pairs of a name and a tensor",
    remedy = "pass for example model.stateDict()";
  checkIterable(op, what, tensors, remedy);
  const seen = new Set<unknown>(["__metadata__"]);
  return Array.from(tensors, (entry) => {
    if (!Array.isArray(entry)) throw new ArgumentError(op, what, describeValue(entry), remedy);
    const [name, t] = entry as readonly unknown[];
    if (typeof name !== "string")
      throw new ArgumentError(op, "names that are strings", describeValue(name), remedy);
    live(t as Tensor, op);
    if (seen.has(name))
      throw new ArgumentError(op, "each name once", JSON.stringify(name), "rename one of them");
    seen.add(name);
    return [name, t as Tensor] as const;
  });
}

/**
 * The file's bytes. Reads are pinned at once, so the tensors may be disposed right after the call.
 * Rejects with ArgumentError for what is no list of names with tensors, a name used twice, and
 * metadata that are not strings.
 * @example
 * ```ts
 * using w = ones([2, 2]);
 * const bytes = await toSafetensors([["w", w]]);
 * console.log(fromSafetensors(bytes).get("w")?.shape.join()); // → 2,2
 * ```
 */
export async function toSafetensors(
  tensors: Iterable<readonly [string, Tensor]>,
  metadata?: Readonly<Record<string, string>>,
): Promise<Bytes> {
  const named = namedTensors(tensors);
  if (metadata !== undefined && !isStrings(metadata))
    throw new ArgumentError(
      "toSafetensors",
      "metadata that map names to strings",
      describeValue(metadata),
      'pass for example { note: "…" }',
    );
  const list = named.map(([name, t]) => {
    return { name, dtype: t.dtype, shape: t.shape, size: t.size, data: t.data() };
  });
  // Widest elements first, as the reference writer does: every tensor then starts at a multiple of
  // its element size, which readers that map files need.
  list.sort((a, b) => fileBytes(b.dtype) - fileBytes(a.dtype));
  const entries = metadata === undefined ? [] : [`"__metadata__":${JSON.stringify(metadata)}`];
  let end = 0;
  const starts = list.map(({ name, dtype, shape, size }) => {
    const start = end;
    end += size * fileBytes(dtype);
    const entry = { dtype: names[dtype], shape, data_offsets: [start, end] };
    entries.push(`${JSON.stringify(name)}:${JSON.stringify(entry)}`);
    return start;
  });
  const json = new TextEncoder().encode(`{${entries.join(",")}}`),
    header = Math.ceil(json.length / 8) * 8;
  const out = new Uint8Array(8 + header + end);
  new DataView(out.buffer).setBigUint64(0, BigInt(header), true);
  out.fill(0x20, 8, 8 + header).set(json, 8);
  for (const [i, { dtype, data }] of list.entries()) {
    const values = await data;
    const raw = dtype === "float16" ? Uint16Array.from(values, toHalf) : values;
    out.set(new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength), 8 + header + starts[i]!);
  }
  return out;
}

/** Options of `fromSafetensors` and `readSafetensors`. */
export interface SafetensorsOptions {
  /** What errors call the data. */
  readonly name?: string;
  /**
   * float64 numbers that float32 does not hold exactly: "error" (default), or "round" to the
   * nearest.
   */
  readonly lossy?: Lossy;
}

/** Rows of how a file is read. */
export const safetensorsOptions = {
  name: { type: "text", default: "safetensors data" },
  lossy: { type: "choice", of: ["error", "round"], default: "error" },
} satisfies OptionTable<SafetensorsOptions>;

const notSafetensors = "the file is damaged or not a safetensors file";
const cutShort = "the file was cut short; copy or save it again";
const bitsChanged =
  "the file was damaged after it was saved; take another copy, or leave tenure.checksum " +
  "out of the metadata when you write one yourself";

/** A file's tensors and its free-form metadata. */
export interface Safetensors {
  readonly tensors: Map<string, HostTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The tensors of a file by name, copied out of `bytes`. BF16 and F64 become float32, 8, 16 and 64
 * bit integers int32 or uint32.
 * @throws ArgumentError for a checksum that does not match, for anything the format forbids
 *   (lengths, offsets that overlap or leave
 *   gaps, repeated names, unknown dtypes, sizes that don't match shapes), and for numbers that the
 *   dtype they are read as does not hold
 */
export function fromSafetensors(
  bytes: Uint8Array,
  options?: string | SafetensorsOptions,
): Map<string, HostTensor> {
  return calledAs("fromSafetensors", () => readSafetensors(bytes, options).tensors);
}

/** Like `fromSafetensors`, with the metadata. @throws ArgumentError as `fromSafetensors` does */
export function readSafetensors(
  bytes: Uint8Array,
  options?: string | SafetensorsOptions,
): Safetensors {
  checkBytes("readSafetensors", bytes);
  const given = typeof options === "string" ? { name: options } : options;
  const { name, lossy } = readOptions("readSafetensors", given, safetensorsOptions);
  const start = headerEnd(bytes, failing(name, notSafetensors));
  const sum = checksumOf(bytes, start);
  const sound = sum === undefined || sum.stored === sum.actual;
  const fail = failing(name, sound ? notSafetensors : bitsChanged);
  const { metadata, entries } = readHeader(bytes, start, fail);
  if (!sound) fail(`the checksum ${sum.stored}`, sum.actual);
  const tensors = new Map(
    entries.map(({ key, type, shape, from, to }) => [
      key,
      {
        dtype: elementDType(type),
        shape,
        data: readElements(type, bytes.subarray(start + from, start + to), {
          lossy,
          what: `${clip(key)} of ${name}`,
          fail: (expected, got, remedy) => {
            throw new ArgumentError("readSafetensors", expected, got, remedy ?? notSafetensors);
          },
        }),
      },
    ]),
  );
  return { tensors, metadata };
}

/** Text of a file as errors show it. */
function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Refuses a file, with a remedy unless one is given. */
function failing(name: string, usual: string): Fail {
  return (expected, got, remedy = usual) => {
    throw new ArgumentError("readSafetensors", `${expected} in ${name}`, clip(got), remedy);
  };
}

/** Where the header ends and the tensors begin. */
function headerEnd(bytes: Uint8Array, fail: Fail): number {
  if (bytes.length < 8) fail("at least 8 bytes", String(bytes.length), cutShort);
  if (bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4)
    fail(
      "a safetensors file",
      "a zip archive, as torch.save writes",
      "save it with safetensors.torch.save_file; read npz files with parseNpz",
    );
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  const got = `${length} bytes of ${bytes.length}`;
  const within = `a header within the file and ${maxHeader} bytes`;
  if (length > BigInt(maxHeader)) fail(within, got);
  if (Number(length) > bytes.length - 8) fail(within, got, cutShort);
  return 8 + Number(length);
}

/** What the header says: tensors in the order of their bytes, which have no gaps. */
function readHeader(
  bytes: Uint8Array,
  start: number,
  fail: Fail,
): { metadata: Safetensors["metadata"]; entries: readonly Entry[] } {
  const header = parseHeader(bytes.subarray(8, start), fail);
  const { __metadata__: metadata = {}, ...tensors } = header;
  if (!isStrings(metadata))
    return fail("metadata that maps names to strings", describeValue(metadata));
  const entries = Object.entries(tensors)
    .map(([key, value]) => parseEntry(key, value, fail))
    .sort((a, b) => a.from - b.from || a.to - b.to);
  let at = 0;
  for (const { key, from, to } of entries) {
    if (from !== at)
      fail(`${clip(key)} to start at ${at}, where the tensor before it ends`, String(from));
    at = to;
  }
  const there = bytes.length - start;
  if (at > there) fail(`${at} bytes of tensors`, String(there), cutShort);
  if (at < there) fail(`${at} bytes of tensors`, String(there));
  // The checksum is of this file: metadata that are written again must not carry it.
  const { [checksumKey]: _, ...rest } = metadata;
  return { metadata: rest, entries };
}

function isStrings(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((text) => typeof text === "string");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Entry {
  readonly key: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly from: number;
  readonly to: number;
}

/** A value of a header in an error message; it may nest, and be of any size. */
function described(value: unknown): string {
  return Array.isArray(value)
    ? `[${value.slice(0, 8).map(describeValue).join(",")}]`
    : describeValue(value);
}

function parseEntry(name: string, value: unknown, fail: Fail): Entry {
  const key = clip(name);
  if (!isObject(value)) return fail(`an object for ${key}`, describeValue(value));
  const { dtype: type, shape, data_offsets: offsets } = value;
  const counts = (list: unknown): list is readonly number[] =>
    Array.isArray(list) &&
    list.every(
      (n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 0 && !Object.is(n, -0),
    );
  if (!isElementType(type))
    return fail(
      `a dtype of ${elementTypes.join(", ")} for ${key}`,
      describeValue(type),
      "convert the tensor before saving it",
    );
  if (!counts(shape) || shape.length > maxRank) return fail(`a shape for ${key}`, described(shape));
  if (!counts(offsets) || offsets.length !== 2)
    return fail(`two offsets for ${key}`, described(offsets));
  let size = 1;
  for (const d of shape) {
    size *= d;
    if (!Number.isSafeInteger(size))
      fail(`a countable number of elements for ${key}`, `[${shape.join(",")}]`);
  }
  const [from, to] = offsets as readonly [number, number],
    bytes = size * elementBytes(type);
  if (to - from !== bytes)
    fail(`${bytes} bytes for ${key} [${shape.join(",")}]`, String(to - from));
  return { key: name, type, shape, from, to };
}

function parseHeader(bytes: Uint8Array, fail: Fail): Readonly<Record<string, unknown>> {
  if (bytes[0] !== 0x7b)
    fail("a header that begins with {", bytes.length === 0 ? "an empty one" : `byte ${bytes[0]}`);
  let header: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    checkJson(text, limits, fail);
    header = JSON.parse(text);
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    fail("a JSON header", String(error));
  }
  return isObject(header) ? header : fail("a JSON object", typeof header);
}

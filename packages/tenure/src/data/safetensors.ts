/**
 * The safetensors format: an 8-byte length, a JSON header, raw little-endian tensors. Writing reads
 * tensors back from the device; reading is strict, because a file is untrusted input, and gives
 * host arrays that `loadStateDict` takes. The bytes belong to the caller.
 */
import { type DType, dtypeBytes } from "../base/dtype.ts";
import { ArgumentError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { toHalf } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
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
/** A header is an object of objects of lists. */
const maxDepth = 3;
/** More dimensions than any tensor has. */
const maxRank = 64;

/**
 * The file's bytes. Reads are pinned at once, so the tensors may be disposed right after the call.
 */
export async function toSafetensors(
  tensors: Iterable<readonly [string, Tensor]>,
  metadata?: Readonly<Record<string, string>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const seen = new Set(["__metadata__"]);
  const list = [...tensors].map(([name, t]) => {
    if (seen.has(name))
      throw new ArgumentError(
        "toSafetensors",
        "each name once",
        JSON.stringify(name),
        "rename one of them",
      );
    seen.add(name);
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

/** A file's tensors and its free-form metadata. */
export interface Safetensors {
  readonly tensors: Map<string, HostTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The tensors of a file by name, copied out of `bytes`. BF16 and F64 become float32, 8, 16 and 64
 * bit integers int32 or uint32.
 * @throws ArgumentError for anything the format forbids (lengths, offsets that overlap or leave
 *   gaps, repeated names, unknown dtypes, sizes that don't match shapes), and for numbers that the
 *   dtype they are read as does not hold
 */
export function fromSafetensors(
  bytes: Uint8Array,
  options: string | SafetensorsOptions = {},
): Map<string, HostTensor> {
  return readSafetensors(bytes, options).tensors;
}

/** Like `fromSafetensors`, with the metadata. */
export function readSafetensors(
  bytes: Uint8Array,
  options: string | SafetensorsOptions = {},
): Safetensors {
  if (!((bytes as unknown) instanceof Uint8Array))
    throw new ArgumentError(
      "fromSafetensors",
      "the bytes of a file as a Uint8Array",
      describeValue(bytes),
      "pass for example await readFile(path)",
    );
  if (typeof options !== "string") checkOptions("fromSafetensors", options, ["name", "lossy"]);
  const { name = "safetensors data", lossy = "error" } =
    typeof options === "string" ? { name: options } : options;
  const fail: Fail = (expected, got, remedy = "the file is damaged or not a safetensors file") => {
    throw new ArgumentError(
      "fromSafetensors",
      `${expected} in ${name}`,
      got.length > 200 ? `${got.slice(0, 200)}…` : got,
      remedy,
    );
  };
  if (bytes.length < 8) fail("at least 8 bytes", String(bytes.length));
  if (bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4)
    fail(
      "a safetensors file",
      "a zip archive, as torch.save writes",
      "save it with safetensors.torch.save_file; read npz files with parseNpz",
    );
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (length > BigInt(maxHeader) || Number(length) > bytes.length - 8)
    fail(`a header within the file and ${maxHeader} bytes`, `${length} bytes of ${bytes.length}`);
  const start = 8 + Number(length),
    header = parseHeader(bytes.subarray(8, start), fail);
  const { __metadata__: metadata = {}, ...entries } = header;
  if (!isObject(metadata) || Object.values(metadata).some((v) => typeof v !== "string"))
    return fail("metadata that maps names to strings", JSON.stringify(metadata));
  const found = Object.entries(entries)
    .map(([key, value]) => parseEntry(key, value, fail))
    .sort((a, b) => a.from - b.from || a.to - b.to);
  let at = 0;
  for (const { key, from, to } of found) {
    if (from !== at)
      fail(`${key} to start at ${at}, where the tensor before it ends`, String(from));
    at = to;
  }
  if (at !== bytes.length - start) fail(`${at} bytes of tensors`, `${bytes.length - start}`);
  const tensors = new Map(
    found.map(({ key, type, shape, from, to }) => [
      key,
      {
        dtype: elementDType(type),
        shape,
        data: readElements(type, bytes.subarray(start + from, start + to), {
          lossy,
          what: `${key} of ${name}`,
          fail: (expected, got, remedy) => {
            throw new ArgumentError("fromSafetensors", expected, got, remedy);
          },
        }),
      },
    ]),
  );
  return { tensors, metadata: metadata as Record<string, string> };
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

function parseEntry(key: string, value: unknown, fail: Fail): Entry {
  if (!isObject(value)) return fail(`an object for ${key}`, JSON.stringify(value));
  const { dtype: type, shape, data_offsets: offsets } = value;
  const counts = (list: unknown): list is readonly number[] =>
    Array.isArray(list) &&
    list.every(
      (n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 0 && !Object.is(n, -0),
    );
  if (!isElementType(type))
    return fail(
      `a dtype of ${elementTypes.join(", ")} for ${key}`,
      JSON.stringify(type),
      "convert the tensor before saving it",
    );
  if (!counts(shape) || shape.length > maxRank)
    return fail(`a shape for ${key}`, JSON.stringify(shape));
  if (!counts(offsets) || offsets.length !== 2)
    return fail(`two offsets for ${key}`, JSON.stringify(offsets));
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
  return { key, type, shape, from, to };
}

function parseHeader(bytes: Uint8Array, fail: Fail): Readonly<Record<string, unknown>> {
  if (bytes[0] !== 0x7b)
    fail("a header that begins with {", bytes.length === 0 ? "an empty one" : `byte ${bytes[0]}`);
  let header: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    checkJson(text, fail);
    header = JSON.parse(text);
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    fail("a JSON header", String(error));
  }
  return isObject(header) ? header : fail("a JSON object", typeof header);
}

/**
 * What `JSON.parse` lets pass: repeated names, of which it keeps the last, and nesting without end.
 * Runs before it, on text that may not be JSON at all.
 */
function checkJson(text: string, fail: Fail): void {
  const open: (Set<string> | null)[] = []; // names seen in an object, null for a list
  let atKey = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x7b:
      case 0x5b: {
        // { [
        const isList = text.charCodeAt(i) === 0x5b;
        open.push(isList ? null : new Set());
        atKey = !isList;
        if (open.length > maxDepth) fail(`a header of at most ${maxDepth} levels`, "more");
        break;
      }
      case 0x7d:
      case 0x5d:
        open.pop();
        atKey = false;
        break; // } ]
      case 0x2c:
        atKey = open.at(-1) != null;
        break; // ,
      case 0x22: {
        // "
        const from = i++;
        while (i < text.length && text.charCodeAt(i) !== 0x22)
          i += text.charCodeAt(i) === 0x5c ? 2 : 1;
        if (!atKey) break;
        atKey = false;
        const key = JSON.parse(text.slice(from, i + 1)) as string,
          names = open.at(-1)!;
        if (names.has(key)) fail("each name once", JSON.stringify(key));
        names.add(key);
        break;
      }
      default:
    }
  }
}

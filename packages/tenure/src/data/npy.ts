/**
 * NumPy's npy and npz files, read into host memory: numbers of every size and byte order, C and
 * Fortran order. Strict, because a file is untrusted input. Results belong to the caller.
 */
import { ArgumentError } from "../base/errors.ts";
import { type OptionTable, checkBytes, readOptions } from "../base/options.ts";
import {
  type ElementType,
  type Fail,
  type HostData,
  type HostTensor,
  type Lossy,
  elementBytes,
  elementDType,
  readElements,
} from "./elements.ts";
import { unzip } from "./zip.ts";

/** Options of `parseNpy` and `parseNpz`. */
export interface NpyOptions {
  /** What errors call the data. */
  readonly name?: string;
  /**
   * float64 numbers, NumPy's default: "round" to the nearest float32 (default), or "error" for
   * those that float32 does not hold exactly.
   */
  readonly lossy?: Lossy;
}

const types: Readonly<Record<string, ElementType>> = {
  f2: "F16",
  f4: "F32",
  f8: "F64",
  i1: "I8",
  i2: "I16",
  i4: "I32",
  i8: "I64",
  u1: "U8",
  u2: "U16",
  u4: "U32",
  u8: "U64",
  b1: "BOOL",
};
/** Six bytes that every file begins with. */
const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

const npyOptions = {
  name: { type: "text", default: "npy data" },
  lossy: { type: "choice", of: ["error", "round"], default: "round" },
} satisfies OptionTable<NpyOptions>;

/**
 * The array of an npy file (format versions 1, 2 and 3). float64 is rounded to float32 unless told
 * otherwise; 64-bit integers must fit 32 bits.
 * @throws ArgumentError for a damaged file, and for arrays of objects, text or records
 * @example
 * ```ts
 * const header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
 * const text = String.fromCharCode(0x93) + "NUMPY\x01\0" + String.fromCharCode(header.length, 0);
 * const bytes = Uint8Array.from(text + header + "\x07\x09", (c) => c.charCodeAt(0));
 * console.log(parseNpy(bytes).shape.join()); // → 2
 * ```
 */
export function parseNpy(bytes: Uint8Array, options?: NpyOptions): HostTensor {
  checkBytes("parseNpy", bytes);
  const { name, lossy } = readOptions("parseNpy", options, npyOptions);
  const fail: Fail = (
    expected,
    got,
    remedy = "check that the file is complete and an npy file",
  ) => {
    throw new ArgumentError(
      "parseNpy",
      expected.includes(name) ? expected : `${expected} in ${name}`,
      got.slice(0, 200),
      remedy,
    );
  };
  if (bytes.length < 10 || magic.some((b, i) => bytes[i] !== b))
    fail(
      "an npy file",
      bytes.length >= 2 && bytes[0] === 0x50 && bytes[1] === 0x4b
        ? "a zip archive; read it with parseNpz"
        : `bytes ${Array.from(bytes.subarray(0, 6), hex).join(" ")}`,
    );
  const version = bytes[6]!,
    view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (version < 1 || version > 3) fail("format version 1, 2 or 3", String(version));
  const prefix = version === 1 ? 10 : 12;
  if (bytes.length < prefix) fail("a header", "none");
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true),
    start = prefix + length;
  if (start > bytes.length) fail(`a header of ${length} bytes`, `${bytes.length - prefix} bytes`);
  const { descr, fortran, shape } = parseHeader(
    new TextDecoder(version === 3 ? "utf-8" : "latin1").decode(bytes.subarray(prefix, start)),
    fail,
  );
  const [, order = "", code = ""] = /^([<>|=])([a-z]\d+)$/.exec(descr) ?? [],
    type = Object.hasOwn(types, code) ? types[code] : undefined;
  if (type === undefined)
    return fail(
      "an array of numbers or bools",
      `dtype ${descr}`,
      "convert it in NumPy with astype",
    );
  const size = shape.reduce((n, d) => n * d, 1),
    expected = size * elementBytes(type);
  if (!Number.isSafeInteger(expected) || bytes.length - start !== expected)
    fail(`${expected} bytes for shape [${shape.join(",")}]`, String(bytes.length - start));
  const data = readElements(type, bytes.subarray(start), {
    littleEndian: order !== ">",
    lossy,
    what: name,
    fail,
  });
  return { dtype: elementDType(type), shape, data: fortran ? toRowMajor(data, shape) : data };
}

/** A byte in two digits. */
function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

/** One entry of the header, and the comma after it. */
const headerEntry = new RegExp(
  "^'(descr|fortran_order|shape)'\\s*:\\s*" +
    "('[^']*'|True|False|\\([\\d,\\sL]*\\)|\\[.*\\])\\s*(?:,\\s*|$)",
  "s",
);

/** The header is a Python dict literal with three known keys: read by pattern, never evaluated. */
function parseHeader(
  text: string,
  fail: Fail,
): { descr: string; fortran: boolean; shape: number[] } {
  const body = /^\{(.*)\}\s*$/s.exec(text)?.[1] ?? fail("a header { … }", text);
  const found = new Map<string, string>();
  let rest = body.trim();
  while (rest !== "") {
    const [all, key, value] =
      headerEntry.exec(rest) ?? fail("a header of descr, fortran_order and shape", text);
    if (found.has(key!)) fail("each key once", key!);
    found.set(key!, value!);
    rest = rest.slice(all.length).trim();
  }
  const [descr, fortran, dims] = ["descr", "fortran_order", "shape"].map(
    (key) => found.get(key) ?? fail(`a header with ${key}`, text),
  );
  if (descr!.startsWith("["))
    fail("an array of numbers", "an array of records", "save its fields one by one");
  if (!descr!.startsWith("'") || !dims!.startsWith("(") || !/^(True|False)$/.test(fortran!))
    fail("a dtype, an order and a shape", text);
  const shape = dims!
    .slice(1, -1)
    .split(",")
    .map((d) => d.trim())
    .filter((d) => d !== "")
    .map((d) => (/^\d+L?$/.test(d) ? Number.parseInt(d, 10) : fail("whole dimensions", dims!)));
  if (shape.length > 32 || shape.some((d) => !Number.isSafeInteger(d)))
    fail("at most 32 countable dimensions", dims!);
  return { descr: descr!.slice(1, -1), fortran: fortran === "True", shape };
}

/** Elements stored first dimension fastest, put in row-major order. */
function toRowMajor(data: HostData, shape: readonly number[]): HostData {
  const out = data.slice(),
    index = shape.map(() => 0),
    steps = shape.map((_, i) => shape.slice(0, i).reduce((n, d) => n * d, 1));
  for (let k = 0; k < data.length; k++) {
    out[k] = data[index.reduce((at, i, d) => at + i * steps[d]!, 0)]!;
    for (let d = shape.length - 1; d >= 0; d--) {
      if (++index[d]! < shape[d]!) break;
      index[d] = 0;
    }
  }
  return out;
}

/** Options of `parseNpz`. */
export interface NpzOptions extends NpyOptions {
  /** What all arrays together may take. */
  readonly maxBytes?: number;
}
const npzOptions = {
  ...npyOptions,
  name: { type: "text", default: "npz data" },
  maxBytes: { type: "number", range: "[0, Infinity]", remedy: "pass a number of bytes" },
} satisfies OptionTable<NpzOptions>;

/**
 * The arrays of an npz file by name, without the `.npy` ending. Compressed archives need the host's
 * DecompressionStream (Node 20 and every browser have it).
 * @param options also `maxBytes`: what all arrays together may take, 4 GiB by default
 * @throws ArgumentError for a damaged archive or array
 */
export async function parseNpz(
  bytes: Uint8Array,
  options?: NpzOptions,
): Promise<Map<string, HostTensor>> {
  checkBytes("parseNpz", bytes);
  const { name, maxBytes, ...rest } = readOptions("parseNpz", options, npzOptions);
  const files = await unzip(bytes, "parseNpz", name, maxBytes);
  return new Map(
    files.map((file) => [
      file.name.replace(/\.npy$/, ""),
      parseNpy(file.data, { ...rest, name: `${file.name} of ${name}` }),
    ]),
  );
}

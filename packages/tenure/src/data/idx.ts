/**
 * The idx format of the original MNIST files: a magic number, dimensions, big-endian elements. Host
 * memory only; the result belongs to the caller.
 */
import { ArgumentError } from "../base/errors.ts";
import { checkBytes } from "../base/options.ts";

/** Elements of an idx file, in the type that its header names. */
export type IdxData =
  Uint8Array | Int8Array | Int16Array | Int32Array | Float32Array | Float64Array;
/** An idx file in host memory: shape, and elements in row-major order. */
export interface Idx {
  readonly shape: readonly number[];
  readonly data: IdxData;
}

const types: Readonly<
  Record<
    number,
    { bytes: number; make: (n: number) => IdxData; read: (v: DataView, at: number) => number }
  >
> = {
  0x08: { bytes: 1, make: (n) => new Uint8Array(n), read: (v, at) => v.getUint8(at) },
  0x09: { bytes: 1, make: (n) => new Int8Array(n), read: (v, at) => v.getInt8(at) },
  0x0b: { bytes: 2, make: (n) => new Int16Array(n), read: (v, at) => v.getInt16(at) },
  0x0c: { bytes: 4, make: (n) => new Int32Array(n), read: (v, at) => v.getInt32(at) },
  0x0d: { bytes: 4, make: (n) => new Float32Array(n), read: (v, at) => v.getFloat32(at) },
  0x0e: { bytes: 8, make: (n) => new Float64Array(n), read: (v, at) => v.getFloat64(at) },
};

/**
 * Parses a whole idx file. Byte data is not copied: it shares memory with `bytes`.
 * @throws ArgumentError for a wrong magic number, a truncated file or one that is too long
 * @example
 * ```ts
 * const { shape, data } = parseIdx(new Uint8Array([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]));
 * console.log(shape.join(), data.join()); // → 2 7,9
 * ```
 */
export function parseIdx(bytes: Uint8Array, name = "idx data"): Idx {
  checkBytes("parseIdx", bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fail = (expected: string, got: string): never => {
    throw new ArgumentError(
      "parseIdx",
      `${expected} in ${name}`,
      got,
      "check that the file is complete and not compressed",
    );
  };
  if (bytes.length >= 2 && bytes[0] === 0x1f && bytes[1] === 0x8b) fail("an idx file", "gzip data");
  if (bytes.length < 4) fail("a header of at least 4 bytes", `${bytes.length} bytes`);
  const type = types[bytes[2]!],
    rank = bytes[3]!;
  if (view.getUint16(0) !== 0 || type === undefined || rank === 0)
    return fail(
      "an idx magic number 00 00 <type> <rank>",
      [...bytes.subarray(0, 4)].map((b) => b.toString(16).padStart(2, "0")).join(" "),
    );
  const header = 4 + 4 * rank;
  if (bytes.length < header)
    fail(`a header of ${header} bytes for rank ${rank}`, `${bytes.length} bytes`);
  const shape = Array.from({ length: rank }, (_, i) => view.getUint32(4 + 4 * i));
  const size = shape.reduce((n, d) => n * d, 1);
  if (bytes.length !== header + size * type.bytes)
    fail(`${header + size * type.bytes} bytes for shape [${shape.join(",")}]`, `${bytes.length}`);
  if (bytes[2] === 0x08) return { shape, data: bytes.subarray(header) };
  const data = type.make(size);
  for (let i = 0; i < size; i++) data[i] = type.read(view, header + i * type.bytes);
  return { shape, data };
}

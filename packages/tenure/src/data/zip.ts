/**
 * Just enough of a zip reader for npz files: stored and deflated entries by the central directory,
 * with sizes and checksums verified. No encryption, no archives in parts. Host memory only; entries
 * belong to the caller.
 */
import { ArgumentError } from "../base/errors.ts";

/** What may be unpacked altogether unless the caller says otherwise. */
const defaultLimit = 2 ** 32;

/** Called for one file of an archive. */
export interface ZipEntry {
  readonly name: string;
  readonly data: Uint8Array;
}

/**
 * All files of an archive, unpacked.
 * @param limit bytes that all files together may have: what protects against archives that unpack
 *   without end
 * @throws ArgumentError for anything but a sound archive of stored and deflated files
 */
export async function unzip(
  bytes: Uint8Array,
  name = "zip data",
  limit = defaultLimit,
): Promise<ZipEntry[]> {
  const fail = (expected: string, got: string): never => {
    throw new ArgumentError(
      "unzip",
      `${expected} in ${name}`,
      got,
      "check that the file is complete",
    );
  };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { count, offset, end } = directory(view, fail),
    entries: ZipEntry[] = [],
    seen = new Set<string>();
  let at = offset,
    total = 0;
  for (let i = 0; i < count; i++) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) fail(`${count} entries`, `${i}`);
    const flags = view.getUint16(at + 8, true),
      method = view.getUint16(at + 10, true),
      crc = view.getUint32(at + 16, true);
    const nameLength = view.getUint16(at + 28, true),
      extraLength = view.getUint16(at + 30, true),
      commentLength = view.getUint16(at + 32, true),
      next = at + 46 + nameLength + extraLength + commentLength;
    if (next > end) fail("whole entries", `entry ${i} that ends after the directory`);
    const file = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const [size, packed, local] = wide(
      view,
      [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)],
      at + 46 + nameLength,
      extraLength,
      fail,
    );
    at = next;
    if (seen.has(file)) fail("each file once", JSON.stringify(file));
    seen.add(file);
    if ((flags & 1) !== 0) fail("files without encryption", JSON.stringify(file));
    if (method !== 0 && method !== 8)
      fail("stored or deflated files", `method ${method} for ${JSON.stringify(file)}`);
    total += size;
    if (total > limit) fail(`at most ${limit} bytes unpacked`, String(total));
    if (local + 30 > offset || view.getUint32(local, true) !== 0x04034b50)
      fail(`a file header for ${JSON.stringify(file)}`, `offset ${local}`);
    const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (from + packed > offset)
      fail(`${packed} bytes of ${JSON.stringify(file)}`, `${Math.max(0, offset - from)}`);
    const raw = bytes.subarray(from, from + packed),
      data =
        method === 0
          ? raw.slice()
          : await inflate(raw, size, () =>
              fail(`sound deflate data of ${size} bytes`, JSON.stringify(file)),
            );
    if (data.length !== size) fail(`${size} bytes in ${JSON.stringify(file)}`, String(data.length));
    if (crc32(data) !== crc)
      fail(`the checksum ${crc} of ${JSON.stringify(file)}`, String(crc32(data)));
    entries.push({ name: file, data });
  }
  return entries;
}

type FailZip = (expected: string, got: string) => never;

/** Finds the central directory through the record at the end, which a comment may follow. */
function directory(view: DataView, fail: FailZip): { count: number; offset: number; end: number } {
  const last = view.byteLength - 22;
  let at = last;
  while (
    at >= Math.max(0, last - 0xffff) &&
    !(
      view.getUint32(at, true) === 0x06054b50 &&
      at + 22 + view.getUint16(at + 20, true) === view.byteLength
    )
  )
    at--;
  if (at < 0 || at < last - 0xffff)
    fail("a zip archive", `${view.byteLength} bytes without an end record`);
  let count = view.getUint16(at + 10, true),
    size = view.getUint32(at + 12, true),
    offset = view.getUint32(at + 16, true),
    stop = at;
  if (
    view.getUint16(at + 4, true) !== 0 ||
    view.getUint16(at + 6, true) !== 0 ||
    view.getUint16(at + 8, true) !== count
  )
    fail("an archive in one part", "several");
  if (count === 0xffff || size === 0xffffffff || offset === 0xffffffff) {
    // zip64
    const locator = at - 20;
    if (locator < 0 || view.getUint32(locator, true) !== 0x07064b50)
      fail("a zip64 locator", "none");
    const record = safe(view.getBigUint64(locator + 8, true), fail);
    if (record + 56 > locator || view.getUint32(record, true) !== 0x06064b50)
      fail("a zip64 record", `offset ${record}`);
    count = safe(view.getBigUint64(record + 32, true), fail);
    size = safe(view.getBigUint64(record + 40, true), fail);
    offset = safe(view.getBigUint64(record + 48, true), fail);
    stop = record;
  }
  if (offset + size !== stop) fail(`a directory that ends at ${stop}`, String(offset + size));
  if (count * 46 > size) fail(`${count} entries`, `a directory of ${size} bytes`);
  return { count, offset, end: stop };
}

function safe(value: bigint, fail: FailZip): number {
  return value <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : fail("sizes and offsets within the file", String(value));
}

/**
 * Sizes and offset of an entry; those that say 0xffffffff stand, in this order, in the zip64 extra
 * field.
 */
function wide(
  view: DataView,
  values: readonly [number, number, number],
  extra: number,
  length: number,
  fail: FailZip,
): readonly [number, number, number] {
  if (!values.includes(0xffffffff)) return values;
  for (let at = extra; at + 4 <= extra + length;) {
    const id = view.getUint16(at, true),
      size = view.getUint16(at + 2, true);
    if (at + 4 + size > extra + length) break;
    if (id === 1) {
      let from = at + 4;
      const stop = from + size;
      return values.map((v) => {
        if (v !== 0xffffffff) return v;
        if (from + 8 > stop) return fail("a whole zip64 field", `${size} bytes`);
        from += 8;
        return safe(view.getBigUint64(from - 8, true), fail);
      }) as [number, number, number];
    }
    at += 4 + size;
  }
  return fail("a zip64 field", "none");
}

/** Unpacks at most `size` bytes: data that goes on is cut off at once. */
async function inflate(packed: Uint8Array, size: number, fail: () => never): Promise<Uint8Array> {
  const stream = new DecompressionStream("deflate-raw"),
    writer = stream.writable.getWriter(),
    reader = stream.readable.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const writing = (async () => {
    await writer.write(packed.slice());
    await writer.close();
  })();
  writing.catch(() => undefined); // told by the reader
  const out = new Uint8Array(size);
  let at = 0;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      if (at + chunk.value.length > size) {
        reader.cancel().catch(() => undefined);
        return fail();
      }
      out.set(chunk.value, at);
      at += chunk.value.length;
    }
    await writing;
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    return fail();
  }
  return at === size ? out : fail();
}

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = (c & 1) !== 0 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

/** The checksum of zip and PNG. */
export function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) c = crcTable[(c ^ bytes[i]!) & 255]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

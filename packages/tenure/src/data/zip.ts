/**
 * Just enough of a zip reader for npz files: stored and deflated entries by the central directory,
 * with sizes and checksums verified. No encryption, no archives in parts. Host memory only; entries
 * belong to the caller.
 */
import { ArgumentError } from "../base/errors.ts";
import { crc32 } from "./crc32.ts";

/** What may be unpacked altogether unless the caller says otherwise. */
const defaultLimit = 2 ** 32;

/** Deflate packs at most 1,032 bytes into one. */
const deflateLimit = 1032;

/** One file of an archive. */
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
  op: string,
  name: string,
  limit = defaultLimit,
): Promise<ZipEntry[]> {
  const fail: FailZip = (expected, got) => {
    throw new ArgumentError(
      op,
      `${expected} in ${name}`,
      got.slice(0, 200),
      "check that the file is complete",
    );
  };
  const records = readDirectory(bytes, limit, fail);
  const entries: ZipEntry[] = [];
  for (const record of records) entries.push(await unpack(record, fail));
  return entries;
}

/** Unpacks one file and holds it against what the directory says. */
async function unpack(
  { name, packed, method, size, crc }: Entry,
  fail: FailZip,
): Promise<ZipEntry> {
  const file = quoted(name);
  const data =
    method === 0
      ? packed.slice()
      : await inflate(packed, size, () => fail(`sound deflate data of ${size} bytes`, file));
  if (data.length !== size) fail(`${size} bytes in ${file}`, String(data.length));
  const sum = crc32(data);
  if (sum !== crc) fail(`the checksum ${crc} of ${file}`, String(sum));
  return { name, data };
}

/** One file as the directory describes it, and its bytes in the archive. */
interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  /** Bytes unpacked, by what the directory says. */
  readonly size: number;
  readonly packed: Uint8Array;
}

/** A name in an error message. */
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

/** Reads the whole directory before anything is unpacked. */
function readDirectory(bytes: Uint8Array, limit: number, fail: FailZip): Entry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { count, offset, end } = directory(view, fail);
  const entries: Entry[] = [];
  const seen = new Set<string>();
  let at = offset;
  let total = 0;
  let left = offset;
  for (let i = 0; i < count; i++) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) fail(`${count} entries`, `${i}`);
    const { entry, next } = readEntry(bytes, view, at, offset, end, fail);
    at = next;
    if (seen.has(entry.name)) fail("each file once", quoted(entry.name));
    seen.add(entry.name);
    total += entry.size;
    if (total > limit) fail(`at most ${limit} bytes unpacked`, String(total));
    // Files that share their bytes would unpack to many times what deflate can.
    left -= 30 + entry.packed.length;
    if (left < 0) fail("files that do not overlap", quoted(entry.name));
    entries.push(entry);
  }
  return entries;
}

/** The entry at `at` of the directory, and where the next one begins. */
function readEntry(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  offset: number,
  end: number,
  fail: FailZip,
): { readonly entry: Entry; readonly next: number } {
  const nameLength = view.getUint16(at + 28, true);
  const extraLength = view.getUint16(at + 30, true);
  const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
  if (next > end) fail("whole entries", "one that ends after the directory");
  const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
  const file = quoted(name);
  const [size, stored, local] = wide(
    view,
    [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)],
    at + 46 + nameLength,
    extraLength,
    fail,
  );
  const method = view.getUint16(at + 10, true);
  if ((view.getUint16(at + 8, true) & 1) !== 0) fail("files without encryption", file);
  if (method !== 0 && method !== 8)
    fail("stored or deflated files", `method ${method} for ${file}`);
  if (size > (method === 0 ? stored : stored * deflateLimit))
    fail(`at most ${stored * (method === 0 ? 1 : deflateLimit)} bytes in ${file}`, String(size));
  if (local + 30 > offset || view.getUint32(local, true) !== 0x04034b50)
    fail(`a file header for ${file}`, `offset ${local}`);
  const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  if (from + stored > offset) fail(`${stored} bytes of ${file}`, `${Math.max(0, offset - from)}`);
  const packed = bytes.subarray(from, from + stored);
  return { entry: { name, method, crc: view.getUint32(at + 16, true), size, packed }, next };
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

/**
 * Unpacks at most `size` bytes: data that goes on is cut off at once. Takes memory for what
 * arrives, never for what the directory claims.
 */
async function inflate(packed: Uint8Array, size: number, fail: () => never): Promise<Uint8Array> {
  const stream = new DecompressionStream("deflate-raw"),
    writer = stream.writable.getWriter(),
    reader = stream.readable.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const writing = (async () => {
    await writer.write(packed.slice());
    await writer.close();
  })();
  writing.catch(() => undefined); // told by the reader
  const chunks: Uint8Array[] = [];
  let at = 0;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      if (at + chunk.value.length > size) {
        reader.cancel().catch(() => undefined);
        return fail();
      }
      chunks.push(chunk.value);
      at += chunk.value.length;
    }
    await writing;
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    return fail();
  }
  return at === size ? concatenate(chunks, size) : fail();
}

function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const out = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

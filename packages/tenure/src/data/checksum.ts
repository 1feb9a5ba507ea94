/**
 * The checksum of a checkpoint: CRC-32 of the whole file, written into its own header among the
 * metadata, so that the file stays a safetensors file like any other. It is computed with zeros in
 * its own place. Called by the writer of checkpoints and the reader of safetensors; borrows bytes.
 */
import { crc32 } from "./crc32.ts";

/** Name of the checksum in the metadata. */
export const checksumKey = "tenure.checksum";
/** What stands in the metadata until the file is sealed. */
export const blankChecksum = "crc32:00000000";

const zeros = new TextEncoder().encode("00000000");
const place = /"tenure\.checksum":"crc32:([0-9a-f]{8})"/;

/** What a file says about itself, and what is true. */
interface Checksum {
  readonly stored: string;
  readonly actual: string;
}

/**
 * Both checksums of a file whose header ends at `headerEnd`; `undefined` when it carries none, or
 * none where the writer put it.
 */
export function checksumOf(bytes: Uint8Array, headerEnd: number): Checksum | undefined {
  const found = digitsIn(bytes, headerEnd);
  return found && { stored: found.stored, actual: digestOf(bytes, found.at) };
}

/** Writes the checksum into a file that was made with `blankChecksum`. */
export function seal(bytes: Uint8Array): void {
  const header = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const found = digitsIn(bytes, 8 + header);
  if (found !== undefined) bytes.set(new TextEncoder().encode(digestOf(bytes, found.at)), found.at);
}

/** The digits in a header, and the byte at which they begin. */
function digitsIn(
  bytes: Uint8Array,
  headerEnd: number,
): { stored: string; at: number } | undefined {
  // One character for each byte, whatever the names in the header are written in.
  const text = new TextDecoder("latin1").decode(bytes.subarray(8, headerEnd));
  const match = place.exec(text);
  const stored = match?.[1];
  if (match === null || stored === undefined) return undefined;
  return { stored, at: 8 + match.index + match[0].length - 1 - stored.length };
}

/** The checksum of a file, with zeros in the place of its digits. */
function digestOf(bytes: Uint8Array, digits: number): string {
  const before = crc32(bytes.subarray(0, digits));
  const sum = crc32(bytes.subarray(digits + zeros.length), crc32(zeros, before));
  return sum.toString(16).padStart(8, "0");
}

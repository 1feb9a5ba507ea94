/**
 * The checksum of zip files, and of the checkpoints written here. Called by the readers and writers
 * of this folder; borrows the bytes.
 */
import { builtin } from "../base/env.ts";

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = (c & 1) !== 0 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

/** Node's own is several times faster; versions before 20.15 and browsers have none. */
const native = builtin<{ crc32?: (bytes: Uint8Array, before: number) => number }>("node:zlib");

/** CRC-32 (IEEE 802.3). `before`: the checksum of the bytes that come before these. */
export function crc32(bytes: Uint8Array, before = 0): number {
  if (native?.crc32 !== undefined) return native.crc32(bytes, before);
  let c = ~before;
  for (const byte of bytes) c = (table[(c ^ byte) & 255] ?? 0) ^ (c >>> 8);
  return ~c >>> 0;
}

/**
 * Ways to damage a file: by bytes, by numbers where formats keep lengths, and by the tree of a JSON
 * text. Used by the formats of this harness. Every function gives a new value and leaves what it
 * was given alone.
 */
import type { Random } from "../random.ts";

/** Numbers at which readers go wrong. */
const edges: readonly number[] = [
  0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x7fff_ffff,
  0x8000_0000, 0xffff_fffe, 0xffff_ffff,
];

/** Damages bytes once or a few times. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  let out: Uint8Array = bytes.slice();
  for (let k = 0; k <= random.int(3); k++) out = mutateOnce(out, random);
  return out;
}

function mutateOnce(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.int(Math.max(1, bytes.length));
  switch (random.int(8)) {
    case 0:
      return bytes.slice(0, at);
    case 1:
      return flipBit(bytes, at, random);
    case 2:
      return setByte(bytes, at, random.int(256));
    case 3:
      return concatenate(bytes.subarray(0, at), randomBytes(1 + random.int(9), random), bytes, at);
    case 4:
      return concatenate(bytes.subarray(0, at), new Uint8Array(0), bytes, at + 1 + random.int(9));
    case 5:
      return concatenate(bytes.subarray(0, at), bytes.slice(0, random.int(64)), bytes, at);
    case 6:
      return writeNumber(bytes, random.chance(0.7) ? at % 64 : at, random);
    default:
      return writeNumber(bytes, Math.max(0, bytes.length - 1 - random.int(64)), random);
  }
}

function flipBit(bytes: Uint8Array, at: number, random: Random): Uint8Array {
  return setByte(bytes, at, (bytes[at] ?? 0) ^ (1 << random.int(8)));
}

function setByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const out = bytes.slice();
  if (at < out.length) out[at] = value;
  return out;
}

function randomBytes(count: number, random: Random): Uint8Array {
  return Uint8Array.from({ length: count }, () => random.int(256));
}

/** `head`, `middle`, and what `rest` has from `from` on. */
function concatenate(
  head: Uint8Array,
  middle: Uint8Array,
  rest: Uint8Array,
  from: number,
): Uint8Array {
  return new Uint8Array(Buffer.concat([head, middle, rest.subarray(from)]));
}

/** Writes an edge, or something near what is there, as a number of 2, 4 or 8 bytes. */
function writeNumber(bytes: Uint8Array, at: number, random: Random): Uint8Array {
  const out = bytes.slice();
  const view = new DataView(out.buffer);
  const little = random.chance(0.8);
  const width = random.pick([2, 4, 8]);
  if (at + width > out.length) return out;
  const value = random.pick(edges);
  if (width === 2) view.setUint16(at, value & 0xffff, little);
  else if (width === 4) {
    const near = (view.getUint32(at, little) + random.int(5) - 2) >>> 0;
    view.setUint32(at, random.chance(0.4) ? near : value, little);
  } else {
    const high = random.chance(0.5) ? 0 : random.pick(edges);
    view.setBigUint64(at, (BigInt(high) << 32n) | BigInt(value), little);
  }
  return out;
}

/** Values that take the place of others in JSON. */
const values: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.5,
  1e21,
  1e308,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  "",
  "x",
  "__proto__",
  "constructor",
  "F32",
  "\u0000\ud800",
  [],
  [[]],
  {},
  [0, 0],
  [-1],
  [2 ** 53, 2 ** 53],
  { data: null },
];
const keys: readonly string[] = ["__proto__", "constructor", "toString", "", "length", "0", "\n"];

/** Damages a JSON value: other values, missing and added names, lists that grow, deep nesting. */
export function mutateJson(value: unknown, random: Random): unknown {
  const copy = cloned(value);
  const places: { holder: Record<string, unknown>; key: string }[] = [];
  const root: Record<string, unknown> = { root: copy };
  collect(root, places);
  for (let k = 0; k <= random.int(3); k++) {
    const { holder, key } = random.pick(places);
    damage(holder, key, random);
  }
  return root["root"];
}

/** A copy of a JSON value in which nothing has been damaged yet. */
function cloned(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cloned);
  const copy: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) copy[key] = cloned(part);
  return copy;
}

function collect(holder: object, places: { holder: Record<string, unknown>; key: string }[]): void {
  for (const [key, value] of Object.entries(holder)) {
    places.push({ holder: holder as Record<string, unknown>, key });
    if (typeof value === "object" && value !== null) collect(value as object, places);
  }
}

function define(holder: object, key: string, value: unknown): void {
  // Plain assignment of `__proto__` would set a prototype instead of a name.
  Object.defineProperty(holder, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}

function damage(holder: Record<string, unknown>, key: string, random: Random): void {
  const value = holder[key];
  switch (random.int(6)) {
    case 0:
      if (!Array.isArray(holder)) Reflect.deleteProperty(holder, key);
      return;
    case 1:
      if (!Array.isArray(holder)) define(holder, random.pick(keys), value);
      return;
    case 2:
      if (Array.isArray(value))
        value.push(...(value as unknown[]).slice(0, 3), cloned(random.pick(values)));
      return;
    case 3:
      if (typeof value === "number") define(holder, key, value + random.int(5) - 2);
      return;
    case 4: {
      let deep: unknown = value;
      for (let k = 0; k < random.pick([3, 50, 2000]); k++) deep = [deep];
      define(holder, key, deep);
      return;
    }
    default:
      define(holder, key, cloned(random.pick(values)));
  }
}

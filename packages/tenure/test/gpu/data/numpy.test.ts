/**
 * NumPy's files: archives as NumPy writes them, single arrays, and bytes that are damaged or
 * hostile.
 */
import { deflateRawSync } from "node:zlib";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError } from "tenure";
import { parseNpy, parseNpz } from "tenure/data";
import { crc32 } from "../../../src/data/crc32.ts";
import { rejects, setup } from "../../helpers.ts";
import { compressed, stored } from "./numpy.ts";

await setup();
const test = suite("numpy files");

const bytesOf = (array: ArrayBufferView): number[] => [
  ...new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
];
/** One tensor `t`. */
const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

test("archives as NumPy writes them", async () => {
  const arrays = await parseNpz(fromBase64(compressed)),
    of = (name: string): unknown => {
      const { dtype, shape, data } = arrays.get(name)!;
      return [dtype, shape, [...data]];
    };
  assert.equal(of("f8"), ["float32", [3], [0.1, 1e-3, -2.5].map(Math.fround)]);
  assert.equal(of("f2"), ["float16", [3], [1.5, -0.25, 65504]]);
  assert.equal(of("big"), ["int32", [2, 2], [1, -2, 3, 40000]]);
  assert.equal(of("bigfloat"), ["float32", [2], [1.25, -3]]);
  assert.equal(of("i8"), ["int32", [2], [2 ** 31 - 1, -(2 ** 31)]]);
  assert.equal(of("u1"), ["uint32", [2], [0, 255]]);
  assert.equal(of("b1"), ["bool", [3], [1, 0, 1]]);
  assert.equal(of("fortran"), ["int32", [2, 3, 4], Array.from({ length: 24 }, (_, i) => i)]);
  assert.equal(of("scalar"), ["uint32", [], [7]]);
  assert.equal(of("empty"), ["float32", [0, 3], []]);
  assert.is(arrays.size, 10);
  assert.equal((await parseNpz(fromBase64(stored))).get("a"), {
    dtype: "int32",
    shape: [2],
    data: Int32Array.of(1, 2),
  });
  await rejects(
    () => parseNpz(fromBase64(compressed), { lossy: "error" }),
    ArgumentError,
    /F64 numbers that float32 holds exactly in f8\.npy/,
  );
});

/** An npy file of version 1 from its header's dict and its data. */
function npy(dict: string, data: readonly number[] = [], version = 1): Uint8Array {
  const text = new TextEncoder().encode(dict),
    length =
      version === 1
        ? [text.length & 255, text.length >> 8]
        : [text.length & 255, text.length >> 8, 0, 0];
  return Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0, ...length, ...text, ...data);
}

test("npy files", async () => {
  const dict = (descr: string, shape: string, order = "False"): string =>
    `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': ${shape}, }   \n`;
  const bad = (bytes: Uint8Array, ...patterns: RegExp[]): Promise<void> =>
    rejects(() => parseNpy(bytes), ArgumentError, ...patterns);
  assert.equal(parseNpy(npy(dict("|i1", "(2,)"), [255, 1])).data, Int32Array.of(-1, 1));
  assert.equal(parseNpy(npy(dict("<i2", "(1, 2)"), [1, 0, 0, 1], 3)).data, Int32Array.of(1, 256));
  assert.equal(parseNpy(npy("{'shape': (), 'descr': '>u2', 'fortran_order': True}", [1, 0])), {
    dtype: "uint32",
    shape: [],
    data: Uint32Array.of(256),
  });
  await bad(new Uint8Array(4), /an npy file/);
  await bad(fromBase64(stored), /parseNpz/);
  await bad(npy(dict("|i1", "(1,)"), [1], 4), /version 1, 2 or 3/);
  await bad(npy(dict("|i1", "(1,)")).subarray(0, 30), /header of/);
  await bad(npy(dict("|i1", "(3,)"), [1, 2]), /3 bytes for shape \[3\]/);
  await bad(npy(dict("|i1", "(1,)"), [1, 2]), /1 bytes for shape \[1\], got 2|1 bytes for shape/);
  await bad(npy(dict("|O", "(1,)"), [1]), /numbers or bools/, /astype/);
  await bad(npy(dict("<U3", "(1,)"), [1]), /numbers or bools/);
  await bad(npy(dict("<toString", "(1,)"), [1]), /numbers or bools/);
  await bad(
    npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", [0, 0, 0, 0]),
    /an array of numbers/,
    /fields/,
  );
  await bad(npy(dict("|i1", "(-1,)"), [1]), /descr, fortran_order and shape/);
  await bad(npy(dict("|i1", "(99999999999, 99999999999)")), /bytes for shape/);
  await bad(npy(dict("|i1", `(${"1,".repeat(33)})`), [1]), /at most 32/);
  await bad(npy("{'descr': '|i1', 'fortran_order': False}", [1]), /a header with shape/);
  await bad(
    npy("{'descr': '|i1', 'descr': '|i1', 'fortran_order': False, 'shape': (1,)}", [1]),
    /each key once/,
  );
  await bad(npy("__import__('os')", [1]), /a header \{/);
  await bad(
    npy(dict("<i8", "(1,)"), bytesOf(BigInt64Array.of(2n ** 40n))),
    /I64 numbers that int32 holds/,
  );
});

/** A zip of one file, with fields to spoil. */
function zip(
  data: Uint8Array,
  change: Partial<{
    method: number;
    crc: number;
    size: number;
    packed: Uint8Array;
    flags: number;
    count: number;
    name: string;
    twice: boolean;
    comment: string;
  }> = {},
): Uint8Array {
  const {
    method = 8,
    crc = crc32(data),
    size = data.length,
    packed = method === 8 ? deflateRawSync(data) : data,
    flags = 0,
    name = "a.npy",
    twice = false,
    comment = "",
  } = change;
  const u16 = (n: number): number[] => [n & 255, (n >> 8) & 255],
    u32 = (n: number): number[] => [...u16(n), ...u16(n >>> 16)],
    text = [...new TextEncoder().encode(name)],
    note = [...new TextEncoder().encode(comment)];
  const shared = [
    ...u16(20),
    ...u16(flags),
    ...u16(method),
    ...u32(0),
    ...u32(crc),
    ...u32(packed.length),
    ...u32(size),
    ...u16(text.length),
    ...u16(0),
  ];
  const local = [0x50, 0x4b, 3, 4, ...shared, ...text, ...packed];
  const entry = [
      0x50,
      0x4b,
      1,
      2,
      ...u16(20),
      ...shared,
      ...u16(0),
      ...u16(0),
      ...u16(0),
      ...u32(0),
      ...u32(0),
      ...text,
    ],
    central = twice ? [...entry, ...entry] : entry,
    count = change.count ?? (twice ? 2 : 1);
  return Uint8Array.from([
    ...local,
    ...central,
    0x50,
    0x4b,
    5,
    6,
    ...u16(0),
    ...u16(0),
    ...u16(count),
    ...u16(count),
    ...u32(central.length),
    ...u32(local.length),
    ...u16(note.length),
    ...note,
  ]);
}

test("damaged and hostile archives", async () => {
  const data = npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}", [1, 2]);
  const bad = (bytes: Uint8Array, ...patterns: RegExp[]): Promise<void> =>
    rejects(() => parseNpz(bytes), ArgumentError, ...patterns);
  for (const method of [0, 8])
    assert.equal(
      [...(await parseNpz(zip(data, { method, comment: "hello" }))).get("a")!.data],
      [1, 2],
    );
  await bad(new Uint8Array(10), /a zip archive/);
  await bad(zip(data).subarray(0, -1), /a zip archive/);
  await bad(zip(data).subarray(4), /directory that ends/);
  await bad(zip(data, { crc: 1 }), /the checksum 1/);
  await bad(zip(data, { size: 5 }), /sound deflate data of 5 bytes/);
  await bad(zip(data, { size: data.length + 1 }), /sound deflate data/);
  await bad(zip(data, { size: data.length + 1, method: 0 }), /bytes in "a\.npy"/);
  await bad(zip(data, { packed: new Uint8Array(20).fill(255) }), /sound deflate data/);
  await bad(zip(data, { method: 12 }), /stored or deflated/);
  await bad(zip(data, { flags: 1 }), /without encryption/);
  await bad(zip(data, { count: 9 }), /9 entries/);
  await bad(zip(data, { count: 65535 }), /zip64 locator/);
  await bad(zip(data, { twice: true }), /each file once/);
  await bad(zip(data, { size: 0xffffffff }), /zip64 field/);
  const bomb = zip(new Uint8Array(1 << 20), { size: 1000 });
  await bad(bomb, /sound deflate data of 1000 bytes/);
  await rejects(
    () => parseNpz(zip(data), { maxBytes: 10 }),
    ArgumentError,
    /at most 10 bytes unpacked/,
  );
  await bad(zip(new Uint8Array(3)), /npy file/);
});

test("an archive's claims are not believed", async () => {
  const data = new Uint8Array(deflateRawSync(new Uint8Array(80)));
  const claims = zip(new Uint8Array(80), { packed: data, size: 0xf000_0000 });
  await rejects(() => parseNpz(claims), ArgumentError, /at most \d+ bytes in "a\.npy"/);
  // Within what deflate can do, memory follows what arrives.
  const megabyte = new Uint8Array(deflateRawSync(new Uint8Array(2 ** 20), { level: 0 }));
  const real = Uint8Array;
  let largest = 0;
  globalThis.Uint8Array = new Proxy(real, {
    construct(target, args: unknown[], made) {
      if (typeof args[0] === "number") largest = Math.max(largest, args[0]);
      return Reflect.construct(
        target,
        args,
        made === globalThis.Uint8Array ? target : made,
      ) as object;
    },
  });
  try {
    const lies = zip(new Uint8Array(2 ** 20), { packed: megabyte, size: 2 ** 29 });
    await rejects(() => parseNpz(lies), ArgumentError, /sound deflate data/);
  } finally {
    globalThis.Uint8Array = real;
  }
  assert.ok(largest < 2 ** 22, `took ${largest} bytes at once`);
});

test.run();

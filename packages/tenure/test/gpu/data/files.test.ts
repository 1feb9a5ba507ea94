/**
 * Files: safetensors built byte by byte as PyTorch writes them, and hostile ones; npy and npz as
 * NumPy writes them, and damaged ones.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, scopedAsync, tensor } from "tenure";
import { fromSafetensors, readSafetensors, toSafetensors } from "tenure/data";
import { rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("files");

/** A file from header text and data bytes. */
function file(
  header: string,
  data: Uint8Array | readonly number[] = [],
  length = new TextEncoder().encode(header).length,
): Uint8Array {
  const text = new TextEncoder().encode(header),
    out = new Uint8Array(8 + text.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(length), true);
  out.set(text, 8);
  out.set(data, 8 + text.length);
  return out;
}
const bytesOf = (array: ArrayBufferView): number[] => [
  ...new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
];
/** One tensor `t`. */
const one = (dtype: string, shape: readonly number[], data: readonly number[]): Uint8Array =>
  file(JSON.stringify({ t: { dtype, shape, data_offsets: [0, data.length] } }), data);
const refused = (bytes: Uint8Array, ...patterns: RegExp[]): Promise<void> =>
  rejects(() => fromSafetensors(bytes, "x.safetensors"), ArgumentError, ...patterns);

test("a file as safetensors.torch.save_file lays it out", () => {
  // Sorted by dtype size, then name; header padded with spaces to a multiple of 8.
  let header =
    '{"__metadata__":{"format":"pt"},"fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[8,' +
    '16]},"bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]},' +
    '"fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[16,40]}}';
  header += " ".repeat((8 - (header.length % 8)) % 8);
  const data = [
    ...bytesOf(BigInt64Array.of(5n)),
    ...bytesOf(Float32Array.of(0.5, -1)),
    ...bytesOf(Float32Array.of(1, 2, 3, 4, 5, 6)),
  ];
  const { tensors, metadata } = readSafetensors(file(header, data));
  assert.equal(metadata, { format: "pt" });
  assert.equal([...tensors.keys()].sort(), ["bn.num_batches_tracked", "fc.bias", "fc.weight"]);
  assert.equal(tensors.get("bn.num_batches_tracked"), {
    dtype: "int32",
    shape: [],
    data: Int32Array.of(5),
  });
  assert.equal(tensors.get("fc.weight"), {
    dtype: "float32",
    shape: [2, 3],
    data: Float32Array.of(1, 2, 3, 4, 5, 6),
  });
  assert.equal(tensors.get("fc.bias"), {
    dtype: "float32",
    shape: [2],
    data: Float32Array.of(0.5, -1),
  });
});

test("every dtype", () => {
  const read = (
    dtype: string,
    view: ArrayBufferView,
    lossy: "error" | "round" = "error",
  ): unknown => {
    const { dtype: d, data } = fromSafetensors(
      one(
        dtype,
        [
          view.byteLength /
            ({ F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2 }[
              dtype
            ] ?? 1),
        ],
        bytesOf(view),
      ),
      { lossy },
    ).get("t")!;
    return [d, data.constructor.name, ...data];
  };
  assert.equal(read("F64", Float64Array.of(0.5, -Infinity, NaN)), [
    "float32",
    "Float32Array",
    0.5,
    -Infinity,
    NaN,
  ]);
  assert.equal(read("F64", Float64Array.of(0.1), "round"), [
    "float32",
    "Float32Array",
    Math.fround(0.1),
  ]);
  assert.equal(read("F32", Float32Array.of(1.5, -0)), ["float32", "Float32Array", 1.5, -0]);
  assert.equal(read("F16", Uint16Array.of(0x3e00, 0xb400, 0x7bff, 1)), [
    "float16",
    "Float32Array",
    1.5,
    -0.25,
    65504,
    2 ** -24,
  ]);
  assert.equal(read("BF16", Uint16Array.of(0x3fc0, 0xc040, 0x7f80, 0x7fc0, 0x0001)), [
    "float32",
    "Float32Array",
    1.5,
    -3,
    Infinity,
    NaN,
    2 ** -133,
  ]);
  assert.equal(read("I64", BigInt64Array.of(-(2n ** 31n), 2n ** 31n - 1n)), [
    "int32",
    "Int32Array",
    -(2 ** 31),
    2 ** 31 - 1,
  ]);
  assert.equal(read("U64", BigUint64Array.of(2n ** 32n - 1n)), [
    "uint32",
    "Uint32Array",
    2 ** 32 - 1,
  ]);
  assert.equal(read("I32", Int32Array.of(-7)), ["int32", "Int32Array", -7]);
  assert.equal(read("U32", Uint32Array.of(7)), ["uint32", "Uint32Array", 7]);
  assert.equal(read("I16", Int16Array.of(-7, 300)), ["int32", "Int32Array", -7, 300]);
  assert.equal(read("U16", Uint16Array.of(65535)), ["uint32", "Uint32Array", 65535]);
  assert.equal(read("I8", Int8Array.of(-128, 127)), ["int32", "Int32Array", -128, 127]);
  assert.equal(read("U8", Uint8Array.of(255)), ["uint32", "Uint32Array", 255]);
  assert.equal(read("BOOL", Uint8Array.of(0, 1, 2)), ["bool", "Uint8Array", 0, 1, 1]);
});

test("numbers that would change are refused", async () => {
  await refused(
    one("F64", [2], bytesOf(Float64Array.of(1, 0.1))),
    /F64 numbers that float32 holds exactly in t of x\.safetensors/,
    /0\.1 at position 1/,
    /lossy: "round"/,
  );
  await rejects(
    () => fromSafetensors(one("F64", [1], bytesOf(Float64Array.of(1e300))), { lossy: "round" }),
    ArgumentError,
    /within the range of float32/,
    /1e\+300/,
  );
  await refused(
    one("I64", [1], bytesOf(BigInt64Array.of(2n ** 31n))),
    /I64 numbers that int32 holds/,
    /2147483648 at position 0/,
  );
  await refused(
    one("U64", [1], bytesOf(BigUint64Array.of(2n ** 32n))),
    /U64 numbers that uint32 holds/,
  );
});

test("scalars, empty tensors and odd names", () => {
  const header =
    '{"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],' +
    '"data_offsets":[4,4]},"":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},' +
    '"e0":{"dtype":"I64","shape":[3,0],"data_offsets":[0,0]},"__proto__":{"dtype":"U8",' +
    '"shape":[1],"data_offsets":[5,6]},"\\u00e9\\n":{"dtype":"U8","shape":[1],' +
    '"data_offsets":[6,7]}}';
  const tensors = fromSafetensors(file(header, [0, 0, 128, 63, 9, 8, 7]));
  assert.equal(tensors.get("s"), { dtype: "float32", shape: [], data: Float32Array.of(1) });
  assert.equal(tensors.get("e"), { dtype: "float32", shape: [0, 7], data: new Float32Array(0) });
  assert.equal(tensors.get("e0")!.shape, [3, 0]);
  assert.equal(
    [...tensors.get("")!.data, ...tensors.get("__proto__")!.data, ...tensors.get("é\n")!.data],
    [9, 8, 7],
  );
  assert.is(fromSafetensors(file("{}")).size, 0);
  assert.is(fromSafetensors(file('{"__metadata__":{}}   ')).size, 0);
});

/** A header of one tensor, `t`. */
const t = (entry: string): string => `{"t":${entry}}`;

test("hostile headers", async () => {
  await refused(new Uint8Array(7), /at least 8 bytes/);
  await refused(file("{}", [], 3), /header within the file/);
  await refused(file("{}", [], Number.MAX_SAFE_INTEGER), /header within the file/);
  const huge = file("{}");
  huge.fill(255, 0, 8);
  await refused(huge, /18446744073709551615/);
  await refused(
    Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0, 0, 0, 0),
    /zip archive, as torch\.save writes/,
    /save_file/,
  );
  await refused(file(""), /begins with \{.*got an empty one/);
  await refused(file(" {}"), /begins with \{/);
  await refused(file("[]"), /begins with \{/);
  await refused(file("{} x"), /a JSON header/);
  await refused(file('{"t":'), /a JSON header/);
  await refused(file('{"t'), /JSON header/);
  const invalid = file('{"t":{}}');
  invalid[11] = 0xff;
  await refused(invalid, /a JSON header/); // not UTF-8
  await refused(
    file(
      `{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"t":{"dtype":"U8","shape":[1],` +
        `"data_offsets":[0,1]}}`,
      [1],
    ),
    /each name once/,
    /"t"/,
  );
  await refused(
    file(
      `{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\\u0074":{"dtype":"U8",` +
        `"shape":[1],"data_offsets":[1,2]}}`,
      [1, 2],
    ),
    /each name once/,
  );
  await refused(
    file(t('{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,4]}'), [1, 2, 3, 4]),
    /each name once/,
  );
  await refused(file(`{"t":${"[".repeat(100_000)}`), /at most 3 levels/);
  await refused(
    file('{"t":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}}', [1]),
    /at most 3 levels/,
  );
  await refused(file('{"__metadata__":{"a":1}}'), /metadata/);
  await refused(file('{"__metadata__":"a"}'), /metadata/);
});

test("hostile entries", async () => {
  for (const entry of ["null", "3", '"x"']) await refused(file(t(entry)), /an object for t/);
  await refused(
    file(t('{"dtype":"F4","shape":[1],"data_offsets":[0,1]}'), [1]),
    /a dtype of F64, F32/,
    /"F4"/,
  );
  await refused(file(t('{"dtype":"toString","shape":[1],"data_offsets":[0,1]}'), [1]), /a dtype/);
  for (const shape of ["[-1]", "[1.5]", '["1"]', "1", "[1e999]", "[-0]", `[${"1,".repeat(64)}1]`])
    await refused(
      file(t(`{"dtype":"U8","shape":${shape},"data_offsets":[0,1]}`), [1]),
      /a shape for t/,
    );
  for (const offsets of ["[0]", "[0,1,1]", "[0,-1]", "[0.5,1]", "null"])
    await refused(
      file(t(`{"dtype":"U8","shape":[1],"data_offsets":${offsets}}`), [1]),
      /two offsets for t/,
    );
  await refused(
    file(t('{"dtype":"U8","shape":[9007199254740991,9007199254740991,0],"data_offsets":[0,0]}')),
    /countable number of elements/,
  );
  await refused(
    file(t('{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}')),
    /countable number/,
  );
  await refused(
    file(t('{"dtype":"F32","shape":[2],"data_offsets":[0,4]}'), [0, 0, 0, 0]),
    /8 bytes for t \[2\].*got 4/,
  );
  await refused(file(t('{"dtype":"U8","shape":[1],"data_offsets":[1,0]}'), [0]), /1 bytes for t/);
  await refused(
    file(t('{"dtype":"U8","shape":[1],"data_offsets":[1,2]}'), [0, 0]),
    /to start at 0/,
  ); // a hole
  await refused(
    file(
      '{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],' +
        '"data_offsets":[1,3]}}',
      [0, 0, 0],
    ),
    /b to start at 2/,
  ); // an overlap
  await refused(one("U8", [1], [1, 2]).subarray(0, -1), /1 bytes for t|bytes of tensors/);
  await refused(
    file(t('{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'), [1, 2]),
    /1 bytes of tensors.*got 2/,
  );
  await refused(
    file(t('{"dtype":"U8","shape":[5],"data_offsets":[0,5]}'), [1, 2]),
    /5 bytes of tensors.*got 2/,
  );
});

test("what is written is laid out for readers that map files", () =>
  scopedAsync(async () => {
    const list = [
      ["mask", tensor([true, false, true])],
      ["a", tensor([1.5, 2])],
      ["0", tensor(Int32Array.of(3), { shape: [] })],
      ["__proto__", tensor(4)],
      ["empty", tensor([], { shape: [0, 2] })],
    ] as const;
    const written = toSafetensors(list, { format: "pt" });
    await rejects(() => toSafetensors([list[0], list[0]]), ArgumentError, /each name once/);
    await rejects(
      () => toSafetensors([["__metadata__", list[0][1]]]),
      ArgumentError,
      /each name once/,
    );
    const bytes = await written,
      length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    assert.is(length % 8, 0);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<
      string,
      { dtype: string; shape: number[]; data_offsets: [number, number] }
    >;
    assert.equal(header["mask"], { dtype: "BOOL", shape: [3], data_offsets: [16, 19] });
    assert.equal(header["a"]!.data_offsets, [0, 8]);
    assert.is(bytes.length, 8 + length + 19);
    const back = readSafetensors(bytes);
    assert.equal(back.metadata, { format: "pt" });
    assert.equal(
      [...back.tensors].map(([name, t]) => [name, t.dtype, t.shape, [...t.data]]).sort(),
      [
        ["0", "int32", [], [3]],
        ["__proto__", "float32", [], [4]],
        ["a", "float32", [2], [1.5, 2]],
        ["empty", "float32", [0, 2], []],
        ["mask", "bool", [3], [1, 0, 1]],
      ],
    );
  }));

test.run();

/**
 * Shape and dtype rules as pure functions: broadcasting, axes, promotion, and the numbers that host
 * and device exchange.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type DType,
  checkDType,
  dtypeBytes,
  dtypes,
  isFloat,
  promote,
} from "../../src/base/dtype.ts";
import { DTypeError, ShapeError } from "../../src/base/errors.ts";
import {
  broadcastShapes,
  checkShape,
  normalizeAxes,
  normalizeAxis,
  reducedShape,
  sizeOf,
} from "../../src/base/shape.ts";
import {
  decode,
  encode,
  flatten,
  fromHalf,
  nested,
  preview,
  toHalf,
} from "../../src/tensor/host.ts";

const test = suite("shapes and dtypes");
const dims = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 });

test("broadcasting is NumPy's", () => {
  assert.equal([...broadcastShapes("f", [2, 1, 4], [3, 1])], [2, 3, 4]);
  assert.equal([...broadcastShapes("f", [], [2])], [2]);
  assert.equal([...broadcastShapes("f", [0, 1], [1, 4])], [0, 4]);
  fc.assert(
    fc.property(dims, dims, (a, b) => {
      const rank = Math.max(a.length, b.length),
        x = [...Array<number>(rank - a.length).fill(1), ...a],
        y = [...Array<number>(rank - b.length).fill(1), ...b];
      if (x.some((d, i) => d !== y[i] && d !== 1 && y[i] !== 1)) {
        assert.throws(
          () => broadcastShapes("f", a, b),
          (e: Error) =>
            e instanceof ShapeError &&
            e.message.startsWith("f: expected shapes that broadcast together"),
        );
        return;
      }
      assert.equal(
        [...broadcastShapes("f", a, b)],
        x.map((d, i) => (d === 1 ? y[i]! : d)),
      );
      assert.equal([...broadcastShapes("f", a, b)], [...broadcastShapes("f", b, a)]);
    }),
    { numRuns: 500 },
  );
});

test("axes", () => {
  assert.is(normalizeAxis("f", -1, 3), 2);
  assert.equal(normalizeAxes("f", null, 3), [0, 1, 2]);
  assert.equal(normalizeAxes("f", [-1, 0], 3), [0, 2]);
  assert.equal([...reducedShape([2, 3, 4], [0, 2], false)], [3]);
  assert.equal([...reducedShape([2, 3, 4], [0, 2], true)], [1, 3, 1]);
  for (const bad of [3, -4, 0.5, NaN])
    assert.throws(
      () => normalizeAxis("f", bad, 3),
      (e: Error) => e instanceof ShapeError && /an axis in \[-3, 2\]/.test(e.message),
    );
  assert.throws(
    () => normalizeAxes("f", [1, -2], 3),
    (e: Error) => e instanceof ShapeError && /axis 1 twice/.test(e.message),
  );
});

test("checkShape", () => {
  assert.equal([...checkShape("f", [2, 0])], [2, 0]);
  assert.is(sizeOf([]), 1);
  for (const bad of [[-1], [1.5], [NaN], ["2"], [2 ** 31], [2 ** 20, 2 ** 20]])
    assert.throws(
      () => checkShape("f", bad as number[]),
      (e: Error) => e instanceof ShapeError,
    );
  assert.throws(
    () => checkShape("f", 3 as never),
    (e: Error) => e instanceof ShapeError && /an array of dimensions, got 3/.test(e.message),
  );
});

test("promotion is a lattice in PyTorch's order", () => {
  for (const a of dtypes) {
    assert.is(promote(a, a), a);
    assert.is(checkDType("f", a), a);
    assert.is(dtypeBytes(a), a === "float16" ? 2 : 4);
    for (const b of dtypes) {
      assert.is(promote(a, b), promote(b, a));
      for (const c of dtypes) assert.is(promote(promote(a, b), c), promote(a, promote(b, c)));
    }
  }
  assert.is(promote("bool", "uint32"), "uint32");
  assert.is(promote("int32", "float16"), "float16");
  assert.not(isFloat("int32"));
  for (const bad of ["float64", "toString", 3, undefined, null])
    assert.throws(
      () => checkDType("f", bad),
      (e: Error) =>
        e instanceof DTypeError && e.message.startsWith("f: expected one of bool, uint32"),
    );
});

test("host data", () => {
  const of = (data: Parameters<typeof flatten>[0]): [readonly number[], DType, number[]] => {
    const h = flatten(data);
    return [h.shape, h.dtype, Array.from(h.values)];
  };
  assert.equal(of(3), [[], "float32", [3]]);
  assert.equal(of(true), [[], "bool", [1]]);
  assert.equal(
    of([
      [1, 2],
      [3, 4],
    ]),
    [[2, 2], "float32", [1, 2, 3, 4]],
  );
  assert.equal(of([true, false]), [[2], "bool", [1, 0]]);
  assert.equal(of([true, 2]), [[2], "float32", [1, 2]]);
  assert.equal(of([[], []]), [[2, 0], "float32", []]);
  assert.equal(of([]), [[0], "float32", []]);
  for (const [array, dtype] of [
    [new Int8Array([-1]), "int32"],
    [new Uint8ClampedArray([7]), "uint32"],
    [new Float64Array([0.5]), "float32"],
    [new Uint16Array([9]), "uint32"],
    [new Int32Array([-5]), "int32"],
  ] as const)
    assert.is(flatten(array).dtype, dtype);
});

test("bytes there and back, padded to words", () => {
  for (const dtype of dtypes) {
    const values =
      dtype === "bool"
        ? [1, 0, 1]
        : dtype === "uint32"
          ? [0, 1, 4294967295]
          : dtype === "int32"
            ? [-1, 0, 2147483647]
            : [0.5, -2, 3];
    const bytes = encode(values, dtype);
    assert.is(bytes.byteLength % 4, 0);
    assert.equal(Array.from(decode(dtype, bytes.buffer, 3)), values);
  }
  assert.is(encode([], "float32").byteLength, 4);
  const source = new Float32Array([1, 2]),
    copy = encode(source, "float32");
  source[0] = 9;
  assert.is(new Float32Array(copy.buffer)[0], 1, "always a copy");
});

test("half precision rounds to nearest even and back exactly", () => {
  for (let bits = 0; bits < 65536; bits++) {
    const value = fromHalf(bits);
    if (Number.isNaN(value)) assert.ok(Number.isNaN(fromHalf(toHalf(value))));
    else assert.is(toHalf(value), bits);
  }
  assert.is(fromHalf(toHalf(65519)), 65504);
  assert.is(fromHalf(toHalf(65520)), Infinity);
  assert.is(fromHalf(toHalf(1 + 2 ** -11)), 1);
  assert.is(fromHalf(toHalf(1 + 3 * 2 ** -11)), 1 + 2 ** -9);
  assert.is(toHalf(2 ** -25), 0);
  assert.is(fromHalf(toHalf(3 * 2 ** -26)), 2 ** -24);
  fc.assert(
    fc.property(fc.double({ min: -70000, max: 70000, noNaN: true }), (x) => {
      const got = fromHalf(toHalf(x)),
        unit = Math.max(2 ** -24, 2 ** (Math.floor(Math.log2(Math.abs(x) || 1)) - 10));
      assert.ok(
        Math.abs(x) >= 65520 ? Math.abs(got) === Infinity : Math.abs(got - x) <= unit / 2,
        `${x} became ${got}`,
      );
    }),
    { numRuns: 2000 },
  );
});

test("nested arrays and printing", () => {
  assert.equal(nested([1, 2, 3, 4], [2, 2], "float32"), [
    [1, 2],
    [3, 4],
  ]);
  assert.equal(nested([1, 0], [2], "bool"), [true, false]);
  assert.is(nested([5], [], "int32"), 5);
  assert.is(preview([1, 0.5, NaN], [3], "float32"), "[1, 0.50000, NaN]");
  assert.is(preview([1, 2, 3, 4], [2, 2], "int32"), "[[1, 2],\n [3, 4]]");
  assert.match(
    preview(
      Array.from({ length: 20 }, (_, i) => i),
      [20],
      "int32",
    ),
    /^\[0, 1, 2, ….*17, 18, 19\]$/,
  );
  assert.is(preview([1], [], "bool"), "true");
});

test.run();

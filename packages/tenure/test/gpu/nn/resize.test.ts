/**
 * Borders around images, and images of another size, against plain loops.
 */
import { suite } from "uvu";
import { ArgumentError, ShapeError, scopedAsync, tensor } from "tenure";
import {
  ConstantPad1d,
  ConstantPad2d,
  ReflectionPad1d,
  ReflectionPad2d,
  ReplicationPad1d,
  ReplicationPad2d,
  Upsample,
  ZeroPad1d,
  ZeroPad2d,
  functional as F,
} from "tenure/nn";
import { gradcheck } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";
import { check } from "./spatial.ts";

await setup();
const test = suite("resizing");

/** An image with a border, whose pixels `pixel` finds from the places of the image without. */
const around =
  (
    h: number,
    w: number,
    [left, right, top, bottom]: readonly number[],
    pixel: (x: number[], i: number, j: number) => number,
  ) =>
  (x: number[]): number[] =>
    Array.from({ length: (h + top! + bottom!) * (w + left! + right!) }, (_, o) =>
      pixel(x, Math.floor(o / (w + left! + right!)) - top!, (o % (w + left! + right!)) - left!),
    );
const clamp = (i: number, n: number): number => Math.min(Math.max(i, 0), n - 1),
  mirror = (i: number, n: number): number => {
    const a = Math.abs(i);
    return a < n ? a : 2 * (n - 1) - a;
  };
const fill =
    (value: number) =>
    (x: number[], i: number, j: number): number =>
      i >= 0 && i < 3 && j >= 0 && j < 4 ? x[i * 4 + j]! : value,
  sides = [1, 2, 2, 0];

test("borders of images", async () => {
  await check(
    () => new ConstantPad2d(sides, 2.5),
    [1, 1, 3, 4],
    [1, 1, 5, 7],
    around(3, 4, sides, fill(2.5)),
  );
  await check(
    () => new ConstantPad2d([-1, 1, 0, -1], 7),
    [1, 3, 4],
    [1, 2, 4],
    (x) => [x[1]!, x[2]!, x[3]!, 7, x[5]!, x[6]!, x[7]!, 7],
  );
  await check(
    () => new ZeroPad2d(1),
    [1, 1, 3, 4],
    [1, 1, 5, 6],
    around(3, 4, [1, 1, 1, 1], fill(0)),
  );
  await check(
    () => new ReflectionPad2d(sides),
    [1, 1, 3, 4],
    [1, 1, 5, 7],
    around(3, 4, sides, (x, i, j) => x[mirror(i, 3) * 4 + mirror(j, 4)]!),
  );
  await check(
    () => new ReplicationPad2d(sides),
    [1, 3, 4],
    [1, 5, 7],
    around(3, 4, sides, (x, i, j) => x[clamp(i, 3) * 4 + clamp(j, 4)]!),
  );
});

test("borders of rows, and a gradient", async () => {
  await check(
    () => new ConstantPad1d([1, 2], -1),
    [1, 1, 3],
    [1, 1, 6],
    (x) => [-1, ...x, -1, -1],
  );
  await check(
    () => new ZeroPad1d(1),
    [1, 3],
    [1, 5],
    (x) => [0, ...x, 0],
  );
  await check(
    () => new ReflectionPad1d([2, 1]),
    [1, 1, 3],
    [1, 1, 6],
    ([a, b, c]) => [c!, b!, a!, b!, c!, b!],
  );
  await check(
    () => new ReplicationPad1d([2, 1]),
    [1, 3],
    [1, 6],
    ([a, b, c]) => [a!, a!, a!, b!, c!, c!],
  );
  await gradcheck(
    (x) => {
      using layer = new ReflectionPad2d(1);
      return layer.call(x);
    },
    [{ shape: [1, 2, 3], values: numbers(6, 65) }],
  );
});

test("borders that are refused", async () => {
  await rejects(
    () => new ConstantPad2d([1, 2], 0),
    ArgumentError,
    /^ConstantPad2d: .* an integer or 4 of them, got \[1,2\]; .*\[left, right, top, bottom\]/,
  );
  await rejects(
    () => new ReflectionPad1d(-1),
    ArgumentError,
    /^ReflectionPad1d: expected a border to be a whole number of 0 or more/,
  );
  await rejects(
    () => new ConstantPad1d(1, "0" as never),
    ArgumentError,
    /^ConstantPad1d: expected the filling to be a number, got "0"/,
  );
  await scopedAsync(async () => {
    using layer = new ReflectionPad1d(3);
    await rejects(() => layer.call(tensor([[[1, 2, 3]]])), ShapeError, /border narrower/);
    await rejects(
      () => layer.call(tensor([1])),
      ShapeError,
      /^ReflectionPad1d: expected a tensor of rank 3/,
    );
  });
});

/** Two channels resized, by a weighted mean of the pixels around the place `at` says. */
const interpolate =
  (
    h: number,
    w: number,
    p: number,
    q: number,
    at: (i: number, from: number, to: number) => number,
  ) =>
  (x: number[]): number[] =>
    Array.from({ length: 2 * p * q }, (_, o) => {
      const c = Math.floor(o / (p * q)),
        y = at(Math.floor(o / q) % p, h, p),
        z = at(o % q, w, q),
        pixel = (i: number, j: number): number =>
          x[(c * h + Math.min(i, h - 1)) * w + Math.min(j, w - 1)]!;
      const [i, j, a, b] = [Math.floor(y), Math.floor(z), y % 1, z % 1];
      return (
        (1 - a) * ((1 - b) * pixel(i, j) + b * pixel(i, j + 1)) +
        a * ((1 - b) * pixel(i + 1, j) + b * pixel(i + 1, j + 1))
      );
    });
const nearest = (i: number, from: number, to: number): number => Math.floor((i * from) / to),
  half = (i: number, from: number, to: number): number =>
    Math.max(((i + 0.5) * from) / to - 0.5, 0),
  corners = (i: number, from: number, to: number): number =>
    to === 1 ? 0 : (i * (from - 1)) / (to - 1);

test("upsampling", async () => {
  await check(
    () => new Upsample({ scaleFactor: 2 }),
    [1, 2, 2, 3],
    [1, 2, 4, 6],
    interpolate(2, 3, 4, 6, nearest),
  );
  await check(
    () => new Upsample({ size: [5, 2] }),
    [1, 2, 3, 4],
    [1, 2, 5, 2],
    interpolate(3, 4, 5, 2, nearest),
  );
  await check(
    () => new Upsample({ scaleFactor: [2, 3], mode: "bilinear" }),
    [1, 2, 3, 2],
    [1, 2, 6, 6],
    interpolate(3, 2, 6, 6, half),
  );
  await check(
    () => new Upsample({ size: 5, mode: "bilinear", alignCorners: true }),
    [1, 2, 3, 4],
    [1, 2, 5, 5],
    interpolate(3, 4, 5, 5, corners),
  );
  await check(
    () => new Upsample({ size: 1, mode: "bilinear", alignCorners: true }),
    [1, 2, 3, 4],
    [1, 2, 1, 1],
    interpolate(3, 4, 1, 1, corners),
  );
  await check(
    () => new Upsample({ size: [2, 3], mode: "bilinear" }),
    [1, 2, 5, 7],
    [1, 2, 2, 3],
    interpolate(5, 7, 2, 3, half),
  );
});

test("upsampling by a factor that is not the ratio of the sizes", async () => {
  // Positions step by 1 / factor all the same.
  const by =
    (f: number, middle: boolean) =>
    (i: number): number =>
      middle ? Math.max((i + 0.5) / f - 0.5, 0) : Math.floor(i / f);
  await check(
    () => new Upsample({ scaleFactor: 1.5 }),
    [1, 2, 3, 5],
    [1, 2, 4, 7],
    interpolate(3, 5, 4, 7, by(1.5, false)),
  );
  await check(
    () => new Upsample({ scaleFactor: 1.7, mode: "bilinear" }),
    [1, 2, 3, 5],
    [1, 2, 5, 8],
    interpolate(3, 5, 5, 8, by(1.7, true)),
    1e-4,
  );
  await check(
    () => new Upsample({ scaleFactor: 0.6, mode: "bilinear" }),
    [1, 2, 6, 7],
    [1, 2, 3, 4],
    interpolate(6, 7, 3, 4, by(0.6, true)),
    1e-4,
  );
});

test("upsampling: gradients, and what is refused", async () => {
  for (const mode of ["nearest", "bilinear"] as const)
    for (const scaleFactor of [1.7, 0.6])
      await gradcheck(
        (x) => F.upsample(x, { scaleFactor, mode }),
        [{ shape: [1, 1, 3, 4], values: numbers(12, 66) }],
      );
  await gradcheck(
    (x) => {
      using up = new Upsample({ scaleFactor: 2, mode: "bilinear" });
      return up.call(x);
    },
    [{ shape: [1, 1, 2, 3], values: numbers(6, 62) }],
  );
  await rejects(
    () => new Upsample({}),
    ArgumentError,
    /either a size or a scaleFactor, got neither/,
  );
  await rejects(() => new Upsample({ size: 2, scaleFactor: 2 }), ArgumentError, /got both/);
  await rejects(
    () => new Upsample({ size: 1.5 }),
    ArgumentError,
    /size to be a positive integer or a pair of them, got 1\.5/,
  );
  await rejects(() => new Upsample({ size: 2, alignCorners: true }), ArgumentError, /alignCorners/);
});

test.run();

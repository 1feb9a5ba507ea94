/**
 * Pooling over windows, and into a given number of bins, against plain loops.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, scopedAsync, tensor } from "tenure";
import {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AvgPool1d,
  AvgPool2d,
  MaxPool1d,
  MaxPool2d,
  functional as F,
} from "tenure/nn";
import { assertClose, assertNoLeaks, gradcheck } from "tenure/testing";
import { rejects, setup } from "../../helpers.ts";
import { check, sum } from "./spatial.ts";

await setup();
const test = suite("pooling");

test("pooling", async () => {
  const windows = (
    x: readonly number[],
    L: number,
    k: number,
    stride: number,
    pad: number,
    f: (inside: number[]) => number,
  ): number[] =>
    Array.from({ length: x.length / L }, (_, row) =>
      Array.from({ length: Math.floor((L + 2 * pad - k) / stride) + 1 }, (_unused, i) =>
        f(
          Array.from({ length: k }, (_2, j) => i * stride - pad + j)
            .filter((p) => p >= 0 && p < L)
            .map((p) => x[row * L + p]!),
        ),
      ),
    ).flat();
  await check(
    () => new MaxPool1d(3, { stride: 2, padding: 1 }),
    [2, 3, 7],
    [2, 3, 4],
    (x) => windows(x, 7, 3, 2, 1, (v) => Math.max(...v)),
  );
  await check(
    () => new MaxPool1d(2),
    [1, 2, 5],
    [1, 2, 2],
    (x) => windows(x, 5, 2, 2, 0, (v) => Math.max(...v)),
  );
  await check(
    () => new AvgPool1d(3, { stride: 2, padding: 1 }),
    [2, 3, 7],
    [2, 3, 4],
    (x) => windows(x, 7, 3, 2, 1, (v) => sum(v) / 3),
  );
  await check(
    () => new AvgPool1d(3, { stride: 2, padding: 1, countIncludePad: false }),
    [2, 3, 7],
    [2, 3, 4],
    (x) => windows(x, 7, 3, 2, 1, (v) => sum(v) / v.length),
  );
  await check(
    () => new AvgPool2d([2, 3]),
    [1, 2, 4, 6],
    [1, 2, 2, 2],
    (x) =>
      Array.from({ length: 8 }, (_, o) => {
        const c = Math.floor(o / 4),
          i = Math.floor(o / 2) % 2,
          j = o % 2;
        let s = 0;
        for (let u = 0; u < 2; u++)
          for (let v = 0; v < 3; v++) s += x[c * 24 + (2 * i + u) * 6 + 3 * j + v]!;
        return s / 6;
      }),
  );
});

test("pooling past the end, and where the maxima were", async () => {
  // torch: x = 0 … 4 with kernel 2, stride 2: floor gives [1, 3], ceil adds the lone 4; the mean of
  // the last window has one element to count.
  await check(
    () => new MaxPool1d(2, { ceilMode: true }),
    [1, 1, 5],
    [1, 1, 3],
    (x) => [Math.max(x[0]!, x[1]!), Math.max(x[2]!, x[3]!), x[4]!],
  );
  await check(
    () => new AvgPool1d(2, { ceilMode: true }),
    [1, 1, 5],
    [1, 1, 3],
    (x) => [(x[0]! + x[1]!) / 2, (x[2]! + x[3]!) / 2, x[4]!],
  );
  await check(
    () => new AvgPool1d(4, { stride: 3, padding: 1, ceilMode: true }),
    [1, 1, 6],
    [1, 1, 3],
    (x) => [(x[0]! + x[1]! + x[2]!) / 4, (x[2]! + x[3]! + x[4]! + x[5]!) / 4, x[5]! / 2],
  );
  await check(
    () => new MaxPool2d(2, { ceilMode: true }),
    [1, 1, 3, 3],
    [1, 1, 2, 2],
    (x) => [
      Math.max(x[0]!, x[1]!, x[3]!, x[4]!),
      Math.max(x[2]!, x[5]!),
      Math.max(x[6]!, x[7]!),
      x[8]!,
    ],
  );
  await check(
    () => new AvgPool2d(2, { ceilMode: true }),
    [1, 1, 3, 3],
    [1, 1, 2, 2],
    (x) => [(x[0]! + x[1]! + x[3]! + x[4]!) / 4, (x[2]! + x[5]!) / 2, (x[6]! + x[7]!) / 2, x[8]!],
  );
  await assertNoLeaks(() =>
    scopedAsync(async () => {
      const x = tensor([
        [
          [
            [1, 9, 2],
            [9, 0, 3],
            [-1, -2, NaN],
          ],
        ],
        [
          [
            [-Infinity, -Infinity, 0],
            [-Infinity, -Infinity, 1],
            [2, 3, 4],
          ],
        ],
      ]);
      const two = F.maxPool2dWithIndices(x, 2, { stride: 1 }),
        one = F.maxPool1dWithIndices(tensor([[[5, 7, 7, 1, 8]]]), 2, { ceilMode: true });
      await assertClose(two.values, [9, 9, 9, NaN, -Infinity, 1, 3, 4], 0);
      await assertClose(two.indices, [1, 1, 3, 8, 0, 5, 7, 8], 0);
      assert.is(two.indices.dtype, "int32");
      await Promise.all([
        assertClose(one.values, [7, 7, 8], 0),
        assertClose(one.indices, [1, 2, 4], 0),
      ]);
      await rejects(
        () => F.maxPool2dWithIndices(tensor([1]), 2),
        ShapeError,
        /images \[N, C, H, W\]/,
      );
    }),
  );
});

/** Bins of PyTorch's adaptive pooling. */
const bin = (i: number, from: number, to: number): [number, number] => [
  Math.floor((i * from) / to),
  Math.ceil(((i + 1) * from) / to),
];

test("adaptive pooling", async () => {
  for (const [h, w, p, q] of [
    [5, 7, 3, 2],
    [4, 6, 2, 3],
    [3, 3, 1, 1],
    [2, 3, 4, 3],
    [3, 5, 3, 2],
  ] as const) {
    await check(
      () => new AdaptiveAvgPool2d([p, q]),
      [2, 2, h, w],
      [2, 2, p, q],
      (x) =>
        Array.from({ length: 4 * p * q }, (_, o) => {
          const c = Math.floor(o / (p * q)),
            [y0, y1] = bin(Math.floor(o / q) % p, h, p),
            [x0, x1] = bin(o % q, w, q),
            list: number[] = [];
          for (let y = y0; y < y1; y++)
            for (let z = x0; z < x1; z++) list.push(x[(c * h + y) * w + z]!);
          return sum(list) / list.length;
        }),
    );
    await check(
      () => new AdaptiveMaxPool2d([p, q]),
      [2, 2, h, w],
      [2, 2, p, q],
      (x) =>
        Array.from({ length: 4 * p * q }, (_, o) => {
          const c = Math.floor(o / (p * q)),
            [y0, y1] = bin(Math.floor(o / q) % p, h, p),
            [x0, x1] = bin(o % q, w, q),
            list: number[] = [];
          for (let y = y0; y < y1; y++)
            for (let z = x0; z < x1; z++) list.push(x[(c * h + y) * w + z]!);
          return Math.max(...list);
        }),
      0,
    );
  }
});

test("adaptive pooling of rows, gradients, and what is refused", async () => {
  await check(
    () => new AdaptiveMaxPool1d(3),
    [1, 2, 7],
    [1, 2, 3],
    (x) =>
      Array.from({ length: 6 }, (_, o) => {
        const [from, to] = bin(o % 3, 7, 3);
        return Math.max(
          ...x.slice(7 * Math.floor(o / 3), 7 * Math.floor(o / 3) + 7).slice(from, to),
        );
      }),
    0,
  );
  for (const size of [
    [2, 2],
    [3, 2],
  ] as const)
    await gradcheck(
      (x) => F.adaptiveMaxPool2d(x, size),
      [{ shape: [1, 1, 5, 4], values: Array.from({ length: 20 }, (_, k) => ((k * 7) % 20) / 5) }],
    );
  await rejects(() => new AdaptiveMaxPool2d(0), ArgumentError, /outputSize/);
  await scopedAsync(async () => {
    await rejects(() => F.adaptiveMaxPool2d(tensor([1]), 2), ShapeError, /images \[N, C, H, W\]/);
    await rejects(
      () => F.adaptiveMaxPool1d(tensor([[[1]]]), 1.5),
      ArgumentError,
      /size to be a positive integer, got 1\.5/,
    );
  });
  await check(
    () => new AdaptiveAvgPool1d(3),
    [1, 2, 7],
    [1, 2, 3],
    (x) =>
      Array.from({ length: 6 }, (_, o) => {
        const [from, to] = bin(o % 3, 7, 3),
          row = x.slice(7 * Math.floor(o / 3), 7 * Math.floor(o / 3) + 7);
        return sum(row.slice(from, to)) / (to - from);
      }),
  );
  await rejects(() => new AdaptiveAvgPool2d(0), ArgumentError, /outputSize/);
});

test.run();

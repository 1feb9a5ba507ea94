/**
 * Layers over space against float64 loops written from PyTorch's documented formulas, and their
 * gradients.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, type Tensor, scopedAsync, tensor } from "tenure";
import {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AvgPool1d,
  AvgPool2d,
  ConstantPad1d,
  ConstantPad2d,
  Conv1d,
  ConvTranspose1d,
  ConvTranspose2d,
  MaxPool1d,
  MaxPool2d,
  type Module,
  ReflectionPad1d,
  ReflectionPad2d,
  ReplicationPad1d,
  ReplicationPad2d,
  Upsample,
  ZeroPad1d,
  ZeroPad2d,
  functional as F,
} from "tenure/nn";
import { assertClose, assertNoLeaks, gradcheck } from "tenure/testing";
import { count, numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("spatial");

const sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0);
const data = async (t: Tensor | null): Promise<number[]> =>
  t === null ? [] : [...(await t.data())];
/** Checks a module on numbers of a shape; nothing may leak. */
function check<M extends Module>(
  make: () => M,
  shape: readonly number[],
  outShape: readonly number[],
  reference: (x: number[], module: M) => number[] | Promise<number[]>,
  tolerance = 1e-5,
): Promise<void> {
  return assertNoLeaks(() =>
    scopedAsync(async () => {
      using module = make();
      const x = numbers(count(shape), 60),
        y = module.call(tensor(x, { shape }));
      assert.equal(y.shape, outShape);
      await assertClose(y, await reference(x, module), tolerance);
    }),
  );
}

test("Conv1d", async () => {
  await check(
    () => new Conv1d(4, 6, 3, { stride: 2, padding: 2, dilation: 2, groups: 2 }),
    [2, 4, 7],
    [2, 6, 4],
    async (x, layer) => {
      assert.equal(
        [...layer.namedParameters()].map(([n, p]) => [n, p.shape]),
        [
          ["weight", [6, 2, 3]],
          ["bias", [6]],
        ],
      );
      const [w, b] = [await data(layer.weight), await data(layer.bias)],
        out: number[] = [];
      for (let n = 0; n < 2; n++)
        for (let o = 0; o < 6; o++)
          for (let i = 0; i < 4; i++) {
            let s = b[o]!;
            for (let c = 0; c < 2; c++)
              for (let k = 0; k < 3; k++) {
                const at = 2 * i - 2 + 2 * k;
                if (at >= 0 && at < 7)
                  s += x[(n * 4 + Math.floor(o / 3) * 2 + c) * 7 + at]! * w[(o * 2 + c) * 3 + k]!;
              }
            out.push(s);
          }
      return out;
    },
  );
  await rejects(() => new Conv1d(4, 6, 0), ArgumentError, /kernelSize/);
  await scopedAsync(async () => {
    using layer = new Conv1d(1, 1, 1);
    await rejects(() => layer.call(tensor([[1]])), ShapeError, /expected a tensor \[N, C, L\]/);
  });
});

for (const [stride, padding, dilation, groups, outputPadding] of [
  [1, 0, 1, 1, 0],
  [2, 1, 1, 2, 1],
  [[2, 3], [1, 0], [2, 1], 1, [1, 2]],
] as const) {
  test(`ConvTranspose2d: stride ${stride}, padding ${padding}, groups ${groups}`, () => {
    const two = (v: number | readonly number[]): readonly number[] =>
      typeof v === "number" ? [v, v] : v;
    const C = 4,
      O = 6,
      H = 3,
      W = 4,
      [R, S] = [3, 2],
      [u, p, d, e] = [two(stride), two(padding), two(dilation), two(outputPadding)];
    const P = (H - 1) * u[0]! - 2 * p[0]! + d[0]! * (R - 1) + e[0]! + 1,
      Q = (W - 1) * u[1]! - 2 * p[1]! + d[1]! * (S - 1) + e[1]! + 1;
    return check(
      () => new ConvTranspose2d(C, O, [R, S], { stride, padding, dilation, groups, outputPadding }),
      [2, C, H, W],
      [2, O, P, Q],
      async (x, layer) => {
        assert.equal(layer.weight.shape, [C, O / groups, R, S]);
        const [w, b] = [await data(layer.weight), await data(layer.bias)],
          out = Array.from({ length: 2 * O * P * Q }, (_, i) => b[Math.floor(i / (P * Q)) % O]!);
        for (let n = 0; n < 2; n++)
          for (let c = 0; c < C; c++)
            for (let i = 0; i < H; i++)
              for (let j = 0; j < W; j++)
                for (let o = 0; o < O / groups; o++)
                  for (let r = 0; r < R; r++)
                    for (let s = 0; s < S; s++) {
                      const y = i * u[0]! - p[0]! + r * d[0]!,
                        z = j * u[1]! - p[1]! + s * d[1]!,
                        channel = Math.floor(c / (C / groups)) * (O / groups) + o;
                      if (y >= 0 && y < P && z >= 0 && z < Q)
                        out[((n * O + channel) * P + y) * Q + z]! +=
                          x[((n * C + c) * H + i) * W + j]! *
                          w[((c * (O / groups) + o) * R + r) * S + s]!;
                    }
        return out;
      },
    );
  });
}

for (const [stride, padding, dilation, groups, outputPadding] of [
  [1, 0, 1, 1, 0],
  [3, 1, 2, 2, 2],
] as const) {
  test(`ConvTranspose1d, stride ${stride}`, () => {
    const C = 4,
      O = 6,
      L = 5,
      K = 3,
      Q = (L - 1) * stride - 2 * padding + dilation * (K - 1) + outputPadding + 1;
    return check(
      () => new ConvTranspose1d(C, O, K, { stride, padding, dilation, groups, outputPadding }),
      [2, C, L],
      [2, O, Q],
      async (x, layer) => {
        assert.equal(
          [...layer.namedParameters()].map(([n, p]) => [n, p.shape]),
          [
            ["weight", [C, O / groups, K]],
            ["bias", [O]],
          ],
        );
        const [w, b] = [await data(layer.weight), await data(layer.bias)],
          out = Array.from({ length: 2 * O * Q }, (_, i) => b[Math.floor(i / Q) % O]!);
        for (let n = 0; n < 2; n++)
          for (let c = 0; c < C; c++)
            for (let i = 0; i < L; i++)
              for (let o = 0; o < O / groups; o++)
                for (let k = 0; k < K; k++) {
                  const at = i * stride - padding + k * dilation,
                    channel = Math.floor(c / (C / groups)) * (O / groups) + o;
                  if (at >= 0 && at < Q)
                    out[(n * O + channel) * Q + at]! +=
                      x[(n * C + c) * L + i]! * w[(c * (O / groups) + o) * K + k]!;
                }
        return out;
      },
    );
  });
}

test("ConvTranspose1d: gradient and refusals", async () => {
  await gradcheck(
    (x, w, b) => F.convTranspose1d(x, w, b, { stride: 2, padding: 1, outputPadding: 1 }),
    [
      { shape: [1, 2, 3], values: numbers(6, 63) },
      { shape: [2, 1, 3], values: numbers(6, 64) },
      { shape: [1], values: [0.5] },
    ],
  );
  await rejects(
    () => new ConvTranspose1d(2, 3, 2, { outputPadding: 1 }),
    ArgumentError,
    /^ConvTranspose1d: expected an outputPadding below the stride 1, got 1; /,
  );
  await rejects(() => new ConvTranspose1d(3, 4, 2, { groups: 2 }), ArgumentError, /groups/);
  await scopedAsync(async () => {
    using layer = new ConvTranspose1d(1, 1, 1);
    await rejects(() => layer.call(tensor([[1]])), ShapeError, /expected a tensor \[N, C, L\]/);
  });
});

test("ConvTranspose2d learns, and refuses what does not fit", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using layer = new ConvTranspose2d(2, 3, 2, { stride: 2 });
      layer
        .call(tensor(numbers(8, 61), { shape: [1, 2, 2, 2] }))
        .square()
        .sum()
        .backward();
      assert.ok(layer.parameters().every((p) => p.hasGrad));
      await rejects(() => layer.call(tensor([1])), ShapeError, /H, W\]/);
      await rejects(
        () => new ConvTranspose2d(2, 3, 2, { outputPadding: 1 }),
        ArgumentError,
        /below the stride/,
      );
      await rejects(() => new ConvTranspose2d(3, 4, 2, { groups: 2 }), ArgumentError, /groups/);
      await rejects(() => new ConvTranspose2d(0, 4, 2), ArgumentError, /inChannels/);
    }),
  ));

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

test("borders", async () => {
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
  await rejects(
    () => new ConstantPad2d([1, 2], 0),
    ArgumentError,
    /^ConstantPad2d: expected a whole number, or \[left, right, top, bottom\], got \[1,2\]/,
  );
  await rejects(
    () => new ReflectionPad1d(-1),
    ArgumentError,
    /^ReflectionPad1d: expected a whole number of 0 or more/,
  );
  await rejects(
    () => new ConstantPad1d(1, "0" as never),
    ArgumentError,
    /^ConstantPad1d: expected a number to fill with, got "0"/,
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
      /size of 1 or more/,
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

test("upsampling", async () => {
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
  // A factor that is not the ratio of the sizes: positions step by 1 / factor all the same.
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
  await rejects(() => new Upsample({ size: 1.5 }), ArgumentError, /positive size/);
  await rejects(() => new Upsample({ size: 2, alignCorners: true }), ArgumentError, /alignCorners/);
});

test.run();

/**
 * Convolutions over one dimension and transposed ones against plain loops.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, scopedAsync, tensor } from "tenure";
import { Conv1d, ConvTranspose1d, ConvTranspose2d, functional as F } from "tenure/nn";
import { assertNoLeaks, gradcheck } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";
import { check, data } from "./spatial.ts";

await setup();
const test = suite("convolutions");

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
    /^ConvTranspose1d: expected an outputPadding below the stride or the dilation, got 1; /,
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

test.run();

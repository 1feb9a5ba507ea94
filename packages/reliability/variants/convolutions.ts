/**
 * Random convolutions with their two gradients: strides, padding, dilation, groups, windows of one
 * pixel and of more than seven, sides of odd length, batches of nothing. Owns nothing.
 */
import { type Tensor, grad } from "tenure";
import { functional as F } from "tenure/nn";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import type { Random } from "../random.ts";
import { type Family, anyView, exactly, whole } from "./problem.ts";

interface Window {
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly groups: number;
}

interface Sizes extends Window {
  readonly x: readonly [number, number, number, number];
  readonly w: readonly [number, number, number, number];
  readonly y: readonly [number, number, number, number];
}

const pairOf = (random: Random, list: readonly number[]): readonly [number, number] => {
  const first = random.pick(list);
  return random.chance(0.6) ? [first, first] : [first, random.pick(list)];
};

/** Sizes with at least one output pixel. */
function sizes(random: Random): Sizes {
  for (;;) {
    const groups = random.pick([1, 1, 1, 2, 3]);
    const each = random.pick([1, 1, 2, 3, 5]);
    const outs = random.pick([1, 2, 3, 4, 5, 7, 8, 17]);
    const [R, S] = pairOf(random, [1, 1, 2, 3, 3, 5, 7, 8]);
    const [H, W] = pairOf(random, [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17]);
    const stride = pairOf(random, [1, 1, 2, 3]);
    const padding = pairOf(random, [0, 0, 1, 2, 3]);
    const dilation = pairOf(random, [1, 1, 1, 2, 3]);
    const out = (size: number, taps: number, d: 0 | 1): number =>
      Math.floor((size + 2 * padding[d] - dilation[d] * (taps - 1) - 1) / stride[d]) + 1;
    const [P, Q] = [out(H, R, 0), out(W, S, 1)];
    const N = random.chance(0.04) ? 0 : random.pick([1, 1, 2, 3]);
    if (P < 1 || Q < 1) continue;
    const [C, O] = [groups * each, groups * outs];
    if (Math.max(N, 1) * O * P * Q * each * R * S > 600_000) continue;
    const window = { stride, padding, dilation, groups };
    return { x: [N, C, H, W], w: [O, each, R, S], y: [N, O, P, Q], ...window };
  }
}

/** Calls `visit` for every product: flat positions of input, weight and output. */
function convolve(s: Sizes, visit: (x: number, w: number, y: number) => void): void {
  const [N, C, H, W] = s.x;
  const [O, each, R, S] = s.w;
  const [, , P, Q] = s.y;
  for (let n = 0; n < N; n++)
    for (let o = 0; o < O; o++)
      for (let p = 0; p < P; p++)
        for (let q = 0; q < Q; q++)
          for (let c = 0; c < each; c++)
            for (let r = 0; r < R; r++) {
              const row = p * s.stride[0] - s.padding[0] + r * s.dilation[0];
              if (row < 0 || row >= H) continue;
              const plane = n * C + Math.floor(o / (O / s.groups)) * each + c;
              for (let t = 0; t < S; t++) {
                const column = q * s.stride[1] - s.padding[1] + t * s.dilation[1];
                if (column < 0 || column >= W) continue;
                visit(
                  (plane * H + row) * W + column,
                  ((o * each + c) * R + r) * S + t,
                  ((n * O + o) * P + p) * Q + q,
                );
              }
            }
}

/** A convolution, and both gradients. */
export const convolution: Family = (random) => {
  const s = sizes(random);
  const x = whole(random, s.x);
  const w = whole(random, s.w);
  const g = whole(random, s.y);
  const bias = random.chance(0.5) ? [whole(random, [s.w[0]])] : [];
  const relu = random.chance(0.3);
  const y = new Float64Array(sizeOf(s.y));
  const dx = new Float64Array(sizeOf(s.x));
  const dw = new Float64Array(sizeOf(s.w));
  convolve(s, (i, k, o) => {
    y[o]! += (x.values[i] ?? 0) * (w.values[k] ?? 0);
  });
  const plane = s.y[2] * s.y[3];
  const [b] = bias;
  for (let o = 0; o < y.length; o++) y[o]! += b?.values[Math.floor(o / plane) % s.y[1]] ?? 0;
  const passes = (o: number): boolean => !relu || (y[o] ?? 0) > 0;
  convolve(s, (i, k, o) => {
    const given = passes(o) ? (g.values[o] ?? 0) : 0;
    dx[i]! += given * (w.values[k] ?? 0);
    dw[k]! += given * (x.values[i] ?? 0);
  });
  const { stride, padding, dilation, groups } = s;
  const options = { stride, padding, dilation, groups };
  return {
    label:
      `[${s.x.join()}] with [${s.w.join()}] ${JSON.stringify(options)}` +
      `${b === undefined ? "" : ", bias"}${relu ? ", relu" : ""}`,
    inputs: [x, w, g, ...bias],
    views: [anyView(random), anyView(random), anyView(random), "plain"],
    run: ([tx, tw, tg, tb]) => {
      const forward = (a: Tensor, v: Tensor): Tensor => {
        const out = F.conv2d(a, v, tb ?? null, options);
        return relu ? out.relu() : out;
      };
      const found = grad((a: Tensor, v: Tensor) => forward(a, v).mul(tg!).sum())(tx!, tw!);
      return [forward(tx!, tw!), ...found.map((t) => t!)];
    },
    expected: [
      exactly(
        s.y,
        y.map((v) => (relu ? Math.max(0, v) : v)),
      ),
      exactly(s.x, dx),
      exactly(s.w, dw),
    ],
  };
};

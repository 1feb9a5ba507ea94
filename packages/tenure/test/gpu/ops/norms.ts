/**
 * Cases of products over axes, statistics, normalisations and attention weights, from their
 * definitions in float64. Gradients that are ops of their own are compared with the chain rule
 * written out.
 */
import { f32Bits } from "../../../src/base/bits.ts";
import { broadcastAt, count, indices, numbers } from "../../helpers.ts";
import type { Case, GradCase } from "./cases.ts";
import { type Host, type ViewKind, at, build, host, store } from "./host.ts";

const kinds: readonly ViewKind[] = ["plain", "transposed", "sliced", "offset"];
const turns = (n: number): ViewKind[][] =>
  kinds.map((_, k) => Array.from({ length: n }, (_x, i) => kinds[(k + i) % kinds.length]!));
const floats = (shape: readonly number[], seed: number, low = -2, high = 2): Host =>
  host(shape, numbers(count(shape), seed, low, high));
const whole = (shape: readonly number[], seed: number): Host =>
  host(
    shape,
    numbers(count(shape), seed, -4, 4).map((x) => Math.trunc(x) + 0),
    "int32",
  );
const value = (h: Host, i: readonly number[]): number => h.values[broadcastAt(h.shape, i)]!;

/** Every kept position, with the positions it is reduced from. */
function reduced(
  shape: readonly number[],
  axes: readonly number[],
  keepDims: boolean,
): { shape: readonly number[]; groups: number[][][] } {
  const kept = shape.map((d, i) => (axes.includes(i) ? 1 : d)),
    over = shape.map((d, i) => (axes.includes(i) ? d : 1));
  return {
    shape: keepDims ? kept : kept.filter((_, i) => !axes.includes(i)),
    groups: [...indices(kept)].map((o) =>
      [...indices(over)].map((r) => o.map((v, k) => v + r[k]!)),
    ),
  };
}

type Fold = (positions: readonly (readonly number[])[]) => number;

function folding(
  label: string,
  inputs: readonly Host[],
  axes: readonly number[],
  keepDims: boolean,
  f: Fold,
  more: Partial<Case> = {},
): Case {
  const { shape, groups } = reduced(inputs[0]!.shape, axes, keepDims);
  return {
    label: `${label} [${inputs[0]!.shape.join()}] over ${axes.join()}`,
    inputs,
    attrs: { axes, keepDims },
    expected: [host(shape, groups.map(f), inputs[0]!.dtype)],
    rel: 1e-5,
    abs: 1e-5,
    views: turns(inputs.length),
    ...more,
  };
}

const axesOf = [
  [[5, 7], [1]],
  [[5, 7], [0]],
  [
    [3, 4, 8],
    [0, 2],
  ],
  [[3, 4, 8], [1]],
  [
    [2, 40],
    [0, 1],
  ],
  [[0, 3], [0]],
] as const;

function sumOfProductsCases(): Case[] {
  const one = (a: Host, b: Host, axes: readonly number[], keepDims: boolean): Case =>
    folding(a.dtype, [a, b], axes, keepDims, (g) =>
      store(
        a.dtype,
        g.reduce((s, i) => s + value(a, i) * value(b, i), 0),
      ),
    );
  return [
    ...axesOf.map(([shape, axes], k) =>
      one(floats(shape, 400 + k), floats(shape, 410 + k), axes, k % 2 === 0),
    ),
    one(whole([4, 6], 420), whole([4, 6], 421), [1], false),
  ];
}

function squaredDeviationCases(): Case[] {
  return axesOf.map(([shape, axes], k) => {
    const x = floats(shape, 422 + k),
      centre = floats(reduced(shape, axes, true).shape, 430 + k);
    return folding(
      "",
      [x, centre],
      axes,
      k % 2 === 0,
      (g) => 0.25 * g.reduce((s, i) => s + (value(x, i) - value(centre, i)) ** 2, 0),
      { words: [f32Bits(0.25)] },
    );
  });
}

function prodCases(): Case[] {
  const one = (x: Host, axes: readonly number[], keepDims: boolean): Case =>
    folding(x.dtype, [x], axes, keepDims, (g) =>
      store(
        x.dtype,
        g.reduce((s, i) => s * value(x, i), 1),
      ),
    );
  return [
    ...axesOf.map(([shape, axes], k) => one(floats(shape, 440 + k), axes, k % 2 === 1)),
    one(whole([4, 6], 446), [1], false),
    one(host([2, 3], [1, NaN, 2, 3, 0, 5]), [1], false),
  ];
}

function logSumExpCases(): Case[] {
  const special = host(
    [5, 3],
    [1, 2, 3, -Infinity, -Infinity, -Infinity, 100, 100, 99, NaN, 1, 2, Infinity, 1, 2],
  );
  return (
    [
      [floats([5, 7], 450), 1],
      [floats([5, 7], 451), 0],
      [floats([3, 4, 8], 452), 1],
      [special, 1],
    ] as const
  ).map(([x, axis]): Case => {
    const { shape, groups } = reduced(x.shape, [axis], false);
    const expected = groups.map((g) => {
      const v = g.map((i) => value(x, i)),
        m = Math.max(...v);
      return Number.isFinite(m) ? m + Math.log(v.reduce((s, a) => s + Math.exp(a - m), 0)) : m;
    });
    return {
      label: `[${x.shape.join()}] along ${axis}`,
      inputs: [x],
      attrs: { axis },
      expected: [host(shape, expected)],
      rel: 1e-5,
      abs: 1e-5,
      views: turns(1),
    };
  });
}

// === Normalisation ===

const shapes = [
  [5, 7],
  [3, 16],
  [2, 3, 8],
  [4, 300],
] as const;
const eps = 1e-3;

/** Normalised rows along the last axis, the scale of each row and its mean. */
function rowsOf(x: Host, rms: boolean): { normal: Host; scale: (i: readonly number[]) => number } {
  const axis = x.shape.length - 1,
    n = x.shape[axis]!;
  const row = (i: readonly number[]): number[] =>
    Array.from({ length: n }, (_, d) => x.values[at(x.shape, [...i.slice(0, axis), d])]!);
  const mean = (i: readonly number[]): number => (rms ? 0 : row(i).reduce((a, b) => a + b, 0) / n);
  const scale = (i: readonly number[]): number => {
    const m = mean(i);
    return 1 / Math.sqrt(row(i).reduce((s, v) => s + (v - m) ** 2, 0) / n + eps);
  };
  return {
    normal: build(x.shape, "float32", (i) => (x.values[at(x.shape, i)]! - mean(i)) * scale(i)),
    scale,
  };
}

function normalizeCases(): Case[] {
  return shapes.flatMap((shape, k) =>
    [0, 1, 2].flatMap((extra) =>
      [false, true].map((rms): Case => {
        const x = floats(shape, 460 + k),
          more = [floats(shape.slice(-1), 465), floats(shape.slice(-1), 466)].slice(0, extra),
          { normal } = rowsOf(x, rms);
        const expected = build(
          shape,
          "float32",
          (i) =>
            value(normal, i) * (more[0] === undefined ? 1 : value(more[0], i)) +
            (more[1] === undefined ? 0 : value(more[1], i)),
        );
        return {
          label: `[${shape.join()}] ${rms ? "rms" : "layer"} ${extra}`,
          inputs: [x, ...more],
          attrs: { axis: shape.length - 1, eps, rms },
          expected: [expected],
          rel: 1e-4,
          abs: 1e-5,
          views: turns(1 + extra),
        };
      }),
    ),
  );
}

function normalizeBackwardCases(): Case[] {
  return shapes.flatMap((shape, k) =>
    [false, true].flatMap((weighted) =>
      [false, true].map((rms): Case => {
        const x = floats(shape, 470 + k),
          g = floats(shape, 475 + k),
          w = floats(shape.slice(-1), 479),
          { normal, scale } = rowsOf(x, rms),
          n = shape.at(-1)!;
        const gw = build(shape, "float32", (i) => value(g, i) * (weighted ? value(w, i) : 1));
        const mean = (i: readonly number[], f: (j: readonly number[]) => number): number =>
          Array.from({ length: n }, (_, d) => f([...i.slice(0, -1), d])).reduce(
            (a, b) => a + b,
            0,
          ) / n;
        const expected = build(
          shape,
          "float32",
          (i) =>
            scale(i) *
            (value(gw, i) -
              (rms ? 0 : mean(i, (j) => value(gw, j))) -
              value(normal, i) * mean(i, (j) => value(gw, j) * value(normal, j))),
        );
        return {
          label: `[${shape.join()}] ${rms ? "rms" : "layer"} ${weighted}`,
          inputs: [x, g, ...(weighted ? [w] : [])],
          attrs: { axis: shape.length - 1, eps, rms },
          expected: [expected],
          rel: 1e-4,
          abs: 2e-5,
          views: turns(weighted ? 3 : 2),
        };
      }),
    ),
  );
}

const images = [
  [4, 3],
  [2, 3, 5],
  [2, 4, 3, 4],
] as const;

/** Inputs of batch norm over a shape [N, C, …]: x, mean, variance, weight, bias and a gradient. */
function batch(
  shape: readonly number[],
  seed: number,
): {
  x: Host;
  g: Host;
  mean: Host;
  variance: Host;
  w: Host;
  b: Host;
  axes: number[];
  normal: (i: readonly number[]) => number;
} {
  const channel = shape.map((d, i) => (i === 1 ? d : 1)),
    x = floats(shape, seed),
    mean = floats(channel, seed + 1),
    variance = floats(channel, seed + 2, 0.5, 2);
  return {
    x,
    mean,
    variance,
    g: floats(shape, seed + 3),
    w: floats(channel, seed + 4),
    b: floats(channel, seed + 5),
    axes: shape.map((_, i) => i).filter((i) => i !== 1),
    normal: (i) => (value(x, i) - value(mean, i)) / Math.sqrt(value(variance, i) + eps),
  };
}

function batchNormCases(): Case[] {
  return images.flatMap((shape, k) =>
    [0, 1, 2].map((extra): Case => {
      const { x, mean, variance, w, b, axes, normal } = batch(shape, 480 + 7 * k),
        more = [w, b].slice(0, extra);
      return {
        label: `[${shape.join()}] ${extra}`,
        inputs: [x, mean, variance, ...more],
        attrs: { axes, training: extra === 1 },
        words: [f32Bits(eps)],
        expected: [
          build(
            shape,
            "float32",
            (i) => normal(i) * (extra > 0 ? value(w, i) : 1) + (extra > 1 ? value(b, i) : 0),
          ),
        ],
        rel: 1e-5,
        abs: 1e-5,
        views: turns(3 + extra),
      };
    }),
  );
}

function batchNormScaleGradCases(): Case[] {
  return images.map((shape, k) => {
    const { x, g, mean, variance, axes, normal } = batch(shape, 510 + 7 * k);
    return folding(
      "",
      [g, x, mean, variance],
      axes,
      true,
      (group) => group.reduce((s, i) => s + value(g, i) * normal(i), 0),
      { words: [f32Bits(eps)], attrs: { axes, training: true } },
    );
  });
}

function batchNormBackwardCases(): Case[] {
  return images.flatMap((shape, k) =>
    [false, true].map((weighted): Case => {
      const { x, g, mean, variance, w, b: flat, normal } = batch(shape, 540 + 7 * k),
        tilt = floats(flat.shape, 560 + k);
      const expected = build(
        shape,
        "float32",
        (i) =>
          ((weighted ? value(w, i) : 1) / Math.sqrt(value(variance, i) + eps)) *
          (value(g, i) - 0.125 * (value(flat, i) + normal(i) * value(tilt, i))),
      );
      return {
        label: `[${shape.join()}] ${weighted}`,
        inputs: [g, x, mean, variance, flat, tilt, ...(weighted ? [w] : [])],
        words: [f32Bits(eps), f32Bits(0.125)],
        expected: [expected],
        rel: 1e-5,
        abs: 1e-5,
        views: turns(weighted ? 7 : 6),
      };
    }),
  );
}

// === Attention ===

function attentionCases(): Case[] {
  const list: readonly (readonly [readonly number[], Host | undefined])[] = [
    [[4, 6], undefined],
    [[2, 3, 5, 8], undefined],
    [
      [3, 4, 4],
      host(
        [4, 4],
        [...indices([4, 4])].map(([i, j]) => Number((i! + j!) % 3 !== 0 && i !== 2)),
        "bool",
      ),
    ],
    [[2, 2, 4, 5], floats([2, 1, 1, 5], 570)],
  ];
  return list.flatMap(([shape, mask], k) =>
    [false, true].map((causal): Case => {
      const x = floats(shape, 571 + k),
        axis = shape.length - 1;
      const score = (i: readonly number[]): number =>
        (causal && i[axis]! > i[axis - 1]!) || (mask?.dtype === "bool" && value(mask, i) === 0)
          ? -Infinity
          : 0.5 * value(x, i) + (mask?.dtype === "float32" ? value(mask, i) : 0);
      const expected = build(shape, "float32", (i) => {
        const row = Array.from({ length: shape[axis]! }, (_, d) => score([...i.slice(0, -1), d])),
          m = Math.max(...row);
        return m === -Infinity
          ? 0
          : Math.exp(score(i) - m) / row.reduce((s, v) => s + Math.exp(v - m), 0);
      });
      return {
        label: `[${shape.join()}] ${mask?.dtype ?? "no mask"}${causal ? " causal" : ""}`,
        inputs: [x, ...(mask === undefined ? [] : [mask])],
        attrs: { scale: 0.5, causal },
        expected: [expected],
        rel: 3e-5,
        abs: 1e-6,
        views: turns(mask === undefined ? 1 : 2),
      };
    }),
  );
}

export const normCases: Readonly<Record<string, () => Case[]>> = {
  sumOfProducts: sumOfProductsCases,
  squaredDeviation: squaredDeviationCases,
  prod: prodCases,
  logSumExp: logSumExpCases,
  normalize: normalizeCases,
  normalizeBackward: normalizeBackwardCases,
  batchNorm: batchNormCases,
  batchNormScaleGrad: batchNormScaleGradCases,
  batchNormBackward: batchNormBackwardCases,
  attentionWeights: attentionCases,
};

// === Gradients ===

const point = (
  shape: readonly number[],
  seed: number,
  low = -2,
  high = 2,
): GradCase["points"][number] => ({ shape, values: numbers(count(shape), seed, low, high) });
const over = (
  axes: readonly number[],
  keepDims = false,
): { axes: readonly number[]; keepDims: boolean } => ({ axes, keepDims });

export const normGrads: Readonly<Record<string, () => GradCase[]>> = {
  sumOfProducts: () => [
    {
      label: "rows",
      points: [point([2, 3], 580), point([2, 3], 581)],
      attrs: over([1]),
      second: true,
    },
  ],
  squaredDeviation: () => [
    {
      label: "rows",
      points: [point([2, 3], 582), point([2, 1], 583)],
      attrs: over([1], true),
      words: [f32Bits(0.5)],
      second: true,
    },
  ],
  prod: () => [
    { label: "rows", points: [point([2, 3], 584, 0.5, 1.5)], attrs: over([1]), second: true },
    {
      label: "one zero",
      points: [{ shape: [2, 3], values: [1, 0, 2, 3, 0.5, 0] }],
      attrs: over([1]),
    },
    { label: "two zeros", points: [{ shape: [4], values: [0, 2, 0, 1] }], attrs: over([0]) },
  ],
  logSumExp: () => [
    { label: "rows", points: [point([2, 3], 585)], attrs: { axis: 1 }, second: true },
    { label: "columns", points: [point([2, 3], 586)], attrs: { axis: 0 } },
  ],
  normalize: () =>
    [false, true].flatMap((rms) =>
      [0, 1, 2].map((extra): GradCase => ({
        label: `${rms ? "rms" : "layer"} ${extra}`,
        points: [point([2, 4], 587), point([4], 588), point([4], 589)].slice(0, 1 + extra),
        attrs: { axis: 1, eps: 0.1, rms },
      })),
    ),
  // Mean and variance are given here, so only evaluation's gradient is that of the op alone;
  // training is checked through the function.
  batchNorm: () => [
    {
      label: "evaluation",
      points: [point([2, 2, 3], 590), point([1, 2, 1], 591), point([1, 2, 1], 592)],
      fixed: { 1: host([1, 2, 1], [0.5, -0.25]), 2: host([1, 2, 1], [0.5, 2]) },
      attrs: { axes: [0, 2], training: false },
      words: [f32Bits(0.1)],
    },
  ],
  attentionWeights: () => [
    {
      label: "causal",
      points: [point([3, 3], 593)],
      attrs: { scale: 0.5, causal: true },
      second: true,
    },
    {
      label: "added mask",
      points: [point([2, 2, 3], 594), point([3], 595)],
      attrs: { scale: 0.5, causal: false },
    },
    {
      label: "mask",
      points: [point([2, 3], 596)],
      fixed: { 1: host([3], [1, 0, 1], "bool") },
      attrs: { scale: 2, causal: false },
      second: true,
    },
  ],
};

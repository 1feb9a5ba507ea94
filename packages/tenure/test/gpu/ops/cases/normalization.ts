/**
 * Cases of the normalisations and their gradients, which are compared with the chain rule written
 * out.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { broadcastAt } from "../../../helpers.ts";
import { type Host, at, build, host } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradCase,
  type GradTable,
  allViews,
  floats,
  point,
} from "./case.ts";
import { folding } from "./statistics.ts";

export const value = (h: Host, i: readonly number[]): number => h.values[broadcastAt(h.shape, i)]!;

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
          views: allViews(1 + extra),
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
          views: allViews(weighted ? 3 : 2),
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
        views: allViews(3 + extra),
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
        views: allViews(weighted ? 7 : 6),
      };
    }),
  );
}

export const normalizationCases: CaseTable = {
  normalize: normalizeCases,
  normalizeBackward: normalizeBackwardCases,
  batchNorm: batchNormCases,
  batchNormScaleGrad: batchNormScaleGradCases,
  batchNormBackward: batchNormBackwardCases,
};

export const normalizationGrads: GradTable = {
  normalize: () =>
    [false, true].flatMap((rms) =>
      [0, 1, 2].map((extra): GradCase => ({
        label: `${rms ? "rms" : "layer"} ${extra}`,
        points: [point([2, 4], 587), point([4], 588), point([4], 589)].slice(0, 1 + extra),
        attrs: { axis: 1, eps: 0.1, rms },
      })),
    ),
  batchNorm: () => [
    {
      label: "evaluation",
      points: [point([2, 2, 3], 590), point([1, 2, 1], 591), point([1, 2, 1], 592)],
      fixed: { 1: host([1, 2, 1], [0.5, -0.25]), 2: host([1, 2, 1], [0.5, 2]) },
      attrs: { axes: [0, 2], training: false },
      words: [f32Bits(0.1)],
    },
  ],
};

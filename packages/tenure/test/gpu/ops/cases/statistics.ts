/**
 * Cases of the sums over axes that normalisations and losses are made of, from their definitions in
 * float64.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { count, indices, numbers } from "../../../helpers.ts";
import { type Host, host, store } from "../host.ts";
import { type Case, type CaseTable, type GradTable, allViews, floats, point } from "./case.ts";
import { value } from "./normalization.ts";

const whole = (shape: readonly number[], seed: number): Host =>
  host(
    shape,
    numbers(count(shape), seed, -4, 4).map((x) => Math.trunc(x) + 0),
    "int32",
  );

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

export function folding(
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
    views: allViews(inputs.length),
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
      views: allViews(1),
    };
  });
}

export const statisticsCases: CaseTable = {
  sumOfProducts: sumOfProductsCases,
  squaredDeviation: squaredDeviationCases,
  prod: prodCases,
  logSumExp: logSumExpCases,
};

const over = (
  axes: readonly number[],
  keepDims = false,
): { axes: readonly number[]; keepDims: boolean } => ({ axes, keepDims });

export const statisticsGrads: GradTable = {
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
};

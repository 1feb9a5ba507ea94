/**
 * Cases of the running sums and products along an axis.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { type Host, at, build, host } from "../host.ts";
import { whole, withAt } from "./axis.ts";
import { type Case, type CaseTable, type GradTable, allViews, floats, point } from "./case.ts";

function running(
  x: Host,
  axis: number,
  dtype: DType,
  reverse: boolean,
  f: (a: number, b: number) => number,
): Host {
  return build(x.shape, dtype, (i) => {
    const line = Array.from(
      { length: x.shape[axis]! },
      (_, d) => x.values[at(x.shape, withAt(i, axis, d))]!,
    );
    return (reverse ? line.slice(i[axis]).reverse() : line.slice(0, i[axis]! + 1)).reduce(f);
  });
}

function cumSumCases(): Case[] {
  const list: readonly (readonly [Host, number, DType])[] = [
    [floats([5, 7], 260), 1, "float32"],
    [floats([5, 7], 261), 0, "float32"],
    [floats([3, 4, 5], 262), 1, "float32"],
    [whole([4, 5], 263, -9, 9), 1, "int32"],
    [whole([9], 264, 0, 2, "bool"), 0, "int32"],
    [floats([3000], 265), 0, "float32"],
    [host([4], [1, NaN, 2, 3]), 0, "float32"],
    [floats([0, 2], 266), 0, "float32"],
  ];
  return list.flatMap(([x, axis, dtype]) =>
    [false, true].map((reverse): Case => ({
      label: `${x.dtype} [${x.shape.join()}] along ${axis}${reverse ? " from the end" : ""}`,
      inputs: [x],
      attrs: { axis, reverse },
      expected: [running(x, axis, dtype, reverse, (a, b) => a + b)],
      rel: 1e-5,
      abs: 1e-4,
      views: x.shape.length > 1 ? allViews(1) : [["plain"], ["sliced"]],
    })),
  );
}

const products = (): readonly Host[] => [
  floats([5, 7], 270),
  host([2, 5], [1, 2, 0, 3, 4, 0, 1, 2, 0, 5]),
  floats([2, 3, 4], 271),
];

function cumProdCases(): Case[] {
  return [...products(), whole([3, 4], 272, -3, 3)].flatMap((x) =>
    [0, 1].map((axis): Case => ({
      label: `${x.dtype} [${x.shape.join()}] along ${axis}`,
      inputs: [x],
      attrs: { axis },
      expected: [running(x, axis, x.dtype, false, (a, b) => a * b)],
      rel: 1e-5,
      abs: 1e-6,
      views: allViews(1),
    })),
  );
}

function cumProdBackwardCases(): Case[] {
  return products().flatMap((x, k) =>
    [0, 1].map((axis): Case => {
      const g = floats(x.shape, 273 + k),
        y = host(
          x.shape,
          running(x, axis, "float32", false, (a, b) => a * b).values.map(Math.fround),
        );
      const expected = build(x.shape, "float32", (i) => {
        // Σ over j ≥ k of g[j] times the product of the others up to j
        let sum = 0;
        for (let j = i[axis]!; j < x.shape[axis]!; j++) {
          let p = g.values[at(x.shape, withAt(i, axis, j))]!;
          for (let m = 0; m <= j; m++)
            if (m !== i[axis]!) p *= x.values[at(x.shape, withAt(i, axis, m))]!;
          sum += p;
        }
        return sum;
      });
      return {
        label: `[${x.shape.join()}] along ${axis}`,
        inputs: [x, y, g],
        attrs: { axis },
        expected: [expected],
        rel: 1e-4,
        abs: 1e-4,
        views: allViews(3),
      };
    }),
  );
}

export const totalCases: CaseTable = {
  cumSum: cumSumCases,
  cumProd: cumProdCases,
  cumProdBackward: cumProdBackwardCases,
};

export const totalGrads: GradTable = {
  cumSum: () =>
    [false, true].map((reverse) => ({
      label: reverse ? "from the end" : "from the beginning",
      points: [point([2, 4], 294)],
      attrs: { axis: 1, reverse },
      second: true,
    })),
  cumProd: () => [
    { label: "no zeros", points: [point([2, 3], 295, 0.5, 1.5)], attrs: { axis: 1 } },
    {
      label: "zeros",
      points: [{ shape: [2, 4], values: [1, 0, 2, 0.5, 0, 1.5, 0, 2] }],
      attrs: { axis: 1 },
    },
  ],
};

/**
 * Cases of the reductions over axes, from folds of plain arrays.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { indices } from "../../../helpers.ts";
import { samples } from "./references.ts";
import { type Host, at, host, store } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  distinct,
  filled,
  grad,
  point,
} from "./case.ts";

/** What a reduction gives for inputs of a dtype. */
function reducedDType(name: string, dtype: DType): DType {
  if (name === "mean") return "float32";
  if (name === "any" || name === "all") return "bool";
  if (name.startsWith("arg")) return "int32";
  return dtype === "bool" ? "int32" : dtype;
}

function foldReference(name: string, v: readonly number[], dtype: DType): number {
  switch (name) {
    case "sum":
      return store(
        reducedDType(name, dtype),
        v.reduce((a, b) => a + b, 0),
      );
    case "mean":
      return v.reduce((a, b) => a + b, 0) / v.length;
    case "max":
      return Math.max(...v);
    case "min":
      return Math.min(...v);
    case "any":
      return Number(v.some((x) => x !== 0));
    case "all":
      return Number(v.every((x) => x !== 0));
    default: {
      const nan = v.findIndex((x) => Number.isNaN(x));
      return nan !== -1 ? nan : v.indexOf(name === "argMax" ? Math.max(...v) : Math.min(...v));
    }
  }
}

function reductionCase(
  name: string,
  label: string,
  x: Host,
  axes: readonly number[],
  keepDims: boolean,
  views?: Case["views"],
): Case {
  const kept = x.shape.map((d, i) => (axes.includes(i) ? 1 : d)),
    reduced = x.shape.map((d, i) => (axes.includes(i) ? d : 1));
  const elementsOf = (o: readonly number[]): number[] =>
    [...indices(reduced)].map((r) => {
      const place = o.map((v, i) => v + r[i]!);
      return x.values[at(x.shape, place)]!;
    });
  const values = [...indices(kept)].map((o) => foldReference(name, elementsOf(o), x.dtype));
  const shape = keepDims ? kept : kept.filter((_, i) => !axes.includes(i));
  return {
    label,
    inputs: [x],
    attrs: { axes, keepDims },
    expected: [host(shape, values, reducedDType(name, x.dtype))],
    rel: 1e-5,
    abs: 1e-5,
    ...(views === undefined ? {} : { views }),
  };
}

/** Every dtype and set of axes; all reductions share one generator, so two go through all. */
function reducedAxesCases(name: string, thorough: boolean): Case[] {
  const cases: Case[] = [];
  for (const dtype of ["float32", "int32", "uint32", "bool"] as const) {
    cases.push(
      reductionCase(name, `${dtype} rows`, filled([5, 7], dtype, 12), [1], true, [
        ["plain"],
        ...(dtype === "float32" ? [["transposed"] as const] : []),
      ]),
    );
    if (!thorough && dtype !== "float32") continue;
    cases.push(
      reductionCase(name, `${dtype} all`, filled([5, 7], dtype, 11), [0, 1], false),
      reductionCase(name, `${dtype} columns`, filled([5, 7], dtype, 13), [0], false, [
        ["plain"],
        ["sliced"],
      ]),
    );
  }
  const x = filled([2, 3, 4, 5], "float32", 14),
    views = thorough ? allViews(1) : [["transposed"] as const];
  const sets = thorough ? [[0], [1], [3], [0, 2], [1, 3], [2, 3], [0, 1, 2, 3], []] : [[1], [0, 2]];
  for (const axes of sets)
    cases.push(reductionCase(name, `axes ${axes.join()}`, x, axes, axes.length === 2, views));
  return cases;
}

function reductionCases(name: string): Case[] {
  const extreme = ["max", "min", "argMax", "argMin"].includes(name);
  const thorough = name === "sum" || name === "argMax";
  const along = (axis: number, label: string, x: Host, views?: Case["views"]): Case =>
    reductionCase(name, label, x, [axis], false, views);
  const cases = [
    ...reducedAxesCases(name, thorough),
    along(0, "long", filled([3000], "float32", 15)),
  ];
  if (thorough)
    cases.push(
      along(0, "tall", filled([1200, 3], "float32", 16)),
      along(1, "wide", filled([3, 1200], "float32", 17)),
    );
  cases.push(
    reductionCase(name, "0-d", host([], [2.5]), [], false),
    along(0, "one", host([1], [-2.5])),
    along(1, "NaN", host([2, 3], [1, NaN, 3, 4, 5, 6])),
    along(1, "infinities", host([2, 3], [1, Infinity, 3, -Infinity, 5, 6])),
  );
  if (extreme || name === "any" || name === "all")
    cases.push(along(0, "-infinity only", host([4], Array<number>(4).fill(-Infinity))));
  cases.push(along(1, "no result", filled([0, 4], "float32", 18)));
  if (!extreme)
    cases.push(
      along(0, "of nothing", host([0], [])),
      along(1, "rows of nothing", host([3, 0], [])),
    );
  const row = samples("float32", 6, 19);
  cases.push(along(0, "expanded", host([3, 6], [...row, ...row, ...row]), [["expanded"]]));
  if (name.startsWith("arg")) cases.push(along(1, "ties", host([2, 4], [1, 3, 3, 1, 2, 2, 2, 2])));
  return cases;
}

const reductions = ["sum", "mean", "max", "min", "argMax", "argMin", "any", "all"];

export const reductionTable: CaseTable = Object.fromEntries(
  reductions.map((name) => [name, () => reductionCases(name)]),
);

export const reductionGrads: GradTable = {
  sum: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [point([2, 3], 90)], {
        attrs: { axes, keepDims: axes[0] === 1 },
        second: true,
      }),
    ),
  mean: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [point([2, 3], 91)], {
        attrs: { axes, keepDims: axes[0] === 1 },
        second: true,
      }),
    ),
  max: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [distinct([3, 4])], { attrs: { axes, keepDims: axes[0] === 1 } }),
    ),
  min: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [distinct([3, 4])], { attrs: { axes, keepDims: axes[0] === 1 } }),
    ),
};

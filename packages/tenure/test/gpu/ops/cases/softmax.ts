/**
 * Cases of softmax and cross-entropy: rows along an axis, forward and backward.
 */
import { indices } from "../../../helpers.ts";
import { type Host, at, host } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  filled,
  grad,
  point,
} from "./case.ts";

/** Rows along an axis, replaced by what `f` makes of them. */
function alongAxis(x: Host, axis: number, f: (row: number[], where: number[]) => number[]): Host {
  const out = [...x.values],
    outer = x.shape.map((d, i) => (i === axis ? 1 : d));
  for (const o of indices(outer)) {
    const places = Array.from({ length: x.shape[axis]! }, (_, k) =>
      at(
        x.shape,
        o.map((v, i) => (i === axis ? k : v)),
      ),
    );
    const row = f(
      places.map((p) => x.values[p]!),
      places,
    );
    places.forEach((p, k) => {
      out[p] = Math.fround(row[k]!);
    });
  }
  return host(x.shape, out, x.dtype);
}

export function softmaxRow(row: readonly number[], log: boolean): number[] {
  const most = Math.max(...row),
    e = row.map((v) => Math.exp(v - most)),
    sum = e.reduce((a, b) => a + b, 0);
  return row.map((v, i) => (log ? v - most - Math.log(sum) : e[i]! / sum));
}

function softmaxCases(log: boolean): Case[] {
  const make = (label: string, x: Host, axis: number, views?: Case["views"]): Case => ({
    label,
    inputs: [x],
    attrs: { axis },
    expected: [alongAxis(x, axis, (row) => softmaxRow(row, log))],
    rel: 3e-5,
    abs: 1e-5,
    ...(views === undefined ? {} : { views }),
  });
  return [
    make("rows", filled([5, 7], "float32", 20), 1, allViews(1)),
    make("columns", filled([5, 7], "float32", 21), 0, allViews(1)),
    make("middle", filled([3, 4, 5], "float32", 22), 1, allViews(1)),
    make("wide", filled([2, 900], "float32", 23), 1),
    make("large", host([2, 3], [1000, 1001, 999, -1000, -1001, -999]), 1),
    make("NaN", host([2, 3], [1, NaN, 2, 1, 2, 3]), 1),
    ...(log ? [] : [make("-infinity", host([1, 3], [1, -Infinity, 2]), 1)]),
    make("one", filled([4, 1], "float32", 24), 1),
    make("no rows", host([0, 3], []), 1),
  ];
}

function softmaxBackwardCases(log: boolean): Case[] {
  return (
    [
      [[5, 7], 1],
      [[5, 7], 0],
      [[3, 4, 5], 1],
      [[2, 900], 1],
    ] as const
  ).map(([shape, axis]) => {
    const y = alongAxis(filled(shape, "float32", 25), axis, (row) => softmaxRow(row, log)),
      g = filled(shape, "float32", 26);
    const want = alongAxis(y, axis, (row, places) => {
      const gs = places.map((p) => g.values[p]!),
        dot = row.reduce((n, v, i) => n + gs[i]! * (log ? 1 : v), 0);
      return row.map((v, i) => (log ? gs[i]! - Math.exp(v) * dot : v * (gs[i]! - dot)));
    });
    return {
      label: `[${shape.join()}] axis ${axis}`,
      inputs: [y, g],
      attrs: { axis },
      expected: [want],
      rel: 1e-4,
      abs: 1e-4,
      views: shape[1] === 900 ? [["plain", "plain"]] : allViews(2),
    };
  });
}

function crossEntropyCases(backward: boolean): Case[] {
  return [undefined, 2, -100].flatMap((ignoreIndex) =>
    (["int32", "uint32"] as const).map((dtype): Case => {
      const logits = filled([6, 5], "float32", 27),
        targets = host([6], dtype === "int32" ? [0, 4, 2, -1, 5, -100] : [0, 4, 2, 7, 5, 1], dtype),
        g = filled([6], "float32", 28);
      const rows = targets.values.map((t, r) => {
        const row = logits.values.slice(5 * r, 5 * r + 5);
        if (t === ignoreIndex) return backward ? row.map(() => 0) : [0];
        if (t < 0 || t > 4) return backward ? row.map(() => NaN) : [NaN];
        return backward
          ? softmaxRow(row, false).map((p, c) => (p - (c === t ? 1 : 0)) * g.values[r]!)
          : [-softmaxRow(row, true)[t]!];
      });
      return {
        label: `${dtype} targets, ignoring ${String(ignoreIndex)}`,
        inputs: backward ? [logits, targets, g] : [logits, targets],
        attrs: { ignoreIndex },
        expected: [host(backward ? [6, 5] : [6], rows.flat())],
        rel: 1e-4,
        abs: 1e-5,
        views: [
          ["plain", "plain", "plain"],
          ["transposed", "sliced", "offset"],
        ],
      };
    }),
  );
}

export const softmaxTable: CaseTable = {
  softmax: () => softmaxCases(false),
  logSoftmax: () => softmaxCases(true),
  softmaxBackward: () => softmaxBackwardCases(false),
  logSoftmaxBackward: () => softmaxBackwardCases(true),
};

export const crossEntropyTable: CaseTable = {
  crossEntropyRows: () => crossEntropyCases(false),
  crossEntropyBackward: () => crossEntropyCases(true),
};

export const softmaxGrads: GradTable = {
  softmax: () =>
    [0, 1].map((axis) =>
      grad(`axis ${axis}`, [point([3, 4], 92)], { attrs: { axis }, second: true }),
    ),
  logSoftmax: () =>
    [0, 1].map((axis) =>
      grad(`axis ${axis}`, [point([3, 4], 93)], { attrs: { axis }, second: true }),
    ),
  softmaxBackward: () => [
    grad("axis 1", [point([2, 3], 103, 0.1, 0.9), point([2, 3], 104)], { attrs: { axis: 1 } }),
  ],
  logSoftmaxBackward: () => [
    grad("axis 1", [point([2, 3], 105, -2, -0.1), point([2, 3], 106)], { attrs: { axis: 1 } }),
  ],
};

export const crossEntropyGrads: GradTable = {
  crossEntropyRows: () =>
    [undefined, 2].map((ignoreIndex) =>
      grad(`ignoring ${String(ignoreIndex)}`, [point([3, 4], 94)], {
        fixed: { 1: host([3], [0, 2, 3], "int32") },
        attrs: { ignoreIndex },
        second: true,
      }),
    ),
  crossEntropyBackward: () => [
    grad("ignoring 2", [point([3, 4], 107), point([3], 108)], {
      fixed: { 1: host([3], [0, 2, 3], "int32") },
      attrs: { ignoreIndex: 2 },
    }),
  ],
};

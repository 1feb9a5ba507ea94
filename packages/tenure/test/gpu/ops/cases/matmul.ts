/**
 * Cases of the matrix product, batched and broadcast.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { broadcastAt, count } from "../../../helpers.ts";
import { samples } from "./references.ts";
import { type Host, build, host } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  filled,
  grad,
  point,
} from "./case.ts";

function matmulReference(a: Host, b: Host): Host {
  const [m, k] = a.shape.slice(-2) as [number, number],
    n = b.shape.at(-1)!;
  const la = a.shape.slice(0, -2),
    lb = b.shape.slice(0, -2),
    rank = Math.max(la.length, lb.length);
  const lead = Array.from({ length: rank }, (_, i) =>
    Math.max(la[la.length - rank + i] ?? 1, lb[lb.length - rank + i] ?? 1),
  );
  return build([...lead, m, n], a.dtype, (index) => {
    const outer = index.slice(0, -2),
      [i, j] = index.slice(-2) as [number, number];
    const baseA = broadcastAt(la, outer) * m * k,
      baseB = broadcastAt(lb, outer) * k * n;
    let sum = 0;
    for (let x = 0; x < k; x++) sum += a.values[baseA + i * k + x]! * b.values[baseB + x * n + j]!;
    return sum;
  });
}

function matmulCases(): Case[] {
  const make = (
    a: readonly number[],
    b: readonly number[],
    views?: Case["views"],
    dtype: DType = "float32",
  ): Case => {
    const x = filled(a, dtype, 30),
      y = filled(b, dtype, 31);
    return {
      label: `${dtype} [${a.join()}] × [${b.join()}]`,
      inputs: [x, y],
      expected: [matmulReference(x, y)],
      rel: 1e-5,
      abs: 3e-5,
      ...(views === undefined ? {} : { views }),
    };
  };
  return [
    make([5, 7], [7, 3], allViews(2)),
    make([16, 32], [32, 24], allViews(2)),
    make([1, 1], [1, 1]),
    make([1, 64], [64, 10]),
    make([33, 65], [65, 17]),
    make([3, 0], [0, 4]),
    make([0, 3], [3, 4]),
    make([2, 5, 7], [2, 7, 3], allViews(2)),
    make([2, 5, 7], [7, 3]),
    make([4, 1, 3, 2], [2, 2, 5]),
    make([3, 4, 4], [1, 4, 4]),
    make([5, 7], [7, 3], undefined, "int32"),
    make([4, 8], [8, 4], undefined, "uint32"),
    { ...make([4, 6], [6, 4]), ...expandedMatmul() },
  ];
}

function expandedMatmul(): Case {
  const row = samples("float32", 6, 32),
    x = host([4, 6], [...row, ...row, ...row, ...row]),
    y = filled([6, 4], "float32", 33);
  return {
    label: "expanded",
    inputs: [x, y],
    expected: [matmulReference(x, y)],
    rel: 1e-5,
    abs: 3e-5,
    views: [["expanded", "transposed"]],
  };
}

export const matmulTable: CaseTable = {
  matmul: matmulCases,
};

export const matmulGrads: GradTable = {
  matmul: () =>
    (
      [
        [
          [2, 3],
          [3, 4],
        ],
        [
          [2, 2, 3],
          [3, 2],
        ],
        [
          [2, 1, 2, 2],
          [3, 2, 2],
        ],
      ] as const
    ).map(([a, b]) =>
      grad(`[${a.join()}] × [${b.join()}]`, [point(a, 95), point(b, 96)], { second: count(a) < 7 }),
    ),
};

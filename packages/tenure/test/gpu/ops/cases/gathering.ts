/**
 * Cases of the ops that read and add by index.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { indices } from "../../../helpers.ts";
import { type Host, at, build, host } from "../host.ts";
import { list, resized, whole, withAt } from "./axis.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  exact,
  floats,
  point,
} from "./case.ts";
import { orderReference } from "./sorting.ts";

/** An index counted from the front, or undefined out of range. */
const place = (index: number, size: number): number | undefined => {
  const i = index < 0 ? index + size : index;
  return i >= 0 && i < size ? i : undefined;
};

function gatherCase(
  shape: readonly number[],
  list: Host,
  axis: number,
  dtype: DType = "float32",
): Case {
  const x = dtype === "float32" ? floats(shape, 220) : whole(shape, 220, -9, 9, dtype),
    missing = dtype === "float32" ? NaN : 0;
  const expected = build(list.shape, dtype, (i) => {
    const d = place(list.values[at(list.shape, i)]!, shape[axis]!);
    return d === undefined ? missing : x.values[at(shape, withAt(i, axis, d))]!;
  });
  return {
    label: `${dtype} [${shape.join()}] by ${list.dtype} [${list.shape.join()}] along ${axis}`,
    inputs: [x, list],
    attrs: { axis },
    expected: [expected],
    ...exact,
    views: allViews(2),
  };
}

function takeCase(shape: readonly number[], list: Host, axis: number): Case {
  const x = floats(shape, 221);
  const expected = build(resized(shape, axis, list.shape[0]!), "float32", (i) => {
    const d = place(list.values[i[axis]!]!, shape[axis]!);
    return d === undefined ? NaN : x.values[at(shape, withAt(i, axis, d))]!;
  });
  return {
    label: `[${shape.join()}] by ${list.dtype} [${list.shape.join()}] along ${axis}`,
    inputs: [x, list],
    attrs: { axis },
    expected: [expected],
    ...exact,
    views: [
      ["plain", "plain"],
      ["transposed", "sliced"],
      ["sliced", "offset"],
    ],
  };
}

function scatterCase(
  shape: readonly number[],
  list: Host,
  axis: number,
  sorted: boolean,
  dtype: DType = "float32",
): Case {
  const start = dtype === "float32" ? floats(shape, 230) : whole(shape, 230, -9, 9, dtype),
    source = dtype === "float32" ? floats(list.shape, 231) : whole(list.shape, 231, -9, 9, dtype),
    out = [...start.values];
  for (const i of indices(list.shape)) {
    const d = place(list.values[at(list.shape, i)]!, shape[axis]!);
    if (d !== undefined) out[at(shape, withAt(i, axis, d))]! += source.values[at(list.shape, i)]!;
  }
  const inputs = sorted
    ? [start, list, orderReference(list, axis, false), source]
    : [start, list, source];
  return {
    label: `${dtype} [${shape.join()}] at ${list.dtype} [${list.shape.join()}] along ${axis}`,
    inputs,
    attrs: { axis },
    expected: [host(shape, out, dtype)],
    rel: dtype === "float32" ? 1e-6 : 0,
    abs: dtype === "float32" ? 2e-6 : 0,
    views: allViews(inputs.length),
  };
}

function scatterCases(sorted: boolean): Case[] {
  return [
    scatterCase([5], whole([40], 232, -7, 7), 0, sorted),
    scatterCase([4, 6], whole([4, 9], 233, 0, 6, "uint32"), 1, sorted),
    scatterCase([3, 5, 8], whole([3, 7, 8], 234, -5, 5), 1, sorted),
    scatterCase(
      [3, 5, 8],
      host(
        [3, 7, 8],
        [...indices([3, 7, 8])].map((i) => (i[1]! * 3) % 5),
        "int32",
      ),
      1,
      sorted,
      "int32",
    ),
    scatterCase([5, 3], whole([0, 3], 235, 0, 5), 0, sorted),
    scatterCase([0, 3], whole([2, 3], 236, 0, 5), 0, sorted),
  ];
}

export const gatheringCases: CaseTable = {
  gather: () => [
    gatherCase([7], whole([12], 222, -9, 9), 0),
    gatherCase([3, 7], whole([3, 4], 223, 0, 7), 1),
    gatherCase([5, 8], whole([3, 8], 224, -5, 5), 0),
    gatherCase([5, 8], whole([3, 6], 225, 0, 5, "uint32"), 0),
    gatherCase([2, 5, 8], whole([2, 3, 8], 226, 0, 5), 1),
    gatherCase([3, 7], whole([3, 4], 227, 0, 9), 1, "int32"),
    gatherCase([0, 4], whole([2, 4], 228, 0, 1), 0),
    gatherCase([3, 4], whole([0, 4], 229, 0, 1), 0),
  ],
  take: () => [
    takeCase([7, 8], whole([5], 222, 0, 7), 0),
    takeCase([7, 3], whole([5], 223, -9, 9), 0),
    takeCase([3, 7], whole([9], 224, 0, 7, "uint32"), 1),
    takeCase([2, 5, 4], whole([3], 225, 0, 5), 1),
    takeCase([4, 2], whole([0], 226, 0, 1), 0),
  ],
  scatterAdd: () => scatterCases(false),
  scatterAddSorted: () => scatterCases(true),
};

export const gatheringGrads: GradTable = {
  gather: () => [
    {
      label: "repeated",
      points: [point([3, 4], 285)],
      fixed: { 1: list([3, 3], [0, 0, 2, 3, -1, 3, 1, 2, 1]) },
      attrs: { axis: 1 },
      second: true,
    },
    {
      label: "a corner",
      points: [point([3, 4], 286)],
      fixed: { 1: list([2, 2], [0, 2, 2, 1]) },
      attrs: { axis: 0 },
    },
    {
      label: "sorted",
      points: [point([3, 2], 287)],
      fixed: {
        1: list(
          [70, 2],
          Array.from({ length: 140 }, (_, i) => ((i * i) % 3) - (i % 2 === 0 ? 3 : 0)),
        ),
      },
      attrs: { axis: 0 },
      tolerance: 3e-2,
    },
  ],
  take: () => [
    {
      label: "rows",
      points: [point([4, 3], 288)],
      fixed: { 1: list([5], [1, 3, 1, -1, 0]) },
      attrs: { axis: 0 },
      second: true,
    },
    {
      label: "many",
      points: [point([3, 2], 289)],
      fixed: {
        1: list(
          [70],
          Array.from({ length: 70 }, (_, i) => (i * i) % 3),
        ),
      },
      attrs: { axis: 0 },
      tolerance: 3e-2,
    },
  ],
  scatterAdd: () => [
    {
      label: "repeated",
      points: [point([3, 3], 290), point([3, 4], 291)],
      fixed: { 1: list([3, 4], [0, 0, 2, 1, 1, 2, 0, 2, 2, 2, 2, 2]) },
      attrs: { axis: 1 },
      second: true,
    },
  ],
  scatterAddSorted: () => [
    {
      label: "repeated",
      points: [point([3], 292), point([4], 293)],
      fixed: { 1: list([4], [2, 0, 2, 1]), 2: list([4], [1, 3, 0, 2]) },
      attrs: { axis: 0 },
      second: true,
    },
  ],
};

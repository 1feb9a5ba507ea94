/**
 * Cases of padding and resampling, from their definitions.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import type { DType } from "../../../../src/base/dtype.ts";
import { count, indices, numbers } from "../../../helpers.ts";
import { type Case, type CaseTable, type GradTable, allViews, point, floats } from "./case.ts";
import { at, build, host } from "../host.ts";

type Mode = "constant" | "reflect" | "replicate";

/** The source of position `p` along a dimension, or undefined in a constant border. */
function sourceOf(p: number, before: number, size: number, mode: Mode): number | undefined {
  const i = p - before;
  if (mode === "replicate") return Math.min(Math.max(i, 0), size - 1);
  if (mode === "reflect") {
    const a = Math.abs(i);
    return a < size ? a : 2 * (size - 1) - a;
  }
  return i >= 0 && i < size ? i : undefined;
}

function padCase(
  shape: readonly number[],
  before: readonly number[],
  after: readonly number[],
  mode: Mode,
  dtype: DType = "float32",
): Case {
  const x =
    dtype === "float32"
      ? floats(shape, 600)
      : host(shape, numbers(count(shape), 601, 0, dtype === "bool" ? 2 : 9).map(Math.floor), dtype);
  const expected = build(
    shape.map((d, k) => before[k]! + d + after[k]!),
    dtype,
    (i) => {
      const from = i.map((p, k) => sourceOf(p, before[k]!, shape[k]!, mode));
      return from.includes(undefined)
        ? dtype === "bool"
          ? 1
          : 2
        : x.values[at(shape, from as number[])]!;
    },
  );
  return {
    label: `${dtype} ${mode} [${shape.join()}] ${before.join()} and ${after.join()}`,
    inputs: [x],
    attrs: { before, after, mode },
    words: [dtype === "float32" ? f32Bits(2) : dtype === "bool" ? 1 : 2],
    expected: [expected],
    rel: 0,
    abs: 0,
    views: allViews(1),
  };
}

const modes = ["constant", "reflect", "replicate"] as const;

// === Resampling ===

type Resample = "nearest" | "bilinear" | "bilinearCorners" | "average";

/** Weights of all inputs for output `p`. */
function weightsOf(p: number, size: number, total: number, mode: Resample): number[] {
  const w = Array<number>(size).fill(0);
  if (mode === "nearest") w[Math.floor((p * size) / total)] = 1;
  else if (mode === "average") {
    const a = Math.floor((p * size) / total),
      b = Math.ceil(((p + 1) * size) / total);
    w.fill(1 / (b - a), a, b);
  } else {
    const s =
        mode === "bilinear"
          ? Math.max(((p + 0.5) * size) / total - 0.5, 0)
          : total > 1
            ? (p * (size - 1)) / (total - 1)
            : 0,
      y = Math.min(Math.floor(s), size - 1),
      next = Math.min(y + 1, size - 1);
    w[y]! += 1 - (s - y);
    w[next]! += s - y;
  }
  return w;
}

const sizes = [
  [
    [5, 7],
    [10, 14],
  ],
  [
    [4, 6],
    [2, 3],
  ],
  [
    [5, 7],
    [3, 4],
  ],
  [
    [3, 2],
    [7, 7],
  ],
  [
    [4, 4],
    [1, 1],
  ],
  [
    [1, 1],
    [3, 2],
  ],
] as const;
const resamplers = ["nearest", "bilinear", "bilinearCorners", "average"] as const;

function resampleCases(backward: boolean): Case[] {
  return sizes.flatMap(([small, large], k) =>
    resamplers.map((mode): Case => {
      const [size, total] = [small, large],
        rows = Array.from({ length: total[0] }, (_, p) => weightsOf(p, size[0], total[0], mode)),
        columns = Array.from({ length: total[1] }, (_, q) => weightsOf(q, size[1], total[1], mode));
      const source = floats([2, 2, ...(backward ? total : size)], 610 + k),
        to = backward ? size : total;
      const expected = build([2, 2, ...to], "float32", ([n, c, y, x]) => {
        let sum = 0;
        for (const [v, u] of indices(source.shape.slice(2)))
          sum +=
            (backward ? rows[v!]![y!]! * columns[u!]![x!]! : rows[y!]![v!]! * columns[x!]![u!]!) *
            source.values[at(source.shape, [n!, c!, v!, u!])]!;
        return sum;
      });
      return {
        label: `${mode} ${size.join("×")} to ${total.join("×")}`,
        inputs: [source],
        attrs: { size: to, mode },
        expected: [expected],
        rel: 1e-5,
        abs: 1e-5,
        views: allViews(1),
      };
    }),
  );
}

/** Steps of a given ratio, larger and smaller than that of the sizes. */
function scaledCases(backward: boolean): Case[] {
  return (["nearestScaled", "bilinearScaled"] as const).flatMap((mode) =>
    (
      [
        [
          [5, 7],
          [8, 11],
          [0.6, 0.6],
        ],
        [
          [6, 7],
          [3, 4],
          [1.7, 1.6],
        ],
        [
          [3, 3],
          [4, 4],
          [0.7, 0.875],
        ],
      ] as const
    ).map(([size, total, scale]): Case => {
      const weights = (axis: 0 | 1): number[][] =>
        Array.from({ length: total[axis] }, (_, p) => {
          const n = size[axis],
            k = Math.fround(scale[axis]),
            w = Array<number>(n).fill(0),
            s = mode === "nearestScaled" ? Math.floor(p * k) : Math.max((p + 0.5) * k - 0.5, 0),
            y = Math.min(Math.floor(s), n - 1),
            part = Math.min(s - y, 1);
          w[y]! += 1 - part;
          w[Math.min(y + 1, n - 1)]! += part;
          return w;
        });
      const [rows, columns] = [weights(0), weights(1)],
        source = floats([1, 2, ...(backward ? total : size)], 630),
        to = backward ? size : total;
      const expected = build([1, 2, ...to], "float32", ([n, c, y, x]) =>
        [...indices(source.shape.slice(2))].reduce(
          (sum, [v, u]) =>
            sum +
            (backward ? rows[v!]![y!]! * columns[u!]![x!]! : rows[y!]![v!]! * columns[x!]![u!]!) *
              source.values[at(source.shape, [n!, c!, v!, u!])]!,
          0,
        ),
      );
      return {
        label: `${mode} ${size.join("×")} to ${total.join("×")} by ${scale.join()}`,
        inputs: [source],
        attrs: { size: to, mode, scale },
        expected: [expected],
        rel: 1e-5,
        abs: 1e-5,
        views: allViews(1),
      };
    }),
  );
}

export const imageCases: CaseTable = {
  pad: () => [
    ...modes.flatMap((mode) => [
      padCase([5], [2], [1], mode),
      padCase([4, 6], [0, 2], [1, 3], mode),
      padCase([2, 3, 4], [0, 2, 0], [0, 0, 3], mode),
    ]),
    padCase([2, 2], [0, 0], [0, 0], "constant"),
    padCase([0, 2], [1, 0], [1, 0], "constant"),
    padCase([3, 4], [1, 1], [1, 1], "constant", "int32"),
    padCase([3, 4], [1, 1], [1, 1], "reflect", "uint32"),
    padCase([3, 4], [1, 0], [0, 1], "constant", "bool"),
  ],
  resample: () => [...resampleCases(false), ...scaledCases(false)],
  resampleBackward: () => [...resampleCases(true), ...scaledCases(true)],
};

export const imageGrads: GradTable = {
  pad: () =>
    modes.map((mode) => ({
      label: mode,
      points: [point([3, 4], 620)],
      attrs: { before: [2, 0], after: [1, 3], mode },
      words: [0],
      second: true,
    })),
  resample: () =>
    resamplers.map((mode, k) => ({
      label: mode,
      points: [point([1, 1, 3, 2], 621)],
      attrs: { size: k % 2 === 0 ? [5, 4] : [2, 5], mode },
      second: true,
    })),
  resampleBackward: () =>
    resamplers.map((mode) => ({
      label: mode,
      points: [point([1, 1, 3, 4], 622)],
      attrs: { size: [2, 2], mode },
    })),
};

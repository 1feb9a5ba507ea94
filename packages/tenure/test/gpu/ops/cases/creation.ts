/**
 * Cases of the ops that make values from nothing, drawn or counted.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { type DType, isFloat } from "../../../../src/base/dtype.ts";
import { randomNormal, randomUniform } from "../../../../src/kernels/philox.ts";
import { at, build } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  filled,
  grad,
  point,
} from "./case.ts";
import { dtypes } from "./copies.ts";

const wordOf = (x: number, dtype: DType): number =>
  isFloat(dtype) ? f32Bits(x) : dtype === "bool" ? Number(x !== 0) : x >>> 0;

export const creationCases: CaseTable = {
  fill: () =>
    dtypes.flatMap((dtype) =>
      [[], [3, 5], [0], [2, 2, 4]].map((shape): Case => ({
        label: `${dtype} [${shape.join()}]`,
        inputs: [],
        attrs: { shape, dtype },
        words: [wordOf(3, dtype)],
        expected: [build(shape, dtype, () => (dtype === "bool" ? 1 : 3))],
      })),
    ),
  arange: () =>
    (["float32", "int32", "uint32"] as const).flatMap((dtype) =>
      [[7], [0], [3, 5]].map((shape): Case => ({
        label: `${dtype} [${shape.join()}]`,
        inputs: [],
        attrs: { shape, dtype },
        words: [wordOf(2, dtype), wordOf(3, dtype)],
        expected: [build(shape, dtype, (i) => 2 + 3 * at(shape, i))],
      })),
    ),
  random: () =>
    (["uniform", "normal"] as const).flatMap((distribution) =>
      [[], [5, 7], [0], [64]].map((shape): Case => ({
        label: `${distribution} [${shape.join()}]`,
        inputs: [],
        attrs: { shape, dtype: "float32", distribution },
        words: [11, 22, 33],
        rel: 1e-4,
        abs: distribution === "uniform" ? 0 : 1e-3, // WGSL: cos is good to 2^-11
        expected: [
          build(shape, "float32", (i) =>
            (distribution === "uniform" ? randomUniform : randomNormal)([11, 22], 33, at(shape, i)),
          ),
        ],
      })),
    ),
  dropout: () =>
    [0.75, 0.25].map((keep): Case => {
      const x = filled([5, 7], "float32", 57);
      return {
        label: `keep ${keep}`,
        inputs: [x],
        words: [1, 2, 3, f32Bits(keep)],
        expected: [
          build([5, 7], "float32", (i) =>
            randomUniform([1, 2], 3, at([5, 7], i)) < keep ? x.values[at([5, 7], i)]! / keep : 0,
          ),
        ],
        views: allViews(1),
      };
    }),
};

export const creationGrads: GradTable = {
  dropout: () => [
    grad("mask", [point([3, 4], 84)], { words: [1, 2, 3, f32Bits(0.5)], second: true }),
  ],
};

/**
 * Cases of the ops that carry values over: conversions, copies and choices between two.
 */
import { type DType, promote } from "../../../../src/base/dtype.ts";
import { broadcastAt } from "../../../helpers.ts";
import { samples, specials } from "./references.ts";
import { type Host, build, host, store } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  filled,
  grad,
  point,
} from "./case.ts";
import { convert } from "./elementwise.ts";

export const dtypes: readonly DType[] = ["float32", "int32", "uint32", "bool"];

export const copyCases: CaseTable = {
  cast: () =>
    dtypes.flatMap((from) =>
      dtypes.map((to): Case => {
        const values = [
          ...specials(from),
          ...samples(from, 12, 50),
          ...(from === "float32" ? [3e9, -3e9, 5e9, 0.3, -0.3] : []),
        ].map((x) => store(from, x));
        return {
          label: `${from} to ${to}`,
          inputs: [host([values.length], values, from)],
          attrs: { dtype: to },
          expected: [
            host(
              [values.length],
              values.map((x) => convert(x, from, to)),
              to,
            ),
          ],
          rel: 0,
          abs: 0,
          views: [["plain"], ["sliced"]],
        };
      }),
    ),
  copy: () =>
    dtypes.map((dtype): Case => {
      const x = filled([5, 7], dtype, 51);
      return { label: dtype, inputs: [x], expected: [x], rel: 0, abs: 0, views: allViews(1) };
    }),
  copy_: () =>
    dtypes.flatMap((to) =>
      dtypes.map((from): Case => {
        const source = filled([7], from, 52),
          target = filled([5, 7], to, 53);
        return {
          label: `${from} into ${to}`,
          inputs: [target, source],
          expected: [build([5, 7], to, (i) => convert(source.values[i[1]!]!, from, to))],
          rel: 0,
          abs: 0,
          views: [
            ["plain", "plain"],
            ["sliced", "offset"],
          ],
        };
      }),
    ),
  where: () =>
    [
      ...dtypes.map((dtype) => ["bool", dtype, dtype] as const),
      ["float32", "int32", "float32"] as const,
      ["int32", "bool", "uint32"] as const,
    ].flatMap((types) =>
      (
        [
          [
            [5, 7],
            [5, 7],
            [5, 7],
          ],
          [[5, 1], [7], []],
          [[0, 3], [3], [1]],
        ] as const
      ).map((shapes): Case => {
        const [c, a, b] = shapes.map((s, i) => filled(s, types[i]!, 54 + i)) as [Host, Host, Host],
          dtype = promote(types[1], types[2]);
        const shape = shapes[0][0] === 0 ? [0, 3] : [5, 7];
        return {
          label: `${types.join()} ${JSON.stringify(shapes)}`,
          inputs: [c, a, b],
          expected: [
            build(shape, dtype, (i) =>
              c.values[broadcastAt(c.shape, i)]! !== 0
                ? convert(a.values[broadcastAt(a.shape, i)]!, types[1], dtype)
                : convert(b.values[broadcastAt(b.shape, i)]!, types[2], dtype),
            ),
          ],
          rel: 0,
          abs: 0,
          views: [
            ["plain", "plain", "plain"],
            ["transposed", "sliced", "offset"],
          ],
        };
      }),
    ),
};

export const copyGrads: GradTable = {
  cast: () => [grad("float32", [point([3], 80)], { attrs: { dtype: "float32" } })],
  copy: () => [grad("[2,3]", [point([2, 3], 81)], { second: true })],
  where: () => [
    grad("broadcast", [point([2, 3], 82), point([3], 83)], {
      fixed: { 0: host([2, 1], [1, 0], "bool") },
      second: true,
    }),
  ],
};

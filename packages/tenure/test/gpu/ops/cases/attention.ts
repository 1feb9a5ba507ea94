/**
 * Cases of the attention weights: softmax of scaled scores under a mask.
 */
import { indices } from "../../../helpers.ts";
import { type Host, build, host } from "../host.ts";
import { type Case, type CaseTable, type GradTable, allViews, floats, point } from "./case.ts";
import { value } from "./normalization.ts";

function attentionCases(): Case[] {
  const list: readonly (readonly [readonly number[], Host | undefined])[] = [
    [[4, 6], undefined],
    [[2, 3, 5, 8], undefined],
    [
      [3, 4, 4],
      host(
        [4, 4],
        [...indices([4, 4])].map(([i, j]) => Number((i! + j!) % 3 !== 0 && i !== 2)),
        "bool",
      ),
    ],
    [[2, 2, 4, 5], floats([2, 1, 1, 5], 570)],
  ];
  return list.flatMap(([shape, mask], k) =>
    [false, true].map((causal): Case => {
      const x = floats(shape, 571 + k),
        axis = shape.length - 1;
      const score = (i: readonly number[]): number =>
        (causal && i[axis]! > i[axis - 1]!) || (mask?.dtype === "bool" && value(mask, i) === 0)
          ? -Infinity
          : 0.5 * value(x, i) + (mask?.dtype === "float32" ? value(mask, i) : 0);
      const expected = build(shape, "float32", (i) => {
        const row = Array.from({ length: shape[axis]! }, (_, d) => score([...i.slice(0, -1), d])),
          m = Math.max(...row);
        return m === -Infinity
          ? 0
          : Math.exp(score(i) - m) / row.reduce((s, v) => s + Math.exp(v - m), 0);
      });
      return {
        label: `[${shape.join()}] ${mask?.dtype ?? "no mask"}${causal ? " causal" : ""}`,
        inputs: [x, ...(mask === undefined ? [] : [mask])],
        attrs: { scale: 0.5, causal },
        expected: [expected],
        rel: 3e-5,
        abs: 1e-6,
        views: allViews(mask === undefined ? 1 : 2),
      };
    }),
  );
}

export const attentionTable: CaseTable = {
  attentionWeights: attentionCases,
};

export const attentionGrads: GradTable = {
  attentionWeights: () => [
    {
      label: "causal",
      points: [point([3, 3], 593)],
      attrs: { scale: 0.5, causal: true },
      second: true,
    },
    {
      label: "added mask",
      points: [point([2, 2, 3], 594), point([3], 595)],
      attrs: { scale: 0.5, causal: false },
    },
    {
      label: "mask",
      points: [point([2, 3], 596)],
      fixed: { 1: host([3], [1, 0, 1], "bool") },
      attrs: { scale: 2, causal: false },
      second: true,
    },
  ],
};

/**
 * Cases of the ops that only change how elements are addressed.
 */
import { broadcastAt, count } from "../../../helpers.ts";
import { type Host, at, build, host } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  filled,
  grad,
  point,
} from "./case.ts";

function sliceReference(
  x: Host,
  { axis, start, end, step }: { axis: number; start: number; end: number; step: number },
): Host {
  const d = x.shape[axis]!,
    clamp = (p: number): number => Math.min(Math.max(p < 0 ? p + d : p, 0), d),
    picks: number[] = [];
  for (let i = clamp(start); i < clamp(end); i += step) picks.push(i);
  return build(
    x.shape.map((n, k) => (k === axis ? picks.length : n)),
    x.dtype,
    (i) =>
      x.values[
        at(
          x.shape,
          i.map((v, k) => (k === axis ? picks[v]! : v)),
        )
      ]!,
  );
}

const slices = [
  { axis: 0, start: 1, end: 4, step: 1 },
  { axis: 1, start: 0, end: 7, step: 3 },
  { axis: 1, start: -3, end: -1, step: 1 },
  { axis: 0, start: 3, end: 2, step: 1 },
  { axis: 1, start: -100, end: 100, step: 2 },
];

export const layoutCases: CaseTable = {
  reshape: () =>
    (
      [
        [
          [4, 6],
          [3, 8],
        ],
        [[4, 6], [-1]],
        [
          [2, 3, 4],
          [6, -1],
        ],
        [[], [1, 1]],
        [[1], []],
        [
          [0, 3],
          [3, 0],
        ],
        [
          [6, 1, 4],
          [2, 3, 4],
        ],
      ] as const
    ).map(([from, to]): Case => {
      const x = filled(from, "float32", 58),
        hole = count(from) / -count(to);
      return {
        label: `[${from.join()}] to [${to.join()}]`,
        inputs: [x],
        attrs: { shape: to },
        expected: [
          host(
            to.map((d) => (d === -1 ? hole : d)),
            x.values,
          ),
        ],
        rel: 0,
        abs: 0,
        views: allViews(1),
      };
    }),
  permute: () =>
    (
      [
        [
          [4, 6],
          [1, 0],
        ],
        [
          [2, 3, 4],
          [2, 0, 1],
        ],
        [
          [2, 3, 4],
          [0, 1, 2],
        ],
        [[], []],
        [
          [0, 2],
          [1, 0],
        ],
      ] as const
    ).map(([from, order]): Case => {
      const x = filled(from, "float32", 59);
      return {
        label: `[${from.join()}] by [${order.join()}]`,
        inputs: [x],
        attrs: { order },
        expected: [
          build(
            order.map((k) => from[k]!),
            "float32",
            (i) =>
              x.values[
                at(
                  from,
                  from.map((_, d) => i[(order as readonly number[]).indexOf(d)]!),
                )
              ]!,
          ),
        ],
        rel: 0,
        abs: 0,
        views: allViews(1),
      };
    }),
  expand: () =>
    (
      [
        [
          [1, 6],
          [4, 6],
        ],
        [
          [3, 1],
          [2, 3, 5],
        ],
        [[], [2, 2]],
        [[4], [4]],
        [[1], [0]],
      ] as const
    ).map(([from, shape]): Case => {
      const x = filled(from, "float32", 60);
      return {
        label: `[${from.join()}] to [${shape.join()}]`,
        inputs: [x],
        attrs: { shape },
        expected: [build(shape, "float32", (i) => x.values[broadcastAt(from, i)]!)],
        rel: 0,
        abs: 0,
        views: allViews(1),
      };
    }),
  slice: () =>
    slices.map((attrs): Case => {
      const x = filled([5, 7], "float32", 61);
      return {
        label: JSON.stringify(attrs),
        inputs: [x],
        attrs,
        expected: [sliceReference(x, attrs)],
        rel: 0,
        abs: 0,
        views: allViews(1),
      };
    }),
  unslice: () =>
    slices.map((attrs): Case => {
      const shape = [5, 7],
        place = build(shape, "float32", (i) => at(shape, i)),
        picked = sliceReference(place, attrs),
        x = filled(picked.shape, "float32", 62);
      return {
        label: JSON.stringify(attrs),
        inputs: [x],
        attrs: { ...attrs, shape },
        expected: [
          build(shape, "float32", (i) => {
            const k = picked.values.indexOf(at(shape, i));
            return k === -1 ? 0 : x.values[k]!;
          }),
        ],
        rel: 0,
        abs: 0,
        views: allViews(1),
      };
    }),
};

export const layoutGrads: GradTable = {
  reshape: () => [
    grad("[2,3] to [3,2]", [point([2, 3], 85)], { attrs: { shape: [3, 2] }, second: true }),
  ],
  permute: () => [
    grad("[2,3,2]", [point([2, 3, 2], 86)], { attrs: { order: [2, 0, 1] }, second: true }),
  ],
  expand: () => [
    grad("[3,1] to [2,3,4]", [point([3, 1], 87)], { attrs: { shape: [2, 3, 4] }, second: true }),
  ],
  slice: () =>
    slices
      .filter((s) => s.start < s.end || s.start < 0)
      .map((attrs) => grad(JSON.stringify(attrs), [point([5, 7], 88)], { attrs })),
  unslice: () => [
    grad("[2,7] in [5,7]", [point([2, 7], 89)], {
      attrs: { axis: 0, start: 1, end: 4, step: 2, shape: [5, 7] },
    }),
  ],
};

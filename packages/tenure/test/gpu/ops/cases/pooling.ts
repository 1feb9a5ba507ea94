/**
 * Cases of the pooling windows, forward and backward.
 */
import { count, indices } from "../../../helpers.ts";
import { at, host } from "../host.ts";
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

interface PoolWindow {
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly countIncludePad?: boolean;
  readonly ceil?: boolean;
}

const poolings: readonly (readonly [readonly number[], PoolWindow])[] = [
  [[2, 3, 6, 6], { kernel: [2, 2], stride: [2, 2], padding: [0, 0], countIncludePad: true }],
  [[1, 2, 7, 5], { kernel: [3, 2], stride: [2, 1], padding: [1, 1], countIncludePad: true }],
  [[1, 2, 7, 5], { kernel: [3, 3], stride: [2, 2], padding: [1, 0], countIncludePad: false }],
  [[2, 1, 5, 5], { kernel: [5, 5], stride: [1, 1], padding: [0, 0], countIncludePad: false }],
  [
    [1, 2, 7, 5],
    { kernel: [2, 2], stride: [2, 2], padding: [0, 0], countIncludePad: true, ceil: true },
  ],
  [
    [1, 1, 6, 5],
    { kernel: [3, 3], stride: [2, 3], padding: [1, 1], countIncludePad: true, ceil: true },
  ],
  [
    [1, 1, 8, 4],
    { kernel: [2, 2], stride: [4, 3], padding: [1, 1], countIncludePad: false, ceil: true },
  ],
];

function poolCases(name: string): Case[] {
  return poolings.map(([shape, w]) => {
    const x = filled(shape, "float32", 37),
      max = name.startsWith("max"),
      backward = name.endsWith("Backward");
    const [n, c, h, wd] = shape as [number, number, number, number];
    // With ceil, every window counts that begins before the end of the image.
    const fits = (d: number, k: number, p: number): boolean => {
      const from = p * w.stride[k]! - w.padding[k]!;
      return (
        from + w.kernel[k]! <= d + w.padding[k]! ||
        (w.ceil === true && from < d && from - w.stride[k]! + w.kernel[k]! < d + w.padding[k]!)
      );
    };
    const out = [
      n,
      c,
      ...[h, wd].map((d, k) => {
        let p = 0;
        while (fits(d, k, p)) p++;
        return p;
      }),
    ];
    const g = filled(out, "float32", 38),
      back = Array<number>(count(shape)).fill(0);
    const forward = [...indices(out)].map((o, k) => {
      const inside: number[] = [];
      let padded = 0;
      for (const [u, v] of indices(w.kernel) as Iterable<[number, number]>) {
        const y = o[2]! * w.stride[0] - w.padding[0] + u,
          z = o[3]! * w.stride[1] - w.padding[1] + v;
        if (y >= 0 && y < h && z >= 0 && z < wd) inside.push(at(shape, [o[0]!, o[1]!, y, z]));
        if (y < h + w.padding[0] && z < wd + w.padding[1]) padded++;
      }
      const values = inside.map((p) => x.values[p]!),
        area = w.countIncludePad === true ? padded : inside.length;
      if (name === "maxPool2dIndices")
        return inside[values.indexOf(Math.max(...values))]! % (h * wd);
      if (max) back[inside[values.indexOf(Math.max(...values))]!]! += g.values[k]!;
      else for (const p of inside) back[p]! += g.values[k]! / area;
      return max ? Math.max(...values) : values.reduce((a, b) => a + b, 0) / area;
    });
    const inputs = !backward ? [x] : max ? [x, g] : [g];
    return {
      label: `[${shape.join()}] ${JSON.stringify(w)}`,
      inputs,
      attrs: backward && !max ? { ...w, shape } : w,
      expected: [
        backward
          ? host(shape, back)
          : host(out, forward, name === "maxPool2dIndices" ? "int32" : "float32"),
      ],
      rel: 1e-5,
      abs: 1e-5,
      views: allViews(inputs.length),
    };
  });
}

const poolings2d = [
  "maxPool2d",
  "avgPool2d",
  "maxPool2dIndices",
  "maxPool2dBackward",
  "avgPool2dBackward",
];

export const poolTable: CaseTable = Object.fromEntries(
  poolings2d.map((name) => [name, () => poolCases(name)]),
);

export const poolGrads: GradTable = {
  maxPool2d: () => [
    grad("2×2", [distinct([1, 2, 4, 4])], {
      attrs: { kernel: [2, 2], stride: [2, 2], padding: [0, 0] },
    }),
    grad("overlap", [distinct([1, 1, 4, 4])], {
      attrs: { kernel: [3, 3], stride: [1, 1], padding: [1, 1] },
      second: true,
    }),
    grad("ceil", [distinct([1, 1, 5, 3])], {
      attrs: { kernel: [2, 2], stride: [2, 2], padding: [0, 0], ceil: true },
      second: true,
    }),
  ],
  maxPool2dBackward: () => [
    grad("overlap", [point([1, 1, 2, 2], 111)], {
      fixed: { 0: host([1, 1, 4, 4], distinct([1, 1, 4, 4]).values) },
      attrs: { kernel: [3, 3], stride: [2, 2], padding: [1, 1] },
    }),
  ],
  avgPool2d: () =>
    [true, false].map((countIncludePad) =>
      grad(`pad ${countIncludePad}`, [point([1, 1, 4, 4], 109)], {
        attrs: { kernel: [3, 3], stride: [2, 2], padding: [1, 1], countIncludePad },
        second: true,
      }),
    ),
  avgPool2dBackward: () => [
    grad("2×2", [point([1, 1, 2, 2], 110)], {
      attrs: {
        kernel: [3, 3],
        stride: [2, 2],
        padding: [1, 1],
        countIncludePad: false,
        shape: [1, 1, 4, 4],
      },
    }),
  ],
};

/**
 * Cases of the elementwise ops with bounds, masks or a third operand.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { broadcastAt, count, indices, numbers } from "../../../helpers.ts";
import { build, host, store } from "../host.ts";
import {
  activations,
  eluOf,
  leaky,
  scalarCase,
  slopeCases,
  slopes,
  wideFloats,
} from "./activations.ts";
import {
  type Case,
  type CaseTable,
  type GradCase,
  type GradTable,
  allViews,
  point,
} from "./case.ts";

function clampCases(): Case[] {
  const x = [...numbers(18, 310, -5, 5), NaN, Infinity, -Infinity, 0, 1, -1];
  const whole = (dtype: "int32" | "uint32"): Case => {
    const v = numbers(12, 311, 0, 9).map((n) => Math.floor(n));
    return {
      label: dtype,
      inputs: [host([12], v, dtype)],
      attrs: { dtype },
      words: [2, 5],
      expected: [
        host(
          [12],
          v.map((n) => Math.min(Math.max(n, 2), 5)),
          dtype,
        ),
      ],
      rel: 0,
      abs: 0,
    };
  };
  return [
    ...(
      [
        [-1, 1],
        [-Infinity, 2],
        [0, Infinity],
      ] as const
    ).map(([a, b]): Case => ({
      label: `${a} to ${b}`,
      inputs: [host([4, 6], x)],
      attrs: { dtype: "float32" },
      words: [f32Bits(a), f32Bits(b)],
      expected: [
        host(
          [4, 6],
          x.map((v) => Math.min(Math.max(v, a), b)),
        ),
      ],
      rel: 0,
      abs: 0,
      views: allViews(1),
    })),
    whole("int32"),
    whole("uint32"),
    {
      label: "0-d",
      inputs: [host([], [7])],
      attrs: { dtype: "float32" },
      words: [f32Bits(0), f32Bits(1)],
      expected: [host([], [1])],
    },
  ];
}

function maskedFillCases(inplace: boolean): Case[] {
  const list = [
    [
      [5, 7],
      [5, 7],
    ],
    [[5, 7], [7]],
    [
      [5, 7],
      [5, 1],
    ],
    [[0, 3], [3]],
    ...(inplace ? [] : [[[7], [5, 7]]]),
  ] as const;
  return (["float32", "int32", "bool"] as const).flatMap((dtype) =>
    list.map(([a, m]): Case => {
      const x = host(
          a,
          numbers(count(a), 312, 0, 9).map((v) =>
            store(dtype, Math.floor(v % (dtype === "bool" ? 2 : 9))),
          ),
          dtype,
        ),
        mask = host(m, numbers(count(m), 313, 0, 2).map(Math.floor), "bool");
      const shape = m.length > a.length ? m : a;
      return {
        label: `${dtype} [${a.join()}] by [${m.join()}]`,
        inputs: [x, mask],
        words: [dtype === "float32" ? f32Bits(-3) : dtype === "bool" ? 1 : -3 >>> 0],
        expected: [
          build(shape, dtype, (i) =>
            mask.values[broadcastAt(m, i)]! !== 0
              ? dtype === "bool"
                ? 1
                : -3
              : x.values[broadcastAt(a, i)]!,
          ),
        ],
        rel: 0,
        abs: 0,
        views: [
          ["plain", "plain"],
          ["transposed", "sliced"],
        ],
      };
    }),
  );
}

function bandCases(): Case[] {
  return [
    [5, 7],
    [7, 4],
    [2, 3, 3],
    [0, 3],
  ].flatMap((shape) =>
    [0, 1, -2].flatMap((k) =>
      [false, true].map((upper): Case => {
        const x = wideFloats(shape, 314);
        return {
          label: `[${shape.join()}] ${upper ? "upper" : "lower"} ${k}`,
          inputs: [x],
          attrs: { upper },
          words: [shape.at(-2)!, shape.at(-1)!, k >>> 0],
          expected: [
            build(shape, "float32", (i) => {
              const d = i.at(-1)! - i.at(-2)!;
              return (upper ? d >= k : d <= k) ? x.values[broadcastAt(shape, i)]! : 0;
            }),
          ],
          rel: 0,
          abs: 0,
          views: k === 0 ? allViews(1) : [["plain"]],
        };
      }),
    ),
  );
}

function mixCases(f: (s: number, ...x: number[]) => number, arity: number): Case[] {
  const shapes = [
    [
      [5, 7],
      [5, 7],
      [5, 7],
    ],
    [[5, 7], [7], [5, 1]],
    [[0, 3], [3], [1]],
  ];
  return [0.25, 0.75].flatMap((s) =>
    shapes.map((list): Case => {
      const inputs = list.slice(0, arity).map((shape, k) => wideFloats(shape, 315 + k, 0.5, 3));
      return {
        label: `${s} ${JSON.stringify(list)}`,
        inputs,
        words: [f32Bits(s)],
        expected: [
          build(list[0]!, "float32", (i) =>
            f(s, ...inputs.map((h) => h.values[broadcastAt(h.shape, i)]!)),
          ),
        ],
        rel: 1e-5,
        abs: 1e-6,
        views: allViews(arity),
      };
    }),
  );
}

const mixes: CaseTable = {
  lerp: () => mixCases((s, a, b) => a + s * (b - a), 2),
  addcmul: () => mixCases((s, a, b, c) => a + s * b * c, 3),
  addcdiv: () => mixCases((s, a, b, c) => a + (s * b) / c, 3),
  clamp: clampCases,
  elu: () => scalarCase(eluOf(0.5), [0.5]),
  leakyRelu: () => scalarCase(leaky(0.125), [0.125], 1e-6),
};

export const mathCases: CaseTable = {
  ...slopes,
  ...mixes,
  ...Object.fromEntries(Object.entries(mixes).map(([name, cases]) => [`${name}_`, cases])),
  clampBackward: () => slopeCases((x) => (x >= -1.5 && x <= 2 ? 1 : 0), [-1.5, 2]),
  maskedFill: () => maskedFillCases(false),
  maskedFill_: () => maskedFillCases(true),
  band: bandCases,
};

const away = (shape: readonly number[]): GradCase["points"][number] => ({
  shape,
  values: [...indices(shape)].map((_, k) => (k % 2 === 0 ? 1 : -1) * (0.3 + 0.17 * k)),
});

export const mathGrads: GradTable = {
  ...Object.fromEntries(
    activations.map(([name, , , , words]) => [
      `${name}Backward`,
      () => [
        { label: "[2,3]", points: [away([2, 3]), point([2, 3], 321)], words: words.map(f32Bits) },
      ],
    ]),
  ),
  elu: () => [{ label: "0.5", points: [away([2, 3])], words: [f32Bits(0.5)], second: true }],
  leakyRelu: () => [
    { label: "0.125", points: [away([2, 3])], words: [f32Bits(0.125)], second: true },
  ],
  clamp: () => [
    {
      label: "-1 to 1",
      points: [{ shape: [5], values: [-2, -0.5, 0.1, 0.7, 1.5] }],
      attrs: { dtype: "float32" },
      words: [f32Bits(-1), f32Bits(1)],
      second: true,
    },
  ],
  clampBackward: () => [
    {
      label: "-1 to 1",
      points: [{ shape: [4], values: [-2, -0.5, 0.7, 1.5] }, point([4], 322)],
      words: [f32Bits(-1), f32Bits(1)],
    },
  ],
  maskedFill: () => [
    {
      label: "broadcast",
      points: [point([2, 3], 323)],
      fixed: { 1: host([3], [1, 0, 1], "bool") },
      words: [f32Bits(5)],
      second: true,
    },
  ],
  band: () => [
    {
      label: "lower",
      points: [point([3, 3], 324)],
      attrs: { upper: false },
      words: [3, 3, 0],
      second: true,
    },
  ],
  lerp: () => [
    {
      label: "0.25",
      points: [point([2, 3], 325), point([3], 326)],
      words: [f32Bits(0.25)],
      second: true,
    },
  ],
  addcmul: () => [
    {
      label: "0.5",
      points: [point([2, 3], 327), point([3], 328), point([2, 1], 329)],
      words: [f32Bits(0.5)],
      second: true,
    },
  ],
  addcdiv: () => [
    {
      label: "0.5",
      points: [point([2, 3], 330), point([3], 331), point([2, 1], 332, 0.5, 2)],
      words: [f32Bits(0.5)],
      second: true,
    },
  ],
};

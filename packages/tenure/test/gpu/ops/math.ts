/**
 * What the ops of ops/math.ts must compute: references for the plain functions, cases for those
 * that take numbers. Tolerances are what the adapters' exp, log and sin leave of float32, times the
 * function's own slope.
 */
import { f32Bits } from "../../../src/base/bits.ts";
import { broadcastAt, count, indices, numbers } from "../../helpers.ts";
import type { Case, GradCase } from "./cases.ts";
import type { Reference } from "./elementwise.ts";
import { type Host, type ViewKind, build, host, store } from "./host.ts";

/** The error function: Taylor near zero, 1 where float32 sees no difference. */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (Number.isNaN(x)) return x;
  if (z > 4.5) return Math.sign(x);
  let sum = 0,
    term = z;
  for (let n = 0; n < 200; n++) {
    sum += term / (2 * n + 1);
    term *= (-z * z) / (n + 1);
  }
  return (Math.sign(x) * sum * 2) / Math.sqrt(Math.PI);
}

const large = (x: number): boolean => Math.abs(x) > 1e3;
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x)),
  softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const cdf = (x: number): number => 0.5 * (1 + erf(x / Math.SQRT2)),
  density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
const geluTanh = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
const mish = (x: number): number => x * Math.tanh(softplus(x));
const hardSigmoid = (x: number): number => Math.min(Math.max(x + 3, 0), 6) / 6;
const selu = (x: number): number =>
  1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x));
/** x·0 at -∞, as in PyTorch. */
const beyond = (x: number): boolean => x === -Infinity || Math.abs(x) > 1e10;
/** The slope of `f` by a central difference. */
const slope =
  (f: (x: number) => number, h = 1e-5) =>
  (x: number): number =>
    (f(x + h) - f(x - h)) / (2 * h);

export const moreUnary: Readonly<Record<string, Reference>> = {
  erf: { kind: "float", float: erf, rel: 1e-6, abs: 3e-7, smooth: true },
  exp2: {
    kind: "float",
    float: (x) => 2 ** x,
    rel: 3e-5,
    without: (x) => x < -100 && x > -200,
    smooth: true,
  },
  log2: { kind: "float", float: Math.log2, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  log10: { kind: "float", float: Math.log10, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  tan: {
    kind: "float",
    float: Math.tan,
    rel: 2e-3,
    abs: 1e-3,
    without: (x) => large(x) || Math.abs(Math.cos(x)) < 0.2,
    range: [[-1, 1]],
    smooth: true,
  }, // sin and cos are good to 2^-11
  asin: { kind: "float", float: Math.asin, rel: 1e-6, range: [[-0.8, 0.8]], smooth: true },
  acos: { kind: "float", float: Math.acos, rel: 1e-6, range: [[-0.8, 0.8]], smooth: true },
  atan: { kind: "float", float: Math.atan, rel: 1e-6, smooth: true },
  sinh: { kind: "float", float: Math.sinh, rel: 4e-5, smooth: true },
  cosh: { kind: "float", float: Math.cosh, rel: 4e-5, smooth: true },
  trunc: {
    kind: "same",
    float: Math.trunc,
    int: (x) => x,
    uint: (x) => x,
    rel: 0,
    range: [[0.2, 0.8]],
  },
  isInf: { kind: "bool", float: (x) => Number(Math.abs(x) === Infinity) },
  logSigmoid: { kind: "float", float: (x) => -softplus(-x), rel: 3e-5, smooth: true },
  rootOrZero: { kind: "float", float: Math.sqrt, rel: 1e-5, range: [[0.5, 3]], smooth: true },
  inverseOrZero: {
    kind: "float",
    float: (x) => (x === 0 ? 0 : 1 / x),
    rel: 1e-5,
    range: [[0.5, 2]],
    smooth: true,
  },
  gelu: {
    kind: "float",
    float: (x) => x * cdf(x),
    rel: 1e-5,
    abs: 2e-6,
    without: beyond,
    smooth: true,
  },
  geluTanh: { kind: "float", float: geluTanh, rel: 1e-5, abs: 1e-5, without: beyond, smooth: true },
  silu: { kind: "float", float: (x) => x * sigmoid(x), rel: 3e-5, without: beyond, smooth: true },
  mish: { kind: "float", float: mish, rel: 3e-5, without: beyond, smooth: true },
  selu: { kind: "float", float: selu, rel: 3e-5, range: [[0.1, 2]], smooth: true },
  hardSwish: {
    kind: "float",
    float: (x) => x * hardSigmoid(x),
    rel: 1e-5,
    without: beyond,
    range: [[-2.5, 2.5]],
    smooth: true,
  },
  hardSigmoid: { kind: "float", float: hardSigmoid, rel: 1e-5, range: [[-2.5, 2.5]] },
};

export const moreBinary: Readonly<Record<string, Reference>> = {
  atan2: {
    kind: "float",
    float: (y, x) => Math.atan2(y, x),
    rel: 1e-6,
    range: [
      [0.5, 2],
      [-2, 2],
    ],
    smooth: true,
  },
};

// === Slopes ===

const kinds: readonly ViewKind[] = ["plain", "transposed", "sliced", "offset"];
const turns = (n: number): ViewKind[][] =>
  kinds.map((_, k) => Array.from({ length: n }, (_x, i) => kinds[(k + i) % kinds.length]!));
const floats = (shape: readonly number[], seed: number, low = -4, high = 4): Host =>
  host(shape, numbers(count(shape), seed, low, high));

/** b·f'(a) over ordinary points and far out on both sides. */
function slopeCases(f: (x: number) => number, words: readonly number[] = []): Case[] {
  return [floats([5, 7], 300), host([6], [-30, 30, -8, 8, -90, 90])].map((x, k) => {
    const g = floats(x.shape, 301 + k);
    return {
      label: `[${x.shape.join()}]`,
      inputs: [x, g],
      words: words.map(f32Bits),
      expected: [
        build(
          x.shape,
          "float32",
          (i) => g.values[broadcastAt(g.shape, i)]! * f(x.values[broadcastAt(x.shape, i)]!),
        ),
      ],
      rel: 3e-4,
      abs: 1e-5,
      views: turns(2),
    };
  });
}

const scalarCase = (f: (x: number) => number, words: readonly number[], rel = 3e-5): Case[] => {
  const x = [...numbers(20, 303, -5, 5), NaN, Infinity, 0, -20];
  return [
    {
      label: words.join(),
      inputs: [host([4, 6], x)],
      words: words.map(f32Bits),
      expected: [host([4, 6], x.map(f))],
      rel,
      abs: 1e-6,
      views: turns(1),
    },
  ];
};

const eluOf =
    (a: number) =>
    (x: number): number =>
      x > 0 ? x : a * Math.expm1(x),
  leaky =
    (s: number) =>
    (x: number): number =>
      x > 0 ? x : s * x;
const activations: readonly (readonly [
  string,
  (x: number) => number,
  (x: number) => number,
  (x: number) => number,
  readonly number[],
])[] = [
  ["gelu", (x) => x * cdf(x), (x) => cdf(x) + x * density(x), (x) => density(x) * (2 - x * x), []],
  ["geluTanh", geluTanh, slope(geluTanh), slope(slope(geluTanh, 1e-4), 1e-4), []],
  [
    "silu",
    (x) => x * sigmoid(x),
    slope((x) => x * sigmoid(x)),
    slope(
      slope((x) => x * sigmoid(x), 1e-4),
      1e-4,
    ),
    [],
  ],
  ["mish", mish, slope(mish), slope(slope(mish, 1e-4), 1e-4), []],
  [
    "elu",
    eluOf(0.5),
    (x) => (x > 0 ? 1 : 0.5 * Math.exp(x)),
    (x) => (x > 0 ? 0 : 0.5 * Math.exp(x)),
    [0.5],
  ],
  ["selu", selu, slope(selu), slope(slope(selu, 1e-4), 1e-4), []],
  ["leakyRelu", leaky(0.125), (x) => (x > 0 ? 1 : 0.125), () => 0, [0.125]],
  [
    "hardSwish",
    (x) => x * hardSigmoid(x),
    (x) => (x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6),
    (x) => (Math.abs(x) < 3 ? 1 / 3 : 0),
    [],
  ],
  ["hardSigmoid", hardSigmoid, (x) => (Math.abs(x) < 3 ? 1 / 6 : 0), () => 0, []],
];

// === Bounds, masks, three operands ===

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
      views: turns(1),
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
        const x = floats(shape, 314);
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
          views: k === 0 ? turns(1) : [["plain"]],
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
      const inputs = list.slice(0, arity).map((shape, k) => floats(shape, 315 + k, 0.5, 3));
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
        views: turns(arity),
      };
    }),
  );
}

const slopes = Object.fromEntries(
  activations.flatMap(
    ([name, , first, second, words]) =>
      [
        [`${name}Backward`, () => slopeCases(first, words)],
        [`${name}Curvature`, () => slopeCases(second, words)],
      ] as const,
  ),
);
const mixes: Readonly<Record<string, () => Case[]>> = {
  lerp: () => mixCases((s, a, b) => a + s * (b - a), 2),
  addcmul: () => mixCases((s, a, b, c) => a + s * b * c, 3),
  addcdiv: () => mixCases((s, a, b, c) => a + (s * b) / c, 3),
  clamp: clampCases,
  elu: () => scalarCase(eluOf(0.5), [0.5]),
  leakyRelu: () => scalarCase(leaky(0.125), [0.125], 1e-6),
};

export const mathCases: Readonly<Record<string, () => Case[]>> = {
  ...slopes,
  ...mixes,
  ...Object.fromEntries(Object.entries(mixes).map(([name, cases]) => [`${name}_`, cases])),
  clampBackward: () => slopeCases((x) => (x >= -1.5 && x <= 2 ? 1 : 0), [-1.5, 2]),
  maskedFill: () => maskedFillCases(false),
  maskedFill_: () => maskedFillCases(true),
  band: bandCases,
};

// === Gradients ===

const point = (
  shape: readonly number[],
  seed: number,
  low = -2,
  high = 2,
): GradCase["points"][number] => ({ shape, values: numbers(count(shape), seed, low, high) });
const away = (shape: readonly number[]): GradCase["points"][number] => ({
  shape,
  values: [...indices(shape)].map((_, k) => (k % 2 === 0 ? 1 : -1) * (0.3 + 0.17 * k)),
});

export const mathGrads: Readonly<Record<string, () => GradCase[]>> = {
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

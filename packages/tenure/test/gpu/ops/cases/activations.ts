/**
 * Cases of the activations that take a number, and of the first and second derivatives of all.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { broadcastAt, count, numbers } from "../../../helpers.ts";
import { type Host, build, host } from "../host.ts";
import { type Case, allViews } from "./case.ts";
import { cdf, density, geluTanh, hardSigmoid, mish, selu, sigmoid } from "./special-functions.ts";

/** The slope of `f` by a central difference. */
const slope =
  (f: (x: number) => number, h = 1e-5) =>
  (x: number): number =>
    (f(x + h) - f(x - h)) / (2 * h);

export const wideFloats = (shape: readonly number[], seed: number, low = -4, high = 4): Host =>
  host(shape, numbers(count(shape), seed, low, high));

/** b·f'(a) over ordinary points and far out on both sides. */
export function slopeCases(f: (x: number) => number, words: readonly number[] = []): Case[] {
  return [wideFloats([5, 7], 300), host([6], [-30, 30, -8, 8, -90, 90])].map((x, k) => {
    const g = wideFloats(x.shape, 301 + k);
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
      views: allViews(2),
    };
  });
}

export const scalarCase = (
  f: (x: number) => number,
  words: readonly number[],
  rel = 3e-5,
): Case[] => {
  const x = [...numbers(20, 303, -5, 5), NaN, Infinity, 0, -20];
  return [
    {
      label: words.join(),
      inputs: [host([4, 6], x)],
      words: words.map(f32Bits),
      expected: [host([4, 6], x.map(f))],
      rel,
      abs: 1e-6,
      views: allViews(1),
    },
  ];
};

export const eluOf =
    (a: number) =>
    (x: number): number =>
      x > 0 ? x : a * Math.expm1(x),
  leaky =
    (s: number) =>
    (x: number): number =>
      x > 0 ? x : s * x;

export const activations: readonly (readonly [
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

export const slopes = Object.fromEntries(
  activations.flatMap(
    ([name, , first, second, words]) =>
      [
        [`${name}Backward`, () => slopeCases(first, words)],
        [`${name}Curvature`, () => slopeCases(second, words)],
      ] as const,
  ),
);

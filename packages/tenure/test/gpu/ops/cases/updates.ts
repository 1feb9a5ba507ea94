/**
 * Cases of the optimizers' updates: one step from known state, written out as the papers do.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { type Host, host } from "../host.ts";
import { type Case, type CaseTable, filled } from "./case.ts";

const updateShape = [4, 5],
  parameter = filled(updateShape, "float32", 40),
  gradient = filled(updateShape, "float32", 41),
  firstMoment = filled(updateShape, "float32", 42),
  secondMoment = host(updateShape, filled(updateShape, "float32", 43).values.map(Math.abs));

export const p = (i: number): number => parameter.values[i]!,
  g = (i: number): number => gradient.values[i]!,
  m = (i: number): number => firstMoment.values[i]!,
  v = (i: number): number => secondMoment.values[i]!;

/** The gradient with a weight decay of 0.01. */
const decayed = (i: number): number => g(i) + 0.01 * p(i);

/** The new value of every element. */
const elementwise = (f: (i: number) => number): Host =>
  host(
    updateShape,
    parameter.values.map((_, i) => f(i)),
  );

const updateViews = [
  ["plain", "transposed", "plain", "plain"],
  ["sliced", "plain", "transposed", "offset"],
] as const;

/** One update: its inputs, its numbers and what it must leave in each state tensor. */
function updateCase(
  label: string,
  inputs: readonly Host[],
  words: readonly number[] | undefined,
  expected: readonly Host[],
  attrs?: unknown,
): Case {
  return {
    rel: 1e-5,
    abs: 1e-5,
    views: updateViews,
    label,
    inputs,
    ...(attrs === undefined ? {} : { attrs }),
    ...(words === undefined ? {} : { words: words.map(f32Bits) }),
    expected,
  };
}

function momentumCases(): Case[] {
  return [false, true].map((nesterov) => {
    const velocity = (i: number): number => 0.9 * m(i) + 0.8 * decayed(i);
    const step = (i: number): number => (nesterov ? decayed(i) + 0.9 * velocity(i) : velocity(i));
    return updateCase(
      nesterov ? "nesterov" : "classic",
      [parameter, gradient, firstMoment],
      [0.1, 0.9, 0.8, 0.01, 1],
      [elementwise((i) => p(i) - 0.1 * step(i)), elementwise(velocity)],
      { nesterov },
    );
  });
}

function rmspropCases(moves: boolean, centered: boolean): Case[] {
  const mean = host(
    updateShape,
    firstMoment.values.map((x) => x / 10),
  );
  const square = (i: number): number => 0.9 * v(i) + 0.1 * decayed(i) ** 2 + (centered ? 0.09 : 0);
  const average = (i: number): number => 0.9 * mean.values[i]! + 0.1 * decayed(i);
  // keeps the variance away from 0
  const shifted = host(
    updateShape,
    secondMoment.values.map((x) => x + (centered ? 0.1 : 0)),
  );
  const variance = (i: number): number =>
    centered ? Math.max(square(i) - average(i) ** 2, 0) : square(i);
  const step = (i: number): number =>
    (moves ? 0.8 * m(i) : 0) + decayed(i) / (Math.sqrt(variance(i)) + 0.1);
  return [
    updateCase(
      "decay",
      [parameter, gradient, shifted, ...(moves ? [firstMoment] : []), ...(centered ? [mean] : [])],
      [0.1, 0.9, 0.1, 0.1, 0.01, 0.8, 1],
      [
        elementwise((i) => p(i) - 0.1 * step(i)),
        elementwise(square),
        ...(moves ? [elementwise(step)] : []),
        ...(centered ? [elementwise(average)] : []),
      ],
    ),
  ];
}

function adagradCases(): Case[] {
  const square = (i: number): number => v(i) + decayed(i) ** 2;
  return [
    updateCase(
      "decay",
      [parameter, gradient, secondMoment],
      [0.1, 1e-3, 0.01, 1],
      [
        elementwise((i) => p(i) - (0.1 * decayed(i)) / (Math.sqrt(square(i)) + 1e-3)),
        elementwise(square),
      ],
    ),
  ];
}

function lionCases(): Case[] {
  return [
    updateCase(
      "decay",
      [parameter, gradient, firstMoment],
      [0.1, 0.9, 0.1, 0.8, 0.2, 0.01],
      [
        elementwise((i) => p(i) * (1 - 0.1 * 0.01) - 0.1 * Math.sign(0.9 * m(i) + 0.1 * g(i))),
        elementwise((i) => 0.8 * m(i) + 0.2 * g(i)),
      ],
    ),
  ];
}

/** Adam's rule; `ams` keeps the largest second moment seen. */
function adamCases(ams: boolean): Case[] {
  return (
    [
      [0.01, 0, 1],
      [0, 0.02, -1],
    ] as const
  ).map(([decay, decoupled, sign]): Case => {
    const pi = (i: number): number => p(i) * (1 - 0.1 * decoupled),
      gi = (i: number): number => sign * g(i) + decay * pi(i);
    const mi = (i: number): number => 0.9 * m(i) + 0.1 * gi(i),
      vi = (i: number): number => 0.99 * v(i) + 0.01 * gi(i) ** 2;
    const c1 = 1 - 0.9 ** 3,
      c2 = Math.sqrt(1 - 0.99 ** 3);
    const top = host(
      updateShape,
      secondMoment.values.map((x, i) => x * (i % 3)),
    );
    const ti = (i: number): number => (ams ? Math.max(top.values[i]!, vi(i)) : vi(i));
    const base = updateCase(
      decoupled > 0 ? "decoupled" : "coupled",
      [parameter, gradient, firstMoment, secondMoment, ...(ams ? [top] : [])],
      [0.1 / c1, 0.9, 0.1, 0.99, 0.01, 1e-8, decay, 1 - 0.1 * decoupled, c2, sign],
      [
        elementwise((i) => pi(i) - ((0.1 / c1) * mi(i)) / (Math.sqrt(ti(i)) / c2 + 1e-8)),
        elementwise(mi),
        elementwise(vi),
        ...(ams ? [elementwise(ti)] : []),
      ],
    );
    return ams ? { ...base, views: updateViews.map((list) => [...list, "plain" as const]) } : base;
  });
}

/** The parameter where half of the elements have been written. Rounding: see half.test.ts. */
function followCases(): Case[] {
  const started = elementwise((i) => (i % 2 === 0 ? p(i) : p(i) + 1));
  return [updateCase("half of them written", [started, parameter], undefined, [parameter])];
}

export const updateTable: CaseTable = {
  sgdUpdate: () => [
    updateCase(
      "decay",
      [parameter, gradient],
      [0.1, 0.01, 1],
      [elementwise((i) => p(i) - 0.1 * decayed(i))],
    ),
  ],
  momentumUpdate: momentumCases,
  rmspropUpdate: () => rmspropCases(false, false),
  rmspropMomentumUpdate: () => rmspropCases(true, false),
  rmspropCenteredUpdate: () => rmspropCases(false, true),
  rmspropCenteredMomentumUpdate: () => rmspropCases(true, true),
  adagradUpdate: adagradCases,
  lionUpdate: lionCases,
  adamUpdate: () => adamCases(false),
  amsgradUpdate: () => adamCases(true),
  followParameter: followCases,
  clipByValue: () => [
    updateCase(
      "clamp",
      [parameter],
      [0.7],
      [elementwise((i) => Math.min(0.7, Math.max(-0.7, p(i))))],
    ),
  ],
  clipByNorm: () =>
    [4, 0.125].map((norm) =>
      updateCase(
        `norm ${norm}`,
        [parameter, host([], [norm])],
        [0.5],
        [elementwise((i) => p(i) * Math.min(1, 0.5 / (norm + 1e-6)))],
      ),
    ),
  runningAverage: () => [
    updateCase(
      "scaled",
      [parameter, gradient],
      [0.1, 1.5],
      [elementwise((i) => p(i) + 0.1 * (1.5 * g(i) - p(i)))],
    ),
  ],
};

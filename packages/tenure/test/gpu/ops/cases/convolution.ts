/**
 * Cases of the convolution and its two gradients, all three from one list of products.
 */
import { count, indices } from "../../../helpers.ts";
import { at, host } from "../host.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  filled,
  grad,
  point,
} from "./case.ts";

interface Window {
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly groups: number;
}

const convs: readonly { x: readonly number[]; w: readonly number[]; window: Window }[] = [
  {
    x: [2, 3, 6, 7],
    w: [4, 3, 3, 3],
    window: { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1 },
  },
  {
    x: [1, 2, 7, 6],
    w: [3, 2, 3, 2],
    window: { stride: [2, 1], padding: [0, 1], dilation: [1, 1], groups: 1 },
  },
  {
    x: [2, 4, 6, 6],
    w: [6, 2, 3, 3],
    window: { stride: [1, 2], padding: [2, 1], dilation: [2, 1], groups: 2 },
  },
  {
    x: [1, 3, 5, 5],
    w: [3, 1, 3, 3],
    window: { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 3 },
  },
  {
    x: [2, 4, 5, 5],
    w: [4, 4, 1, 1],
    window: { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 },
  },
];

/**
 * Calls `visit` for every product of the convolution: flat positions of input, weight and output.
 */
function convolve(
  x: readonly number[],
  w: readonly number[],
  { stride, padding, dilation, groups }: Window,
  visit: (i: number, k: number, o: number) => void,
): number[] {
  const [n, , h, wd] = x as [number, number, number, number],
    [o, cg, r, s] = w as [number, number, number, number];
  const p = Math.floor((h + 2 * padding[0] - dilation[0] * (r - 1) - 1) / stride[0]) + 1,
    q = Math.floor((wd + 2 * padding[1] - dilation[1] * (s - 1) - 1) / stride[1]) + 1;
  const out = [n, o, p, q];
  for (const [b, oc, i, j] of indices(out) as Iterable<[number, number, number, number]>)
    for (const [c, u, v] of indices([cg, r, s]) as Iterable<[number, number, number]>) {
      const y = i * stride[0] - padding[0] + u * dilation[0],
        z = j * stride[1] - padding[1] + v * dilation[1];
      if (y < 0 || y >= h || z < 0 || z >= wd) continue;
      visit(
        at(x, [b, Math.floor(oc / (o / groups)) * cg + c, y, z]),
        at(w, [oc, c, u, v]),
        at(out, [b, oc, i, j]),
      );
    }
  return out;
}

function convCases(which: "forward" | "input" | "weight"): Case[] {
  return convs.map(({ x, w, window }) => {
    const input = filled(x, "float32", 34),
      weight = filled(w, "float32", 35),
      out = convolve(x, w, window, () => undefined),
      grad = filled(out, "float32", 36);
    const sums = Array<number>(count(which === "forward" ? out : which === "input" ? x : w)).fill(
      0,
    );
    convolve(x, w, window, (i, k, o) => {
      if (which === "forward") sums[o]! += input.values[i]! * weight.values[k]!;
      else if (which === "input") sums[i]! += grad.values[o]! * weight.values[k]!;
      else sums[k]! += grad.values[o]! * input.values[i]!;
    });
    const label = `[${x.join()}] with [${w.join()}] ${JSON.stringify(window)}`,
      views = allViews(2);
    if (which === "forward")
      return {
        label,
        inputs: [input, weight],
        attrs: window,
        expected: [host(out, sums)],
        rel: 1e-5,
        abs: 1e-4,
        views,
      };
    if (which === "input")
      return {
        label,
        inputs: [grad, weight],
        attrs: { ...window, shape: x },
        expected: [host(x, sums)],
        rel: 1e-5,
        abs: 1e-4,
        views,
      };
    return {
      label,
      inputs: [input, grad],
      attrs: { ...window, shape: w },
      expected: [host(w, sums)],
      rel: 1e-5,
      abs: 1e-4,
      views,
    };
  });
}

export const convTable: CaseTable = {
  conv2d: () => convCases("forward"),
  conv2dBackwardInput: () => convCases("input"),
  conv2dBackwardWeight: () => convCases("weight"),
};

export const convGrads: GradTable = {
  conv2d: () =>
    [1, 2].map((k) =>
      grad(`conv ${k}`, [point(smallConv[k]!.x, 97), point(smallConv[k]!.w, 98)], {
        attrs: smallConv[k]!.window,
        tolerance: 2e-2,
        second: k === 1,
      }),
    ),
  conv2dBackwardInput: () => [
    grad("conv 1", [point([1, 2, 2, 2], 99), point(smallConv[1]!.w, 100)], {
      attrs: { ...smallConv[1]!.window, shape: smallConv[1]!.x },
      tolerance: 2e-2,
    }),
  ],
  conv2dBackwardWeight: () => [
    grad("conv 1", [point(smallConv[1]!.x, 101), point([1, 2, 2, 2], 102)], {
      attrs: { ...smallConv[1]!.window, shape: smallConv[1]!.w },
      tolerance: 2e-2,
    }),
  ],
};

const smallConv: Readonly<
  Record<number, { x: readonly number[]; w: readonly number[]; window: Window }>
> = {
  1: {
    x: [1, 2, 3, 3],
    w: [2, 2, 2, 2],
    window: { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 },
  },
  2: {
    x: [1, 2, 4, 4],
    w: [2, 1, 2, 2],
    window: { stride: [2, 1], padding: [1, 0], dilation: [1, 2], groups: 2 },
  },
};

/**
 * Cases of the ops that join, pick, scatter, sort and accumulate along an axis: what each must
 * compute, element by element, in plain JavaScript.
 */
import type { DType } from "../../../src/base/dtype.ts";
import { sortBlock } from "../../../src/kernels/sort.ts";
import { count, indices, numbers } from "../../helpers.ts";
import type { Case, GradCase } from "./cases.ts";
import { type Host, type ViewKind, at, build, host } from "./host.ts";

const kinds: readonly ViewKind[] = ["plain", "transposed", "sliced", "offset"];
/** Every input once in every kind of view. */
const turns = (n: number): ViewKind[][] =>
  kinds.map((_, k) => Array.from({ length: n }, (_x, i) => kinds[(k + i) % kinds.length]!));
const exact = { rel: 0, abs: 0 } as const;

const floats = (shape: readonly number[], seed: number): Host =>
  host(shape, numbers(count(shape), seed));
const whole = (
  shape: readonly number[],
  seed: number,
  low: number,
  high: number,
  dtype: DType = "int32",
): Host =>
  host(
    shape,
    numbers(count(shape), seed, low, high).map((x) => Math.floor(x)),
    dtype,
  );
const withAt = (i: readonly number[], axis: number, v: number): number[] =>
  i.map((x, k) => (k === axis ? v : x));
const resized = (shape: readonly number[], axis: number, n: number): number[] =>
  shape.map((d, k) => (k === axis ? n : d));

// === Joining ===

function concatCase(
  shapes: readonly (readonly number[])[],
  axis: number,
  dtype: DType = "float32",
): Case {
  const inputs = shapes.map((s, k) =>
    dtype === "float32"
      ? floats(s, 200 + k)
      : whole(s, 200 + k, 0, dtype === "bool" ? 2 : 9, dtype),
  );
  const shape = resized(
    shapes[0]!,
    axis,
    shapes.reduce((n, s) => n + s[axis]!, 0),
  );
  const expected = build(shape, dtype, (i) => {
    let d = i[axis]!,
      k = 0;
    while (d >= shapes[k]![axis]!) d -= shapes[k++]![axis]!;
    return inputs[k]!.values[at(shapes[k]!, withAt(i, axis, d))]!;
  });
  return {
    label: `${dtype} ${shapes.map((s) => `[${s.join()}]`).join(" ")} along ${axis}`,
    inputs,
    attrs: { axis },
    expected: [expected],
    ...exact,
    views: turns(inputs.length),
  };
}

const flipCase = (shape: readonly number[], axis: number): Case => {
  const x = floats(shape, 210);
  return {
    label: `[${shape.join()}] along ${axis}`,
    inputs: [x],
    attrs: { axis },
    expected: [
      build(
        shape,
        "float32",
        (i) => x.values[at(shape, withAt(i, axis, shape[axis]! - 1 - i[axis]!))]!,
      ),
    ],
    ...exact,
    views: turns(1),
  };
};

// === By index ===

/** An index counted from the front, or undefined out of range. */
const place = (index: number, size: number): number | undefined => {
  const i = index < 0 ? index + size : index;
  return i >= 0 && i < size ? i : undefined;
};

function gatherCase(
  shape: readonly number[],
  list: Host,
  axis: number,
  dtype: DType = "float32",
): Case {
  const x = dtype === "float32" ? floats(shape, 220) : whole(shape, 220, -9, 9, dtype),
    missing = dtype === "float32" ? NaN : 0;
  const expected = build(list.shape, dtype, (i) => {
    const d = place(list.values[at(list.shape, i)]!, shape[axis]!);
    return d === undefined ? missing : x.values[at(shape, withAt(i, axis, d))]!;
  });
  return {
    label: `${dtype} [${shape.join()}] by ${list.dtype} [${list.shape.join()}] along ${axis}`,
    inputs: [x, list],
    attrs: { axis },
    expected: [expected],
    ...exact,
    views: turns(2),
  };
}

function takeCase(shape: readonly number[], list: Host, axis: number): Case {
  const x = floats(shape, 221);
  const expected = build(resized(shape, axis, list.shape[0]!), "float32", (i) => {
    const d = place(list.values[i[axis]!]!, shape[axis]!);
    return d === undefined ? NaN : x.values[at(shape, withAt(i, axis, d))]!;
  });
  return {
    label: `[${shape.join()}] by ${list.dtype} [${list.shape.join()}] along ${axis}`,
    inputs: [x, list],
    attrs: { axis },
    expected: [expected],
    ...exact,
    views: [
      ["plain", "plain"],
      ["transposed", "sliced"],
      ["sliced", "offset"],
    ],
  };
}

function scatterCase(
  shape: readonly number[],
  list: Host,
  axis: number,
  sorted: boolean,
  dtype: DType = "float32",
): Case {
  const start = dtype === "float32" ? floats(shape, 230) : whole(shape, 230, -9, 9, dtype),
    source = dtype === "float32" ? floats(list.shape, 231) : whole(list.shape, 231, -9, 9, dtype),
    out = [...start.values];
  for (const i of indices(list.shape)) {
    const d = place(list.values[at(list.shape, i)]!, shape[axis]!);
    if (d !== undefined) out[at(shape, withAt(i, axis, d))]! += source.values[at(list.shape, i)]!;
  }
  const inputs = sorted
    ? [start, list, orderReference(list, axis, false), source]
    : [start, list, source];
  return {
    label: `${dtype} [${shape.join()}] at ${list.dtype} [${list.shape.join()}] along ${axis}`,
    inputs,
    attrs: { axis },
    expected: [host(shape, out, dtype)],
    rel: dtype === "float32" ? 1e-6 : 0,
    abs: dtype === "float32" ? 2e-6 : 0,
    views: turns(inputs.length),
  };
}

function scatterCases(sorted: boolean): Case[] {
  return [
    scatterCase([5], whole([40], 232, -7, 7), 0, sorted),
    scatterCase([4, 6], whole([4, 9], 233, 0, 6, "uint32"), 1, sorted),
    scatterCase([3, 5, 8], whole([3, 7, 8], 234, -5, 5), 1, sorted),
    scatterCase(
      [3, 5, 8],
      host(
        [3, 7, 8],
        [...indices([3, 7, 8])].map((i) => (i[1]! * 3) % 5),
        "int32",
      ),
      1,
      sorted,
      "int32",
    ),
    scatterCase([5, 3], whole([0, 3], 235, 0, 5), 0, sorted),
    scatterCase([0, 3], whole([2, 3], 236, 0, 5), 0, sorted),
  ];
}

// === Order ===

const before = (a: number, b: number, descending: boolean): number => {
  const up = Number.isNaN(a)
    ? Number.isNaN(b)
      ? 0
      : 1
    : Number.isNaN(b)
      ? -1
      : a < b
        ? -1
        : a > b
          ? 1
          : 0;
  return descending ? -up : up;
};

/**
 * Positions that sort an axis within blocks of `width` elements; stable, as JavaScript's sort is.
 */
function orderReference(x: Host, axis: number, descending: boolean, width = Infinity): Host {
  const size = x.shape[axis]!,
    out = Array<number>(x.values.length).fill(0);
  for (const line of indices(resized(x.shape, axis, Math.min(size, 1)))) {
    for (let first = 0; first < size; first += width) {
      const block = Array.from({ length: Math.min(width, size - first) }, (_, k) => first + k);
      const value = (d: number): number => x.values[at(x.shape, withAt(line, axis, d))]!;
      [...block]
        .sort((a, b) => before(value(a), value(b), descending))
        .forEach((d, k) => {
          out[at(x.shape, withAt(line, axis, first + k))] = d;
        });
      if (width === Infinity) break;
    }
  }
  return host(x.shape, out, "int32");
}

const special = [3, NaN, -0, 0, Infinity, -Infinity, 1, NaN, 1, -2, 0, 0.25];
const sortables = (): readonly (readonly [Host, number])[] => [
  [host([12], special), 0],
  [host([4, 3], special), 0],
  [floats([5, 7], 240), 1],
  [whole([6, 9], 241, -4, 4), 1],
  [whole([6, 9], 242, 0, 4, "uint32"), 0],
  [whole([9], 243, 0, 2, "bool"), 0],
  [floats([2, 300], 244), 1],
  [floats([0, 3], 245), 0],
  [floats([3, 0], 246), 1],
];

function sortCases(): Case[] {
  return sortables().flatMap(([x, axis]) =>
    [false, true].map((descending): Case => ({
      label: `${x.dtype} [${x.shape.join()}] ${descending ? "down" : "up"} ${axis}`,
      inputs: [x],
      attrs: { axis, descending },
      expected: [orderReference(x, axis, descending, sortBlock)],
      ...exact,
      views: x.shape.length > 1 ? turns(1) : [["plain"], ["sliced"]],
    })),
  );
}

function mergeCases(): Case[] {
  const list: readonly (readonly [Host, number])[] = [
    [whole([2, 700], 250, -50, 50), 1],
    [floats([300, 2], 251), 0],
    [floats([2, 1025], 252), 1],
  ];
  return list.flatMap(([x, axis]) =>
    [false, true].map((descending): Case => ({
      label: `[${x.shape.join()}] ${descending ? "down" : "up"}`,
      inputs: [x, orderReference(x, axis, descending, 256)],
      attrs: { axis, descending, width: 256 },
      expected: [orderReference(x, axis, descending, 512)],
      ...exact,
      views: [
        ["plain", "plain"],
        ["transposed", "sliced"],
      ],
    })),
  );
}

/** Of each group the first `count` in order; candidate j belongs to group j mod groups. */
function pickReference(
  x: Host,
  axis: number,
  count: number,
  groups: number,
  descending: boolean,
  candidates?: Host,
): Host {
  return build(resized(x.shape, axis, groups * count), "int32", (i) => {
    const group = Math.floor(i[axis]! / count),
      value = (d: number): number => x.values[at(x.shape, withAt(i, axis, d))]!;
    const all =
      candidates === undefined
        ? [...Array(x.shape[axis]).keys()]
        : Array.from(
            { length: candidates.shape[axis]! },
            (_, j) => candidates.values[at(candidates.shape, withAt(i, axis, j))]!,
          );
    return all
      .filter((_, j) => j % groups === group)
      .sort((a, b) => before(value(a), value(b), descending) || a - b)[i[axis]! % count]!;
  });
}

function pickCases(): Case[] {
  const cases = sortables()
    .filter(([x, axis]) => x.shape[axis]! > 1)
    .flatMap(([x, axis]) =>
      [false, true].flatMap((descending) =>
        [
          [1, 1],
          [3, 1],
          [2, 2],
        ].map(([count = 1, groups = 1]): Case => {
          const fits = Math.min(count, Math.floor(x.shape[axis]! / groups)),
            attrs = { axis, descending, count: fits, groups };
          return {
            label: `${x.dtype} [${x.shape.join()}] ${fits} of ${groups} ${descending ? "down" : "up"} ${axis}`,
            inputs: [x],
            attrs,
            expected: [pickReference(x, axis, fits, groups, descending)],
            ...exact,
            views: x.shape.length > 1 ? turns(1) : [["plain"], ["sliced"]],
          };
        }),
      ),
    );
  const again = ([x, axis]: readonly [Host, number]): Case => {
    const some = pickReference(x, axis, 2, 3, true);
    return {
      label: `[${x.shape.join()}] of candidates`,
      inputs: [x, some],
      attrs: { axis, descending: true, count: 2, groups: 1 },
      expected: [pickReference(x, axis, 2, 1, true, some)],
      ...exact,
      views: [
        ["plain", "plain"],
        ["transposed", "sliced"],
      ],
    };
  };
  return [...cases, again([whole([2, 30], 253, -4, 4), 1]), again([floats([17, 3], 254), 0])];
}

// === Running totals ===

function running(
  x: Host,
  axis: number,
  dtype: DType,
  reverse: boolean,
  f: (a: number, b: number) => number,
): Host {
  return build(x.shape, dtype, (i) => {
    const line = Array.from(
      { length: x.shape[axis]! },
      (_, d) => x.values[at(x.shape, withAt(i, axis, d))]!,
    );
    return (reverse ? line.slice(i[axis]).reverse() : line.slice(0, i[axis]! + 1)).reduce(f);
  });
}

function cumSumCases(): Case[] {
  const list: readonly (readonly [Host, number, DType])[] = [
    [floats([5, 7], 260), 1, "float32"],
    [floats([5, 7], 261), 0, "float32"],
    [floats([3, 4, 5], 262), 1, "float32"],
    [whole([4, 5], 263, -9, 9), 1, "int32"],
    [whole([9], 264, 0, 2, "bool"), 0, "int32"],
    [floats([3000], 265), 0, "float32"],
    [host([4], [1, NaN, 2, 3]), 0, "float32"],
    [floats([0, 2], 266), 0, "float32"],
  ];
  return list.flatMap(([x, axis, dtype]) =>
    [false, true].map((reverse): Case => ({
      label: `${x.dtype} [${x.shape.join()}] along ${axis}${reverse ? " from the end" : ""}`,
      inputs: [x],
      attrs: { axis, reverse },
      expected: [running(x, axis, dtype, reverse, (a, b) => a + b)],
      rel: 1e-5,
      abs: 1e-4,
      views: x.shape.length > 1 ? turns(1) : [["plain"], ["sliced"]],
    })),
  );
}

const products = (): readonly Host[] => [
  floats([5, 7], 270),
  host([2, 5], [1, 2, 0, 3, 4, 0, 1, 2, 0, 5]),
  floats([2, 3, 4], 271),
];

function cumProdCases(): Case[] {
  return [...products(), whole([3, 4], 272, -3, 3)].flatMap((x) =>
    [0, 1].map((axis): Case => ({
      label: `${x.dtype} [${x.shape.join()}] along ${axis}`,
      inputs: [x],
      attrs: { axis },
      expected: [running(x, axis, x.dtype, false, (a, b) => a * b)],
      rel: 1e-5,
      abs: 1e-6,
      views: turns(1),
    })),
  );
}

function cumProdBackwardCases(): Case[] {
  return products().flatMap((x, k) =>
    [0, 1].map((axis): Case => {
      const g = floats(x.shape, 273 + k),
        y = host(
          x.shape,
          running(x, axis, "float32", false, (a, b) => a * b).values.map(Math.fround),
        );
      const expected = build(x.shape, "float32", (i) => {
        // Σ over j ≥ k of g[j] times the product of the others up to j
        let sum = 0;
        for (let j = i[axis]!; j < x.shape[axis]!; j++) {
          let p = g.values[at(x.shape, withAt(i, axis, j))]!;
          for (let m = 0; m <= j; m++)
            if (m !== i[axis]!) p *= x.values[at(x.shape, withAt(i, axis, m))]!;
          sum += p;
        }
        return sum;
      });
      return {
        label: `[${x.shape.join()}] along ${axis}`,
        inputs: [x, y, g],
        attrs: { axis },
        expected: [expected],
        rel: 1e-4,
        abs: 1e-4,
        views: turns(3),
      };
    }),
  );
}

export const indexingCases: Readonly<Record<string, () => Case[]>> = {
  concat: () => [
    concatCase(
      [
        [2, 3],
        [4, 3],
      ],
      0,
    ),
    concatCase(
      [
        [2, 3],
        [2, 1],
        [2, 5],
      ],
      1,
    ),
    concatCase(
      [
        [2, 3, 8],
        [2, 1, 8],
      ],
      1,
    ),
    concatCase(
      [
        [2, 4, 4],
        [2, 4, 4],
      ],
      2,
    ),
    concatCase([[3], [0], [2]], 0),
    concatCase(
      [
        [2, 0],
        [3, 0],
      ],
      0,
    ),
    concatCase([[4, 8]], 0),
    concatCase(
      Array.from({ length: 7 }, (_, k) => [k + 1, 2]),
      0,
    ),
    concatCase(
      [
        [2, 8],
        [3, 8],
      ],
      0,
      "int32",
    ),
    concatCase(
      [
        [3, 2],
        [3, 4],
      ],
      1,
      "bool",
    ),
    concatCase(
      [
        [2, 3],
        [2, 3],
      ],
      0,
      "uint32",
    ),
  ],
  flip: () => [
    flipCase([5], 0),
    flipCase([3, 8], 0),
    flipCase([3, 7], 1),
    flipCase([2, 3, 4], 1),
    flipCase([2, 0], 0),
  ],
  gather: () => [
    gatherCase([7], whole([12], 222, -9, 9), 0),
    gatherCase([3, 7], whole([3, 4], 223, 0, 7), 1),
    gatherCase([5, 8], whole([3, 8], 224, -5, 5), 0),
    gatherCase([5, 8], whole([3, 6], 225, 0, 5, "uint32"), 0),
    gatherCase([2, 5, 8], whole([2, 3, 8], 226, 0, 5), 1),
    gatherCase([3, 7], whole([3, 4], 227, 0, 9), 1, "int32"),
    gatherCase([0, 4], whole([2, 4], 228, 0, 1), 0),
    gatherCase([3, 4], whole([0, 4], 229, 0, 1), 0),
  ],
  take: () => [
    takeCase([7, 8], whole([5], 222, 0, 7), 0),
    takeCase([7, 3], whole([5], 223, -9, 9), 0),
    takeCase([3, 7], whole([9], 224, 0, 7, "uint32"), 1),
    takeCase([2, 5, 4], whole([3], 225, 0, 5), 1),
    takeCase([4, 2], whole([0], 226, 0, 1), 0),
  ],
  scatterAdd: () => scatterCases(false),
  scatterAddSorted: () => scatterCases(true),
  sortBlocks: sortCases,
  mergeBlocks: mergeCases,
  pick: pickCases,
  cumSum: cumSumCases,
  cumProd: cumProdCases,
  cumProdBackward: cumProdBackwardCases,
};

// === Gradients ===

const point = (
  shape: readonly number[],
  seed: number,
  low = -2,
  high = 2,
): GradCase["points"][number] => ({ shape, values: numbers(count(shape), seed, low, high) });
const list = (shape: readonly number[], values: readonly number[]): Host =>
  host(shape, values, "int32");

export const indexingGrads: Readonly<Record<string, () => GradCase[]>> = {
  concat: () => [
    {
      label: "along 1",
      points: [point([2, 3], 280), point([2, 1], 281)],
      attrs: { axis: 1 },
      second: true,
    },
    { label: "along 0", points: [point([1, 4], 282), point([2, 4], 283)], attrs: { axis: 0 } },
  ],
  flip: () => [
    { label: "along 1", points: [point([2, 3], 284)], attrs: { axis: 1 }, second: true },
  ],
  gather: () => [
    {
      label: "repeated",
      points: [point([3, 4], 285)],
      fixed: { 1: list([3, 3], [0, 0, 2, 3, -1, 3, 1, 2, 1]) },
      attrs: { axis: 1 },
      second: true,
    },
    {
      label: "a corner",
      points: [point([3, 4], 286)],
      fixed: { 1: list([2, 2], [0, 2, 2, 1]) },
      attrs: { axis: 0 },
    },
    {
      label: "sorted",
      points: [point([3, 2], 287)],
      fixed: {
        1: list(
          [70, 2],
          Array.from({ length: 140 }, (_, i) => ((i * i) % 3) - (i % 2 === 0 ? 3 : 0)),
        ),
      },
      attrs: { axis: 0 },
      tolerance: 3e-2,
    },
  ],
  take: () => [
    {
      label: "rows",
      points: [point([4, 3], 288)],
      fixed: { 1: list([5], [1, 3, 1, -1, 0]) },
      attrs: { axis: 0 },
      second: true,
    },
    {
      label: "many",
      points: [point([3, 2], 289)],
      fixed: {
        1: list(
          [70],
          Array.from({ length: 70 }, (_, i) => (i * i) % 3),
        ),
      },
      attrs: { axis: 0 },
      tolerance: 3e-2,
    },
  ],
  scatterAdd: () => [
    {
      label: "repeated",
      points: [point([3, 3], 290), point([3, 4], 291)],
      fixed: { 1: list([3, 4], [0, 0, 2, 1, 1, 2, 0, 2, 2, 2, 2, 2]) },
      attrs: { axis: 1 },
      second: true,
    },
  ],
  scatterAddSorted: () => [
    {
      label: "repeated",
      points: [point([3], 292), point([4], 293)],
      fixed: { 1: list([4], [2, 0, 2, 1]), 2: list([4], [1, 3, 0, 2]) },
      attrs: { axis: 0 },
      second: true,
    },
  ],
  cumSum: () =>
    [false, true].map((reverse) => ({
      label: reverse ? "from the end" : "from the beginning",
      points: [point([2, 4], 294)],
      attrs: { axis: 1, reverse },
      second: true,
    })),
  cumProd: () => [
    { label: "no zeros", points: [point([2, 3], 295, 0.5, 1.5)], attrs: { axis: 1 } },
    {
      label: "zeros",
      points: [{ shape: [2, 4], values: [1, 0, 2, 0.5, 0, 1.5, 0, 2] }],
      attrs: { axis: 1 },
    },
  ],
};

/**
 * What every op of the registry is tested on: inputs, attributes, and the result a plain reference
 * gives. `casesOf` knows an op by its name only, so an op that is added without a case here fails
 * the tests. Pure host code.
 */
import { type DType, isFloat, promote } from "../../../src/base/dtype.ts";
import { sameShape } from "../../../src/base/shape.ts";
import { f32Bits } from "../../../src/base/bits.ts";
import { randomNormal, randomUniform } from "../../../src/kernels/philox.ts";
import { broadcastAt, count, indices, numbers } from "../../helpers.ts";
import { type Reference, binary, samples, specials, unary, withScalar } from "./elementwise.ts";
import { type Host, type ViewKind, at, build, host, store } from "./host.ts";
import { moreCases, moreGrads } from "./more.ts";

export interface Case {
  readonly label: string;
  readonly inputs: readonly Host[];
  readonly attrs?: unknown;
  readonly words?: readonly number[];
  /** One per output. */
  readonly expected: readonly Host[];
  readonly rel?: number;
  readonly abs?: number;
  /** How the inputs lie in memory; each entry is one run. Plain when absent. */
  readonly views?: readonly (readonly ViewKind[])[];
}

/** Points at which gradients are compared with finite differences. */
export interface GradCase {
  readonly label: string;
  /** Float inputs to be checked. */
  readonly points: readonly {
    readonly shape: readonly number[];
    readonly values: readonly number[];
  }[];
  /** Further inputs that carry no gradient, by position. */
  readonly fixed?: Readonly<Record<number, Host>>;
  readonly attrs?: unknown;
  readonly words?: readonly number[];
  readonly step?: number;
  readonly tolerance?: number;
  /** Check the gradient's gradient too. */
  readonly second?: boolean;
}

const allViews = (n: number): ViewKind[][] => {
  const kinds: ViewKind[] = ["plain", "transposed", "sliced", "offset"];
  return kinds.map((_, k) => Array.from({ length: n }, (_x, i) => kinds[(k + i) % kinds.length]!));
};

// === Elementwise ===

const computeOf = (dtype: DType): "float" | "int" | "uint" | "bool" =>
  isFloat(dtype) ? "float" : dtype === "int32" ? "int" : dtype === "uint32" ? "uint" : "bool";

/** The dtype arithmetic happens in and the dtype of the result. */
function typesOf(
  kind: Reference["kind"],
  dtypes: readonly DType[],
): { compute: DType; out: DType } {
  const p = dtypes.reduce(promote);
  if (kind === "truth") return { compute: "bool", out: "bool" };
  if (kind === "bool")
    return { compute: dtypes.length > 1 && p === "bool" ? "int32" : p, out: "bool" };
  const same = p === "bool" ? "int32" : p;
  if (kind === "sum" && p === "bool" && dtypes.length > 1) return { compute: same, out: "bool" };
  const out = kind === "float" && !isFloat(same) ? "float32" : same;
  return { compute: out, out };
}

/** A value of one dtype as another. */
export function convert(x: number, from: DType, to: DType): number {
  if (to === "bool") return x !== 0 ? 1 : 0;
  if (isFloat(to)) return Math.fround(x);
  if (!isFloat(from)) return store(to, x);
  if (Number.isNaN(x)) return 0;
  return to === "int32"
    ? Math.trunc(Math.min(Math.max(x, -2147483648), 2147483647))
    : Math.trunc(Math.min(Math.max(x, 0), 4294967295));
}

function evaluate(ref: Reference, compute: DType, x: readonly number[]): number {
  const f = {
    float: ref.float,
    int: ref.int ?? ref.float,
    uint: ref.uint ?? ref.float,
    bool: ref.float,
  }[computeOf(compute)];
  return f(...x);
}

/** The broadcast result of a reference. */
function apply(ref: Reference, inputs: readonly Host[], outDType?: DType): Host {
  const { compute, out } = typesOf(
    ref.kind,
    inputs.map((h) => h.dtype),
  );
  const rank = Math.max(...inputs.map((h) => h.shape.length));
  const shape = Array.from({ length: rank }, (_, i) =>
    inputs.reduce((d, h) => {
      const x = h.shape[h.shape.length - rank + i] ?? 1;
      return x === 1 ? d : x;
    }, 1),
  );
  return build(shape, outDType ?? out, (index) => {
    const x = inputs.map((h) => convert(h.values[broadcastAt(h.shape, index)]!, h.dtype, compute));
    return convert(store(out, evaluate(ref, compute, x)), out, outDType ?? out);
  });
}

function filled(shape: readonly number[], dtype: DType, seed: number): Host {
  return host(shape, samples(dtype, count(shape), seed), dtype);
}

function elementwiseCase(
  label: string,
  ref: Reference,
  inputs: readonly Host[],
  inplace: boolean,
  views?: readonly (readonly ViewKind[])[],
): Case {
  const expected = apply(ref, inputs, inplace ? inputs[0]!.dtype : undefined);
  const exact = !isFloat(expected.dtype);
  return {
    label,
    inputs,
    expected: [expected],
    rel: exact ? 0 : (ref.rel ?? 1e-5),
    abs: exact ? 0 : (ref.abs ?? (ref.rel === 0 ? 0 : 1e-6)),
    ...(views === undefined ? {} : { views }),
  };
}

/** Special values, then random ones, in one array. */
function mixed(dtype: DType, seed: number): number[] {
  return [...specials(dtype), ...samples(dtype, 15, seed)];
}

/**
 * A list as a matrix of three columns: what a view of it looks like. The last one or two random
 * numbers may fall off.
 */
function matrix(values: readonly number[], dtype: DType): Host {
  const rows = Math.floor(values.length / 3);
  return host([rows, 3], values.slice(0, 3 * rows), dtype);
}

/**
 * Floats go through a strided view, everything else lies flat. `thorough`: every kind of view and
 * size; the generator of kernels is the same for all ops, so one is enough.
 */
function unaryCases(ref: Reference, inplace: boolean, thorough: boolean): Case[] {
  const cases: Case[] = [];
  for (const dtype of inplace
    ? (["float32", "bool"] as const)
    : (["float32", "int32", "uint32", "bool"] as const)) {
    if (inplace && ref.kind === "float" && !isFloat(dtype)) continue; // refused, see errors.test.ts
    const special = mixed(dtype, 1).filter((x) => ref.without?.(x) !== true);
    if (dtype === "float32")
      cases.push(
        elementwiseCase(
          "float32",
          ref,
          [matrix(special, dtype)],
          inplace,
          thorough ? allViews(1) : [[inplace ? "sliced" : "transposed"]],
        ),
      );
    else cases.push(elementwiseCase(dtype, ref, [host([special.length], special, dtype)], inplace));
  }
  for (const shape of thorough ? [[], [0, 3], [4, 8], [1]] : [[0, 3]])
    cases.push(elementwiseCase(`[${shape.join()}]`, ref, [filled(shape, "float32", 2)], inplace));
  if (!inplace && thorough) {
    const row = samples("float32", 6, 3);
    cases.push(
      elementwiseCase("expanded", ref, [host([3, 6], [...row, ...row, ...row])], false, [
        ["expanded"],
      ]),
    );
  }
  return cases;
}

const pairs: readonly (readonly [DType, DType])[] = [
  ["float32", "float32"],
  ["int32", "int32"],
  ["uint32", "uint32"],
  ["bool", "bool"],
  ["int32", "float32"],
  ["uint32", "int32"],
  ["float32", "bool"],
  ["bool", "uint32"],
]; // the first four for every op
const broadcasts: readonly (readonly [readonly number[], readonly number[]])[] = [
  [
    [3, 4],
    [3, 1],
  ],
  [[], []],
  [
    [3, 1],
    [1, 5],
  ],
  [[8, 16], [16]],
  [[3, 4], []],
  [[], [5]],
  [[3, 4], [4]],
  [
    [2, 1, 4],
    [3, 1],
  ],
  [[0, 3], [3]],
  [
    [0, 1],
    [1, 4],
  ],
  [
    [1, 4],
    [4, 1],
  ],
];

function binaryCases(ref: Reference, inplace: boolean, thorough: boolean): Case[] {
  const cases: Case[] = [];
  for (const [a, b] of thorough ? pairs : pairs.slice(0, inplace ? 1 : 4)) {
    if (inplace && isFloat(typesOf(ref.kind, [a, b]).out) && !isFloat(a)) continue;
    const xs: number[] = [],
      ys: number[] = [];
    const compute = typesOf(ref.kind, [a, b]).compute;
    for (const x of mixed(a, 4))
      for (const y of mixed(b, 5))
        if (ref.without?.(convert(x, a, compute), convert(y, b, compute)) !== true) {
          xs.push(x);
          ys.push(y);
        }
    if (a === "float32" && b === a)
      cases.push(
        elementwiseCase(
          "float32",
          ref,
          [matrix(xs, a), matrix(ys, b)],
          inplace,
          thorough ? allViews(2) : [[inplace ? "sliced" : "transposed", "plain"]],
        ),
      );
    else
      cases.push(
        elementwiseCase(
          `${a}, ${b}`,
          ref,
          [host([xs.length], xs, a), host([ys.length], ys, b)],
          inplace,
        ),
      );
  }
  for (const [a, b] of thorough ? broadcasts : broadcasts.slice(0, inplace ? 0 : 1)) {
    const x = filled(a, "float32", 6),
      y = filled(b, "float32", 7);
    if (inplace && !sameShape(apply(ref, [x, y]).shape, a)) continue;
    cases.push(
      elementwiseCase(
        `[${a.join()}] and [${b.join()}]`,
        ref,
        [x, y],
        inplace,
        thorough && a.length === 2 && b.length > 0
          ? [
              ["plain", "plain"],
              ["transposed", "sliced"],
            ]
          : undefined,
      ),
    );
  }
  if (!inplace && thorough) {
    const row = samples("float32", 6, 8);
    cases.push(
      elementwiseCase(
        "expanded",
        ref,
        [host([3, 6], [...row, ...row, ...row]), filled([3, 6], "float32", 9)],
        false,
        [["expanded", "plain"]],
      ),
    );
  }
  return cases;
}

function scalarCases(ref: Reference, inplace: boolean): Case[] {
  const cases: Case[] = [];
  const add = (dtype: DType, compute: DType, number: number, reverse: boolean): void => {
    if (inplace && isFloat(compute) && !isFloat(dtype)) return;
    const num = host([], [number], compute);
    const fits = mixed(dtype, 10).filter((v) => {
      const x = convert(v, dtype, compute);
      return ref.without?.(...(reverse ? [number, x] : [x, number])) !== true;
    });
    const x = host([fits.length], fits, dtype),
      computed = host(
        x.shape,
        fits.map((v) => convert(v, dtype, compute)),
        compute,
      );
    const result = apply(ref, reverse ? [num, computed] : [computed, num]);
    const want = inplace
      ? host(
          result.shape,
          result.values.map((v) => convert(v, result.dtype, dtype)),
          dtype,
        )
      : ref.kind === "float"
        ? result
        : host(result.shape, result.values, ref.kind === "bool" ? "bool" : compute);
    cases.push({
      label: `${dtype} in ${compute} ${reverse ? `${number} on the left` : number}`,
      inputs: [x],
      attrs: { dtype: compute, reverse },
      words: [isFloat(compute) ? f32Bits(number) : number >>> 0],
      expected: [want],
      rel: ref.rel ?? 1e-5,
      abs: ref.abs ?? (ref.rel === 0 ? 0 : 1e-6),
    });
  };
  for (const reverse of inplace ? [false] : [false, true]) {
    add("float32", "float32", 1.75, reverse);
    if (ref.kind !== "float" && !reverse) {
      add("int32", "int32", -3, reverse);
      add("uint32", "uint32", 3, reverse);
      add("bool", "int32", 2, reverse);
    }
    if (!reverse) add("int32", "float32", 0.5, reverse);
  }
  for (const number of [NaN, Infinity, 0]) add("float32", "float32", number, false);
  return cases;
}

// === Reductions and rows ===

function reductionCases(name: string): Case[] {
  const cases: Case[] = [];
  const outOf = (dtype: DType): DType =>
    name === "mean"
      ? "float32"
      : name === "any" || name === "all"
        ? "bool"
        : name.startsWith("arg")
          ? "int32"
          : dtype === "bool"
            ? "int32"
            : dtype;
  const fold = (v: readonly number[], dtype: DType): number => {
    switch (name) {
      case "sum":
        return store(
          outOf(dtype),
          v.reduce((a, b) => a + b, 0),
        );
      case "mean":
        return v.reduce((a, b) => a + b, 0) / v.length;
      case "max":
        return Math.max(...v);
      case "min":
        return Math.min(...v);
      case "any":
        return Number(v.some((x) => x !== 0));
      case "all":
        return Number(v.every((x) => x !== 0));
      default: {
        const nan = v.findIndex((x) => Number.isNaN(x));
        return nan !== -1 ? nan : v.indexOf(name === "argMax" ? Math.max(...v) : Math.min(...v));
      }
    }
  };
  const add = (
    label: string,
    x: Host,
    axes: readonly number[],
    keepDims: boolean,
    views?: Case["views"],
  ): void => {
    const kept = x.shape.map((d, i) => (axes.includes(i) ? 1 : d)),
      reduced = x.shape.map((d, i) => (axes.includes(i) ? d : 1));
    const values = [...indices(kept)].map((o) =>
      fold(
        [...indices(reduced)].map(
          (r) =>
            x.values[
              at(
                x.shape,
                o.map((v, i) => v + r[i]!),
              )
            ]!,
        ),
        x.dtype,
      ),
    );
    const shape = keepDims ? kept : kept.filter((_, i) => !axes.includes(i));
    cases.push({
      label,
      inputs: [x],
      attrs: { axes, keepDims },
      expected: [host(shape, values, outOf(x.dtype))],
      rel: 1e-5,
      abs: 1e-5,
      ...(views === undefined ? {} : { views }),
    });
  };
  const needsElements = ["max", "min", "argMax", "argMin"].includes(name);
  const thorough = name === "sum" || name === "argMax"; // the generator is the same for all
  for (const dtype of ["float32", "int32", "uint32", "bool"] as const) {
    add(`${dtype} rows`, filled([5, 7], dtype, 12), [1], true, [
      ["plain"],
      ...(dtype === "float32" ? [["transposed"] as const] : []),
    ]);
    if (!thorough && dtype !== "float32") continue;
    add(`${dtype} all`, filled([5, 7], dtype, 11), [0, 1], false);
    add(`${dtype} columns`, filled([5, 7], dtype, 13), [0], false, [["plain"], ["sliced"]]);
  }
  const x = filled([2, 3, 4, 5], "float32", 14);
  for (const axes of thorough
    ? [[0], [1], [3], [0, 2], [1, 3], [2, 3], [0, 1, 2, 3], []]
    : [[1], [0, 2]])
    add(
      `axes ${axes.join()}`,
      x,
      axes,
      axes.length === 2,
      thorough ? allViews(1) : [["transposed"]],
    );
  add("long", filled([3000], "float32", 15), [0], false);
  if (thorough) {
    add("tall", filled([1200, 3], "float32", 16), [0], false);
    add("wide", filled([3, 1200], "float32", 17), [1], false);
  }
  add("0-d", host([], [2.5]), [], false);
  add("one", host([1], [-2.5]), [0], false);
  add("NaN", host([2, 3], [1, NaN, 3, 4, 5, 6]), [1], false);
  add("infinities", host([2, 3], [1, Infinity, 3, -Infinity, 5, 6]), [1], false);
  if (["max", "min", "argMax", "argMin", "any", "all"].includes(name))
    add("-infinity only", host([4], [-Infinity, -Infinity, -Infinity, -Infinity]), [0], false);
  add("no result", filled([0, 4], "float32", 18), [1], false);
  if (!needsElements) {
    add("of nothing", host([0], []), [0], false);
    add("rows of nothing", host([3, 0], []), [1], false);
  }
  const row = samples("float32", 6, 19);
  add("expanded", host([3, 6], [...row, ...row, ...row]), [0], false, [["expanded"]]);
  if (name.startsWith("arg")) add("ties", host([2, 4], [1, 3, 3, 1, 2, 2, 2, 2]), [1], false);
  return cases;
}

/** Rows along an axis, replaced by what `f` makes of them. */
function alongAxis(x: Host, axis: number, f: (row: number[], where: number[]) => number[]): Host {
  const out = [...x.values],
    outer = x.shape.map((d, i) => (i === axis ? 1 : d));
  for (const o of indices(outer)) {
    const places = Array.from({ length: x.shape[axis]! }, (_, k) =>
      at(
        x.shape,
        o.map((v, i) => (i === axis ? k : v)),
      ),
    );
    const row = f(
      places.map((p) => x.values[p]!),
      places,
    );
    places.forEach((p, k) => {
      out[p] = Math.fround(row[k]!);
    });
  }
  return host(x.shape, out, x.dtype);
}

export function softmaxRow(row: readonly number[], log: boolean): number[] {
  const most = Math.max(...row),
    e = row.map((v) => Math.exp(v - most)),
    sum = e.reduce((a, b) => a + b, 0);
  return row.map((v, i) => (log ? v - most - Math.log(sum) : e[i]! / sum));
}

function softmaxCases(log: boolean): Case[] {
  const make = (label: string, x: Host, axis: number, views?: Case["views"]): Case => ({
    label,
    inputs: [x],
    attrs: { axis },
    expected: [alongAxis(x, axis, (row) => softmaxRow(row, log))],
    rel: 3e-5,
    abs: 1e-5,
    ...(views === undefined ? {} : { views }),
  });
  return [
    make("rows", filled([5, 7], "float32", 20), 1, allViews(1)),
    make("columns", filled([5, 7], "float32", 21), 0, allViews(1)),
    make("middle", filled([3, 4, 5], "float32", 22), 1, allViews(1)),
    make("wide", filled([2, 900], "float32", 23), 1),
    make("large", host([2, 3], [1000, 1001, 999, -1000, -1001, -999]), 1),
    make("NaN", host([2, 3], [1, NaN, 2, 1, 2, 3]), 1),
    ...(log ? [] : [make("-infinity", host([1, 3], [1, -Infinity, 2]), 1)]),
    make("one", filled([4, 1], "float32", 24), 1),
    make("no rows", host([0, 3], []), 1),
  ];
}

function softmaxBackwardCases(log: boolean): Case[] {
  return (
    [
      [[5, 7], 1],
      [[5, 7], 0],
      [[3, 4, 5], 1],
      [[2, 900], 1],
    ] as const
  ).map(([shape, axis]) => {
    const y = alongAxis(filled(shape, "float32", 25), axis, (row) => softmaxRow(row, log)),
      g = filled(shape, "float32", 26);
    const want = alongAxis(y, axis, (row, places) => {
      const gs = places.map((p) => g.values[p]!),
        dot = row.reduce((n, v, i) => n + gs[i]! * (log ? 1 : v), 0);
      return row.map((v, i) => (log ? gs[i]! - Math.exp(v) * dot : v * (gs[i]! - dot)));
    });
    return {
      label: `[${shape.join()}] axis ${axis}`,
      inputs: [y, g],
      attrs: { axis },
      expected: [want],
      rel: 1e-4,
      abs: 1e-4,
      views: shape[1] === 900 ? [["plain", "plain"]] : allViews(2),
    };
  });
}

function crossEntropyCases(backward: boolean): Case[] {
  return [undefined, 2, -100].flatMap((ignoreIndex) =>
    (["int32", "uint32"] as const).map((dtype): Case => {
      const logits = filled([6, 5], "float32", 27),
        targets = host([6], dtype === "int32" ? [0, 4, 2, -1, 5, -100] : [0, 4, 2, 7, 5, 1], dtype),
        g = filled([6], "float32", 28);
      const rows = targets.values.map((t, r) => {
        const row = logits.values.slice(5 * r, 5 * r + 5);
        if (t === ignoreIndex) return backward ? row.map(() => 0) : [0];
        if (t < 0 || t > 4) return backward ? row.map(() => NaN) : [NaN];
        return backward
          ? softmaxRow(row, false).map((p, c) => (p - (c === t ? 1 : 0)) * g.values[r]!)
          : [-softmaxRow(row, true)[t]!];
      });
      return {
        label: `${dtype} targets, ignoring ${String(ignoreIndex)}`,
        inputs: backward ? [logits, targets, g] : [logits, targets],
        attrs: { ignoreIndex },
        expected: [host(backward ? [6, 5] : [6], rows.flat())],
        rel: 1e-4,
        abs: 1e-5,
        views: [
          ["plain", "plain", "plain"],
          ["transposed", "sliced", "offset"],
        ],
      };
    }),
  );
}

// === Matrices and images ===

function matmulReference(a: Host, b: Host): Host {
  const [m, k] = a.shape.slice(-2) as [number, number],
    n = b.shape.at(-1)!;
  const la = a.shape.slice(0, -2),
    lb = b.shape.slice(0, -2),
    rank = Math.max(la.length, lb.length);
  const lead = Array.from({ length: rank }, (_, i) =>
    Math.max(la[la.length - rank + i] ?? 1, lb[lb.length - rank + i] ?? 1),
  );
  return build([...lead, m, n], a.dtype, (index) => {
    const outer = index.slice(0, -2),
      [i, j] = index.slice(-2) as [number, number];
    const baseA = broadcastAt(la, outer) * m * k,
      baseB = broadcastAt(lb, outer) * k * n;
    let sum = 0;
    for (let x = 0; x < k; x++) sum += a.values[baseA + i * k + x]! * b.values[baseB + x * n + j]!;
    return sum;
  });
}

function matmulCases(): Case[] {
  const make = (
    a: readonly number[],
    b: readonly number[],
    views?: Case["views"],
    dtype: DType = "float32",
  ): Case => {
    const x = filled(a, dtype, 30),
      y = filled(b, dtype, 31);
    return {
      label: `${dtype} [${a.join()}] × [${b.join()}]`,
      inputs: [x, y],
      expected: [matmulReference(x, y)],
      rel: 1e-5,
      abs: 3e-5,
      ...(views === undefined ? {} : { views }),
    };
  };
  return [
    make([5, 7], [7, 3], allViews(2)),
    make([16, 32], [32, 24], allViews(2)),
    make([1, 1], [1, 1]),
    make([1, 64], [64, 10]),
    make([33, 65], [65, 17]),
    make([3, 0], [0, 4]),
    make([0, 3], [3, 4]),
    make([2, 5, 7], [2, 7, 3], allViews(2)),
    make([2, 5, 7], [7, 3]),
    make([4, 1, 3, 2], [2, 2, 5]),
    make([3, 4, 4], [1, 4, 4]),
    make([5, 7], [7, 3], undefined, "int32"),
    make([4, 8], [8, 4], undefined, "uint32"),
    { ...make([4, 6], [6, 4]), ...expandedMatmul() },
  ];
}

function expandedMatmul(): Case {
  const row = samples("float32", 6, 32),
    x = host([4, 6], [...row, ...row, ...row, ...row]),
    y = filled([6, 4], "float32", 33);
  return {
    label: "expanded",
    inputs: [x, y],
    expected: [matmulReference(x, y)],
    rel: 1e-5,
    abs: 3e-5,
    views: [["expanded", "transposed"]],
  };
}

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

// === Updates ===

function updateCases(name: string): Case[] {
  const shape = [4, 5],
    p = filled(shape, "float32", 40),
    g = filled(shape, "float32", 41),
    m = filled(shape, "float32", 42),
    v = host(shape, filled(shape, "float32", 43).values.map(Math.abs));
  const zip = (f: (i: number) => number): Host =>
    host(
      shape,
      p.values.map((_, i) => f(i)),
    );
  const base = {
    rel: 1e-5,
    abs: 1e-5,
    views: [
      ["plain", "transposed", "plain", "plain"],
      ["sliced", "plain", "transposed", "offset"],
    ] as const,
  };
  if (name === "sgdUpdate")
    return [
      {
        ...base,
        label: "decay",
        inputs: [p, g],
        words: [0.1, 0.01, 1].map(f32Bits),
        expected: [zip((i) => p.values[i]! - 0.1 * (g.values[i]! + 0.01 * p.values[i]!))],
      },
    ];
  if (name === "momentumUpdate") {
    return [false, true].map((nesterov): Case => {
      const gi = (i: number): number => g.values[i]! + 0.01 * p.values[i]!,
        vi = (i: number): number => 0.9 * m.values[i]! + 0.8 * gi(i);
      return {
        ...base,
        label: nesterov ? "nesterov" : "classic",
        inputs: [p, g, m],
        attrs: { nesterov },
        words: [0.1, 0.9, 0.8, 0.01, 1].map(f32Bits),
        expected: [
          zip((i) => p.values[i]! - 0.1 * (nesterov ? gi(i) + 0.9 * vi(i) : vi(i))),
          zip(vi),
        ],
      };
    });
  }
  if (name.startsWith("rmsprop")) {
    const moves = name.includes("Momentum"),
      centered = name.includes("Centered"),
      mean = host(
        shape,
        m.values.map((x) => x / 10),
      ),
      gi = (i: number): number => g.values[i]! + 0.01 * p.values[i]!;
    const vi = (i: number): number => 0.9 * v.values[i]! + 0.1 * gi(i) ** 2 + (centered ? 0.09 : 0),
      ai = (i: number): number => 0.9 * mean.values[i]! + 0.1 * gi(i);
    const shifted = host(
      shape,
      v.values.map((x) => x + (centered ? 0.1 : 0)),
    ); // keeps the variance away from 0
    const ui = (i: number): number =>
      (moves ? 0.8 * m.values[i]! : 0) +
      gi(i) / (Math.sqrt(centered ? Math.max(vi(i) - ai(i) ** 2, 0) : vi(i)) + 0.1);
    return [
      {
        ...base,
        label: "decay",
        inputs: [p, g, shifted, ...(moves ? [m] : []), ...(centered ? [mean] : [])],
        words: [0.1, 0.9, 0.1, 0.1, 0.01, 0.8, 1].map(f32Bits),
        expected: [
          zip((i) => p.values[i]! - 0.1 * ui(i)),
          zip(vi),
          ...(moves ? [zip(ui)] : []),
          ...(centered ? [zip(ai)] : []),
        ],
      },
    ];
  }
  if (name === "adagradUpdate") {
    const gi = (i: number): number => g.values[i]! + 0.01 * p.values[i]!,
      vi = (i: number): number => v.values[i]! + gi(i) ** 2;
    return [
      {
        ...base,
        label: "decay",
        inputs: [p, g, v],
        words: [0.1, 1e-3, 0.01, 1].map(f32Bits),
        expected: [zip((i) => p.values[i]! - (0.1 * gi(i)) / (Math.sqrt(vi(i)) + 1e-3)), zip(vi)],
      },
    ];
  }
  if (name === "lionUpdate")
    return [
      {
        ...base,
        label: "decay",
        inputs: [p, g, m],
        words: [0.1, 0.9, 0.1, 0.8, 0.2, 0.01].map(f32Bits),
        expected: [
          zip(
            (i) =>
              p.values[i]! * (1 - 0.1 * 0.01) -
              0.1 * Math.sign(0.9 * m.values[i]! + 0.1 * g.values[i]!),
          ),
          zip((i) => 0.8 * m.values[i]! + 0.2 * g.values[i]!),
        ],
      },
    ];
  if (name === "followParameter")
    return [
      {
        ...base,
        label: "half of them written",
        inputs: [
          host(
            shape,
            p.values.map((x, i) => (i % 2 === 0 ? x : x + 1)),
          ),
          p,
        ],
        expected: [p],
      },
    ]; // rounding: see half.test.ts
  if (name === "clipByValue")
    return [
      {
        ...base,
        label: "clamp",
        inputs: [p],
        words: [0.7].map(f32Bits),
        expected: [zip((i) => Math.min(0.7, Math.max(-0.7, p.values[i]!)))],
      },
    ];
  if (name === "clipByNorm")
    return [4, 0.125].map((norm): Case => ({
      ...base,
      label: `norm ${norm}`,
      inputs: [p, host([], [norm])],
      words: [0.5].map(f32Bits),
      expected: [zip((i) => p.values[i]! * Math.min(1, 0.5 / (norm + 1e-6)))],
    }));
  if (name === "runningAverage")
    return [
      {
        ...base,
        label: "scaled",
        inputs: [p, g],
        words: [0.1, 1.5].map(f32Bits),
        expected: [zip((i) => p.values[i]! + 0.1 * (1.5 * g.values[i]! - p.values[i]!))],
      },
    ];
  return (
    [
      [0.01, 0, 1],
      [0, 0.02, -1],
    ] as const
  ).map(([decay, decoupled, sign]): Case => {
    const pi = (i: number): number => p.values[i]! * (1 - 0.1 * decoupled),
      gi = (i: number): number => sign * g.values[i]! + decay * pi(i);
    const mi = (i: number): number => 0.9 * m.values[i]! + 0.1 * gi(i),
      vi = (i: number): number => 0.99 * v.values[i]! + 0.01 * gi(i) ** 2;
    const c1 = 1 - 0.9 ** 3,
      c2 = Math.sqrt(1 - 0.99 ** 3),
      ams = name === "amsgradUpdate",
      top = host(
        shape,
        v.values.map((x, i) => x * (i % 3)),
      ),
      ti = (i: number): number => (ams ? Math.max(top.values[i]!, vi(i)) : vi(i));
    return {
      ...base,
      label: decoupled > 0 ? "decoupled" : "coupled",
      inputs: [p, g, m, v, ...(ams ? [top] : [])],
      words: [0.1 / c1, 0.9, 0.1, 0.99, 0.01, 1e-8, decay, 1 - 0.1 * decoupled, c2, sign].map(
        f32Bits,
      ),
      expected: [
        zip((i) => pi(i) - ((0.1 / c1) * mi(i)) / (Math.sqrt(ti(i)) / c2 + 1e-8)),
        zip(mi),
        zip(vi),
        ...(ams ? [zip(ti)] : []),
      ],
      ...(ams ? { views: [...base.views.map((list) => [...list, "plain" as const])] } : {}),
    };
  });
}

// === Everything else ===

const dtypes: readonly DType[] = ["float32", "int32", "uint32", "bool"];
const wordOf = (x: number, dtype: DType): number =>
  isFloat(dtype) ? f32Bits(x) : dtype === "bool" ? Number(x !== 0) : x >>> 0;

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

const others: Readonly<Record<string, () => Case[]>> = {
  fill: () =>
    dtypes.flatMap((dtype) =>
      [[], [3, 5], [0], [2, 2, 4]].map((shape): Case => ({
        label: `${dtype} [${shape.join()}]`,
        inputs: [],
        attrs: { shape, dtype },
        words: [wordOf(3, dtype)],
        expected: [build(shape, dtype, () => (dtype === "bool" ? 1 : 3))],
      })),
    ),
  arange: () =>
    (["float32", "int32", "uint32"] as const).flatMap((dtype) =>
      [[7], [0], [3, 5]].map((shape): Case => ({
        label: `${dtype} [${shape.join()}]`,
        inputs: [],
        attrs: { shape, dtype },
        words: [wordOf(2, dtype), wordOf(3, dtype)],
        expected: [build(shape, dtype, (i) => 2 + 3 * at(shape, i))],
      })),
    ),
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
  random: () =>
    (["uniform", "normal"] as const).flatMap((distribution) =>
      [[], [5, 7], [0], [64]].map((shape): Case => ({
        label: `${distribution} [${shape.join()}]`,
        inputs: [],
        attrs: { shape, dtype: "float32", distribution },
        words: [11, 22, 33],
        rel: 1e-4,
        abs: distribution === "uniform" ? 0 : 1e-3, // WGSL: cos is good to 2^-11
        expected: [
          build(shape, "float32", (i) =>
            (distribution === "uniform" ? randomUniform : randomNormal)([11, 22], 33, at(shape, i)),
          ),
        ],
      })),
    ),
  dropout: () =>
    [0.75, 0.25].map((keep): Case => {
      const x = filled([5, 7], "float32", 57);
      return {
        label: `keep ${keep}`,
        inputs: [x],
        words: [1, 2, 3, f32Bits(keep)],
        expected: [
          build([5, 7], "float32", (i) =>
            randomUniform([1, 2], 3, at([5, 7], i)) < keep ? x.values[at([5, 7], i)]! / keep : 0,
          ),
        ],
        views: allViews(1),
      };
    }),
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
  softmax: () => softmaxCases(false),
  logSoftmax: () => softmaxCases(true),
  softmaxBackward: () => softmaxBackwardCases(false),
  logSoftmaxBackward: () => softmaxBackwardCases(true),
  crossEntropyRows: () => crossEntropyCases(false),
  crossEntropyBackward: () => crossEntropyCases(true),
  matmul: matmulCases,
  conv2d: () => convCases("forward"),
  conv2dBackwardInput: () => convCases("input"),
  conv2dBackwardWeight: () => convCases("weight"),
};

/** The cases of an op, or undefined when nobody wrote any. */
export function casesOf(name: string): readonly Case[] | undefined {
  const inplace = name.endsWith("_"),
    base = inplace ? name.slice(0, -1) : name,
    scalar = base.endsWith("Scalar") ? base.slice(0, -6) : undefined;
  if (others[name] !== undefined) return others[name]();
  if (moreCases[name] !== undefined) return moreCases[name]();
  if (unary[base] !== undefined) return unaryCases(unary[base], inplace, base === "neg");
  if (binary[base] !== undefined) return binaryCases(binary[base], inplace, base === "sub");
  if (scalar !== undefined && withScalar.includes(scalar))
    return scalarCases(binary[scalar]!, inplace);
  if (["sum", "mean", "max", "min", "argMax", "argMin", "any", "all"].includes(name))
    return reductionCases(name);
  if (/^(max|avg)Pool2d/.test(name)) return poolCases(name);
  if (
    name.endsWith("Update") ||
    name.startsWith("clipBy") ||
    name === "runningAverage" ||
    name === "followParameter"
  )
    return updateCases(name);
  return undefined;
}

// === Gradients ===

const point = (
  shape: readonly number[],
  seed: number,
  low = -2,
  high = 2,
): GradCase["points"][number] => ({ shape, values: numbers(count(shape), seed, low, high) });
const grad = (
  label: string,
  points: GradCase["points"],
  more: Partial<GradCase> = {},
): GradCase => ({ label, points, ...more });

function elementwiseGrads(ref: Reference, arity: number): GradCase[] {
  const range = (i: number): readonly [number, number] => ref.range?.[i] ?? [-1.5, 1.5];
  const second = ref.smooth === true;
  if (arity === 1)
    return [[], [2, 3]].map((shape, k) =>
      grad(`[${shape.join()}]`, [point(shape, 70 + k, ...range(0))], { second: second && k === 1 }),
    );
  return (
    [
      [
        [2, 3],
        [2, 3],
      ],
      [[2, 3], [3]],
      [
        [2, 1],
        [1, 3],
      ],
      [[], [2]],
    ] as const
  ).map(([a, b], k) =>
    grad(
      `[${a.join()}] and [${b.join()}]`,
      [point(a, 72, ...range(0)), point(b, 73, ...range(1))],
      { second: second && k === 1 },
    ),
  );
}

function scalarGrads(name: string, ref: Reference): GradCase[] {
  return [false, true].map((reverse) => {
    const [left, right] = [ref.range?.[0] ?? [-1.5, 1.5], ref.range?.[1] ?? [-1.5, 1.5]] as const,
      [x, y] = reverse ? [right, left] : [left, right];
    const number = Math.fround((y[0] + 2 * y[1]) / 3);
    return grad(
      `${name} ${reverse ? `${number} on the left` : number}`,
      [point([2, 3], 74, ...x)],
      {
        attrs: { dtype: "float32", reverse },
        words: [f32Bits(number)],
        second: ref.smooth === true,
      },
    );
  });
}

const distinct = (shape: readonly number[]): GradCase["points"][number] => {
  // no ties, and none within a step
  const order = numbers(count(shape), 75)
      .map((v, i) => [v, i] as const)
      .sort((a, b) => a[0] - b[0]),
    values = Array<number>(order.length);
  order.forEach(([, i], rank) => {
    values[i] = rank / 8 - 1;
  });
  return { shape, values };
};

const otherGrads: Readonly<Record<string, () => GradCase[]>> = {
  cast: () => [grad("float32", [point([3], 80)], { attrs: { dtype: "float32" } })],
  copy: () => [grad("[2,3]", [point([2, 3], 81)], { second: true })],
  where: () => [
    grad("broadcast", [point([2, 3], 82), point([3], 83)], {
      fixed: { 0: host([2, 1], [1, 0], "bool") },
      second: true,
    }),
  ],
  dropout: () => [
    grad("mask", [point([3, 4], 84)], { words: [1, 2, 3, f32Bits(0.5)], second: true }),
  ],
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
  sum: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [point([2, 3], 90)], {
        attrs: { axes, keepDims: axes[0] === 1 },
        second: true,
      }),
    ),
  mean: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [point([2, 3], 91)], {
        attrs: { axes, keepDims: axes[0] === 1 },
        second: true,
      }),
    ),
  max: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [distinct([3, 4])], { attrs: { axes, keepDims: axes[0] === 1 } }),
    ),
  min: () =>
    [[0], [1], [0, 1]].map((axes) =>
      grad(`axes ${axes.join()}`, [distinct([3, 4])], { attrs: { axes, keepDims: axes[0] === 1 } }),
    ),
  softmax: () =>
    [0, 1].map((axis) =>
      grad(`axis ${axis}`, [point([3, 4], 92)], { attrs: { axis }, second: true }),
    ),
  logSoftmax: () =>
    [0, 1].map((axis) =>
      grad(`axis ${axis}`, [point([3, 4], 93)], { attrs: { axis }, second: true }),
    ),
  softmaxBackward: () => [
    grad("axis 1", [point([2, 3], 103, 0.1, 0.9), point([2, 3], 104)], { attrs: { axis: 1 } }),
  ],
  logSoftmaxBackward: () => [
    grad("axis 1", [point([2, 3], 105, -2, -0.1), point([2, 3], 106)], { attrs: { axis: 1 } }),
  ],
  crossEntropyRows: () =>
    [undefined, 2].map((ignoreIndex) =>
      grad(`ignoring ${String(ignoreIndex)}`, [point([3, 4], 94)], {
        fixed: { 1: host([3], [0, 2, 3], "int32") },
        attrs: { ignoreIndex },
        second: true,
      }),
    ),
  crossEntropyBackward: () => [
    grad("ignoring 2", [point([3, 4], 107), point([3], 108)], {
      fixed: { 1: host([3], [0, 2, 3], "int32") },
      attrs: { ignoreIndex: 2 },
    }),
  ],
  matmul: () =>
    (
      [
        [
          [2, 3],
          [3, 4],
        ],
        [
          [2, 2, 3],
          [3, 2],
        ],
        [
          [2, 1, 2, 2],
          [3, 2, 2],
        ],
      ] as const
    ).map(([a, b]) =>
      grad(`[${a.join()}] × [${b.join()}]`, [point(a, 95), point(b, 96)], { second: count(a) < 7 }),
    ),
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

/**
 * The gradient checks of a differentiable op, or undefined when nobody wrote any. In-place twins
 * share those of their base.
 */
export function gradCasesOf(name: string): readonly GradCase[] | undefined {
  if (otherGrads[name] !== undefined) return otherGrads[name]();
  if (moreGrads[name] !== undefined) return moreGrads[name]();
  if (unary[name] !== undefined) return elementwiseGrads(unary[name], 1);
  if (binary[name] !== undefined) return elementwiseGrads(binary[name], 2);
  if (name.endsWith("Scalar") && withScalar.includes(name.slice(0, -6)))
    return scalarGrads(name, binary[name.slice(0, -6)]!);
  return undefined;
}

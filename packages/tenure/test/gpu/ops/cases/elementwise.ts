/**
 * Cases of the elementwise ops: one generator for all of them, from the table of references.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { type DType, isFloat, promote } from "../../../../src/base/dtype.ts";
import { sameShape } from "../../../../src/base/shape.ts";
import { broadcastAt } from "../../../helpers.ts";
import { type Reference, binary, samples, specials, unary, withScalar } from "./references.ts";
import { type Host, type ViewKind, build, host, store } from "../host.ts";
import { type Case, type GradCase, allViews, filled, grad, point } from "./case.ts";

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
];

// the first four for every op
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

/** The cases of an elementwise op, in place or with a number too; undefined when it is none. */
export function elementwiseCasesOf(name: string): Case[] | undefined {
  const inplace = name.endsWith("_"),
    base = inplace ? name.slice(0, -1) : name,
    scalar = base.endsWith("Scalar") ? base.slice(0, -6) : undefined;
  if (unary[base] !== undefined) return unaryCases(unary[base], inplace, base === "neg");
  if (binary[base] !== undefined) return binaryCases(binary[base], inplace, base === "sub");
  if (scalar !== undefined && withScalar.includes(scalar))
    return scalarCases(binary[scalar]!, inplace);
  return undefined;
}

/** The gradient checks of an elementwise op; undefined when it is none. */
export function elementwiseGradsOf(name: string): GradCase[] | undefined {
  if (unary[name] !== undefined) return elementwiseGrads(unary[name], 1);
  if (binary[name] !== undefined) return elementwiseGrads(binary[name], 2);
  if (name.endsWith("Scalar") && withScalar.includes(name.slice(0, -6)))
    return scalarGrads(name, binary[name.slice(0, -6)]!);
  return undefined;
}

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

/**
 * Cases of attention as a whole with its gradients, and of its weights: softmax of scaled scores
 * under a mask.
 */
import { f32Bits } from "../../../../src/base/bits.ts";
import { randomUniform } from "../../../../src/kernels/philox.ts";
import { indices } from "../../../helpers.ts";
import { type Host, build, host } from "../host.ts";
import { type Case, type CaseTable, type GradTable, allViews, floats, point } from "./case.ts";
import { value } from "./normalization.ts";

function attentionCases(): Case[] {
  const list: readonly (readonly [readonly number[], Host | undefined])[] = [
    [[4, 6], undefined],
    [[2, 3, 5, 8], undefined],
    [
      [3, 4, 4],
      host(
        [4, 4],
        [...indices([4, 4])].map(([i, j]) => Number((i! + j!) % 3 !== 0 && i !== 2)),
        "bool",
      ),
    ],
    [[2, 2, 4, 5], floats([2, 1, 1, 5], 570)],
  ];
  return list.flatMap(([shape, mask], k) =>
    [false, true].map((causal): Case => {
      const x = floats(shape, 571 + k),
        axis = shape.length - 1;
      const score = (i: readonly number[]): number =>
        (causal && i[axis]! > i[axis - 1]!) || (mask?.dtype === "bool" && value(mask, i) === 0)
          ? -Infinity
          : 0.5 * value(x, i) + (mask?.dtype === "float32" ? value(mask, i) : 0);
      const expected = build(shape, "float32", (i) => {
        const row = Array.from({ length: shape[axis]! }, (_, d) => score([...i.slice(0, -1), d])),
          m = Math.max(...row);
        return m === -Infinity
          ? 0
          : Math.exp(score(i) - m) / row.reduce((s, v) => s + Math.exp(v - m), 0);
      });
      return {
        label: `[${shape.join()}] ${mask?.dtype ?? "no mask"}${causal ? " causal" : ""}`,
        inputs: [x, ...(mask === undefined ? [] : [mask])],
        attrs: { scale: 0.5, causal },
        expected: [expected],
        rel: 3e-5,
        abs: 1e-6,
        views: allViews(mask === undefined ? 1 : 2),
      };
    }),
  );
}

/** What attention is computed from, its weights before and after dropping, and its rows. */
interface Attended {
  readonly label: string;
  readonly inputs: readonly [Host, Host, Host];
  readonly mask: readonly Host[];
  readonly attrs: { readonly scale: number; readonly causal: boolean; readonly dropout: boolean };
  readonly words: readonly number[];
  /** [B, L, S]: weights, and what each is multiplied by when weights are dropped. */
  readonly weights: Host;
  readonly kept: Host;
  /** [B, L] */
  readonly logs: Host;
}

interface AttentionSizes {
  readonly B: number;
  readonly L: number;
  readonly S: number;
  readonly E: number;
  readonly F: number;
  readonly mask?: Host;
  readonly causal?: boolean;
  readonly drop?: boolean;
}

const seeds = [11, 22, 3];
const keep = 0.75;

/** Sums over the third of three indices. */
const sum3 = (
  shape: readonly [number, number, number],
  n: number,
  of: (b: number, i: number, j: number, k: number) => number,
): Host =>
  build(shape, "float32", ([b, i, j]) =>
    Array.from({ length: n }, (_, k) => of(b!, i!, j!, k)).reduce((x, y) => x + y, 0),
  );

function attended({ B, L, S, E, F, mask, causal = false, drop = false }: AttentionSizes): Attended {
  const query = floats([B, L, E], 801);
  const key = floats([B, S, E], 802);
  const factor = 0.4;
  const scores = sum3([B, L, S], E, (b, i, j, e) => {
    return factor * value(query, [b, i, e]) * value(key, [b, j, e]);
  });
  const masked = build([B, L, S], "float32", (at) => {
    const hidden = mask?.dtype === "bool" && value(mask, at) === 0;
    if (hidden || (causal && at[2]! > at[1]!)) return -Infinity;
    return value(scores, at) + (mask?.dtype === "float32" ? value(mask, at) : 0);
  });
  const row = (at: readonly number[]): number[] =>
    Array.from({ length: S }, (_, j) => value(masked, [at[0]!, at[1]!, j]));
  const sumOf = (at: readonly number[]): number => row(at).reduce((s, v) => s + Math.exp(v), 0);
  const label = `${B}×${L}×${S}×${E}×${F} ${mask?.dtype ?? "no mask"}`;
  return {
    label: `${label}${causal ? " causal" : ""}${drop ? " dropped" : ""}`,
    inputs: [query, key, floats([B, S, F], 803)],
    mask: mask === undefined ? [] : [mask],
    attrs: { scale: factor, causal, dropout: drop },
    words: drop ? [...seeds, f32Bits(keep)] : [],
    weights: build([B, L, S], "float32", (at) =>
      sumOf(at) === 0 ? 0 : Math.exp(value(masked, at)) / sumOf(at),
    ),
    kept: build([B, L, S], "float32", ([b, i, j]) => {
      if (!drop) return 1;
      const [s0, s1, stream] = seeds as [number, number, number];
      return randomUniform([s0, s1], stream, (b! * L + i!) * S + j!) < keep ? 1 / keep : 0;
    }),
    logs: build([B, L], "float32", (at) => (sumOf(at) === 0 ? 1e30 : Math.log(sumOf(at)))),
  };
}

const hiding = host(
  [5, 11],
  [...indices([5, 11])].map(([i, j]) => Number((i! + j!) % 3 !== 0 && i !== 2)),
  "bool",
);

/** Sizes that leave rows over in every tile, and features that are and are not whole vectors. */
const wholes = (): Attended[] =>
  [
    { B: 2, L: 5, S: 11, E: 8, F: 4 },
    { B: 1, L: 9, S: 9, E: 4, F: 12, causal: true },
    { B: 2, L: 3, S: 4, E: 3, F: 5, causal: true },
    { B: 2, L: 5, S: 11, E: 4, F: 4, mask: hiding },
    { B: 3, L: 5, S: 11, E: 4, F: 3, mask: floats([3, 1, 11], 804) },
    { B: 2, L: 70, S: 20, E: 4, F: 8, causal: true, drop: true },
    { B: 1, L: 5, S: 11, E: 4, F: 4, mask: hiding, drop: true },
  ].map(attended);

const near = { rel: 1e-4, abs: 1e-5 };

function flashCases(): Case[] {
  return wholes().map(({ label, inputs, mask, attrs, words, weights, kept, logs }, k) => {
    const [B, L, S] = weights.shape as [number, number, number];
    const [, , v] = inputs;
    const output = sum3([B, L, v.shape[2]!], S, (b, i, f, j) => {
      return value(weights, [b, i, j]) * value(kept, [b, i, j]) * value(v, [b, j, f]);
    });
    return {
      label,
      inputs: [...inputs, ...mask],
      attrs,
      words,
      expected: [output, logs],
      ...near,
      ...(k < 3 ? { views: allViews(3 + mask.length) } : {}),
    };
  });
}

/** Gradients written out: of the query, the key and the value. */
function flashGradCases(of: "query" | "key"): Case[] {
  return wholes().map(({ label, inputs, mask, attrs, words, weights, kept, logs }, k) => {
    const [B, L, S] = weights.shape as [number, number, number];
    const [q, key, v] = inputs;
    const E = q.shape[2]!;
    const F = v.shape[2]!;
    const g = floats([B, L, F], 805);
    const byWeights = sum3([B, L, S], F, (b, i, j, f) => {
      return value(kept, [b, i, j]) * value(g, [b, i, f]) * value(v, [b, j, f]);
    });
    const products = build([B, L], "float32", ([b, i]) =>
      Array.from(
        { length: S },
        (_, j) => value(weights, [b!, i!, j]) * value(byWeights, [b!, i!, j]),
      ).reduce((x, y) => x + y, 0),
    );
    const byScores = build([B, L, S], "float32", (at) => {
      const less = value(byWeights, at) - value(products, [at[0]!, at[1]!]);
      return attrs.scale * value(weights, at) * less;
    });
    const rows = build([B, L, 2], "float32", ([b, i, n]) =>
      Math.fround(value(n === 0 ? logs : products, [b!, i!])),
    );
    const byQuery = sum3([B, L, E], S, (b, i, e, j) => {
      return value(byScores, [b, i, j]) * value(key, [b, j, e]);
    });
    const byKey = sum3([B, S, E], L, (b, j, e, i) => {
      return value(byScores, [b, i, j]) * value(q, [b, i, e]);
    });
    const byValue = sum3([B, S, F], L, (b, j, f, i) => {
      return value(weights, [b, i, j]) * value(kept, [b, i, j]) * value(g, [b, i, f]);
    });
    return {
      label,
      inputs: [...inputs, g, rows, ...mask],
      attrs,
      words,
      expected: of === "query" ? [byQuery] : [byKey, byValue],
      ...near,
      ...(k < 3 ? { views: allViews(5 + mask.length) } : {}),
    };
  });
}

function rowCases(): Case[] {
  return [
    [2, 5, 7],
    [3, 8],
  ].map((shape): Case => {
    const [g, y] = [floats(shape, 806), floats(shape, 807)];
    const logs = floats(shape.slice(0, -1), 808);
    const product = (at: readonly number[]): number =>
      Array.from(
        { length: shape.at(-1)! },
        (_, f) => value(g, [...at, f]) * value(y, [...at, f]),
      ).reduce((a, b) => a + b, 0);
    return {
      label: `[${shape.join()}]`,
      inputs: [g, y, logs],
      expected: [
        build([...shape.slice(0, -1), 2], "float32", (at) => {
          const row = at.slice(0, -1);
          return at.at(-1) === 0 ? value(logs, row) : product(row);
        }),
      ],
      ...near,
      views: allViews(3),
    };
  });
}

export const attentionTable: CaseTable = {
  attentionWeights: attentionCases,
  scaledDotProductAttention: flashCases,
  attentionRows: rowCases,
  attentionBackwardQuery: () => flashGradCases("query"),
  attentionBackwardKey: () => flashGradCases("key"),
};

export const attentionGrads: GradTable = {
  scaledDotProductAttention: () => [
    {
      label: "causal",
      points: [point([2, 3, 2], 590), point([2, 3, 2], 591), point([2, 3, 4], 592)],
      attrs: { scale: 0.5, causal: true, dropout: false },
      second: true,
    },
    {
      label: "mask, dropped",
      points: [point([3, 2], 590), point([4, 2], 591), point([4, 1], 592)],
      fixed: { 3: host([4], [1, 0, 1, 1], "bool") },
      attrs: { scale: 0.5, causal: false, dropout: true },
      words: [...seeds, f32Bits(keep)],
      second: true,
    },
    {
      label: "broadcast",
      points: [point([2, 1, 2], 590), point([3, 2], 591), point([2, 3, 4], 592)],
      attrs: { scale: 1, causal: false, dropout: false },
    },
  ],
  attentionWeights: () => [
    {
      label: "causal",
      points: [point([3, 3], 593)],
      attrs: { scale: 0.5, causal: true },
      second: true,
    },
    {
      label: "added mask",
      points: [point([2, 2, 3], 594), point([3], 595)],
      attrs: { scale: 0.5, causal: false },
    },
    {
      label: "mask",
      points: [point([2, 3], 596)],
      fixed: { 1: host([3], [1, 0, 1], "bool") },
      attrs: { scale: 2, causal: false },
      second: true,
    },
  ],
};

/**
 * Random attention with its three gradients: queries and keys of uneven number, features of any
 * number on either side, masks that broadcast, rows that may attend to nothing, batches that
 * broadcast. Owns nothing.
 */
import { type Tensor, grad } from "tenure";
import { functional as F } from "tenure/nn";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import { type Host, host } from "../../tenure/test/gpu/ops/host.ts";
import type { Random } from "../random.ts";
import {
  type Expected,
  type Family,
  anyView,
  broadcastStrides,
  eachIndex,
  nearly,
  real,
} from "./problem.ts";

interface Sizes {
  readonly lead: readonly number[];
  readonly leads: readonly (readonly number[])[];
  readonly L: number;
  readonly S: number;
  readonly E: number;
  readonly F: number;
}

const lengths = [1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 33, 64, 65, 70];
const features = [1, 2, 3, 4, 5, 6, 8, 12, 13, 16, 20];

function sizes(random: Random): Sizes {
  const lead = random.pick([[], [1], [2], [3], [2, 2], [1, 3], [2, 3]]);
  const some = (): readonly number[] =>
    random.chance(0.7)
      ? lead
      : lead.slice(random.int(lead.length + 1)).map((d) => (random.chance(0.5) ? 1 : d));
  const leads = [lead, some(), some()];
  const L = random.pick(lengths);
  const S = random.chance(0.03) ? 0 : random.pick(lengths);
  return { lead, leads, L, S, E: random.pick(features), F: random.pick(features) };
}

/** A mask that broadcasts to [..., L, S], or none. */
function maskOf(random: Random, { lead, L, S }: Sizes): Host | undefined {
  if (random.chance(0.4) || S === 0) return undefined;
  const outer = random.pick([[], lead, lead.map(() => 1)]);
  const shape = [...outer, random.chance(0.2) ? 1 : L, random.chance(0.1) ? 1 : S];
  const added = random.chance(0.4);
  const share = random.pick([0.1, 0.5, 0.9, 1]);
  const values = Array.from({ length: sizeOf(shape) }, () => {
    if (!added) return random.chance(share) ? 1 : 0;
    return random.chance(0.2) ? -Infinity : Math.fround(2 * random.next() - 1);
  });
  return host(shape, values, added ? "float32" : "bool");
}

/** The numbers of one batch. */
interface Batch {
  readonly q: (i: number, e: number) => number;
  readonly k: (j: number, e: number) => number;
  readonly v: (j: number, f: number) => number;
  readonly mask: (i: number, j: number) => number;
  readonly g: (i: number, f: number) => number;
}

/** Weights of a row: softmax of what is not masked; zeros where nothing is left. */
function weightsOf(b: Batch, i: number, { S, E }: Sizes, scale: number): number[] {
  const scores = Array.from({ length: S }, (_, j) => {
    let dot = 0;
    for (let e = 0; e < E; e++) dot += b.q(i, e) * b.k(j, e);
    return dot * scale + b.mask(i, j);
  });
  const top = Math.max(-Infinity, ...scores);
  if (top === -Infinity) return scores.map(() => 0);
  const raised = scores.map((s) => Math.exp(s - top));
  const sum = raised.reduce((a, x) => a + x, 0);
  return raised.map((x) => x / sum);
}

/** Positions of elements: [..., rows, length] of a batch. */
const reader =
  (h: Host, batch: number, rows: number, length: number) =>
  (i: number, e: number): number =>
    h.values[(batch * rows + i) * length + e] ?? 0;

/** Attention, and its gradients for query, key and value. */
export const attention: Family = (random) => {
  const s = sizes(random);
  const { lead, leads, L, S, E, F: features } = s;
  const q = real(random, [...leads[0]!, L, E]);
  const k = real(random, [...leads[1]!, S, E]);
  const v = real(random, [...leads[2]!, S, features]);
  const g = real(random, [...lead, L, features]);
  const mask = maskOf(random, s);
  const causal = random.chance(0.4);
  const scale = random.chance(0.3) ? random.pick([0.25, 1, -0.5]) : undefined;
  const factor = scale ?? 1 / Math.sqrt(E);
  const y = new Float64Array(sizeOf(lead) * L * features);
  const [dq, dk, dv] = [q, k, v].map((h) => new Float64Array(h.values.length));
  const strides = leads.map((l) => broadcastStrides(l, lead));
  const maskStrides = broadcastStrides(mask?.shape ?? [], [...lead, L, S]);
  const maskLead = maskStrides.slice(0, -2);
  eachIndex(lead, [...strides, maskLead], (at, [bq = 0, bk = 0, bv = 0, bm = 0]) => {
    const batch: Batch = {
      q: reader(q, bq, L, E),
      k: reader(k, bk, S, E),
      v: reader(v, bv, S, features),
      g: reader(g, at, L, features),
      mask(i, j) {
        if (causal && j > i) return -Infinity;
        if (mask === undefined) return 0;
        const m = mask.values[bm + i * maskStrides.at(-2)! + j * maskStrides.at(-1)!] ?? 0;
        return mask.dtype === "bool" ? (m === 0 ? -Infinity : 0) : m;
      },
    };
    for (let i = 0; i < L; i++) {
      const p = weightsOf(batch, i, s, factor);
      const given = p.map((_, j) => {
        let sum = 0;
        for (let f = 0; f < features; f++) sum += batch.g(i, f) * batch.v(j, f);
        return sum;
      });
      const mean = p.reduce((a, x, j) => a + x * (given[j] ?? 0), 0);
      p.forEach((weight, j) => {
        const d = weight * ((given[j] ?? 0) - mean) * factor;
        for (let f = 0; f < features; f++) {
          y[(at * L + i) * features + f]! += weight * batch.v(j, f);
          dv![(bv * S + j) * features + f]! += weight * batch.g(i, f);
        }
        for (let e = 0; e < E; e++) {
          dq![(bq * L + i) * E + e]! += d * batch.k(j, e);
          dk![(bk * S + j) * E + e]! += d * batch.q(i, e);
        }
      });
    }
  });
  const options = { causal, ...(scale === undefined ? {} : { scale }) };
  const all = [q, k, v].map((h) => `[${h.shape.join()}]`).join(", ");
  const grads: Expected[] = [
    nearly(q.shape, dq!, 1e-4),
    nearly(k.shape, dk!, 1e-4),
    nearly(v.shape, dv!, 1e-4),
  ];
  return {
    label:
      `attention of ${all} ${JSON.stringify(options)}` +
      (mask === undefined ? "" : `, ${mask.dtype} mask [${mask.shape.join()}]`),
    inputs: [q, k, v, g, ...(mask === undefined ? [] : [mask])],
    views: [anyView(random), anyView(random), anyView(random), "plain", anyView(random)],
    run: ([tq, tk, tv, tg, tm]) => {
      const attend = (a: Tensor, b: Tensor, c: Tensor): Tensor =>
        F.scaledDotProductAttention(a, b, c, tm === undefined ? options : { ...options, mask: tm });
      const found = grad((a: Tensor, b: Tensor, c: Tensor) => attend(a, b, c).mul(tg!).sum())(
        tq!,
        tk!,
        tv!,
      );
      return [attend(tq!, tk!, tv!), ...found.map((t) => t!)];
    },
    expected: [nearly([...lead, L, features], y, 5e-5), ...grads],
  };
};

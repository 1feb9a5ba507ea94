/**
 * Random problems that go over rows: reductions over any axes, softmax and its logarithm, and
 * normalisations, with their gradients; axes of size 1, rows of infinities, long rows. Owns
 * nothing.
 */
import { type Tensor, grad } from "tenure";
import { functional as F } from "tenure/nn";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import type { Host } from "../../tenure/test/gpu/ops/host.ts";
import type { Random } from "../random.ts";
import {
  type Expected,
  type Family,
  anyView,
  broadcastStrides,
  eachIndex,
  exactly,
  nearly,
  real,
  whole,
} from "./problem.ts";

const sides = [1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 33, 64, 65];
const long = [127, 128, 256, 257, 300, 1000, 1024, 1025];

/** Up to four axes and 20,000 elements, one of them long at times. */
function shapeOf(random: Random, least: number): number[] {
  for (;;) {
    const shape = Array.from({ length: least + random.int(5 - least) }, () => random.pick(sides));
    if (shape.length > 0 && random.chance(0.3)) shape[random.int(shape.length)] = random.pick(long);
    if (random.chance(0.02) && shape.length > 0) shape[random.int(shape.length)] = 0;
    if (sizeOf(shape) <= 20_000) return shape;
  }
}

/** For each element the number of its row: the position in a shape with some axes of size 1. */
function rowsOf(shape: readonly number[], axes: readonly number[]): Int32Array {
  const kept = shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const rows = new Int32Array(sizeOf(shape));
  eachIndex(shape, [broadcastStrides(kept, shape)], (n, [row = 0]) => {
    rows[n] = row;
  });
  return rows;
}

interface Reduction {
  readonly name: string;
  readonly tensor: (x: Tensor, axes: readonly number[], keep: boolean) => Tensor;
  readonly of: (row: readonly number[]) => number;
  /** Share of each element of a row in the gradient; null where there is none. */
  readonly share: ((row: readonly number[], k: number) => number) | null;
}

const largest = (row: readonly number[]): number => row.reduce((a, b) => Math.max(a, b), -Infinity);
const sum = (row: readonly number[]): number => row.reduce((a, b) => a + b, 0);

const reductions: readonly Reduction[] = [
  { name: "sum", tensor: (x, a, k) => x.sum(a, k), of: sum, share: () => 1 },
  {
    name: "sum of x times 2 plus 1",
    tensor: (x, a, k) => x.mul(2).add(1).sum(a, k),
    of: (row) => 2 * sum(row) + row.length,
    share: () => 2,
  },
  {
    name: "sum of squares",
    tensor: (x, a, k) => x.square().sum(a, k),
    of: (row) => sum(row.map((v) => v * v)),
    share: (row, k) => 2 * row[k]!,
  },
  { name: "max", tensor: (x, a, k) => x.max(a, k), of: largest, share: null },
  {
    name: "min",
    tensor: (x, a, k) => x.min(a, k),
    of: (row) => -largest(row.map((v) => -v)),
    share: null,
  },
  {
    name: "any",
    tensor: (x, a, k) => x.any(a, k),
    of: (row) => (row.some((v) => v !== 0) ? 1 : 0),
    share: null,
  },
  {
    name: "all",
    tensor: (x, a, k) => x.all(a, k),
    of: (row) => (row.every((v) => v !== 0) ? 1 : 0),
    share: null,
  },
];

/** The elements of each row, in order. */
function gathered(values: ArrayLike<number>, rows: Int32Array, n: number): number[][] {
  const lists: number[][] = Array.from({ length: n }, () => []);
  for (let i = 0; i < values.length; i++) lists[rows[i]!]!.push(values[i]!);
  return lists;
}

/** A reduction of whole numbers: the same in every order. */
export const reduction: Family = (random) => {
  const shape = shapeOf(random, 1);
  const axes = shape.map((_, i) => i).filter(() => random.chance(0.6));
  if (axes.length === 0) axes.push(random.int(shape.length));
  const one = random.pick(reductions);
  const dtype = random.chance(0.2) && !one.name.startsWith("a") ? "int32" : "float32";
  const share = dtype === "float32" ? one.share : null;
  const keep = random.chance(0.5);
  const x = whole(random, shape, dtype);
  const kept = shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const out = keep ? kept : kept.filter((_, i) => !axes.includes(i));
  const rows = rowsOf(shape, axes);
  const lists = gathered(x.values, rows, sizeOf(kept));
  const empty = sizeOf(shape) === 0;
  const g = whole(random, out);
  const place = new Int32Array(lists.length);
  const dx = Array.from(rows, (row) => {
    const k = place[row]!++;
    return share === null ? 0 : share(lists[row]!, k) * g.values[row]!;
  });
  const noValue = empty && /^m/.test(one.name);
  return {
    label: `${one.name} of ${dtype} [${shape.join()}] over ${axes.join()}${keep ? ", kept" : ""}`,
    inputs: [x, g],
    views: [anyView(random), "plain"],
    run: ([tx, tg]) => {
      if (noValue) return [];
      const y = one.tensor(tx!, axes, keep);
      if (share === null) return [y];
      return [y, grad((v: Tensor) => one.tensor(v, axes, keep).mul(tg!).sum())(tx!)];
    },
    expected: noValue
      ? []
      : [exactly(out, lists.map(one.of)), ...(share === null ? [] : [exactly(shape, dx)])],
  };
};

/** Softmax or its logarithm, and the gradient. */
export const softmax: Family = (random) => {
  const shape = shapeOf(random, 1);
  const axis = random.int(shape.length);
  const log = random.chance(0.4);
  const doubled = random.chance(0.3);
  const x = real(random, shape);
  const values = [...x.values];
  if (random.chance(0.2))
    for (let i = 0; i < values.length; i++) if (random.chance(0.3)) values[i] = -Infinity;
  const given: Host = { ...x, values };
  const g = real(random, shape);
  const kept = shape.map((d, i) => (i === axis ? 1 : d));
  const rows = rowsOf(shape, [axis]);
  const n = sizeOf(kept);
  const tops = gathered(values, rows, n).map(largest);
  const sums = new Float64Array(n);
  values.forEach((v, i) => (sums[rows[i]!]! += Math.exp(v - tops[rows[i]!]!)));
  const y = values.map((v, i) => {
    const shifted = v - tops[rows[i]!]!;
    const total = sums[rows[i]!]!;
    return log ? shifted - Math.log(total) : Math.exp(shifted) / total;
  });
  const factor = doubled ? 2 : 1;
  const dots = new Float64Array(n);
  y.forEach((v, i) => (dots[rows[i]!]! += factor * g.values[i]! * (log ? 1 : v)));
  const dx = y.map((v, i) => {
    const d = factor * g.values[i]!;
    return log ? d - Math.exp(v) * dots[rows[i]!]! : v * (d - dots[rows[i]!]!);
  });
  const compute = (t: Tensor): Tensor => {
    const s = log ? t.logSoftmax(axis) : t.softmax(axis);
    return doubled ? s.mul(2) : s;
  };
  const infinite = log && values.includes(-Infinity); // 0 times infinity in the loss, not in dx
  return {
    label:
      `${log ? "logSoftmax" : "softmax"}${doubled ? " doubled" : ""} ` +
      `of [${shape.join()}] over ${axis}`,
    inputs: [given, g],
    views: [anyView(random), "plain"],
    run: ([tx, tg]) => [compute(tx!), grad((t: Tensor) => compute(t).mul(tg!).sum())(tx!)],
    expected: [
      nearly(
        shape,
        y.map((v) => factor * v),
      ),
      nearly(shape, dx, infinite ? 1e-4 : 5e-5),
    ],
  };
};

interface Norm {
  readonly name: string;
  /** Axes that a mean is taken over, of a shape [N, C, …]. */
  readonly axes: (shape: readonly number[]) => readonly number[];
  readonly rms: boolean;
  readonly tensor: (x: Tensor, w: Tensor, b: Tensor) => Tensor;
}

const eps = 1e-2;
const norms: readonly Norm[] = [
  {
    name: "layerNorm",
    axes: (s) => [s.length - 1],
    rms: false,
    tensor: (x, w, b) => F.layerNorm(x, x.shape.at(-1)!, w, b, eps),
  },
  {
    name: "rmsNorm",
    axes: (s) => [s.length - 1],
    rms: true,
    tensor: (x, w) => F.rmsNorm(x, x.shape.at(-1)!, w, eps),
  },
  {
    name: "instanceNorm",
    axes: (s) => s.map((_, i) => i).slice(2),
    rms: false,
    tensor: (x, w, b) => F.instanceNorm(x, w, b, eps),
  },
  {
    name: "groupNorm of one group",
    axes: (s) => s.map((_, i) => i).slice(1),
    rms: false,
    tensor: (x, w, b) => F.groupNorm(x, 1, w, b, eps),
  },
  {
    name: "batchNorm",
    axes: (s) => s.map((_, i) => i).filter((i) => i !== 1),
    rms: false,
    tensor: (x, w, b) => F.batchNorm(x, { training: true, weight: w, bias: b, eps }),
  },
];

/** A normalisation, and its gradients for input, weight and bias. */
export const normalisation: Family = (random) => {
  const norm = random.pick(norms);
  const last = norm.axes([1, 1, 1]).join() === "2" && !norm.name.startsWith("instance");
  let shape = shapeOf(random, last ? 1 : 3);
  const few = (): boolean => norm.axes(shape).reduce((n, a) => n * shape[a]!, 1) < 2;
  while (sizeOf(shape) === 0 || (norm.name === "batchNorm" && few())) shape = shapeOf(random, 3);
  const axes = norm.axes(shape);
  const channel = last ? shape.length - 1 : 1;
  const x = real(random, shape);
  const g = real(random, shape);
  const w = real(random, [shape[channel]!]);
  const b = real(random, [shape[channel]!]);
  const rows = rowsOf(shape, axes);
  const others = shape.map((_, i) => i).filter((i) => i !== channel);
  const channels = rowsOf(shape, others);
  const n = axes.reduce((m, a) => m * shape[a]!, 1);
  const mean = (of: (i: number) => number): Float64Array => {
    const means = new Float64Array(sizeOf(shape) / n);
    rows.forEach((row, i) => (means[row]! += of(i) / n));
    return means;
  };
  const m = norm.rms ? new Float64Array(sizeOf(shape) / n) : mean((i) => x.values[i]!);
  const v = mean((i) => (x.values[i]! - m[rows[i]!]!) ** 2);
  const hat = x.values.map((a, i) => (a - m[rows[i]!]!) / Math.sqrt(v[rows[i]!]! + eps));
  const d = g.values.map((a, i) => a * w.values[channels[i]!]!);
  const along = mean((i) => d[i]! * hat[i]!);
  const mid = norm.rms ? new Float64Array(sizeOf(shape) / n) : mean((i) => d[i]!);
  const dx = d.map(
    (a, i) => (a - mid[rows[i]!]! - hat[i]! * along[rows[i]!]!) / Math.sqrt(v[rows[i]!]! + eps),
  );
  const [dw, db] = [new Float64Array(w.values.length), new Float64Array(w.values.length)];
  g.values.forEach((a, i) => {
    dw[channels[i]!]! += a * hat[i]!;
    db[channels[i]!]! += a;
  });
  const shift = norm.rms ? 0 : 1;
  const y = hat.map((a, i) => a * w.values[channels[i]!]! + shift * b.values[channels[i]!]!);
  const expected: Expected[] = [nearly(shape, y), nearly(shape, dx, 2e-4), nearly(w.shape, dw)];
  return {
    label: `${norm.name} of [${shape.join()}]`,
    inputs: [x, w, b, g],
    views: [anyView(random), "plain", "plain", anyView(random)],
    run: ([tx, tw, tb, tg]) => {
      const found = grad((a: Tensor, c: Tensor, e: Tensor) => norm.tensor(a, c, e).mul(tg!).sum())(
        tx!,
        tw!,
        tb!,
      );
      return [norm.tensor(tx!, tw!, tb!), ...found.slice(0, norm.rms ? 2 : 3).map((t) => t!)];
    },
    expected: norm.rms ? expected : [...expected, nearly(b.shape, db)],
  };
};

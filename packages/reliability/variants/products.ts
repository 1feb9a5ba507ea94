/**
 * Random matrix products: any sizes, 0 and 1 among them, long sums that lanes split, batches that
 * broadcast, views, integers, and what is computed on the way out. Owns nothing.
 */
import type { Tensor } from "tenure";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import type { Random } from "../random.ts";
import { type Family, anyView, broadcastStrides, eachIndex, exactly, whole } from "./problem.ts";

const sides = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 36, 63, 64, 65, 67, 96, 130];
const depths = [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 20, 31, 32, 64, 127, 128, 130, 132, 200];
const long = [511, 512, 513, 516, 640, 1027, 1028];

/** Rows, columns and depths: any, those of sums that lanes split, of rows that lanes share. */
type Sizes = readonly [readonly number[], readonly number[], readonly number[]];
const any: Sizes = [sides, sides, depths];
const few: Sizes = [[1, 2, 3, 4, 5, 8, 10, 33], [1, 3, 4, 5, 8, 10, 20, 36], long];
const shared: Sizes = [
  [8, 16, 17, 20, 33, 52],
  [32, 33, 40, 64, 70],
  [4, 8, 20, 64],
];

/** Batch dimensions of two operands that broadcast. */
function batches(random: Random): [number[], number[]] {
  const full = Array.from({ length: random.int(3) }, () => random.pick([1, 2, 3]));
  const one = (): number[] =>
    full.slice(random.int(full.length + 1)).map((d) => (random.chance(0.3) ? 1 : d));
  if (random.chance(0.5)) return [[], []];
  return random.chance(0.5) ? [full, one()] : [one(), full];
}

/** What is done with a product, on both sides. */
interface After {
  readonly name: string;
  readonly shapeOf: (n: number) => readonly number[] | null;
  readonly tensor: (y: Tensor, other: Tensor) => Tensor;
  readonly number: (y: number, other: number) => number;
}

const afters: readonly After[] = [
  { name: "", shapeOf: () => null, tensor: (y) => y, number: (y) => y },
  {
    name: ", plus 1",
    shapeOf: () => null,
    tensor: (y) => y.add(1),
    number: (y) => y + 1,
  },
  {
    name: ", plus a row, relu",
    shapeOf: (n) => [n],
    tensor: (y, row) => y.add(row).relu(),
    number: (y, row) => Math.max(0, y + row),
  },
  {
    name: ", times a row, minus itself doubled",
    shapeOf: (n) => [n],
    tensor: (y, row) => y.mul(row).sub(y.mul(2)),
    number: (y, row) => y * row - 2 * y,
  },
];

/** A product. */
export const product: Family = (random) => {
  const split = random.chance(0.3);
  const [ms, ns, ks] = split ? few : random.chance(0.2) ? shared : any;
  const [m, n, k] = [random.pick(ms), random.pick(ns), random.pick(ks)];
  const [leadA, leadB] = m * n > 4000 ? [[], []] : batches(random);
  const dtype = random.chance(0.15) ? random.pick(["int32", "uint32"] as const) : "float32";
  const a = whole(random, [...leadA, m, k], dtype);
  const b = whole(random, [...leadB, k, n], dtype);
  const rank = Math.max(leadA.length, leadB.length);
  const lead = Array.from({ length: rank }, (_, d) =>
    Math.max(leadA[leadA.length - rank + d] ?? 1, leadB[leadB.length - rank + d] ?? 1),
  );
  const shape = [...lead, m, n];
  const after = dtype === "uint32" ? afters[0]! : random.pick(afters);
  const row = after.shapeOf(n) === null ? [] : [whole(random, [n], dtype)];
  const values = new Float64Array(sizeOf(shape));
  eachIndex(
    lead,
    [broadcastStrides(leadA, lead), broadcastStrides(leadB, lead)],
    (at, [baseA = 0, baseB = 0]) => {
      for (let i = 0; i < m; i++)
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let x = 0; x < k; x++)
            sum +=
              (a.values[(baseA * m + i) * k + x] ?? 0) * (b.values[(baseB * k + x) * n + j] ?? 0);
          values[(at * m + i) * n + j] = after.number(sum, row[0]?.values[j] ?? 0);
        }
    },
  );
  return {
    label: `${dtype} [${a.shape.join()}] × [${b.shape.join()}]${after.name}`,
    inputs: [a, b, ...row],
    views: [anyView(random), anyView(random), "plain"],
    run: ([x, y, other]) => [after.tensor(x!.matmul(y!), other ?? x!)],
    expected: [exactly(shape, values)],
  };
};

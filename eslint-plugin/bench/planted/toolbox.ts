/**
 * A toolbox of numeric helpers, as they gather in a project over the years, and a main that uses
 * every one of them. What a helper returns is the caller's; what it takes stays the caller's.
 */
import {
  type Tensor,
  concat,
  eye,
  linspace,
  manualSeed,
  newDisposeScope,
  ones,
  rand,
  randn,
  scoped,
  topK,
  valueAndGrad,
  varMean,
  zeros,
} from "tenure";

/** A standardised value, with what it was standardised by. */
export interface Standardized {
  readonly values: Tensor;
  readonly mean: Tensor;
  readonly spread: Tensor;
}

/** Columns of mean 0 and spread 1, with what was taken away. */
export function standardize(x: Tensor, eps = 1e-5): Standardized {
  const [variance, mean] = varMean(x, 0, 1, true);
  using shifted = variance.add(eps);
  variance.dispose();
  const spread = shifted.sqrt();
  using centred = x.sub(mean);
  return { values: centred.div(spread), mean, spread };
}

/** Solves (A + ridge·I)·x = b by some steps of Jacobi's method. */
export function jacobi(a: Tensor, b: Tensor, steps = 4, start?: Tensor): Tensor {
  const n = a.shape[0] ?? 0;
  using unit = eye(n);
  using masked = a.mul(unit);
  using diagonal = masked.sum(1);
  using rest = a.sub(masked);
  let x = start?.clone() ?? zeros([n]);
  for (let i = 0; i < steps; i++) {
    using product = rest.matmul(x);
    using left = b.sub(product);
    const next = left.div(diagonal);
    x.dispose();
    x = next;
  }
  return x;
}

/** Powers 0 … degree of each element, as columns. */
export function powers(x: Tensor, degree: number): Tensor {
  const columns: Tensor[] = [];
  try {
    for (let k = 0; k <= degree; k++) {
      using raised = x.pow(k);
      columns.push(raised.unsqueeze(1));
    }
    return concat(columns, 1);
  } finally {
    for (const c of columns) c.dispose();
  }
}

/** The weighted mean of rows; equal weights where none are given. */
export function weightedMean(rows: Tensor, weights?: Tensor): Tensor {
  const used = weights ?? ones([rows.shape[0] ?? 0]);
  try {
    using column = used.unsqueeze(1);
    using scaled = rows.mul(column);
    using total = used.sum();
    using sum = scaled.sum(0);
    return sum.div(total);
  } finally {
    if (used !== weights) used.dispose();
  }
}

/** Squared distances of all rows of `a` to all rows of `b`. */
export const squaredDistances = (a: Tensor, b: Tensor): Tensor =>
  scoped(() => {
    const ofA = a.square().sum(1, true);
    const ofB = b.square().sum(1).unsqueeze(0);
    return ofA.add(ofB).sub(a.matmul(b.transpose()).mul(2)).clamp(0);
  });

/** For each row, its nearest rows: indices [rows, k]. */
export function nearest(x: Tensor, k: number, among = x): Tensor {
  using distances = squaredDistances(x, among);
  const { values, indices } = topK(distances, k, 1, false);
  values.dispose();
  return indices;
}

/** Differences over 1, 2, … `order` steps, one after the other. */
export function* differences(x: Tensor, order: number): Generator<Tensor, void> {
  let current = x.alias();
  try {
    for (let i = 0; i < order && current.size > 1; i++) {
      using later = current.slice(0, 1);
      using earlier = current.slice(0, 0, -1);
      const next = later.sub(earlier);
      current.dispose();
      current = next;
      yield current.alias();
    }
  } finally {
    current.dispose();
  }
}

/** Sums by trapezoids; `at` defaults to places at a distance of 1. */
export function trapezoid(y: Tensor, at: Tensor | null = null): Tensor {
  using _scope = newDisposeScope("trapezoid");
  const n = y.size;
  const places = at ?? linspace(0, n - 1, n);
  const widths = places.slice(0, 1).sub(places.slice(0, 0, -1));
  const heights = y
    .slice(0, 1)
    .add(y.slice(0, 0, -1))
    .mul(0.5);
  return widths.mul(heights).sum().moveToOuter();
}

/** Goes downhill from `start`; `watch` borrows each value. */
export function descend(
  fn: (x: Tensor) => Tensor,
  start: Tensor,
  { lr = 0.1, steps = 3, watch }: DescendOptions = {},
): Tensor {
  const both = valueAndGrad(fn);
  let x = start.clone();
  for (let i = 0; i < steps; i++) {
    const { value, grads } = both(x);
    const slope = grads[0];
    watch?.(value, i);
    value.dispose();
    if (!slope) continue;
    using move = slope.mul(lr);
    slope.dispose();
    const next = x.sub(move);
    x.dispose();
    x = next;
  }
  return x;
}

/** How to descend. */
export interface DescendOptions {
  readonly lr?: number;
  readonly steps?: number;
  readonly watch?: (value: Tensor, step: number) => void;
}

/** Numbers of several tensors, read together. */
export async function readAll(...all: readonly Tensor[]): Promise<number[]> {
  const read = await Promise.all(all.map((t) => t.data()));
  return read.flatMap((values) => [...values].map(Number));
}

async function fit(): Promise<number> {
  using x = linspace(-1, 1, 8);
  using basis = powers(x, 2);
  using across = basis.transpose();
  using normal = across.matmul(basis);
  using target = x.mul(3);
  using right = across.matmul(target);
  using first = jacobi(normal, right);
  using solution = jacobi(normal, right, 2, first);
  return (await readAll(solution)).length;
}

async function smooth(): Promise<number> {
  using noise = randn([6]);
  const losses: Promise<number>[] = [];
  const watch = (value: Tensor): void => void losses.push(value.item());
  using found = descend((x) => x.sub(noise).square().sum(), noise, { lr: 0.2, watch });
  using area = trapezoid(found);
  let total = await area.item();
  for (const d of differences(found, 3)) {
    using peak = d.max();
    d.dispose();
    total += await peak.item();
  }
  return (await Promise.all(losses)).reduce((a, b) => a + b, total);
}

/** Uses all of them. */
export async function run(): Promise<number> {
  manualSeed(2);
  using points = rand([5, 3]);
  const { values, mean, spread } = standardize(points);
  using centre = weightedMean(values);
  using close = nearest(values, 2);
  const numbers = await readAll(centre, close, mean, spread);
  for (const t of [values, mean, spread]) t.dispose();
  return numbers.length + (await fit()) + (await smooth());
}

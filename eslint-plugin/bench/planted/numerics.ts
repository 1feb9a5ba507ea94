/**
 * k-means, principal components by power iteration, and linear regression: numerics without
 * networks.
 */
import {
  type Tensor,
  eye,
  grad,
  newDisposeScope,
  oneHot,
  randn,
  rand,
  scoped,
  stack,
  tensor,
  valueAndGrad,
} from "tenure";

interface Clusters {
  readonly centres: Tensor;
  readonly assignment: Tensor;
  readonly inertia: number;
}

function squaredDistances(points: Tensor, centres: Tensor): Tensor {
  return scoped(() => {
    const cross = points.matmul(centres.transpose()).mul(-2);
    return cross.add(points.square().sum(1, true)).add(centres.square().sum(1));
  });
}

/** Lloyd's iterations. Centres and assignment are the caller's. */
export async function kMeans(points: Tensor, k: number, rounds = 3): Promise<Clusters> {
  let centres = scoped(() => points.slice(0, 0, k).clone());
  let assignment: Tensor | undefined;
  let inertia = Infinity;
  for (let round = 0; round < rounds; round++) {
    using apart = squaredDistances(points, centres);
    assignment?.dispose();
    assignment = apart.argMin(1);
    const next = scoped(() => {
      const members = oneHot(assignment!, k);
      return members.transpose().matmul(points).div(members.sum(0).maximum(1).unsqueeze(1));
    });
    centres.dispose();
    centres = next;
    using least = apart.min(1);
    using sum = least.sum();
    const now = await sum.item();
    if (Math.abs(now - inertia) < 1e-9) break;
    inertia = now;
  }
  return { centres, assignment: assignment!, inertia };
}

/** Directions of most variance, one after the other. */
export function components(data: Tensor, count: number): Tensor[] {
  const found: Tensor[] = [];
  let covariance = scoped(() => {
    const centred = data.sub(data.mean(0));
    return centred.transpose().matmul(centred).div(data.shape[0]!);
  });
  for (let i = 0; i < count; i++) {
    const direction = powerIteration(covariance, 5);
    const rest = scoped(() => {
      const strength = direction.matmul(covariance).dot(direction);
      return covariance.sub(direction.outer(direction).mul(strength));
    });
    covariance.dispose();
    covariance = rest;
    found.push(direction);
  }
  covariance.dispose();
  return found;
}

function powerIteration(matrix: Tensor, steps: number): Tensor {
  using scope = newDisposeScope("power");
  let v = rand([matrix.shape[1]!]);
  for (let i = 0; i < steps; i++) {
    const w = matrix.matmul(v);
    v = scope.carry(v, w.div(w.norm().add(1e-9)));
  }
  return scope.moveToOuter(v);
}

/** Weights that fit best, by gradient descent. */
export async function regress(x: Tensor, y: Tensor, steps: number): Promise<number[]> {
  const loss = valueAndGrad((w: Tensor) => x.matmul(w).sub(y).square().mean());
  let weights = randn([x.shape[1]!]);
  const losses: number[] = [];
  try {
    for (let step = 0; step < steps; step++) {
      const { value, grads } = loss(weights);
      const slope = grads[0]!;
      using change = slope.mul(-0.1);
      slope.dispose();
      const moved = weights.add(change);
      weights.dispose();
      weights = moved;
      losses.push(await value.item());
      value.dispose();
    }
    return losses;
  } finally {
    weights.dispose();
  }
}

/** Newton's method for the root of a cubic. */
async function root(start: number): Promise<number> {
  const f = (x: Tensor): Tensor => x.pow(3).sub(2).sum();
  const slope = grad(f);
  let x = tensor([start]);
  for (let i = 0; i < 3; i++) {
    const next = scoped(() => x.sub(f(x).div(slope(x).add(1e-3))));
    x.dispose();
    x = next;
  }
  const [found = NaN] = await x.data();
  x.dispose();
  return found;
}

/** The inverse by Newton and Schulz. */
function inverse(a: Tensor, steps = 4): Tensor {
  const n = a.shape[0]!;
  let guess = scoped(() => a.transpose().div(a.abs().sum().square()));
  using twice = scoped(() => eye(n).mul(2));
  for (let i = 0; i < steps; i++) {
    using product = a.matmul(guess);
    using rest = twice.sub(product);
    const better = guess.matmul(rest);
    guess.dispose();
    guess = better;
  }
  return guess;
}

/** Runs all of it on random points. */
export async function run(): Promise<number> {
  using points = randn([12, 3]);
  const { centres, assignment, inertia } = await kMeans(points, 2);
  assignment.dispose();
  const axes = components(points, 2);
  using basis = stack(axes);
  axes.forEach((axis) => axis.dispose());
  using y = points.sum(1);
  const losses = await regress(points, y, 2);
  using turned = basis.transpose();
  using square = centres.matmul(turned);
  using inverted = inverse(square);
  centres.dispose();
  return inertia + losses.length + inverted.size + (await root(1));
}

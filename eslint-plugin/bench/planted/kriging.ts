/**
 * Looks for the best recipe with few experiments: a Gauss process is fitted to what was measured,
 * and the next experiment is where the process expects the most. Functions on plain records.
 */
import {
  type Tensor,
  concat,
  eye,
  grad,
  manualSeed,
  newDisposeScope,
  rand,
  scoped,
  tensor,
  zeros,
} from "tenure";

const KNOBS = 2;

/** Points [n, d], and what was measured there, [n]. */
type Data = Readonly<Record<"x" | "y", Tensor>>;

/** How the process varies; logarithms of numbers, so that all values are allowed. */
type Hyper = Readonly<Record<"scale" | "length" | "noise", Tensor>>;

interface Fit extends Disposable {
  readonly data: Data;
  readonly hyper: Hyper;
  /** Inverse of the covariance times y, [n]. */
  readonly weights: Tensor;
  readonly inverse: Tensor;
}

type Kernel = (a: Tensor, b: Tensor, hyper: Hyper) => Tensor;
type Acquisition = (mean: Tensor, spread: Tensor, best: Tensor) => Tensor;

const copyOf = ({ scale, length, noise }: Hyper): Hyper => ({
  scale: scale.clone(),
  length: length.clone(),
  noise: noise.clone(),
});

const end = (parts: object): void => {
  for (const part of Object.values(parts) as Tensor[]) part.dispose();
};

/** Squares of distances, [n, m]. */
function squares(a: Tensor, b: Tensor): Tensor {
  using rows = a.unsqueeze(1);
  using columns = b.unsqueeze(0);
  using apart = rows.sub(columns);
  using each = apart.square();
  return each.sum(2);
}

const radial: Kernel = (a, b, { scale, length }) =>
  scoped(() => squares(a, b).div(length.exp()).neg().exp().mul(scale.exp()));

const matern: Kernel = (a, b, { scale, length }) => {
  using scope = newDisposeScope("matern");
  const r = squares(a, b).add(1e-6).sqrt().div(length.exp());
  return scope.moveToOuter(r.add(1).mul(r.neg().exp()).mul(scale.exp()));
};

/** The inverse of a matrix by Newton's iteration. */
function inverseOf(matrix: Tensor, rounds = 4): Tensor {
  let guess = scoped(() => matrix.transpose().div(matrix.square().sum().clamp(1e-6)));
  using twice = scoped(() => eye(matrix.shape[0] ?? 1).mul(2));
  for (let i = 0; i < rounds; i++) {
    const better = scoped(() => guess.matmul(twice.sub(matrix.matmul(guess))));
    guess.dispose();
    guess = better;
  }
  return guess;
}

/** Fits a process. The data and the numbers stay the caller's. */
function fit(data: Data, hyper: Hyper, kernel: Kernel): Fit {
  using covariance = scoped(() => {
    const noise = eye(data.y.size).mul(hyper.noise.exp());
    return kernel(data.x, data.x, hyper).add(noise);
  });
  const inverse = inverseOf(covariance);
  const weights = inverse.matmul(data.y);
  return {
    data,
    hyper,
    weights,
    inverse,
    [Symbol.dispose]: () => end({ weights, inverse }),
  };
}

/** What a process expects at points [m, d], and how unsure it is. Both are the caller's. */
function predict({ data, hyper, weights, inverse }: Fit, at: Tensor, kernel: Kernel) {
  using across = kernel(at, data.x, hyper);
  return scoped(() => ({
    mean: across.matmul(weights),
    spread: across
      .matmul(inverse)
      .mul(across)
      .sum(1)
      .neg()
      .add(hyper.scale.exp())
      .clamp(1e-6)
      .sqrt(),
  }));
}

const improvement: Acquisition = (mean, spread, best) =>
  scoped(() => mean.sub(best).div(spread).sigmoid().mul(spread));

/** How badly numbers explain data: smaller is better. */
function misfit({ x, y }: Data, hyper: Hyper, kernel: Kernel): Tensor {
  return scoped(() => {
    const fitted = kernel(x, x, hyper).matmul(y);
    return fitted.sub(y).square().mean().add(hyper.noise.square().mul(0.01));
  });
}

/** Goes down the slope of the misfit. The numbers that come out are the caller's. */
function tune(data: Data, start: Hyper, kernel: Kernel, steps = 3, rate = 0.1): Hyper {
  const slopes = grad((scale: Tensor, length: Tensor, noise: Tensor) =>
    misfit(data, { scale, length, noise }, kernel),
  );
  let now = copyOf(start);
  for (let step = 0; step < steps; step++) {
    const next = scoped(() => {
      const { scale, length, noise } = now;
      const [ds, dl, dn] = slopes(scale, length, noise).map((slope) => slope!.mul(rate));
      return { scale: scale.sub(ds!), length: length.sub(dl!), noise: noise.sub(dn!) };
    });
    end(now);
    now = next;
  }
  return now;
}

/** The most promising of some points, [1, KNOBS]: the caller's. */
async function propose(process: Fit, kernel: Kernel, acquire: Acquisition): Promise<Tensor> {
  using points = rand([16, KNOBS]);
  const { mean, spread } = predict(process, points, kernel);
  using best = process.data.y.max();
  using score = acquire(mean, spread, best);
  mean.dispose();
  spread.dispose();
  using at = score.argMax();
  const row = await at.item();
  return points.slice(0, row, row + 1);
}

interface Plan {
  readonly rounds: number;
  readonly kernel: Kernel;
  readonly acquire?: Acquisition;
  /** Where the numbers start; stays the caller's. */
  readonly prior?: Hyper;
}

/** Experiments one after the other. What it yields is lent until the next. */
async function* campaign(measure: (x: Tensor) => Tensor, plan: Plan): AsyncGenerator<Fit> {
  const { rounds, kernel, acquire = improvement, prior } = plan;
  const x = rand([3, KNOBS]);
  let data: Data = { x, y: measure(x) };
  let hyper: Hyper =
    prior === undefined
      ? { scale: zeros([]), length: zeros([]), noise: tensor(-2) }
      : copyOf(prior);
  try {
    for (let round = 0; round < rounds; round++) {
      const tuned = tune(data, hyper, kernel);
      end(hyper);
      hyper = tuned;
      using process = fit(data, hyper, kernel);
      yield process;
      using point = await propose(process, kernel, acquire);
      using value = measure(point);
      const before = data;
      data = { x: concat([before.x, point]), y: concat([before.y, value]) };
      end(before);
    }
  } finally {
    end(data);
    end(hyper);
  }
}

/** The recipe that did best, and what it gave. */
function champion({ x, y }: Data): Data {
  using best = y.argMax(0, true);
  return { x: x.index(best), y: y.index(best) };
}

/** Runs some campaigns, and leaves no tensor. */
export async function run(): Promise<number> {
  manualSeed(13);
  using target = rand([KNOBS]);
  const prior: Hyper = { scale: tensor(0.5), length: zeros([]), noise: tensor(-3) };
  const bake = (x: Tensor): Tensor => scoped(() => x.sub(target).square().sum(1).neg());
  const bests: Data[] = [];
  let found = 0;
  const plans: Plan[] = [matern, radial].map((kernel) => ({ rounds: 2, kernel, prior }));
  for (const plan of [...plans, { rounds: 3, kernel: matern }]) {
    let best: Data | undefined;
    for await (const { data } of campaign(bake, plan)) {
      if (best !== undefined) end(best);
      best = champion(data);
    }
    if (best !== undefined) bests.push(best);
  }
  for (const { x, y } of bests) {
    found += x.size + (await y.item());
    x.dispose();
    y.dispose();
  }
  end(prior);
  return found;
}

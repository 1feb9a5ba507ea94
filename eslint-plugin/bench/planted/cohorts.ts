/**
 * Clustering without knobs: k-means and Gaussian mixtures by expectation-maximisation, restarted
 * from several seeds, the number of clusters chosen by the Bayesian information criterion.
 */
import { type Tensor, concat, full, manualSeed, multinomial, newDisposeScope } from "tenure";
import { oneHot, randint, randn, scoped, tensor } from "tenure";

/** A mixture of Gaussians with diagonal covariance. */
interface Mixture {
  readonly weights: Tensor;
  readonly means: Tensor;
  readonly variances: Tensor;
}

type Fit<M> = Readonly<{ model: M; score: number }>;

const rowsOf = (x: Tensor): number => x.shape[0] ?? 0;

function freeMixture({ weights, means, variances }: Mixture): void {
  weights.dispose();
  means.dispose();
  variances.dispose();
}

/** Columns with mean 0 and deviation 1, and the way back. */
function standardise(rows: number[][]) {
  using raw = tensor(rows);
  const mean = raw.mean(0, true);
  const spread = scoped(() => raw.std(0, 1, true).maximum(1e-6));
  const x = scoped(() => raw.sub(mean).div(spread));
  return {
    x,
    undo: (points: Tensor): Tensor => scoped(() => points.mul(spread).add(mean)),
    end: (): void => [x, mean, spread].forEach((t) => t.dispose()),
  };
}

/** Squared distances of rows to centres, [rows, centres]. */
const distances = (x: Tensor, centres: Tensor): Tensor =>
  scoped(() => {
    const cross = x.matmul(centres.transpose()).mul(-2);
    return cross.add(x.square().sum(1, true)).add(centres.square().sum(1)).clamp(0);
  });

/** k-means++: each centre is drawn far from those there are. */
function seed(x: Tensor, k: number): Tensor {
  using scope = newDisposeScope("seed");
  let centres = x.index(randint(0, rowsOf(x), [1]));
  while (rowsOf(centres) < k) {
    const nearest = distances(x, centres).min(1);
    const drawn = x.index(multinomial(nearest.add(1e-6), 1));
    centres = scope.carry(centres, concat([centres, drawn]));
  }
  return scope.moveToOuter(centres);
}

function lloyd(x: Tensor, start: Tensor, iterations = 4): Tensor {
  let centres = start.alias();
  for (let i = 0; i < iterations; i++) {
    using scope = newDisposeScope("lloyd");
    const members = oneHot(distances(x, centres).argMin(1), rowsOf(centres));
    const sums = members.transpose().matmul(x);
    centres = scope.carry(centres, sums.div(members.sum(0).unsqueeze(1).maximum(1)));
  }
  return centres;
}

async function inertia(x: Tensor, centres: Tensor): Promise<number> {
  using nearest = scoped(() => distances(x, centres).min(1).sum());
  return await nearest.item();
}

function kMeans(x: Tensor, k: number): Tensor {
  using start = seed(x, k);
  return lloyd(x, start);
}

/** Log densities of the rows in each component, [rows, components]. */
const logDensities = (x: Tensor, { weights, means, variances }: Mixture): Tensor =>
  scoped(() => {
    const off = x.unsqueeze(1).sub(means);
    const quadratic = off.square().div(variances).sum(2);
    const norm = variances
      .mul(2 * Math.PI)
      .log()
      .sum(1);
    return quadratic.add(norm).mul(-0.5).add(weights.log());
  });

function maximise(x: Tensor, responsibilities: Tensor, floor: number): Mixture {
  return scoped(() => {
    const mass = responsibilities.sum(0).add(1e-6);
    const shares = responsibilities.div(mass).transpose();
    const means = shares.matmul(x);
    const variances = shares.matmul(x.square()).sub(means.square()).maximum(floor);
    return { weights: mass.div(rowsOf(x)), means, variances };
  });
}

/** The models of expectation-maximisation; each is over when the next is asked for. */
function* trajectory(x: Tensor, centres: Tensor, floor: number): Generator<Mixture> {
  const k = rowsOf(centres);
  const variances = full(centres.shape, 1);
  let model: Mixture = { weights: full([k], 1 / k), means: centres.alias(), variances };
  try {
    for (;;) {
      using posterior = scoped(() => logDensities(x, model).softmax(1));
      const next = maximise(x, posterior, floor);
      freeMixture(model);
      model = next;
      yield model;
    }
  } finally {
    freeMixture(model);
  }
}

function em(x: Tensor, centres: Tensor, { steps = 5, floor = 1e-3 } = {}): Mixture {
  let step = 0;
  for (const model of trajectory(x, centres, floor)) {
    if (++step < steps) continue;
    const { weights, means, variances } = model;
    return { weights: weights.clone(), means: means.clone(), variances: variances.clone() };
  }
  throw new Error("expectation-maximisation gave nothing");
}

/** The best of several attempts, lower scores being better. */
async function bestOf<M>(
  attempts: number,
  fit: (attempt: number) => M,
  score: (model: M) => Promise<number>,
  free: (model: M) => void,
): Promise<Fit<M>> {
  let best: Fit<M> | null = null;
  for (let i = 0; i < attempts; i++) {
    const model = fit(i);
    const value = await score(model);
    if (best !== null && value > best.score) {
      free(model);
      continue;
    }
    if (best !== null) free(best.model);
    best = { model, score: value };
  }
  if (best === null) throw new RangeError("at least one attempt is needed");
  return best;
}

async function bic(x: Tensor, model: Mixture): Promise<number> {
  const [k = 1, d = 1] = model.means.shape;
  using likelihood = scoped(() => logDensities(x, model).logSumExp(1).sum());
  return (k * (2 * d + 1) - 1) * Math.log(rowsOf(x)) - 2 * (await likelihood.item());
}

/** Fits a mixture for each count of components and keeps the one with the least criterion. */
async function selectModel(x: Tensor, counts: readonly number[]): Promise<Fit<Mixture>> {
  const fits: Fit<Mixture>[] = [];
  for (const k of counts) {
    const { model: centres } = await bestOf(
      3,
      () => kMeans(x, k),
      (c) => inertia(x, c),
      (c) => c.dispose(),
    );
    const model = em(x, centres);
    centres.dispose();
    fits.push({ model, score: await bic(x, model) });
  }
  const [winner, ...others] = fits.sort((a, b) => a.score - b.score);
  for (const { model } of others) freeMixture(model);
  if (winner === undefined) throw new RangeError("no counts to choose from");
  return winner;
}

/** Assigns rows with what can be computed ahead, for many calls. */
function makePredictor({ weights, means, variances }: Mixture) {
  const precision = variances.reciprocal();
  const offset = scoped(() => weights.log().sub(variances.log().sum(1).mul(0.5)));
  return {
    predict(x: Tensor): Tensor {
      using scope = newDisposeScope("predict");
      const distance = x.unsqueeze(1).sub(means).square().mul(precision).sum(2);
      return scope.moveToOuter(offset.sub(distance.mul(0.5)).argMax(1));
    },
    end: (): void => [precision, offset].forEach((t) => t.dispose()),
  };
}

/** Centres that follow a stream of batches. */
function follow(start: Tensor, decay = 0.9) {
  let centres = start.clone();
  let mass = full([rowsOf(start), 1], 1);
  return {
    observe(batch: Tensor): void {
      using scope = newDisposeScope("observe");
      const members = oneHot(distances(batch, centres).argMin(1), rowsOf(centres)).transpose();
      const grown = mass.mul(decay).add(members.sum(1, true));
      const moved = centres.mul(mass).mul(decay).add(members.matmul(batch)).div(grown);
      centres = scope.carry(centres, moved);
      mass = scope.carry(mass, grown);
    },
    current: (): Tensor => centres.alias(),
    end(): void {
      centres.dispose();
      mass.dispose();
    },
  };
}

manualSeed(5);
const rows = Array.from({ length: 24 }, (_, i) => [i % 3, (i * 7) % 5, i / 24]);
const { x, undo, end } = standardise(rows);

const { model, score } = await selectModel(x, [2, 3, 4]);
using centres = undo(model.means);

const predictor = makePredictor(model);
for (const noise of [0, 0.1, 0.2, 0.3]) {
  using shaken = scoped(() => randn(x.shape).mul(noise).add(x));
  using labels = predictor.predict(shaken);
  await labels.data();
}
predictor.end();

const stream = follow(model.means);
for (const batch of x.split(8)) {
  stream.observe(batch);
  batch.dispose();
}
using latest = stream.current();
stream.end();

const drift = await inertia(latest, model.means);
const summary = { score, drift, centres: await centres.toArray() };
freeMixture(model);
end();

export const run = (): Promise<typeof summary> => Promise.resolve(summary);

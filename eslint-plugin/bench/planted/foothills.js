/**
 * Meta-learning on sine waves: a first-order MAML or Reptile outer loop finds a start from which a
 * few steps fit a new wave, evolution strategies polish it, checkpoints bring back the best.
 */
import { concat, manualSeed, rand, randn, scoped, tensor, valueAndGrad, zeros } from "tenure";
import { functional } from "tenure/nn";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {Tensor[]} Params */
/** @typedef {{ x: Tensor, y: Tensor }} Batch */
/** @typedef {{ support: Batch, query: Batch }} Task */
/** @typedef {(params: Params, task: Task) => { direction: Params, loss: Tensor }} Outer */

const inner = { hidden: 16, lr: 0.05, steps: 3, shots: 5 };
const meta = { lr: 0.01, tasks: 3, epochs: 4, keep: 2 };
const strategy = { population: 3, sigma: 0.02 };

/** @param {Iterable<Tensor>} tensors */
function free(tensors) {
  for (const t of tensors) t.dispose();
}

/** @returns {Params} */
function initParams() {
  const sizes = [1, inner.hidden, inner.hidden, 1];
  return sizes.slice(1).flatMap((out, i) => {
    const fanIn = sizes[i] ?? 1;
    const unit = randn([fanIn, out]);
    const w = unit.div(Math.sqrt(fanIn));
    unit.dispose();
    return [w, zeros([out])];
  });
}

/** @param {Tensor} x @param {Params} params */
function forward(x, params) {
  return scoped(() => {
    let out = x;
    for (let i = 0; i < params.length; i += 2) {
      const [w, b] = /** @type {[Tensor, Tensor]} */ (params.slice(i, i + 2));
      out = out.matmul(w).add(b);
      if (i + 2 < params.length) out = out.relu();
    }
    return out;
  });
}

/** a + scale * b. @param {Params} a @param {Params} b @param {number} scale @returns {Params} */
function axpy(a, b, scale) {
  return a.map((p, i) => {
    const step = /** @type {Tensor} */ (b[i]).mul(scale);
    const moved = p.add(step);
    step.dispose();
    return moved;
  });
}

/** @param {Params} params @param {Batch} batch */
function lossAndGrads(params, { x, y }) {
  const fit = valueAndGrad((/** @type {Params} */ ...p) => functional.mseLoss(forward(x, p), y));
  const { value, grads } = fit(...params);
  return { loss: value, grads: grads.filter((g) => g !== null) };
}

/** @param {number} n @param {number} amplitude @param {number} phase @returns {Batch} */
function drawWave(n, amplitude, phase) {
  const unit = rand([n, 1]);
  const wide = unit.mul(10);
  const x = wide.sub(5);
  free([unit, wide]);
  const y = scoped(() => x.add(phase).sin().mul(amplitude));
  return { x, y };
}

/** @param {number} count @returns {Generator<Task>} */
function* sampleTasks(count) {
  for (let i = 0; i < count; i++) {
    const amplitude = 0.5 + i;
    const phase = (i * Math.PI) / count;
    const support = drawWave(inner.shots, amplitude, phase);
    const query = drawWave(inner.shots * 2, amplitude, phase);
    try {
      yield { support, query };
    } finally {
      free([...Object.values(support), ...Object.values(query)]);
    }
  }
}

/** @param {Params} params @param {Batch} batch @returns {Params} */
function adapt(params, batch) {
  let fast = params;
  for (let step = 0; step < inner.steps; step++) {
    const { loss, grads } = lossAndGrads(fast, batch);
    const next = axpy(fast, grads, -inner.lr);
    if (fast !== params) free(fast);
    free([loss, ...grads]);
    fast = next;
  }
  return fast;
}

/** @type {Record<string, Outer>} */
const outers = {
  maml(params, { support, query }) {
    const fast = adapt(params, support);
    const { loss, grads } = lossAndGrads(fast, query);
    free(fast);
    return { direction: grads, loss };
  },
  reptile(params, { support, query }) {
    const fast = adapt(params, support);
    const direction = axpy(params, fast, -1);
    const out = forward(query.x, fast);
    const loss = functional.mseLoss(out, query.y);
    free([out, ...fast]);
    return { direction, loss };
  },
};

/** Momentum on the meta parameters. */
class MetaOptimizer {
  /** @param {Params} params */
  constructor(params) {
    this.velocity = params.map((p) => zeros(p.shape));
  }
  /** @param {Params} params @param {Params} direction @returns {Params} */
  step(params, direction) {
    const decayed = this.velocity.map((v) => v.mul(0.9));
    const velocity = axpy(decayed, direction, 1);
    free([...decayed, ...this.velocity]);
    this.velocity = velocity;
    const next = axpy(params, velocity, -meta.lr);
    free(params);
    return next;
  }
  dispose() {
    free(this.velocity);
  }
}

/** @param {Params} params @param {MetaOptimizer} optimizer @param {Outer} outer */
async function metaEpoch(params, optimizer, outer) {
  let total = params.map((p) => zeros(p.shape));
  const losses = [];
  for (const task of sampleTasks(meta.tasks)) {
    const { direction, loss } = outer(params, task);
    const sum = axpy(total, direction, 1 / meta.tasks);
    free([...total, ...direction]);
    total = sum;
    losses.push(loss.item());
    loss.dispose();
  }
  const next = optimizer.step(params, total);
  free(total);
  const values = await Promise.all(losses);
  return { params: next, loss: values.reduce((a, b) => a + b, 0) / values.length };
}

/** @param {Params} params @returns {Promise<Params>} */
async function evolve(params) {
  const population = Array.from({ length: strategy.population }, () => {
    const noise = params.map((p) => randn(p.shape));
    return { noise, pair: [1, -1].map((sign) => axpy(params, noise, sign * strategy.sigma)) };
  });
  const { x, y } = drawWave(16, 1, 0);
  const fitness = population.map(({ pair }) => {
    const losses = pair.map((p) => scoped(() => functional.mseLoss(forward(x, p), y).reshape(1)));
    const both = concat(losses);
    free([...losses, ...pair.flat()]);
    return both;
  });
  free([x, y]);
  let next = params.map((p) => p.clone());
  for (const [i, { noise }] of population.entries()) {
    const both = /** @type {Tensor} */ (fitness[i]);
    const [worse = 0, better = 0] = await both.data();
    both.dispose();
    const moved = axpy(next, noise, (better - worse) / (2 * strategy.sigma * population.length));
    free([...next, ...noise]);
    next = moved;
  }
  return next;
}

/** Keeps the best few. */
class Checkpoints {
  /** @type {{ loss: number, params: Params }[]} */
  saved = [];

  /** @param {number} loss @param {Params} params */
  save(loss, params) {
    this.saved.push({ loss, params: params.map((p) => p.clone()) });
    this.saved.sort((a, b) => a.loss - b.loss);
    for (const { params: worst } of this.saved.splice(meta.keep)) free(worst);
  }
  /** @returns {Params} */
  best() {
    return (this.saved[0]?.params ?? []).map((p) => p.clone());
  }
  clear() {
    for (const { params } of this.saved) free(params);
    this.saved = [];
  }
}

async function main() {
  manualSeed(3);
  const checkpoints = new Checkpoints();
  /** @type {number[]} */
  const history = [];
  let params = initParams();
  const optimizer = new MetaOptimizer(params);
  for (let epoch = 0; epoch < meta.epochs; epoch++) {
    const outer = /** @type {Outer} */ (epoch % 2 === 0 ? outers["maml"] : outers["reptile"]);
    const result = await metaEpoch(params, optimizer, outer);
    params = result.params;
    history.push(result.loss);
    checkpoints.save(result.loss, params);
  }
  optimizer.dispose();
  free(params);

  const start = checkpoints.best();
  const polished = await evolve(start);
  free(start);
  checkpoints.clear();

  const probe = tensor([[-1], [0], [1]]);
  const curve = forward(probe, polished);
  history.push(...(await curve.data()));
  free([probe, curve, ...polished]);
  return history;
}

const report = await main();
export const run = () => Promise.resolve(report);

/**
 * Node classification with a small graph network, as functions: successive halving over the
 * settings, cross-validation of those that are left, and the average of the best one's folds.
 */
import { arange, concat, eye, manualSeed, newDisposeScope, noGrad, oneHot, randn } from "tenure";
import { randperm, scoped, stack, tensor, zeros, type Tensor } from "tenure";
import { functional, init } from "tenure/nn";
import { AdamW, clipGradNorm } from "tenure/optim";

const CLASSES = 3;
const FEATURES = 6;

type Graph = Readonly<Record<"hop" | "features" | "labels", Tensor>>;
interface Config {
  readonly hidden: number;
  readonly hops: number;
  readonly lr: number;
}
interface Fold {
  readonly train: Tensor;
  readonly valid: Tensor;
}
type Weights = Readonly<Record<"input" | "bias" | "output", Tensor>>;
interface Trial {
  readonly config: Config;
  readonly weights: Weights;
  readonly optimizer: AdamW;
  score: number;
}
type Outcome = Omit<Trial, "optimizer">;

/** A ring with chords, its adjacency normalized by the degrees. */
function ringGraph(size: number, chord: number): Graph {
  return scoped(() => {
    const edges = new Float32Array(size * size);
    for (let i = 0; i < size; i++)
      for (const j of [(i + 1) % size, (i + chord) % size])
        edges[i * size + j] = edges[j * size + i] = 1;
    const linked = tensor(edges, { shape: [size, size] }).add(eye(size));
    const scale = linked.sum(1, true).rsqrt();
    return {
      hop: linked.mul(scale).mul(scale.transpose()),
      features: randn([size, FEATURES]),
      labels: arange(0, size, 1, { dtype: "int32" }).mod(CLASSES),
    };
  });
}

const release = (bag: Graph | Weights): void => {
  for (const value of Object.values(bag)) value.dispose();
};

/** The features as they are after some hops, each computed once. */
function propagation(graph: Graph) {
  const known = new Map<number, Tensor>();
  const after = (hops: number): Tensor => {
    const found = known.get(hops);
    if (found) return found;
    const x = hops === 0 ? graph.features.alias() : graph.hop.matmul(after(hops - 1));
    known.set(hops, x.detachFromScope());
    return x;
  };
  const clear = (): void => known.forEach((x) => x.dispose());
  return { labels: graph.labels, after, clear };
}
type Propagation = ReturnType<typeof propagation>;

/** Each part of the nodes once as what is validated on. */
function* foldsOf(graph: Graph, count: number): Generator<Fold> {
  const parts = scoped(() => randperm(graph.labels.size).chunk(count));
  try {
    for (const valid of parts) {
      const train = concat(parts.filter((part) => part !== valid));
      try {
        yield { train, valid };
      } finally {
        train.dispose();
      }
    }
  } finally {
    for (const part of parts) part.dispose();
  }
}

const logits = (w: Weights, x: Tensor): Tensor =>
  scoped(() => x.matmul(w.input).add(w.bias).relu().matmul(w.output));

/** Weights and an optimizer for them; null when the network would be too large. */
function openTrial(config: Config, limit = 400): Trial | null {
  const weights: Weights = {
    input: init.xavierUniform([FEATURES, config.hidden]),
    bias: zeros([config.hidden]),
    output: init.xavierUniform([config.hidden, CLASSES]),
  };
  const list = Object.values(weights);
  if (list.reduce((sum, w) => sum + w.size, 0) > limit) {
    release(weights);
    return null;
  }
  for (const w of list) w.requiresGrad = true;
  return { config, weights, optimizer: new AdamW(list, { lr: config.lr }), score: 0 };
}

function closeTrial(trial: Trial): void {
  trial.optimizer.dispose();
  release(trial.weights);
}

/** Keeps the last gradient of `w`, for whoever wants to know how long it is. */
function watchGradient(w: Tensor) {
  let last: Tensor | undefined;
  const hook = w.registerHook((gradient) => {
    last?.dispose();
    last = gradient.alias().detachFromScope();
    return undefined;
  });
  return {
    async norm(): Promise<number> {
      using length = last?.norm();
      return (await length?.item()) ?? 0;
    },
    stop(): void {
      hook[Symbol.dispose]();
      last?.dispose();
    },
  };
}

function stepper({ config, weights, optimizer }: Trial, inputs: Propagation, rows: Tensor) {
  return (): Promise<number> => {
    using _scope = newDisposeScope("step");
    const scores = logits(weights, inputs.after(config.hops)).index(rows);
    const loss = functional.crossEntropy(scores, inputs.labels.index(rows));
    optimizer.zeroGrad();
    loss.backward();
    clipGradNorm(Object.values(weights), 1);
    optimizer.step();
    return loss.item();
  };
}

function accuracy({ config, weights }: Trial, inputs: Propagation, rows: Tensor): Promise<number> {
  using _scope = newDisposeScope("accuracy");
  const guessed = noGrad(() => logits(weights, inputs.after(config.hops)).index(rows).argMax(1));
  return guessed.eq(inputs.labels.index(rows)).float().mean().item();
}

/** Trains all a little on one fold, and drops the worse half, until at most `keep` are left. */
async function halve(configs: readonly Config[], graph: Graph, inputs: Propagation, keep: number) {
  let running = configs.map((config) => openTrial(config)).filter((trial) => trial !== null);
  for (const { train, valid } of foldsOf(graph, 3)) {
    for (const trial of running) {
      const step = stepper(trial, inputs, train);
      for (let i = 0; i < 3; i++) await step();
      trial.score = await accuracy(trial, inputs, valid);
    }
    running.sort((a, b) => b.score - a.score);
    const left = Math.max(keep, running.length >> 1);
    for (const loser of running.slice(left)) closeTrial(loser);
    running = running.slice(0, left);
    if (left === keep) break;
  }
  for (const trial of running) closeTrial(trial);
  return running.map(({ config }) => config);
}

const average = (members: readonly Weights[]): Weights =>
  scoped(() => {
    const mean = (key: keyof Weights): Tensor => stack(members.map((w) => w[key].detach())).mean(0);
    return { input: mean("input"), bias: mean("bias"), output: mean("output") };
  });

async function crossValidate(config: Config, graph: Graph, inputs: Propagation): Promise<Outcome> {
  const members: Weights[] = [];
  let score = -config.hidden / 1000;
  for (const { train, valid } of foldsOf(graph, 4)) {
    const trial = openTrial(config);
    if (!trial) break;
    const watch = watchGradient(trial.weights.input);
    const step = stepper(trial, inputs, train);
    for (let i = 0; i < 4; i++) if ((await step()) > 100 || (await watch.norm()) > 1e3) break;
    score += (await accuracy(trial, inputs, valid)) / 4;
    watch.stop();
    trial.optimizer.dispose();
    members.push(trial.weights);
  }
  const weights = average(members);
  members.forEach(release);
  return { config, weights, score };
}

async function search(configs: readonly Config[], graph: Graph, inputs: Propagation) {
  let best: Outcome | undefined;
  for (const config of await halve(configs, graph, inputs, 3)) {
    const outcome = await crossValidate(config, graph, inputs);
    if (best && best.score > outcome.score) {
      release(outcome.weights);
      continue;
    }
    if (best) release(best.weights);
    best = outcome;
  }
  if (!best) throw new Error("no settings are small enough");
  return best;
}

/** How often which class was taken for which. */
async function confusion({ config, weights }: Outcome, graph: Graph, inputs: Propagation) {
  let table = zeros([CLASSES, CLASSES]);
  for (const { valid } of foldsOf(graph, 2)) {
    using scope = newDisposeScope();
    const guessed = logits(weights, inputs.after(config.hops)).index(valid).argMax(1);
    const truth = oneHot(graph.labels.index(valid), CLASSES).transpose();
    table = scope.carry(table, table.add(truth.matmul(oneHot(guessed, CLASSES))));
  }
  const rows = await table.toArray();
  table.dispose();
  return rows;
}

async function main() {
  manualSeed(3);
  const graph = ringGraph(24, 5);
  const inputs = propagation(graph);
  const configs = [16, 8, 24, 12, 20, 64].map((hidden, i) => ({ hidden, hops: i % 3, lr: 0.05 }));
  try {
    const best = await search(configs, graph, inputs);
    const table = await confusion(best, graph, inputs);
    release(best.weights);
    return { config: best.config, score: best.score, table };
  } finally {
    inputs.clear();
    release(graph);
  }
}

const found = await main();

/** The best settings, how they score, and what is mistaken for what. */
export const run = () => Promise.resolve(found);

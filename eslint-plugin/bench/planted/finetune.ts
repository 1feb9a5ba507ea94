/**
 * Fine tuning: a frozen backbone with a new head, blocks that thaw one after the other, a warm-up
 * and a cosine, the best weights kept aside, and a moving average of them at the end.
 */
import { type Tensor, manualSeed, newDisposeScope, noGrad, scoped, stack, tensor } from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { Dropout, LayerNorm, Linear, Module, ReLU, Sequential, functional as F } from "tenure/nn";
import {
  CosineAnnealingLR,
  LinearLR,
  type Schedule,
  SGD,
  SequentialLR,
  clipGradNorm,
} from "tenure/optim";

const FEATURES = 6,
  CLASSES = 3,
  SAMPLES = 12;

interface TuningOptions {
  readonly lr?: number;
  /** Epochs at which the next block thaws. */
  readonly thawAt?: readonly number[];
  /** Weights of the classes. Ended by the tuner. */
  readonly classWeights?: Tensor;
}

class Backbone extends Module {
  readonly blocks = [0, 1].map(
    () => new Sequential(new Linear(FEATURES, FEATURES), new LayerNorm(FEATURES), new ReLU()),
  );

  forward(x: Tensor): Tensor {
    return scoped(() => this.blocks.reduce((seen, block) => block.call(seen), x.alias()));
  }
}

class Classifier extends Module {
  readonly backbone: Backbone;
  head: Module = new Linear(FEATURES, CLASSES);

  constructor(backbone: Backbone) {
    super();
    this.backbone = backbone;
  }

  forward(x: Tensor): Tensor {
    using features = this.backbone.call(x);
    return this.head.call(features);
  }

  /** Another head, for another number of classes or with dropout. */
  replaceHead(head: Module): void {
    this.head.dispose();
    this.head = head;
  }
}

function setTrainable(module: Module, on: boolean): void {
  for (const p of module.parameters()) p.requiresGrad = on;
}

/** Copies by name, detached from whatever scope is open. */
function copyWeights(module: Module): Map<string, Tensor> {
  const copies = new Map<string, Tensor>();
  using scope = newDisposeScope("copy");
  for (const [name, p] of module.namedParameters())
    copies.set(name, scope.detach(p.detach().clone()));
  return copies;
}

function endAll(weights: Iterable<Tensor>): void {
  for (const w of weights) w.dispose();
}

/** Watches the gradient of one parameter, and keeps the newest. */
class GradientProbe implements Disposable {
  #latest: Tensor | null = null;
  readonly #hook: Disposable;

  constructor(parameter: Tensor) {
    this.#hook = parameter.registerHook((gradient) => {
      this.#latest?.dispose();
      this.#latest = gradient.alias().detachFromScope();
      return undefined;
    });
  }

  async size(): Promise<number> {
    if (this.#latest === null) return 0;
    using norm = this.#latest.norm();
    return await norm.item();
  }

  [Symbol.dispose](): void {
    this.#hook[Symbol.dispose]();
    this.#latest?.dispose();
  }
}

class Tuner implements Disposable {
  readonly #model: Classifier;
  readonly #options: Required<Omit<TuningOptions, "classWeights">>;
  readonly #classWeights: Tensor;
  readonly #optimizer: SGD;
  readonly #schedule: Schedule;
  #best = new Map<string, Tensor>();
  #averages: Map<string, Tensor> | null = null;
  #bestLoss = Infinity;
  #thawed = 0;

  constructor(model: Classifier, options: TuningOptions = {}) {
    const { lr = 0.1, thawAt = [1, 2], classWeights } = options;
    this.#model = model;
    this.#options = { lr, thawAt };
    this.#classWeights = classWeights ?? tensor([1, 1, 1]);
    setTrainable(model.backbone, false);
    this.#optimizer = new SGD(model.head.parameters(), { lr, momentum: 0.9 });
    const parts = [
      new LinearLR(this.#optimizer),
      new CosineAnnealingLR(this.#optimizer, { tMax: 9 }),
    ];
    this.#schedule = new SequentialLR(this.#optimizer, parts, { milestones: [2] });
  }

  /** Thaws the next block from the top when its epoch has come. */
  beginEpoch(epoch: number): void {
    if (!this.#options.thawAt.includes(epoch)) return;
    const block = this.#model.backbone.blocks.at(-1 - this.#thawed++);
    if (block === undefined) return;
    setTrainable(block, true);
    this.#optimizer.addGroup({ parameters: block.parameters(), lr: this.#options.lr / 10 });
  }

  step(x: Tensor, labels: Tensor): Tensor {
    return scoped(() => {
      this.#optimizer.zeroGrad();
      const loss = F.crossEntropy(this.#model.call(x), labels, { weight: this.#classWeights });
      loss.backward();
      clipGradNorm(this.#optimizer.parameters, 1);
      this.#optimizer.step();
      this.#schedule.step();
      return loss.detach();
    });
  }

  /** Keeps the weights when they are the best so far. */
  async endEpoch(losses: readonly Tensor[]): Promise<number> {
    using all = stack(losses);
    using mean = all.mean();
    const value = await mean.item();
    if (value > this.#bestLoss) return value;
    this.#bestLoss = value;
    endAll(this.#best.values());
    this.#best = copyWeights(this.#model);
    return value;
  }

  /** A moving average of the weights. */
  average(rate = 0.5): void {
    if (this.#averages === null) {
      this.#averages = copyWeights(this.#model);
      return;
    }
    using _scope = newDisposeScope("average");
    for (const [name, p] of this.#model.namedParameters())
      noGrad(() => this.#averages?.get(name)?.lerp_(p.detach(), rate));
  }

  restoreBest(): void {
    this.#model.loadStateDict(this.#best, { strict: false });
  }

  /** How far the average is from the best, over all weights. */
  async distance(): Promise<number> {
    let total = 0;
    for (const [name, average] of this.#averages ?? []) {
      const best = this.#best.get(name);
      if (best === undefined) continue;
      using apart = average.sub(best);
      using norm = apart.norm();
      total += await norm.item();
    }
    return total;
  }

  [Symbol.dispose](): void {
    endAll(this.#best.values());
    endAll(this.#averages?.values() ?? []);
    this.#classWeights.dispose();
    this.#optimizer.dispose();
  }
}

/** The whole program. */
export async function run(epochs = 3): Promise<number> {
  manualSeed(2);
  const data = new ArrayDataset({
    x: { data: new Float32Array(SAMPLES * FEATURES), shape: [FEATURES] },
    label: { data: new Int32Array(SAMPLES), shape: [], dtype: "int32" },
  });
  using loader = new DataLoader(data, { batchSize: 4, shuffle: true });
  using model = new Classifier(new Backbone());
  model.replaceHead(new Sequential(new Dropout(0.1), new Linear(FEATURES, CLASSES)));
  using tuner = new Tuner(model, { classWeights: tensor([1, 2, 1]) });
  using probe = new GradientProbe(model.head.parameters()[0]!);
  let total = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    tuner.beginEpoch(epoch);
    const losses: Tensor[] = [];
    for await (const { x, label } of loader) losses.push(tuner.step(x, label));
    total += await tuner.endEpoch(losses);
    endAll(losses);
    tuner.average();
    total += await probe.size();
  }
  tuner.restoreBest();
  return total + (await tuner.distance());
}

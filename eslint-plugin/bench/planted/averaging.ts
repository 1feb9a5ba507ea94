/**
 * Averages of weights: an exponential moving average in a map, snapshots of the last epochs, and a
 * greedy soup of them.
 */
import { type Tensor, newDisposeScope, noGrad, randn, scoped, zeros } from "tenure";
import { Linear, type Module, ReLU, Sequential, functional as F } from "tenure/nn";
import { SGD } from "tenure/optim";

type Weights = Map<string, Tensor>;

/** Copies of a model's values, which the caller ends. */
function snapshot(model: Module): Weights {
  const weights: Weights = new Map();
  for (const [name, p] of model.namedParameters())
    weights.set(
      name,
      scoped(() => p.detach().clone()),
    );
  return weights;
}

function release(weights: Weights): void {
  for (const t of weights.values()) t.dispose();
  weights.clear();
}

class MovingAverage implements Disposable {
  readonly #shadow: Weights;
  readonly #decay: number;
  #backup: Weights | null = null;

  constructor(model: Module, decay: number) {
    this.#shadow = snapshot(model);
    this.#decay = decay;
  }

  update(model: Module): void {
    noGrad(() => {
      for (const [name, p] of model.namedParameters()) {
        const old = this.#shadow.get(name);
        if (old === undefined) continue;
        const next = scoped(() => old.mul(this.#decay).add(p.mul(1 - this.#decay)));
        old.dispose();
        this.#shadow.set(name, next);
      }
    });
  }

  /** Puts the averages into the model until `restore`. */
  apply(model: Module): void {
    if (this.#backup !== null) release(this.#backup);
    this.#backup = snapshot(model);
    model.loadStateDict(this.#shadow, { strict: false });
  }

  restore(model: Module): void {
    const backup = this.#backup;
    if (backup === null) throw new Error("nothing to restore");
    model.loadStateDict(backup, { strict: false });
    release(backup);
    this.#backup = null;
  }

  [Symbol.dispose](): void {
    release(this.#shadow);
    if (this.#backup !== null) release(this.#backup);
  }
}

/** The mean of several snapshots. */
function average(all: readonly Weights[]): Weights {
  const mean: Weights = new Map();
  for (const weights of all)
    for (const [name, value] of weights) {
      const sum = mean.get(name);
      if (sum === undefined) {
        mean.set(name, value.clone());
        continue;
      }
      mean.set(name, sum.add(value));
      sum.dispose();
    }
  for (const [name, sum] of mean) {
    mean.set(name, sum.div(all.length));
    sum.dispose();
  }
  return mean;
}

/** The last few snapshots; older ones go. */
class Recent {
  #all: Weights[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }
  add(weights: Weights): void {
    this.#all.push(weights);
    const old = this.#all.splice(0, Math.max(0, this.#all.length - this.#most));
    old.forEach(release);
  }
  get all(): readonly Weights[] {
    return this.#all;
  }
  clear(): void {
    while (this.#all.length > 0) release(this.#all.pop()!);
  }
}

async function evaluate(model: Module, x: Tensor): Promise<number> {
  using out = noGrad(() => model.call(x));
  using error = out.abs();
  const values = await error.data();
  return Math.max(...values);
}

async function soup(model: Module, x: Tensor, all: readonly Weights[]): Promise<Weights> {
  let best = average(all.slice(0, 1)),
    bestError = Infinity;
  for (let n = 1; n <= all.length; n++) {
    const candidate = average(all.slice(0, n));
    model.loadStateDict(candidate);
    const error = await evaluate(model, x);
    if (error < bestError) {
      release(best);
      best = candidate;
      bestError = error;
    } else release(candidate);
  }
  return best;
}

/** Trains, averages and compares. */
export async function run(): Promise<number> {
  using model = new Sequential(new Linear(3, 4), new ReLU(), new Linear(4, 1));
  using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  using ema = new MovingAverage(model, 0.9);
  const recent = new Recent(2);
  using x = randn([5, 3]);
  using y = zeros([5, 1]);
  for (let epoch = 0; epoch < 3; epoch++) {
    {
      using _scope = newDisposeScope("step");
      const loss = F.mseLoss(model.call(x), y);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
    }
    ema.update(model);
    recent.add(snapshot(model));
  }
  ema.apply(model);
  let total = await evaluate(model, x);
  ema.restore(model);
  const best = await soup(model, x, recent.all);
  total += best.size;
  release(best);
  recent.clear();
  return total;
}

/**
 * Searches for hyperparameters: trials wait in a queue, a few workers take them in turn, weak ones
 * are stopped early and the weights of the best are kept.
 */
import {
  type Tensor,
  arange,
  manualSeed,
  newDisposeScope,
  noGrad,
  randn,
  scoped,
  scopedAsync,
  stack,
} from "tenure";
import { Linear, ReLU, Sequential, functional as F } from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";

interface Setting {
  readonly width: number;
  readonly lr: number;
  readonly optimizer?: "adam" | "sgd";
}

interface Split {
  readonly x: Tensor;
  readonly y: Tensor;
}

/** What a trial leaves behind; whoever holds it ends it. */
interface Outcome {
  readonly setting: Setting;
  readonly curve: Tensor;
  readonly weights: Map<string, Tensor>;
  readonly score: number;
}

/** Tasks of which `workers` run at a time. */
class WorkQueue<T> {
  readonly #waiting: (() => Promise<T>)[] = [];
  readonly #done: T[] = [];
  failures = 0;

  add(task: () => Promise<T>): this {
    this.#waiting.push(task);
    return this;
  }

  /** Runs all tasks. Results are the caller's, in the order in which they came. */
  async drain(workers = 2): Promise<T[]> {
    const work = async (): Promise<void> => {
      for (let task = this.#waiting.shift(); task; task = this.#waiting.shift()) {
        try {
          this.#done.push(await task());
        } catch {
          this.failures++;
        }
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    return this.#done.splice(0);
  }
}

const end = (outcome: Outcome): void => {
  outcome.curve.dispose();
  for (const weight of outcome.weights.values()) weight.dispose();
};

/** Folds of data for cross validation, made when they are first asked for. */
const folds = new Map<number, Split>();

function fold(index: number): Split {
  let split = folds.get(index);
  if (split === undefined) {
    const x = randn([6, 2]);
    using noise = scoped(() => randn([6, 1]).mul(0.1));
    using sum = x.sum(1, true);
    split = { x, y: sum.add(noise) };
    folds.set(index, split);
  }
  return split;
}

function clearFolds(): void {
  for (const { x, y } of folds.values()) {
    x.dispose();
    y.dispose();
  }
  folds.clear();
}

class Trial implements Disposable {
  readonly setting: Setting;
  readonly #model: Sequential;
  readonly #optimizer: Optimizer;
  readonly #losses: Tensor[] = [];

  constructor(setting: Setting) {
    const { width, lr, optimizer = "adam" } = setting;
    if (lr <= 0) throw new RangeError("sweep: expected a rate above 0");
    this.setting = setting;
    this.#model = new Sequential(new Linear(2, width), new ReLU(), new Linear(width, 1));
    const parameters = this.#model.parameters();
    this.#optimizer =
      optimizer === "sgd" ? new SGD(parameters, { lr }) : new Adam(parameters, { lr });
  }

  step({ x, y }: Split): void {
    using scope = newDisposeScope("step");
    const loss = F.mseLoss(this.#model.call(x), y);
    this.#optimizer.zeroGrad();
    loss.backward();
    this.#optimizer.step();
    this.#losses.push(scope.detach(loss.detach()));
  }

  /** The loss on another fold. */
  async validate({ x, y }: Split): Promise<number> {
    const loss = noGrad(() => {
      using guess = this.#model.call(x);
      return F.mseLoss(guess, y);
    });
    const value = await loss.item();
    loss.dispose();
    return value;
  }

  finish(score: number): Outcome {
    using state = this.#model.stateDict();
    const weights = new Map<string, Tensor>();
    for (const [name, weight] of state) weights.set(name, weight.clone());
    return { setting: this.setting, curve: stack(this.#losses), weights, score };
  }

  [Symbol.dispose](): void {
    for (const loss of this.#losses) loss.dispose();
    this.#optimizer.dispose();
    this.#model.dispose();
  }
}

/** Trains a trial; null for one that was stopped. Narrow ones get fewer steps. */
async function runTrial(setting: Setting, steps = 3): Promise<Outcome | null> {
  using trial = new Trial(setting);
  for (let i = 0; i < steps; i++) {
    trial.step(fold(i % 2));
    if (i === 1 && setting.width < 3) return null;
  }
  return trial.finish(await trial.validate(fold(2)));
}

/** The best outcomes, best first; those it has no room for are ended. */
class Board {
  #best: Outcome[] = [];
  #champion: Map<string, Tensor> | null = null;
  readonly #room: number;

  constructor(room: number) {
    this.#room = room;
  }

  enter(outcome: Outcome): void {
    this.#best.push(outcome);
    this.#best.sort((a, b) => a.score - b.score);
    while (this.#best.length > this.#room) {
      const worst = this.#best.pop();
      if (worst) end(worst);
    }
  }

  /** Averages the weights of outcomes of one width. */
  async crown(width: number): Promise<number> {
    const same = this.#best.filter(({ setting }) => setting.width === width);
    const mean = new Map<string, Tensor>();
    for (const name of same[0]?.weights.keys() ?? []) {
      using all = stack(same.flatMap(({ weights }) => weights.get(name) ?? []));
      mean.set(name, all.mean(0));
    }
    for (const old of this.#champion?.values() ?? []) old.dispose();
    this.#champion = mean;
    return await scopedAsync(async () => {
      const sizes = [...mean.values()].map((weight) => weight.abs().sum());
      return sizes.length === 0 ? 0 : await stack(sizes).sum().item();
    });
  }

  close(): void {
    for (const outcome of this.#best.splice(0)) end(outcome);
    for (const weight of this.#champion?.values() ?? []) weight.dispose();
    this.#champion = null;
  }
}

/** All combinations of widths and rates. */
function* grid(widths: readonly number[], rates: Tensor): Generator<Setting> {
  for (const width of widths)
    for (let i = 0; i < rates.size; i++)
      yield { width, lr: 0.01 * i, optimizer: i % 2 === 0 ? "adam" : "sgd" };
}

/** Runs the sweep. */
export async function run(): Promise<number> {
  manualSeed(13);
  const board = new Board(3);
  try {
    const queue = new WorkQueue<Outcome | null>();
    using rates = arange(0, 3);
    for (const setting of grid([2, 4], rates)) queue.add(() => runTrial(setting));
    queue.add(() => runTrial({ width: 4, lr: 0.02 }));
    for (const outcome of await queue.drain()) if (outcome !== null) board.enter(outcome);
    queue.add(() => runTrial({ width: 4, lr: 0.05 }, 4));
    for (const outcome of await queue.drain(1)) if (outcome !== null) board.enter(outcome);
    return (await board.crown(4)) + (await board.crown(4)) + queue.failures;
  } finally {
    board.close();
    clearFolds();
  }
}

/**
 * Trains with a safety net: snapshots of weights and moments are taken as training goes, tagged,
 * pruned, compared, and loaded again when a stage fails.
 */
import {
  type Tensor,
  manualSeed,
  newDisposeScope,
  noGrad,
  randn,
  scoped,
  stack,
  zeros,
} from "tenure";
import { Linear, type Module, Sequential, Sigmoid, functional as F } from "tenure/nn";
import { Adam } from "tenure/optim";

type Weights = ReadonlyMap<string, Tensor>;

interface ManagerOptions {
  readonly capacity?: number;
  /** Share of the average of all snapshots that stays with each new one; none keeps none. */
  readonly decay?: number;
}

/** Copies of all tensors of a state. */
const copyOf = (state: Weights): Map<string, Tensor> =>
  new Map([...state].map(([name, t]) => [name, t.clone()]));

const drop = (...states: readonly (Weights | null | undefined)[]): void => {
  for (const state of states) for (const t of state?.values() ?? []) t.dispose();
};

class Snapshot implements Disposable {
  readonly step: number;
  readonly weights: Weights;
  readonly moments: ReturnType<Adam["stateDict"]>;
  #norm: Tensor | null = null;
  pinned = false;

  constructor(step: number, model: Module, optimizer: Adam) {
    this.step = step;
    using state = model.stateDict();
    this.weights = copyOf(state);
    const moments = optimizer.stateDict();
    this.moments = { ...moments, tensors: copyOf(moments.tensors) };
    drop(moments.tensors);
  }

  /** The size of all weights, computed once; the snapshot's. */
  get norm(): Tensor {
    this.#norm ??= scoped(() => stack([...this.weights.values()].map((w) => w.norm())).norm());
    return this.#norm;
  }

  [Symbol.dispose](): void {
    drop(this.weights, this.moments.tensors);
    this.#norm?.dispose();
  }
}

class CheckpointManager implements Disposable {
  readonly #model: Module;
  readonly #optimizer: Adam;
  readonly #capacity: number;
  readonly #decay: number | undefined;
  #history: Snapshot[] = [];
  readonly #tags: Record<string, Snapshot> = {};
  #average: Map<string, Tensor> | null = null;

  constructor(model: Module, optimizer: Adam, options: ManagerOptions = {}) {
    this.#model = model;
    this.#optimizer = optimizer;
    this.#capacity = options.capacity ?? 2;
    this.#decay = options.decay;
  }

  /** Takes a snapshot, which stays the manager's. */
  save(): Snapshot {
    const snapshot = new Snapshot(this.#optimizer.steps, this.#model, this.#optimizer);
    this.#history.push(snapshot);
    this.#prune();
    if (this.#decay !== undefined) this.#blend(snapshot.weights, this.#decay);
    return snapshot;
  }

  #prune(): void {
    const loose = this.#history.filter((s) => !s.pinned);
    const stale = loose.slice(0, Math.max(0, loose.length - this.#capacity));
    this.#history = this.#history.filter((s) => !stale.includes(s));
    for (const snapshot of stale) snapshot[Symbol.dispose]();
  }

  #blend(weights: Weights, decay: number): void {
    if (this.#average === null) {
      this.#average = copyOf(weights);
      return;
    }
    for (const [name, weight] of weights) {
      const before = this.#average.get(name) ?? weight;
      this.#average.set(name, weight.lerp(before, decay));
      if (before !== weight) before.dispose();
    }
  }

  /** Keeps a snapshot of its own under a name, for as long as nothing else is called so. */
  tag(name: string): void {
    const fresh = new Snapshot(this.#optimizer.steps, this.#model, this.#optimizer);
    this.untag(name);
    this.#tags[name] = fresh;
  }

  untag(name: string): void {
    this.#tags[name]?.[Symbol.dispose]();
    delete this.#tags[name];
  }

  /** Goes back to a tag, or to the newest snapshot, and forgets the one it went back to. */
  rollback(name?: string): number {
    const target = name === undefined ? this.#history.pop() : this.#tags[name];
    if (target === undefined) return -1;
    this.#model.loadStateDict(target.weights);
    this.#optimizer.loadStateDict(target.moments);
    if (name === undefined) target[Symbol.dispose]();
    return target.step;
  }

  /** How far the model is from a snapshot, by weight; the caller's. */
  drift(from: Snapshot): Record<string, Tensor> {
    using state = this.#model.stateDict();
    const apart: Record<string, Tensor> = {};
    for (const [name, weight] of state) {
      const before = from.weights.get(name);
      if (before === undefined) continue;
      using difference = weight.sub(before);
      apart[name] = difference.norm();
    }
    return apart;
  }

  /** Runs `fn` with the averaged weights in the model. */
  withAverage<T>(fn: () => T): T {
    if (this.#average === null) return fn();
    using state = this.#model.stateDict();
    const own = copyOf(state);
    try {
      this.#model.loadStateDict(this.#average);
      return fn();
    } finally {
      this.#model.loadStateDict(own);
      drop(own);
    }
  }

  [Symbol.dispose](): void {
    for (const snapshot of this.#history.splice(0)) snapshot[Symbol.dispose]();
    for (const name of Object.keys(this.#tags)) this.untag(name);
    drop(this.#average);
  }
}

/** A stage of training; it fails at the step it is told to. */
function stage(model: Module, optimizer: Adam, noise: Tensor, steps: number, failAt = -1): Tensor {
  let total = zeros([]);
  for (let i = 0; i < steps; i++) {
    using scope = newDisposeScope("step");
    const x = randn([3, 2]).add(noise);
    const loss = F.mseLoss(model.call(x), x.sum(1, true));
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    if (i === failAt) {
      total.dispose();
      throw new Error("rollback: this stage fails");
    }
    total = scope.carry(total, total.add(loss.detach()));
  }
  return total;
}

/** Three stages, the second of which fails and is done again. */
export async function run(): Promise<number> {
  manualSeed(4);
  using model = new Sequential(new Linear(2, 3), new Sigmoid(), new Linear(3, 1));
  using optimizer = new Adam(model.parameters(), { lr: 0.01 });
  using manager = new CheckpointManager(model, optimizer, { capacity: 1, decay: 0.5 });
  using probe = randn([2, 2]);
  let result = 0;
  for (const failAt of [-1, 1, -1]) {
    const noise = scoped(() => randn([2]).mul(0.1));
    const snapshot = manager.save();
    manager.tag(failAt < 0 ? "good" : "risky");
    try {
      using total = stage(model, optimizer, noise, 2, failAt);
      const drift = manager.drift(snapshot);
      result += (await total.item()) + Object.keys(drift).length + snapshot.norm.size;
      for (const t of Object.values(drift)) t.dispose();
    } catch {
      result += manager.rollback() + manager.rollback("risky");
      manager.untag("risky");
    } finally {
      noise.dispose();
    }
  }
  using guess = manager.withAverage(() => noGrad(() => model.call(probe)));
  return result + guess.size;
}

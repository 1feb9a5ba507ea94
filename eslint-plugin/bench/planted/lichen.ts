// Trains a neural cellular automaton: from one living cell it grows a lichen-like disc, and grows
// it again after somebody has cut a piece out.
import {
  concat,
  linspace,
  manualSeed,
  newDisposeScope,
  noGrad,
  rand,
  scoped,
  stack,
  tensor,
  zeros,
  type Tensor,
} from "tenure";
import { Conv2d, Module, functional as F } from "tenure/nn";
import { AdamW, ExponentialLR, clipGradNorm } from "tenure/optim";

const config = { size: 10, channels: 8, hidden: 16, pool: 6, batch: 3, growth: 4, steps: 5 };
type Config = typeof config;

const ALPHA = 3;

/** The picture to grow into: [4, size, size], colours times alpha. */
function drawTarget(size: number): Tensor {
  return scoped(() => {
    const axis = linspace(-1, 1, size);
    const radius = axis.square().unsqueeze(1).add(axis.square()).sqrt();
    const alpha = radius.lt(0.7).float();
    const rim = radius.gt(0.45).float().mul(alpha);
    return stack([rim.mul(0.6), alpha.mul(0.8), rim.mul(0.3), alpha]);
  });
}

/** One living cell in the middle: [1, channels, size, size]. */
function seedCell({ size, channels }: Config): Tensor {
  const cells = new Float32Array(channels * size * size);
  const middle = (size >> 1) * size + (size >> 1);
  for (let c = ALPHA; c < channels; c++) cells[c * size * size + middle] = 1;
  using flat = tensor(cells);
  return flat.reshape(1, channels, size, size);
}

/** Which cells have a grown neighbour. */
function living(state: Tensor): Tensor {
  using alpha = state.slice(1, ALPHA, ALPHA + 1);
  using around = F.maxPool2d(alpha, 3, { stride: 1, padding: 1 });
  return around.gt(0.1);
}

class Perception extends Module {
  readonly kernels: Tensor;

  constructor(channels: number) {
    super();
    const sobel = [-1, 0, 1, -2, 0, 2, -1, 0, 1].map((k) => k / 8);
    const turned = [0, 3, 6, 1, 4, 7, 2, 5, 8].map((i) => sobel[i]!);
    const same = [0, 0, 0, 0, 1, 0, 0, 0, 0];
    using bank = tensor([same, sobel, turned]);
    using filters = bank.reshape(3, 1, 3, 3);
    this.kernels = this.buffer("kernels", filters.repeat(channels, 1, 1, 1));
  }

  forward(x: Tensor): Tensor {
    return F.conv2d(x, this.kernels, null, { padding: 1, groups: x.shape[1]! });
  }
}

class Rule extends Module<[state: Tensor, fireRate?: number]> {
  readonly perceive: Perception;
  readonly think: Conv2d;
  readonly act: Conv2d;

  constructor({ channels, hidden }: Config) {
    super();
    this.perceive = new Perception(channels);
    this.think = new Conv2d(3 * channels, hidden, 1);
    this.act = new Conv2d(hidden, channels, 1, { bias: false });
    noGrad(() => this.act.weight.zero_().dispose());
  }

  forward(state: Tensor, fireRate = 0.5): Tensor {
    const [n, , h, w] = state.shape as [number, number, number, number];
    using scope = newDisposeScope("rule");
    const before = living(state);
    const change = this.act.call(this.think.call(this.perceive.call(state)).relu());
    const fires = rand([n, 1, h, w]).lt(fireRate).float();
    const grown = state.add(change.mul(fires));
    const survives = before.logicalAnd(living(grown)).float();
    return scope.moveToOuter(grown.mul(survives));
  }
}

/** The state after `steps` rounds. `start` stays the caller's. */
function grow(rule: Rule, start: Tensor, steps: number): Tensor {
  let state = start.alias();
  for (let i = 0; i < steps; i++) {
    const next = rule.call(state);
    state.dispose();
    state = next;
  }
  return state;
}

/** States that training goes on from, so that the automaton learns to stay as it has grown. */
class SamplePool implements Disposable {
  readonly #samples: Tensor[] = [];
  readonly #seed: Tensor;
  #cursor = 0;

  constructor(cfg: Config) {
    this.#seed = seedCell(cfg);
    for (let i = 0; i < cfg.pool; i++) this.#samples.push(this.#seed.clone());
  }

  /** The next `count` samples, the first of them begun anew. */
  draw(count: number): { slots: number[]; batch: Tensor } {
    const slots = Array.from(
      { length: count },
      (_, i) => (this.#cursor + i) % this.#samples.length,
    );
    this.#cursor = (this.#cursor + count) % this.#samples.length;
    const rest = slots.slice(1).map((slot) => this.#samples[slot]!);
    return { slots, batch: concat([this.#seed, ...rest]) };
  }

  commit(slots: readonly number[], batch: Tensor): void {
    using scope = newDisposeScope("commit");
    for (const [i, row] of batch.split(1).entries()) {
      const slot = slots[i]!;
      this.#samples[slot]!.dispose();
      this.#samples[slot] = scope.detach(row.clone());
    }
  }

  /** Gives up the oldest states when memory is short. */
  shrink(size: number): void {
    for (const old of this.#samples.splice(size)) old.dispose();
  }

  [Symbol.dispose](): void {
    this.#seed.dispose();
    this.shrink(0);
  }
}

/** Cuts a round hole into the last state of a batch. */
function damage(batch: Tensor, cx: number, cy: number): Tensor {
  const [n = 1, , size = 1] = batch.shape;
  using scope = newDisposeScope("damage");
  const xs = linspace(-1, 1, size).sub(cx).square();
  const ys = linspace(-1, 1, size).sub(cy).square().unsqueeze(1);
  const outside = xs.add(ys).gt(0.16).float();
  const whole = zeros([n - 1, 1, size, size]).add(1);
  const mask = concat([whole, outside.reshape(1, 1, size, size)]);
  return scope.moveToOuter(batch.mul(mask));
}

/** A smoothed copy of the weights, which films better than the last step's. */
class Average implements Disposable {
  readonly #shadow: Map<string, Tensor>;

  constructor(rule: Rule) {
    this.#shadow = new Map();
    for (const [name, p] of rule.namedParameters())
      this.#shadow.set(
        name,
        noGrad(() => p.clone()),
      );
  }

  follow(rule: Rule, decay: number): void {
    noGrad(() => {
      for (const [name, p] of rule.namedParameters()) {
        const old = this.#shadow.get(name);
        if (!old) continue;
        this.#shadow.set(name, old.lerp(p, 1 - decay));
        old.dispose();
      }
    });
  }

  /** Runs `fn` with the averaged weights in place. */
  async within<T>(rule: Rule, fn: () => Promise<T>): Promise<T> {
    const trained = rule.stateDict();
    const backup = new Map([...trained].map(([name, value]) => [name, value.clone()]));
    trained.dispose();
    try {
      rule.loadStateDict(this.#shadow, { strict: false });
      return await fn();
    } finally {
      rule.loadStateDict(backup);
      for (const value of backup.values()) value.dispose();
    }
  }

  [Symbol.dispose](): void {
    for (const value of this.#shadow.values()) value.dispose();
  }
}

interface StepReport {
  readonly step: number;
  readonly loss: number;
  readonly norm: number;
}

async function* train(rule: Rule, target: Tensor, pool: SamplePool, average: Average, cfg: Config) {
  using optimizer = new AdamW(rule.parameters(), { lr: 2e-3, weightDecay: 1e-4 });
  const schedule = new ExponentialLR(optimizer, { gamma: 0.99 });
  for (let step = 0; step < cfg.steps; step++) {
    let reads: Promise<[number, number]>;
    {
      using _scope = newDisposeScope("step");
      const { slots, batch } = pool.draw(cfg.batch);
      const wounded = damage(batch, Math.sin(step) / 2, Math.cos(step) / 2);
      const final = grow(rule, wounded, cfg.growth);
      const loss = F.mseLoss(
        final.slice(1, 0, 4),
        target.unsqueeze(0).expand(cfg.batch, 4, cfg.size, cfg.size),
      );
      optimizer.zeroGrad();
      loss.backward();
      const norm = clipGradNorm(rule.parameters(), 1);
      optimizer.step();
      reads = Promise.all([loss.item(), norm.item()]);
      pool.commit(slots, final.detach());
    }
    schedule.step();
    average.follow(rule, 0.9);
    const [loss, norm] = await reads;
    yield { step, loss, norm } satisfies StepReport;
  }
}

/** Frames of one growth, the newest `length` of them, each [4, size, size]. */
async function film(rule: Rule, start: Tensor, length: number): Promise<string[]> {
  const frames: Tensor[] = [];
  let state = start.clone();
  try {
    for (let i = 0; i < 2 * length; i++) {
      const next = noGrad(() => rule.call(state, 1));
      state.dispose();
      state = next;
      using rgba = state.slice(1, 0, 4);
      frames.push(rgba.squeeze(0));
      if (frames.length > length) frames.shift()?.dispose();
    }
    using strip = concat(frames, 2);
    using grey = strip.mean(0);
    return renderText(await grey.data(), length);
  } finally {
    state.dispose();
    for (const frame of frames) frame.dispose();
  }
}

function renderText(values: ArrayLike<number>, frames: number): string[] {
  const width = frames * config.size;
  const shades = " .:-=+*#";
  return Array.from({ length: values.length / width }, (_, y) =>
    Array.from({ length: width }, (_, x) => {
      const level = Math.min(1, Math.max(0, values[y * width + x]!));
      return shades[Math.round(level * (shades.length - 1))]!;
    }).join(""),
  );
}

/** How much of the picture comes back after each of several cuts. */
async function recovery(rule: Rule, target: Tensor, cfg: Config): Promise<number[]> {
  const cuts: [x: number, y: number][] = [-0.5, 0, 0.5].map((x) => [x, 0.25]);
  using seed = seedCell(cfg);
  using grown = noGrad(() => grow(rule, seed, 2 * cfg.growth));
  const errors = cuts.map(([x, y]) => {
    using _scope = newDisposeScope("cut");
    const healed = noGrad(() => grow(rule, damage(grown, x, y), cfg.growth));
    return F.l1Loss(healed.slice(1, 0, 4).squeeze(0), target).item();
  });
  return await Promise.all(errors);
}

export async function run(): Promise<string> {
  manualSeed(11);
  using target = drawTarget(config.size);
  using rule = new Rule(config);
  using pool = new SamplePool(config);
  using average = new Average(rule);
  const lines: string[] = [];
  for await (const { step, loss, norm } of train(rule, target, pool, average, config)) {
    lines.push(`${String(step)} ${loss.toFixed(4)} (${norm.toFixed(2)})`);
    if (step === 2) pool.shrink(4);
  }
  const errors = await recovery(rule, target, config);
  lines.push(`after a cut: ${errors.map((e) => e.toFixed(3)).join(", ")}`);
  using seed = seedCell(config);
  const strip = await average.within(rule, () => film(rule, seed, 3));
  return [...lines, ...strip].join("\n");
}

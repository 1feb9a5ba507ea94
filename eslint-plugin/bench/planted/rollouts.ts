/**
 * Proximal policy optimisation on a toy field: rollouts, advantages, a few epochs over
 * minibatches, and a snapshot of the best weights.
 */
import {
  type Tensor,
  concat,
  manualSeed,
  multinomial,
  newDisposeScope,
  noGrad,
  randn,
  randperm,
  scoped,
  stack,
  zeros,
} from "tenure";
import { Linear, Module, Sequential, Tanh } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

const [OBS, ACTIONS, FIELDS] = [4, 3, 2] as const;

type Transition = Readonly<Record<"obs" | "action" | "logProb" | "value" | "reward", Tensor>>;
/** What the update needs, a row per step and field. */
type Sample = Readonly<Record<"obs" | "action" | "logProb" | "advantage" | "target", Tensor>>;

type PpoOptions = Partial<Record<"clip" | "epochs" | "rows", number>>;

class ActorCritic extends Module<[obs: Tensor], { logits: Tensor; value: Tensor }> {
  readonly trunk = new Sequential(new Linear(OBS, 8), new Tanh());
  readonly actor = new Linear(8, ACTIONS);
  readonly critic = new Linear(8, 1);

  forward(obs: Tensor): { logits: Tensor; value: Tensor } {
    using seen = this.trunk.call(obs);
    using column = this.critic.call(seen);
    return { logits: this.actor.call(seen), value: column.squeeze(1) };
  }
}

class Fields implements Disposable {
  #state: Tensor = randn([FIELDS, OBS]);
  readonly #push: Tensor = randn([ACTIONS, OBS]);
  readonly #mean = zeros([OBS]);

  /** The state without its running mean. The result is the caller's. */
  observe(): Tensor {
    using scope = newDisposeScope("observe");
    this.#mean.lerp_(this.#state.mean(0), 0.1);
    return scope.moveToOuter(this.#state.sub(this.#mean).clamp(-5, 5));
  }

  step(action: Tensor): Tensor {
    const next = scoped(() => this.#state.mul(0.9).add(this.#push.index(action)).tanh());
    this.#state.dispose();
    this.#state = next;
    using energy = next.square();
    return energy.sum(1);
  }

  [Symbol.dispose](): void {
    this.#state.dispose();
    this.#push.dispose();
    this.#mean.dispose();
  }
}

/** Generalised advantages of a rollout; the sample is the caller's. */
function advantages(steps: readonly Transition[], last: Tensor, decay = 0.95): Sample {
  using scope = newDisposeScope("advantages");
  let running: Tensor = zeros([FIELDS]),
    next = last;
  const found: Tensor[] = [];
  for (const { value, reward } of steps.toReversed()) {
    const delta = reward.add(next.mul(0.99)).sub(value);
    running = delta.add(running.mul(0.99 * decay));
    found.unshift(running);
    next = value;
  }
  const advantage = concat(found);
  const column = (name: keyof Transition): Tensor => concat(steps.map((s) => s[name]));
  const sample: Sample = {
    obs: column("obs"),
    action: column("action"),
    logProb: column("logProb"),
    target: advantage.add(column("value")),
    advantage,
  };
  scope.moveToOuter(...Object.values(sample));
  return sample;
}

function release(parts: Sample | Transition): void {
  for (const part of Object.values(parts)) part.dispose();
}

function* minibatches(whole: Sample, rows: number): Generator<Sample> {
  using order = randperm(whole.obs.shape[0] ?? 0);
  for (let start = 0; start < order.size; start += rows) {
    using at = order.slice(0, start, Math.min(start + rows, order.size));
    const obs = whole.obs.index(at);
    const action = whole.action.index(at);
    const logProb = whole.logProb.index(at);
    const target = whole.target.index(at);
    using raw = whole.advantage.index(at);
    using mean = raw.mean();
    const part = { obs, action, logProb, target, advantage: raw.sub(mean) };
    try {
      yield part;
    } finally {
      release(part);
    }
  }
}

class Ppo implements Disposable {
  readonly #model = new ActorCritic();
  readonly #optimizer = new Adam(this.#model.parameters(), { lr: 3e-4 });
  readonly #options: Required<PpoOptions>;
  #best: Map<string, Tensor> | null = null;

  constructor(options: PpoOptions = {}) {
    this.#options = { clip: 0.2, epochs: 2, rows: 4, ...options };
  }

  /** One step in all fields. The transition is the caller's. */
  act(obs: Tensor, fields: Fields): Transition {
    const chosen = noGrad(() =>
      scoped(() => {
        const { logits, value } = this.#model.call(obs);
        const action = multinomial(logits.softmax(), 1);
        return { action: action.squeeze(1), logProb: this.#logProb(logits, action), value };
      }),
    );
    return { obs, ...chosen, reward: fields.step(chosen.action) };
  }

  #logProb(logits: Tensor, action: Tensor): Tensor {
    using all = logits.logSoftmax();
    using own = all.gather(1, action);
    return own.squeeze(1);
  }

  valueOf(obs: Tensor): Tensor {
    const { logits, value } = noGrad(() => this.#model.call(obs));
    logits.dispose();
    return value;
  }

  async update(sample: Sample): Promise<number> {
    const losses: Tensor[] = [];
    for (let epoch = 0; epoch < this.#options.epochs; epoch++)
      for (const part of minibatches(sample, this.#options.rows)) losses.push(this.#descend(part));
    using all = stack(losses);
    for (const loss of losses) loss.dispose();
    using mean = all.mean();
    return await mean.item();
  }

  #descend({ obs, action, logProb, advantage, target }: Sample): Tensor {
    using scope = newDisposeScope("descend");
    const { logits, value } = this.#model.call(obs);
    const ratio = this.#logProb(logits, action.unsqueeze(1)).sub(logProb).exp();
    const { clip } = this.#options;
    const clipped = ratio.clamp(1 - clip, 1 + clip);
    const gain = ratio.mul(advantage).minimum(clipped.mul(advantage)).mean();
    const entropy = logits.softmax().mul(logits.logSoftmax()).sum(1).mean();
    const loss = value.sub(target).square().mean().sub(gain).add(entropy.mul(0.01));
    this.#optimizer.zeroGrad();
    loss.backward();
    clipGradNorm(this.#model.parameters(), 0.5);
    this.#optimizer.step();
    return scope.moveToOuter(loss.detach());
  }

  /** Keeps the weights as they are now in place of those kept before. */
  keep(): void {
    this.#forget();
    this.#best = new Map(
      [...this.#model.namedParameters()].map(([name, p]) => [name, noGrad(() => p.clone())]),
    );
  }

  restore(): void {
    using _scope = newDisposeScope("restore");
    for (const [name, p] of this.#model.namedParameters())
      noGrad(() => p.copy_(this.#best?.get(name) ?? p));
  }

  #forget(): void {
    for (const kept of this.#best?.values() ?? []) kept.dispose();
    this.#best = null;
  }

  [Symbol.dispose](): void {
    this.#forget();
    this.#optimizer.dispose();
    this.#model.dispose();
  }
}

/** Does all of it, and leaves no tensor. */
export async function run(rounds = 3, length = 4): Promise<number> {
  manualSeed(5);
  using fields = new Fields();
  using ppo = new Ppo({ epochs: 2 });
  let total = 0,
    best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const steps: Transition[] = [];
    while (steps.length < length) steps.push(ppo.act(fields.observe(), fields));
    using last = fields.observe();
    using bootstrap = ppo.valueOf(last);
    const sample = advantages(steps, bootstrap);
    for (const step of steps) release(step);
    const loss = await ppo.update(sample);
    release(sample);
    if (loss <= best || round === 0) ppo.keep();
    best = Math.min(best, loss);
    total += loss;
  }
  ppo.restore();
  return total;
}

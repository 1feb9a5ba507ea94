/**
 * Deep Q-learning with a replay buffer of transitions and a target network that follows.
 */
import { type Tensor, newDisposeScope, noGrad, rand, scoped, stack, tensor, where } from "tenure";
import { Linear, ReLU, Sequential, functional as F } from "tenure/nn";
import { AdamW } from "tenure/optim";

const ACTIONS = 3,
  STATE = 4;

interface Transition {
  readonly state: Tensor;
  readonly action: number;
  readonly reward: number;
  readonly next: Tensor | null;
}

function free(transition: Transition): void {
  transition.state.dispose();
  transition.next?.dispose();
}

class Replay {
  readonly #items: Transition[] = [];
  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }
  get size(): number {
    return this.#items.length;
  }

  /** Takes the transition: the buffer ends it. */
  push(transition: Transition): void {
    if (this.#items.length >= this.capacity) {
      const oldest = this.#items.shift();
      if (oldest) free(oldest);
    }
    this.#items.push(transition);
  }

  sample(n: number): Transition[] {
    return Array.from({ length: n }, (_, i) => this.#items[(i * 7) % this.#items.length]!);
  }

  /** Forgets what was no success. */
  prune(least: number): void {
    const kept = this.#items.filter((t) => t.reward >= least);
    for (const t of this.#items) if (t.reward < least) free(t);
    this.#items.splice(0, this.#items.length, ...kept);
  }

  dispose(): void {
    this.#items.forEach(free);
    this.#items.length = 0;
  }
}

/** A walk whose states are tensors that the caller ends. */
class Environment {
  #time = 0;
  reset(): Tensor {
    this.#time = 0;
    return rand([STATE]);
  }
  step(action: number): { next: Tensor | null; reward: number } {
    this.#time++;
    if (this.#time >= 5) return { next: null, reward: 1 };
    return { next: rand([STATE]), reward: action === 0 ? 0 : 0.1 };
  }
}

const network = (): Sequential =>
  new Sequential(new Linear(STATE, 16), new ReLU(), new Linear(16, ACTIONS));

class Agent {
  readonly online = network();
  readonly target = network();
  readonly optimizer = new AdamW(this.online.parameters(), { lr: 1e-3 });
  readonly replay = new Replay(8);

  constructor() {
    using state = this.online.stateDict();
    this.target.loadStateDict(state);
  }

  async act(state: Tensor, explore: boolean): Promise<number> {
    if (explore) return Math.floor(ACTIONS / 2);
    using best = scoped(() => noGrad(() => this.online.call(state.unsqueeze(0)).argMax(1)));
    return await best.item();
  }

  learn(batch: readonly Transition[], gamma = 0.99): Promise<number> {
    using _scope = newDisposeScope("learn");
    const states = stack(batch.map((t) => t.state));
    const nexts = stack(batch.map((t) => t.next ?? t.state));
    const ends = tensor(batch.map((t) => (t.next === null ? 1 : 0)));
    const actions = tensor(Int32Array.from(batch, (t) => t.action)).unsqueeze(1);
    const rewards = tensor(batch.map((t) => t.reward));
    const future = noGrad(() => this.target.call(nexts).max(1));
    const wanted = where(ends.gt(0), rewards, rewards.add(future.mul(gamma)));
    const loss = F.smoothL1Loss(this.online.call(states).gather(1, actions).squeeze(1), wanted);
    this.optimizer.zeroGrad();
    loss.backward();
    this.optimizer.step();
    return loss.item();
  }

  follow(tau: number): void {
    const online = this.online.parameters();
    noGrad(() => {
      for (const [i, p] of this.target.parameters().entries()) {
        using towards = scoped(() => online[i]!.sub(p).mul(tau));
        p.add_(towards).dispose();
      }
    });
  }

  dispose(): void {
    this.replay.dispose();
    this.optimizer.dispose();
    this.online.dispose();
    this.target.dispose();
  }
}

/** Plays some episodes. */
export async function run(episodes = 3): Promise<void> {
  const agent = new Agent(),
    world = new Environment();
  try {
    for (let episode = 0; episode < episodes; episode++) {
      let state = world.reset();
      for (;;) {
        const action = await agent.act(state, episode === 0);
        const { next, reward } = world.step(action);
        agent.replay.push({ state, action, reward, next: next?.alias() ?? null });
        if (agent.replay.size >= 4) await agent.learn(agent.replay.sample(4));
        if (next === null) break;
        state = next;
      }
      agent.follow(0.01);
      agent.replay.prune(0.05);
    }
  } finally {
    agent.dispose();
  }
}

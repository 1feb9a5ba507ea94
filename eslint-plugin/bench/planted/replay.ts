/**
 * An agent with a replay buffer: factories of closures rather than classes, transitions as records,
 * a target network that follows the online one, and listeners for what happens.
 */
import { EventEmitter } from "node:events";
import {
  type Tensor,
  manualSeed,
  newDisposeScope,
  noGrad,
  oneHot,
  rand,
  randn,
  scoped,
  stack,
  tensor,
  zeros,
} from "tenure";
import { Linear, type Module, ReLU, Sequential, functional as F } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

const STATE = 4,
  ACTIONS = 3;

/** What was seen, done and got. The record owns its tensors. */
interface Transition {
  state: Tensor;
  next: Tensor;
  reward: Tensor;
  readonly action: number;
  /** How sure the agent was; only of greedy steps. */
  confidence?: Tensor;
}

interface Sampled {
  readonly states: Tensor;
  readonly nexts: Tensor;
  readonly rewards: Tensor;
  readonly actions: Tensor;
}

function endTransition({ state, next, reward, confidence }: Transition): void {
  state.dispose();
  next.dispose();
  reward.dispose();
  confidence?.dispose();
}

/** A ring of transitions; the oldest gives way. */
function createReplay(capacity: number) {
  const slots: (Transition | undefined)[] = [];
  let cursor = 0;
  return {
    get size(): number {
      return slots.length;
    },
    push(transition: Transition): void {
      const old = slots[cursor];
      if (old !== undefined) endTransition(old);
      slots[cursor] = transition;
      cursor = (cursor + 1) % capacity;
    },
    /** Batched copies, which are the caller's. */
    sample(count: number): Sampled {
      const chosen = Array.from({ length: count }, (_, i) => slots[(i * 3) % slots.length]!);
      return {
        states: stack(chosen.map((t) => t.state)),
        nexts: stack(chosen.map((t) => t.next)),
        rewards: stack(chosen.map((t) => t.reward)),
        actions: tensor(
          chosen.map((t) => t.action),
          { dtype: "int32" },
        ),
      };
    },
    /** Forgets the newest, for episodes that were cut short. */
    undo(): void {
      const newest = slots.pop();
      if (newest !== undefined) endTransition(newest);
      cursor = slots.length % capacity;
    },
    clear(): void {
      for (const transition of slots) if (transition !== undefined) endTransition(transition);
      slots.length = 0;
    },
  };
}

/** A toy world: the state drifts with the action. */
function createWorld(drift: Tensor = randn([ACTIONS, STATE])) {
  let state = zeros([STATE]);
  return {
    observe: (): Tensor => state.clone(),
    act(action: number): Tensor {
      using push = drift.select(0, action);
      const moved = state.add(push);
      state.dispose();
      state = moved;
      return scoped(() => moved.square().sum().neg());
    },
    reset(): void {
      state.dispose();
      state = zeros([STATE]);
    },
    close(): void {
      state.dispose();
      drift.dispose();
    },
  };
}

const network = (): Sequential =>
  new Sequential(new Linear(STATE, 8), new ReLU(), new Linear(8, ACTIONS));

/** Moves `target` a little towards `online`. */
function follow(target: Module, online: Module, rate = 0.05): void {
  using _scope = newDisposeScope("follow");
  const sources = online.parameters();
  noGrad(() => {
    target.parameters().forEach((p, i) => p.lerp_(sources[i]!, rate));
  });
}

function createAgent(events: EventEmitter) {
  const online = network(),
    target = network();
  const optimizer = new Adam(online.parameters(), { lr: 1e-3 });
  let baseline: Tensor | null = null;

  const learn = async (batch: Sampled, gamma = 0.9): Promise<number> => {
    using scope = newDisposeScope("learn");
    const best = noGrad(() => target.call(batch.nexts).max(1));
    const wanted = best.mul(gamma).add(batch.rewards);
    const values = online.call(batch.states).mul(oneHot(batch.actions, ACTIONS)).sum(1);
    const loss = F.huberLoss(values, wanted.detach());
    optimizer.zeroGrad();
    loss.backward();
    const norm = clipGradNorm(online.parameters(), 1);
    optimizer.step();
    events.emit("norm", scope.detach(norm));
    baseline?.dispose();
    baseline = wanted.mean().detachFromScope();
    return await scope.wait(loss.item());
  };

  return {
    learn,
    follow: () => follow(target, online),
    async choose(state: Tensor, explore = false): Promise<{ action: number; confidence?: Tensor }> {
      if (explore) return { action: ACTIONS - 1 };
      using values = noGrad(() => online.call(state));
      using index = values.argMax(-1);
      const action = await index.item();
      return { action, confidence: values.max() };
    },
    close(): void {
      baseline?.dispose();
      optimizer.dispose();
      online.dispose();
      target.dispose();
    },
  };
}

/** The whole program. */
export async function run(episodes = 3): Promise<number> {
  manualSeed(5);
  const events = new EventEmitter();
  const norms: Tensor[] = [];
  events.on("norm", (norm: Tensor) => {
    norms.push(norm);
    if (norms.length > 2) norms.shift()?.dispose();
  });
  const replay = createReplay(6),
    world = createWorld(),
    agent = createAgent(events);
  let total = 0;
  try {
    for (let episode = 0; episode < episodes; episode++) {
      world.reset();
      for (let step = 0; step < 4; step++) {
        const state = world.observe();
        const choice = await agent.choose(state, step % 2 === 1);
        const reward = world.act(choice.action);
        replay.push({ state, reward, next: world.observe(), ...choice });
      }
      if (episode % 2 === 1) replay.undo();
      const batch = replay.sample(5);
      total += await agent.learn(batch);
      for (const t of [batch.states, batch.nexts, batch.rewards, batch.actions]) t.dispose();
      agent.follow();
    }
    using noise = rand([STATE]);
    const { action, confidence } = await agent.choose(noise);
    if (confidence !== undefined) {
      total += (await confidence.item()) + action;
      confidence.dispose();
    }
    if (norms.length > 0) {
      using all = stack(norms);
      using mean = all.mean();
      total += await mean.item();
    }
    return total;
  } finally {
    for (const norm of norms) norm.dispose();
    replay.clear();
    agent.close();
    world.close();
  }
}

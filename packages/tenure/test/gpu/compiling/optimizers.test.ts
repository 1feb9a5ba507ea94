/**
 * Steps of optimizers, recorded directly, through an `update` of their own, and in a compiled
 * function: with schedules, clipping, decay and rates changed by hand, everything is to the bit the
 * same, the state dict included.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Tensor,
  compile,
  manualSeed,
  memory,
  newDisposeScope,
  ones,
  randn,
  sync,
} from "tenure";
import { Linear } from "tenure/nn";
import { Adam, CosineAnnealingLR, type Optimizer, SGD, clipGradNorm } from "tenure/optim";
import { setup } from "../../helpers.ts";

const test = suite("optimizers in compiled functions");
test.before(async () => {
  await setup();
});

type Rule = (parameters: readonly Tensor[]) => Optimizer;
type Way = "direct" | "by hand" | "compiled";

const rules: Readonly<Record<string, Rule>> = {
  "SGD, momentum": (ps) =>
    new SGD(ps, { lr: 0.1, momentum: 0.9, dampening: 0.2, weightDecay: 0.01 }),
  "Adam, amsgrad": (ps) => new Adam(ps, { lr: 0.05, weightDecay: 0.02, amsgrad: true }),
};

/** Gives an optimizer an `update` of its own, which asks the one it had. */
function byHand(optimizer: Optimizer): void {
  const own = optimizer as unknown as { update: (...args: unknown[]) => void };
  const rule = own.update.bind(optimizer);
  own.update = (...args) => {
    rule(...args);
  };
}

/** What ten steps leave behind: losses, parameters and the state dict. */
async function outcome(rule: Rule, way: Way): Promise<unknown> {
  manualSeed(3);
  using model = new Linear(3, 2);
  using optimizer = rule(model.parameters());
  if (way === "by hand") byHand(optimizer);
  const schedule = new CosineAnnealingLR(optimizer, { tMax: 8, etaMin: 0.001 });
  const step = (x: Tensor): Tensor => {
    optimizer.zeroGrad();
    const loss = model.call(x).square().mean();
    loss.backward();
    clipGradNorm(model.parameters(), 0.5);
    optimizer.step();
    schedule.step();
    return loss;
  };
  using fast = compile(step);
  const losses: number[] = [];
  for (let i = 0; i < 10; i++) {
    if (i === 4) optimizer.lr = 0.07;
    if (i === 6) Object.assign(optimizer.groups[0] ?? {}, { weightDecay: 0.3 });
    let loss: Promise<number>;
    {
      using _scope = newDisposeScope();
      loss = (way === "compiled" ? fast : step)(randn([4, 3])).item();
    }
    losses.push(await loss);
  }
  if (way === "compiled") assert.is(fast.report().replays, 8, fast.report().lastReason ?? "");
  const { tensors, ...numbers } = optimizer.stateDict();
  const values = [...model.parameters(), ...tensors.values()].map((t) => t.data());
  const names = [...tensors.keys()];
  for (const t of tensors.values()) t.dispose();
  return { losses, numbers, names, values: (await Promise.all(values)).map((v) => [...v]) };
}

for (const [name, rule] of Object.entries(rules))
  test(`${name}: ten steps`, async () => {
    const direct = await outcome(rule, "direct");
    assert.equal(direct, await outcome(rule, "by hand"));
    assert.equal(await outcome(rule, "compiled"), direct);
  });

test("a group that is added is seen", async () => {
  const losses = async (compiled: boolean): Promise<unknown> => {
    manualSeed(4);
    using model = new Linear(3, 2);
    const [weight, bias] = model.parameters();
    using optimizer = new SGD(weight === undefined ? [] : [weight], { lr: 0.1 });
    const step = (x: Tensor): Tensor => {
      optimizer.zeroGrad();
      const loss = model.call(x).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    };
    using fast = compile(step);
    const reads: Promise<ArrayLike<number>>[] = [];
    for (let i = 0; i < 8; i++) {
      if (i === 4 && bias !== undefined) optimizer.addGroup({ parameters: [bias], lr: 0.2 });
      using _scope = newDisposeScope();
      reads.push((compiled ? fast : step)(randn([4, 3])).data());
    }
    const reasons = [...fast.report().reasons.keys()].join("; ");
    if (compiled) assert.match(reasons, "got a group");
    return (await Promise.all(reads)).map((loss) => loss[0]);
  };
  assert.equal(await losses(true), await losses(false));
});

test("a step makes no tensors once the state is there", async () => {
  using model = new Linear(3, 2);
  using optimizer = new Adam(model.parameters());
  const made = [0, 1].map(() => {
    using _scope = newDisposeScope();
    model
      .call(ones([4, 3]))
      .square()
      .mean()
      .backward();
    const before = memory.stats().createdInScopeCount;
    optimizer.step();
    return memory.stats().createdInScopeCount - before;
  });
  assert.is(made[0], 4);
  assert.is(made[1], 0);
  await sync();
});

test.run();

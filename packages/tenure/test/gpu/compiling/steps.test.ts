/**
 * Compiled functions as the steps of schedulers: the same bits as the steps as they are written,
 * and repeated. What a function says to scalers, to schedules that look at a metric, and to random
 * streams is never left out: such a step runs, and says why.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Tensor,
  compile,
  debug,
  manualSeed,
  memory,
  newDisposeScope,
  rand,
  tensor,
} from "tenure";
import { Linear, ReLU, Sequential } from "tenure/nn";
import { Adam, GradScaler, ReduceLROnPlateau, SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { setup } from "../../helpers.ts";

const test = suite("compiled steps");
test.before(async () => {
  await setup();
});

const batch = (k: number): Tensor => tensor([k, 1, 2 - k, 0.5, -k, 3, 1, k / 2], { shape: [2, 4] });

/** Losses and weights of training in steps of a scheduler, and how often steps were repeated. */
async function train(
  compiled: boolean,
  budgetBytes: number,
): Promise<{ seen: unknown[]; replays: number; misses: number }> {
  using _scope = newDisposeScope({ root: true });
  manualSeed(5);
  using model = new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 1));
  using optimizer = new Adam(model.parameters(), { lr: 0.05 });
  using scheduler = new Scheduler({ budgetBytes });
  const x = batch(0).detachFromScope();
  const step = (): Tensor => {
    optimizer.zeroGrad();
    const loss = model.call(x).sub(1).square().mean();
    loss.backward();
    optimizer.step();
    return loss;
  };
  using fast = compile(step);
  const before = memory.debug().planMisses;
  const seen: unknown[] = [];
  for (let k = 0; k < 6; k++) {
    using loss = await scheduler.step(compiled ? fast : step);
    seen.push(await loss.item());
  }
  for (const p of model.parameters()) seen.push(await p.toArray());
  x.dispose();
  const misses = memory.debug().planMisses - before;
  return { seen, replays: fast.report().replays, misses };
}

for (const budgetBytes of [Infinity, 1_000_000])
  test(`scheduler.step(compiled) on a budget of ${budgetBytes} repeats the step`, async () => {
    const plain = await train(false, budgetBytes);
    const fast = await train(true, budgetBytes);
    assert.equal(fast.seen, plain.seen);
    assert.is(fast.replays, 4);
    assert.ok(fast.misses <= plain.misses, "repeated steps find the plan of those before");
  });

test("a step that is repeated and fails has not run", async () => {
  using _scope = newDisposeScope({ root: true });
  using model = new Linear(4, 1);
  using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  using scheduler = new Scheduler();
  const x = batch(1);
  using fast = compile(() => {
    optimizer.zeroGrad();
    model.call(x).square().mean().backward();
    optimizer.step();
  });
  for (let k = 0; k < 3; k++) await scheduler.step(fast);
  const before = await model.weight.toArray();
  const counts = optimizer.stateDict().steps;
  const failed = scheduler.step(() => {
    fast();
    throw new RangeError("no");
  });
  assert.match(String(await failed.catch((error: unknown) => error)), "RangeError");
  assert.is(fast.report().replays, 2);
  assert.equal(await model.weight.toArray(), before);
  assert.is(optimizer.stateDict().steps, counts);
  await scheduler.step(fast);
  assert.not.equal(await model.weight.toArray(), before);
  assert.is(fast.report().replays, 3);
});

/** Calls a compiled function in steps. @returns how often it was repeated, and why it ran last */
async function never(fn: (x: Tensor) => Tensor): Promise<{ replays: number; why: string }> {
  using _scope = newDisposeScope({ root: true });
  using scheduler = new Scheduler();
  using fast = compile(fn);
  for (let k = 0; k < 4; k++) {
    const x = batch(k);
    using made = await scheduler.step(() => fast(x));
    await made.data();
  }
  const { replays, lastReason } = fast.report();
  assert.is(debug.lastFallback()?.reason, lastReason);
  return { replays, why: lastReason ?? "" };
}

test("schedules that look at a metric run, and lower the rate when they should", async () => {
  using w = new Linear(4, 1);
  using optimizer = new SGD(w.parameters(), { lr: 0.8 });
  const plateau = new ReduceLROnPlateau(optimizer, { patience: 0, factor: 0.5 });
  const { replays, why } = await never((x) => {
    plateau.step(1);
    return x.mul(2);
  });
  assert.is(replays, 0);
  assert.match(why, /changes what the host remembers \(a seed, a gradient scaler, a schedule/);
  assert.is(optimizer.lr, 0.1); // the first step is the best one, three do not get better
});

test("updates of a scaler run, and are counted", async () => {
  using scaler = new GradScaler({ initialScale: 8, growthInterval: 1 });
  using model = new Linear(4, 1);
  using optimizer = new SGD(model.parameters(), { lr: 0.1 });
  const { replays, why } = await never((x) => {
    optimizer.zeroGrad();
    const loss = model.call(x).square().mean();
    scaler.scale(loss).backward();
    scaler.unscale(optimizer);
    scaler.dispose(); // the flag of this step
    scaler.update();
    return loss.detach();
  });
  assert.is(replays, 0);
  assert.match(why, /changes what the host remembers/);
  assert.is(scaler.currentScale, 8); // no step was taken
});

test("a seed inside is set again in every call", async () => {
  const seen: unknown[] = [];
  const { replays, why } = await never((x) => {
    manualSeed(3);
    const made = rand([4]);
    seen.push(made.shape);
    return made.add(x.mul(0).sum());
  });
  assert.is(replays, 0);
  assert.is(seen.length, 4);
  assert.match(why, /changes what the host remembers/);
  using _scope = newDisposeScope({ root: true });
  using scheduler = new Scheduler();
  using fast = compile(() => {
    manualSeed(3);
    return rand([4]);
  });
  const draws: unknown[] = [];
  for (let k = 0; k < 3; k++) draws.push(await (await scheduler.step(fast)).toArray());
  assert.equal(draws[1], draws[0]);
  assert.equal(draws[2], draws[0]);
});

test.run();

/**
 * `compile`: what is repeated, every reason why a call is not, and that nothing leaks or goes wrong
 * on the way.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  AsyncScopeError,
  type Compiled,
  DisposedError,
  GradError,
  type Tensor,
  TenureError,
  checkpoint,
  compile,
  debug,
  detectAnomaly,
  manualSeed,
  memory,
  newDisposeScope,
  noGrad,
  ones,
  rand,
  sync,
  tensor,
  zeros,
} from "tenure";
import { BatchNorm1d, Dropout, Linear, Sequential } from "tenure/nn";
import { GradScaler, SGD, StepLR, clipGradNorm } from "tenure/optim";
import { Scheduler, trace } from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { rejects, setup } from "../../helpers.ts";

const test = suite("compile");
test.before(async () => {
  await setup();
});

/** Calls a compiled function some times; results are freed. */
function calls<A extends readonly unknown[]>(fn: Compiled<A, unknown>, times: number, ...args: A) {
  for (let i = 0; i < times; i++) {
    using _scope = newDisposeScope();
    fn(...args);
  }
}

/** A function that is never repeated, and why. */
function neverRepeated(
  fn: (x: Tensor) => unknown,
  why: RegExp,
  x: Tensor,
  after: () => void = () => undefined,
): void {
  using fast = compile(fn);
  for (let i = 0; i < 4; i++) {
    using _scope = newDisposeScope();
    fast(x);
    after();
  }
  const { replays, lastReason } = fast.report();
  assert.is(replays, 0, `it was repeated: ${why}`);
  assert.match(lastReason ?? "", why);
}

test("results are fresh tensors of the caller's scope, in the same containers", async () => {
  using _scope = newDisposeScope({ root: true });
  using fast = compile((x: Tensor, k: number) => ({
    sum: x.sum(),
    rest: [x.mul(k), new Map([["neg", x.neg()]]), new Set([x.exp()]), "text", null],
  }));
  let last: Tensor | undefined;
  for (let i = 1; i <= 4; i++) {
    const x = tensor([i, 2, 3]);
    const { sum, rest } = fast(x, 2);
    assert.is(await sum.item(), i + 5);
    assert.equal(await (rest[0] as Tensor).toArray(), [2 * i, 4, 6]);
    const [neg] = [...(rest[1] as Map<string, Tensor>).values()];
    assert.equal(await neg!.toArray(), [-i, -2, -3]);
    assert.equal([...(rest[2] as Set<Tensor>)][0]!.shape, [3]);
    assert.equal(rest.slice(3), ["text", null]);
    assert.ok(last !== sum);
    last = sum;
  }
  assert.is(fast.report().replays, 2);
  assert.is(fast.report().recordings, 1);
});

test("other shapes, dtypes, views and plain values have recordings of their own", async () => {
  using _scope = newDisposeScope({ root: true });
  using fast = compile((x: Tensor, k: number) => x.mul(k).sum());
  for (const x of [ones([2]), ones([3]), ones([2], { dtype: "int32" }), ones([4, 2]).transpose()])
    for (const k of [2, 3])
      for (let i = 0; i < 3; i++) assert.is(await fast(x, k).item(), x.size * k);
  assert.is(fast.report().replays, 8);
  assert.is(fast.report().recordings, 8);
});

test("parameters that are updated in place keep their versions and their graph", async () => {
  using _scope = newDisposeScope({ root: true });
  const w = tensor([1, 2], { requiresGrad: true });
  using fast = compile((x: Tensor) => {
    noGrad(() => w.sub_(x));
  });
  const x = tensor([1, 1]);
  calls(fast, 2, x);
  const loss = w.mul(w).sum(); // saves w
  calls(fast, 1, x);
  assert.is(fast.report().replays, 1);
  await rejects(() => loss.backward(), GradError, /changed in place/);
  w.mul(2).sum().backward();
  assert.equal(await w.grad!.toArray(), [2, 2]);
  assert.equal(await w.toArray(), [-2, -1]);
});

test("gradients add up, are clipped and dropped as without it", async () => {
  using _scope = newDisposeScope({ root: true });
  const run = async (compiled: boolean): Promise<unknown> => {
    using model = new Linear(2, 1, { bias: false });
    noGrad(() => model.weight.copy_(tensor([[1, 2]])));
    const plain = (x: Tensor): Tensor => {
      const loss = model.call(x).square().mean();
      loss.backward();
      return clipGradNorm(model.parameters(), 1);
    };
    using fast = compile(plain);
    const norms: number[] = [];
    for (let i = 0; i < 6; i++)
      norms.push(await (compiled ? fast : plain)(tensor([[i, 1]])).item());
    if (compiled) assert.is(fast.report().replays, 3); // the first found no gradient
    return [norms, await model.weight.grad!.toArray()];
  };
  assert.equal(await run(true), await run(false));
});

test("an argument that is a leaf gets its gradient", async () => {
  using _scope = newDisposeScope({ root: true });
  using fast = compile((x: Tensor) => {
    x.square().sum().backward();
  });
  for (let i = 1; i <= 4; i++) {
    const x = tensor([i], { requiresGrad: true });
    fast(x);
    assert.equal(await x.grad!.toArray(), [2 * i]);
  }
  assert.is(fast.report().replays, 2);
});

test("random numbers are fresh, and those of checkpoints the same again", async () => {
  using _scope = newDisposeScope({ root: true });
  const run = async (compiled: boolean): Promise<unknown[]> => {
    manualSeed(3);
    const drop = new Dropout(0.5);
    using w = ones([16], { requiresGrad: true });
    const plain = (x: Tensor): Tensor => {
      w.grad = null;
      const y = checkpoint((t: Tensor) => drop.call(t.mul(w)), x).add(rand([16]));
      y.sum().backward();
      return y;
    };
    using fast = compile(plain);
    const seen: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      seen.push(await (compiled ? fast : plain)(ones([16])).toArray());
      seen.push(await w.grad!.toArray());
    }
    if (compiled) assert.is(fast.report().replays, 3);
    seen.push(await rand([3]).toArray());
    return seen;
  };
  const plain = await run(false);
  assert.equal(await run(true), plain);
  assert.not.equal(plain[4], plain[6]);
});

test("rates of optimizers and schedules are those of the moment", async () => {
  using _scope = newDisposeScope({ root: true });
  const run = async (compiled: boolean): Promise<unknown> => {
    using w = tensor([8], { requiresGrad: true });
    using optimizer = new SGD([w], { lr: 1 });
    const schedule = new StepLR(optimizer, { stepSize: 2, gamma: 0.5 });
    const plain = (): void => {
      optimizer.zeroGrad();
      w.sum().backward();
      optimizer.step();
      schedule.step();
    };
    using fast = compile(plain);
    const seen: number[] = [];
    for (let i = 0; i < 7; i++) {
      if (i === 5) optimizer.lr = 0.125;
      (compiled ? fast : plain)();
      seen.push(await w.item(), optimizer.lr, schedule.steps, optimizer.steps);
    }
    if (compiled) assert.is(fast.report().replays, 5);
    return seen;
  };
  assert.equal(await run(true), await run(false));
});

test("batch norm keeps its averages; another mode of a module is noticed", async () => {
  using _scope = newDisposeScope({ root: true });
  const run = async (compiled: boolean): Promise<unknown[]> => {
    using model = new Sequential(new BatchNorm1d(2), new Dropout(0));
    const plain = (x: Tensor): Tensor => noGrad(() => model.call(x));
    using fast = compile(plain);
    const seen: unknown[] = [];
    for (let i = 0; i < 10; i++) {
      if (i === 4) model.eval();
      if (i === 8) model.train();
      seen.push(
        await (compiled ? fast : plain)(
          tensor([
            [i, 1],
            [2, i],
          ]),
        ).toArray(),
      );
    }
    for (const [, b] of model.namedBuffers()) seen.push(await b.toArray());
    // 2 recorded, 2 repeated, 2 and 2 in the other mode, one looked at again, one repeated
    if (compiled) assert.is(fast.report().replays, 5);
    return seen;
  };
  assert.equal(await run(true), await run(false));
});

test("what cannot be repeated runs, and says why", async () => {
  using _scope = newDisposeScope({ root: true });
  const x = tensor([1, 2]);
  const graph = tensor([1, 2], { requiresGrad: true });
  const kept: Tensor[] = [];
  let k = 0;
  neverRepeated((t) => void t.sum().item(), /it reads a value/, x);
  neverRepeated((t) => t.add(tensor([3, 4])), /makes a tensor of host data/, x);
  neverRepeated(() => manualSeed(1), /changes what the host remembers/, x);
  neverRepeated((t) => t, /returns a tensor that it did not make/, x);
  neverRepeated((t) => t.mul(graph), /returns a tensor that gradients flow to/, x);
  neverRepeated(() => () => 1, /returns a function/, x);
  neverRepeated(() => new Error("no"), /no plain container/, x);
  neverRepeated((t) => t.mul(++k), /a number that mul takes changed/, x);
  neverRepeated((t) => (++k % 2 === 0 ? t.exp() : t.neg()), /(exp|neg) comes where/, x);
  neverRepeated((t) => [t.sum(), ++k], /the result held \d+, and holds \d+/, x);
  neverRepeated((t) => t.sum(), /an argument is part of a graph/, graph.mul(2));
  neverRepeated(
    (t) => void kept.push(t.exp().detachFromScope()),
    /kept by something that it does not return/,
    x,
    () => kept.pop()!.dispose(),
  );
  const others = [tensor([1, 1]), tensor([2, 2]), tensor([3, 3]), tensor([4, 4])];
  neverRepeated((t) => t.add(others[k++ % 4]!), /uses another tensor from outside/, x);
  const scaler = new GradScaler();
  neverRepeated(() => scaler.update(), /changes what the host remembers/, x);
  const circle: unknown[] = [];
  circle.push(circle);
  neverRepeated(() => circle, /contains itself/, x);
  await sync();
});

test("what changes later is noticed", async () => {
  using _scope = newDisposeScope({ root: true });
  let other = tensor([10, 20]).detachFromScope();
  using fast = compile((t: Tensor) => t.add(other));
  const x = tensor([1, 2]);
  calls(fast, 3, x);
  assert.is(fast.report().replays, 1);
  assert.equal(await fast(tensor([5, 5])).toArray(), [15, 25]); // perhaps x was used from outside
  assert.match(fast.report().lastReason ?? "", /another tensor for the first time/);
  assert.equal(await fast(tensor([6, 6])).toArray(), [16, 26]);
  assert.is(fast.report().replays, 3 - 1);
  assert.equal(await fast(other).toArray(), [20, 40]);
  assert.match(fast.report().lastReason ?? "", /shares memory/);
  other.dispose();
  other = tensor([1, 1]);
  assert.equal(await fast(x).toArray(), [2, 3]);
  assert.match(fast.report().lastReason ?? "", /was disposed|another tensor from outside/);
  await rejects(() => fast(kill(tensor([1, 2]))), DisposedError);
});

function kill(t: Tensor): Tensor {
  t.dispose();
  return t;
}

test("an argument that is also used from outside is not mixed up with it", async () => {
  using _scope = newDisposeScope({ root: true });
  const w = tensor([2]);
  using fast = compile((t: Tensor) => t.mul(w));
  calls(fast, 3, w);
  assert.is(fast.report().replays, 1);
  for (let i = 3; i < 8; i++) assert.is(await fast(tensor([i])).item(), 2 * i);
  assert.is(fast.report().replays, 1 + 3);
});

test("check: true runs the function and names what would have been missed", async () => {
  using _scope = newDisposeScope({ root: true });
  const before = memory.stats().threadTotalLiveCount;
  let rate = 2;
  using fast = compile((x: Tensor) => [x.mul(rate)], { check: true, name: "scale" });
  const x = tensor([1]);
  for (let i = 0; i < 3; i++) assert.is(await fast(x)[0]!.item(), 2);
  rate = 3;
  await rejects(
    () => fast(x),
    TenureError,
    /^scale: expected to do what it did.*mul takes changed/,
  );
  assert.is(memory.stats().threadTotalLiveCount, before + 4);
  assert.is(fast.report().replays, 0);
});

test("bad input, async functions, errors and disposal", async () => {
  using _scope = newDisposeScope({ root: true });
  await rejects(() => compile(3 as never), ArgumentError, /^compile: expected a function, got 3/);
  await rejects(() => compile(() => 1, { chek: true } as never), ArgumentError, /check/);
  using slow = compile(async () => Promise.resolve(1), { name: "slow" });
  await rejects(() => slow(), AsyncScopeError, /^slow: expected a synchronous function/);
  const before = memory.stats().threadTotalLiveCount;
  const x = tensor([1]);
  let fails = true;
  using fast = compile((t: Tensor) => {
    const y = t.exp();
    if (fails) throw new RangeError("on purpose");
    return y;
  });
  await rejects(() => fast(x), RangeError, /on purpose/);
  assert.is(fast.report().lastReason, "it threw");
  fails = false;
  calls(fast, 4, x);
  assert.is(fast.report().replays, 2);
  assert.is(memory.stats().threadTotalLiveCount, before + 1);
  fast.dispose();
  fast.dispose();
  await rejects(() => fast(x), DisposedError, /compile it again/);
});

test("inside other compiled functions, traces, anomaly detection and eager runs", async () => {
  using _scope = newDisposeScope({ root: true });
  using inner = compile((x: Tensor) => x.exp().sum());
  using outer = compile((x: Tensor) => inner(x).add(inner(x)));
  const x = tensor([0, 0]);
  for (let i = 0; i < 4; i++) assert.is(await outer(x).item(), 4);
  assert.is(outer.report().replays, 2);
  assert.is(inner.report().calls, 0);
  calls(inner, 3, x);
  assert.is(inner.report().replays, 1);
  assert.ok(trace(() => inner(x)).ops.length >= 1);
  assert.match(inner.report().lastReason ?? "", /only traced/);
  await detectAnomaly(() => inner(x).item());
  assert.match(inner.report().lastReason ?? "", /looks at every op/);
  const { settings } = runtime();
  settings.flushEachOp = true;
  try {
    assert.is(await inner(x).item(), 2);
  } finally {
    settings.flushEachOp = false;
  }
  assert.match(inner.report().lastReason ?? "", /one by one/);
  assert.equal(debug.lastFallback(), {
    name: "compiled function",
    reason: inner.report().lastReason,
  });
  const { replays, fallbacks } = memory.debug();
  calls(inner, 1, x);
  assert.is(memory.debug().replays - replays, 1);
  assert.is(memory.debug().fallbacks, fallbacks);
});

test("in a scheduler's step; one that is discarded takes everything back", async () => {
  using _scope = newDisposeScope({ root: true });
  using scheduler = new Scheduler({ budgetBytes: 2 ** 20 });
  const run = async (compiled: boolean): Promise<unknown> => {
    manualSeed(5);
    using model = new Linear(3, 1);
    using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.5 });
    const plain = (x: Tensor): Tensor => {
      optimizer.zeroGrad();
      const loss = model
        .call(x)
        .mul(rand([2, 1]))
        .square()
        .mean();
      loss.backward();
      optimizer.step();
      return loss;
    };
    using fast = compile(plain);
    const step = compiled ? fast : plain;
    const seen: number[] = [];
    for (let i = 0; i < 6; i++) {
      using x = tensor([
        [1, 2, i],
        [3, 4, 5],
      ]);
      if (i === 4)
        await rejects(
          () =>
            scheduler.step(() => {
              step(x);
              throw new RangeError("given up");
            }),
          RangeError,
        );
      const loss = await scheduler.step(() => step(x));
      seen.push(await loss.item(), optimizer.steps);
      loss.dispose();
    }
    for (const p of model.parameters()) seen.push(...Array.from(await p.data()));
    if (compiled) assert.is(fast.report().replays, 5, [...fast.report().reasons.keys()].join("; "));
    return seen;
  };
  assert.equal(await run(true), await run(false));
});

test("two tasks at once, and reads that are under way", async () => {
  using _scope = newDisposeScope({ root: true });
  const w = zeros([2]);
  using fast = compile((x: Tensor) => {
    noGrad(() => w.add_(x));
    return w.mul(1);
  });
  const x = tensor([1, 2]);
  const task = async (): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      const y = fast(x);
      const now = w.toArray(); // before the next call changes it
      const later = fast(x);
      seen.push(await y.toArray(), await now, await later.toArray());
      y.dispose();
      later.dispose();
    }
    return seen;
  };
  const all = await Promise.all([task(), task()]);
  const sums = all.flat().map((a) => (a as number[])[0]!);
  assert.is(Math.max(...sums), 16);
  assert.ok(all.flat().every((a) => (a as number[])[1] === 2 * (a as number[])[0]!));
  assert.ok(fast.report().replays >= 12);
});

test.run();

// node: --expose-gc
/**
 * Long runs: scopes end in linear time, training loops are flat in handles, storages, bytes and
 * heap, with the garbage collector never needed.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { memory, newDisposeScope, scopedAsync, sync, tensor, zeros } from "tenure";
import { Linear, Sequential } from "tenure/nn";
import { SGD } from "tenure/optim";
import { TensorHandle } from "../../../src/tensor/body.ts";
import { Tensor } from "../../../src/tensor/tensor.ts";
import { HANDLE } from "../../../src/ownership/handle.ts";
import { runtime } from "../../../src/runtime/runtime.ts";
import { setup, sleep, takeWarnings } from "./harness.ts";

const test = suite("long runs");
test.before(async () => {
  await setup();
  runtime().settings.verifyPlans = runtime().settings.poison = false;
  memory.track("off");
});
test.after(() => {
  memory.track("sampled");
  assert.equal(takeWarnings(), []);
});

function heap(): number {
  (globalThis as unknown as { gc: () => void }).gc();
  return process.memoryUsage().heapUsed;
}

/**
 * Bytes by which the heap grows in `steps` steps: the least of seven runs of them, since what V8
 * compiles on the way makes some of them grow, and what each step keeps makes all of them grow.
 */
async function growth(steps: number, run: (step: number) => Promise<void>): Promise<number> {
  const grown: number[] = [];
  let before = heap();
  for (let window = 0; window < 7; window++) {
    for (let i = 0; i < steps; i++) await run(i);
    await sync();
    await sleep(1);
    const after = heap();
    grown.push(after - before);
    before = after;
  }
  return Math.min(...grown);
}

/** Milliseconds to end a scope with `n` aliases in it. */
function endOf(n: number): number {
  using source = zeros([1]);
  const s = newDisposeScope(),
    h = source[HANDLE];
  for (let i = 0; i < n; i++) new Tensor(new TensorHandle(h.storage, h.layout, h.dtype, null), s);
  const begun = performance.now();
  s.dispose();
  return performance.now() - begun;
}

test("a scope with 100,000 temporaries ends in linear time", () => {
  // The best of several: a busy machine slows some, quadratic work would slow all, a hundredfold.
  const best = (n: number): number => Math.min(...Array.from({ length: 9 }, () => endOf(n)));
  best(10_000);
  const small = best(10_000),
    large = best(100_000);
  assert.ok(
    large < small * 10 * 4 + 20,
    `10,000 took ${small.toFixed(2)} ms, 100,000 took ${large.toFixed(2)} ms`,
  );
  memory.verify();
});

test("disposing 100,000 in any order is linear too: leaving a scope is O(1)", () => {
  const s = newDisposeScope(),
    list: Tensor[] = [];
  using source = zeros([1]);
  s.detach(source);
  for (let i = 0; i < 100_000; i++) list.push(source.alias());
  const begun = performance.now();
  for (let i = 0; i < list.length; i += 2) list[i]!.dispose();
  for (let i = 1; i < list.length; i += 4) s.moveTo(null, list[i]!);
  s.dispose();
  for (const t of list) t.dispose();
  assert.ok(performance.now() - begun < 2000);
  memory.verify();
});

test("a 5,000-step training loop is flat in handles, storages, bytes and heap", async () => {
  using net = new Sequential(new Linear(4, 8), new Linear(8, 1));
  using optimizer = new SGD(net.parameters(), { lr: 0.1, momentum: 0.9 });
  const x = [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ];
  const step = async (): Promise<void> => {
    let loss: Promise<number>;
    {
      using _ = newDisposeScope("step");
      const out = net.call(tensor(x)).square().mean();
      optimizer.zeroGrad();
      out.backward();
      optimizer.step();
      loss = out.item();
    }
    await loss;
  };
  const measure = async (): Promise<number[]> => {
    await sync();
    const s = memory.stats();
    return [s.threadTotalLiveCount, s.storages, s.liveBytes, s.deviceBytes, s.finalized];
  };
  for (let i = 0; i < 500; i++) await step();
  const before = await measure(),
    { devicePeakBytes } = memory.stats();
  const grown = await growth(1000, step);
  assert.equal(await measure(), before);
  assert.is(memory.stats().devicePeakBytes, devicePeakBytes);
  // 60 bytes a step: one kept handle would be several times that
  assert.ok(grown < 60_000, `the heap grew by ${grown} bytes in 1,000 steps`);
});

test("forward only with gradients, scopes across await, aliases of p.grad: flat too", async () => {
  using w = zeros([4, 4], { requiresGrad: true });
  w.detachFromScope();
  const forward = async (): Promise<void> => {
    await scopedAsync(async (s) => {
      const y = tensor([[1, 2, 3, 4]])
        .matmul(w)
        .relu()
        .sum(); // its graph is dropped with it
      await y.item();
      s.use(y);
      if (w.hasGrad) await w.grad?.mul(2).data();
    });
  };
  {
    using _ = newDisposeScope();
    tensor([[1, 2, 3, 4]])
      .matmul(w)
      .sum()
      .backward();
  }
  for (let i = 0; i < 200; i++) await forward();
  await sleep(1);
  await sync();
  const before = memory.stats();
  const grown = await growth(500, async (i) => {
    await forward();
    // the null device answers at once, and JavaScript keeps what a WeakRef was made of until the
    // microtasks end
    if (i % 50 === 0) await sleep(0);
  });
  const after = memory.stats();
  assert.equal(
    [after.threadTotalLiveCount, after.storages, after.liveBytes, after.finalized],
    [before.threadTotalLiveCount, before.storages, before.liveBytes, before.finalized],
  );
  assert.ok(grown < 30_000, `the heap grew by ${grown} bytes in 500 steps`);
});

test.run();

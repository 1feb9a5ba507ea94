/**
 * Compiled functions in trouble: what goes wrong inside a repetition leaves parameters, optimizers,
 * random streams and books as it leaves them where the function itself ran.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DeviceLostError,
  OutOfMemoryError,
  type Tensor,
  TenureError,
  compile,
  manualSeed,
  memory,
  newDisposeScope,
  ones,
  rand,
  scoped,
  sync,
  tensor,
  zeros,
} from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { rejects, setup, takeDeviceErrors } from "../../helpers.ts";

const test = suite("compiled functions in trouble");
test.before(async () => {
  await setup();
});

/** A model, its optimizer, and a step that draws random numbers and makes a large tensor. */
class Training {
  readonly #before = memory.stats();
  readonly #model = new Linear(3, 1);
  readonly #optimizer = new SGD(this.#model.parameters(), { lr: 0.1, momentum: 0.5 });
  readonly fast = compile((x: Tensor) => this.#step(x));
  readonly step: (x: Tensor) => Tensor[];

  constructor(compiled: boolean) {
    this.step = compiled ? this.fast : (x) => this.#step(x);
  }

  #step(x: Tensor): Tensor[] {
    this.#optimizer.zeroGrad();
    const noise = rand([2, 1]);
    const loss = this.#model.call(x).mul(noise).square().mean();
    loss.backward();
    this.#optimizer.step();
    return [loss, rand([30_000])];
  }

  /** A step in a scope of its own. @returns the loss, and some of the numbers drawn */
  async run(x: Tensor): Promise<number[]> {
    const reads = scoped(() => this.step(x).map((t) => t.data()));
    return (await Promise.all(reads)).flatMap((data) => [...data.slice(0, 4)]);
  }

  /** Parameters and the optimizer's state, and how much is live. */
  async state(): Promise<unknown[]> {
    const { liveBytes, threadTotalLiveCount } = memory.stats();
    const { steps } = this.#optimizer;
    const reads = scoped(() => {
      const states = [...this.#optimizer.stateDict().tensors.values()];
      return [...this.#model.parameters(), ...states].map((t) => t.toArray());
    });
    const live = [
      liveBytes - this.#before.liveBytes,
      threadTotalLiveCount - this.#before.threadTotalLiveCount,
    ];
    return [...live, steps, ...(await Promise.all(reads))];
  }

  /** Gradients; of those that were lost, why. */
  async gradients(): Promise<unknown[]> {
    const reads = scoped(() =>
      this.#model.parameters().map(async ({ grad }) => (grad === null ? null : grad.toArray())),
    );
    const settled = await Promise.allSettled(reads);
    return settled.map((r) => (r.status === "fulfilled" ? r.value : (r.reason as Error).name));
  }

  [Symbol.dispose](): void {
    this.fast.dispose();
    this.#optimizer.dispose();
    this.#model.dispose();
  }
}

/** Runs `fn` while the device gives no more memory. */
async function refused<T>(fn: () => Promise<T>): Promise<T> {
  await sync();
  await memory.trim();
  memory.setBudget(memory.stats().deviceBytes + 10_000, "throw");
  try {
    return await fn();
  } finally {
    memory.setBudget(Infinity, "trim");
    takeDeviceErrors();
  }
}

test("memory that is refused loses nothing, gradients and random numbers neither", async () => {
  using _scope = newDisposeScope({ root: true });
  const x = ones([2, 3]);
  const run = async (compiled: boolean, refuses: boolean): Promise<unknown> => {
    manualSeed(5);
    using training = new Training(compiled);
    const seen: unknown[] = [];
    for (let i = 0; i < 3; i++) seen.push(await training.run(x));
    const before = [await training.state(), await training.gradients()];
    if (refuses) await refused(() => rejects(() => training.run(x), OutOfMemoryError));
    assert.equal([await training.state(), await training.gradients()], before);
    memory.verify();
    for (let i = 0; i < 2; i++) seen.push(await training.run(x), await training.state());
    if (compiled && refuses) assert.is(training.fast.report().replays, 4);
    return seen;
  };
  const expected = await run(false, false);
  for (const compiled of [true, false]) assert.equal(await run(compiled, true), expected);
});

test("a gradient that was dropped keeps no memory once nothing can bring it back", async () => {
  using w = zeros([4096], { requiresGrad: true });
  scoped(() => {
    w.square().sum().backward();
  });
  await memory.trim();
  w.grad = null;
  assert.ok((await memory.trim()) >= 4 * 4096);
});

test("memory that is refused to a scheduler's step loses nothing", async () => {
  using _scope = newDisposeScope({ root: true });
  const x = ones([2, 3]);
  using scheduler = new Scheduler();
  const run = async (compiled: boolean, refuses: boolean): Promise<unknown[]> => {
    manualSeed(5);
    using training = new Training(compiled);
    const step = async (): Promise<unknown> => {
      const made = await scheduler.step(() => training.step(x));
      const values = await Promise.all(made.map((t) => t.data()));
      for (const t of made) t.dispose();
      return values.flatMap((data) => [...data.slice(0, 4)]);
    };
    const seen: unknown[] = [];
    for (let i = 0; i < 3; i++) seen.push(await step());
    const before = await training.state();
    if (refuses) await refused(() => rejects(step, TenureError, /memory|bytes/));
    assert.equal(await training.state(), before);
    seen.push(refuses ? await training.gradients() : []);
    memory.verify();
    for (let i = 0; i < 2; i++) seen.push(await step());
    if (compiled) assert.ok(training.fast.report().replays >= 3);
    return seen;
  };
  const [fast, plain, expected] = [
    await run(true, true),
    await run(false, true),
    await run(false, false),
  ];
  assert.equal(fast, plain);
  const values = (seen: unknown[]): unknown[] => seen.filter((_, i) => i !== 3);
  assert.equal(values(fast), values(expected)); // the gradients are lost, and nothing else
});

/** Lets the n-th op of some from now on throw. @returns whether there was one */
function failing(n: number, counts: () => boolean, fn: () => void): boolean {
  const { recorder } = runtime();
  const record = recorder.record.bind(recorder);
  let ops = 0;
  recorder.record = (...args) => {
    if (counts() && ++ops === n) throw new RangeError("on purpose");
    record(...args);
  };
  try {
    fn();
  } catch (error) {
    assert.ok(error instanceof RangeError, String(error));
  } finally {
    recorder.record = record;
  }
  return ops >= n;
}

/** Lets one op after the other throw, in a training of its own. @returns everything seen */
async function midway(compiled: boolean, piecemeal: boolean, least: number): Promise<unknown> {
  using scope = newDisposeScope({ root: true });
  const x = ones([2, 3]);
  const { recorder } = runtime();
  const followable = recorder.followable.bind(recorder);
  if (piecemeal) recorder.followable = () => "a test throws in every op";
  scope.defer(() => {
    recorder.followable = followable;
  });
  manualSeed(5);
  using training = new Training(compiled);
  const seen: unknown[] = [];
  for (let i = 0; i < 4; i++) seen.push(await training.run(x));
  const counts = (): boolean => piecemeal || recorder.labels.phase === "apply";
  let n = 0;
  while (n < 100 && failing(++n, counts, () => scoped(() => void training.step(x)))) {
    memory.verify();
    const [bytes, , ...values] = await training.state();
    const gradients = await training.gradients();
    seen.push(n, values, gradients);
    // parameters, momentum and gradients
    if (compiled) assert.is(bytes, gradients[0] === null ? 2 * 16 : 3 * 16, `op ${n}`);
    if (!piecemeal) for (let i = 0; i < 2; i++) seen.push(await training.run(x)); // at once again
  }
  assert.ok(n > least, `it records ${n - 1} ops`);
  seen.push(await training.run(x), n);
  const { replays, atOnce } = training.fast.report();
  if (compiled) assert.is(replays, 4 + n - 1 + (piecemeal ? 0 : 2 * (n - 1)));
  if (compiled) assert.is(atOnce > 0, !piecemeal);
  return seen;
}

test("what throws midway leaves what it leaves without compile, and the books right", async () => {
  assert.equal(await midway(true, true, 15), await midway(false, true, 15));
});

test("what an optimizer throws leaves the same where ops are recorded at once", async () => {
  assert.equal(await midway(true, false, 2), await midway(false, false, 2));
});

test("an argument that it disposes is not repeated", async () => {
  using _scope = newDisposeScope({ root: true });
  using fast = compile((t: Tensor) => {
    const y = t.mul(2);
    t.dispose();
    return y;
  });
  for (let i = 1; i <= 4; i++) {
    const x = tensor([i]);
    assert.is(await fast(x).item(), 2 * i);
    assert.is(x.isDisposed, true);
    assert.is(fast.report().lastReason, "it disposes an argument");
  }
  assert.is(fast.report().replays, 0);
  memory.verify();
});

test("a compiled function is looked at again on another device", async () => {
  using w = tensor([2]);
  using fast = compile((x: Tensor) => x.mul(w));
  const call = async (): Promise<number> => {
    using x = tensor([3]);
    using y = fast(x);
    return await y.item();
  };
  for (let i = 0; i < 3; i++) assert.is(await call(), 6);
  assert.is(fast.report().replays, 1);
  runtime().device!.gpu.destroy();
  while (runtime().device!.lost === null)
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  await rejects(call, DeviceLostError, /lost|contents/);
  await setup();
  await rejects(call, DeviceLostError, /make it again after init/);
  assert.is(fast.report().lastReason, "it threw");
  memory.verify();
  scoped(() => void w.fill_(4));
  for (let i = 0; i < 3; i++) assert.is(await call(), 12);
  assert.is(fast.report().lastReason, "the device is another");
  assert.is(fast.report().replays, 1 + 2);
});

test.run();

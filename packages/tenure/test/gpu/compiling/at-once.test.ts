/**
 * Repetitions that are recorded at once, along the script that an earlier one left: the same bits,
 * plans and books as op by op, whatever comes before, behind and beside them; and what is not as
 * the script says is recorded op by op, and says why.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Tensor,
  compile,
  manualSeed,
  memory,
  newDisposeScope,
  rand,
  scoped,
  sync,
  tensor,
} from "tenure";
import { Linear, ReLU, Sequential } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { setup } from "../../helpers.ts";

const test = suite("repetitions at once");
test.before(async () => {
  await setup();
});

const batch = (k: number): Tensor => tensor([k, 1, 2 - k, 0.5, -k, 3, 1, k / 2], { shape: [2, 4] });

/** How a function is called: as it is written, op by op, or at once. */
type Way = "written" | "piecemeal" | "at once";

/** A model, its optimizer, and a step with random numbers in it. */
class Training implements Disposable {
  readonly model = new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 1));
  readonly optimizer = new SGD(this.model.parameters(), { lr: 0.05, momentum: 0.9 });
  readonly fast = compile((x: Tensor) => this.#step(x), { name: "train" });
  readonly #way: Way;

  constructor(way: Way) {
    this.#way = way;
  }

  #step(x: Tensor): Tensor {
    this.optimizer.zeroGrad();
    const noise = rand([2, 4]);
    const loss = this.model.call(x.mul(noise)).sub(1).square().mean();
    loss.backward();
    this.optimizer.step();
    return loss;
  }

  /** One step. */
  call(x: Tensor): Tensor {
    const { recorder } = runtime();
    const followable = recorder.followable.bind(recorder);
    if (this.#way === "piecemeal") recorder.followable = () => "a test wants to see every op";
    try {
      return this.#way === "written" ? scoped(() => this.#step(x)) : this.fast(x);
    } finally {
      recorder.followable = followable;
    }
  }

  async weights(): Promise<unknown[]> {
    const { tensors } = this.optimizer.stateDict();
    return Promise.all([...this.model.parameters(), ...tensors.values()].map((t) => t.toArray()));
  }

  [Symbol.dispose](): void {
    this.fast.dispose();
    this.optimizer.dispose();
    this.model.dispose();
  }
}

/** What a training in one of the ways leaves. */
interface Left {
  readonly seen: unknown[];
  readonly report: ReturnType<Training["fast"]["report"]>;
  /** Plans that were made, and ops that were recorded, in the last step. */
  readonly misses: number;
  readonly recorded: number;
}

/** Calls `step` eight times in one of the ways. */
async function trained(
  way: Way,
  step: (training: Training, k: number) => Promise<unknown>,
): Promise<Left> {
  using _scope = newDisposeScope({ root: true });
  manualSeed(3);
  using training = new Training(way);
  const seen: unknown[] = [];
  let before = memory.debug();
  for (let k = 0; k < 8; k++) {
    before = memory.debug();
    seen.push(await step(training, k));
  }
  const { planMisses, recorded } = memory.debug();
  seen.push(await training.weights(), memory.stats().liveBytes);
  memory.verify();
  return {
    seen,
    report: training.fast.report(),
    misses: planMisses - before.planMisses,
    recorded: recorded - before.recorded,
  };
}

/** The same in all ways. @returns what it left at once */
async function alike(step: (training: Training, k: number) => Promise<unknown>): Promise<Left> {
  const written = await trained("written", step);
  const piecemeal = await trained("piecemeal", step);
  const left = await trained("at once", step);
  assert.equal(piecemeal.seen, written.seen);
  assert.equal(left.seen, written.seen);
  assert.is(left.recorded, piecemeal.recorded);
  assert.is(piecemeal.report.atOnce, 0);
  assert.is(left.misses, 0);
  return left;
}

/** The only reason why repetitions were recorded op by op, besides the first. */
function reason({ report }: Left): string | undefined {
  const reasons = [...report.piecemeal.keys()];
  assert.is(reasons[0], "no repetition has shown yet how programs begin");
  return reasons[1];
}

const input = batch(1);
test.after(() => {
  input.dispose();
});

/** Reads a loss that is made in a scope of its own. */
function lossOf(make: () => Tensor): Promise<number> {
  const [read] = scoped(() => [make().item()] as const);
  return read;
}

test("a step with the same batch, and with a fresh one", async () => {
  const same = await alike(async (training) => lossOf(() => training.call(input)));
  assert.is(same.report.atOnce, 5);
  const fresh = await alike(async (training, k) => lossOf(() => training.call(batch(k))));
  assert.is(fresh.report.atOnce, 5);
  assert.is(reason(fresh), undefined);
});

test("ops before it and behind it in one program", async () => {
  const left = await alike(async (training, k) =>
    lossOf(() => training.call(batch(k).add(1)).mul(2).exp()),
  );
  assert.is(left.report.atOnce, 5);
});

test("two calls in one program: the second begins otherwise", async () => {
  const left = await alike(async (training, k) => {
    const both = scoped(() => {
      const first = training.call(batch(k));
      return [first.item(), training.call(batch(k + 1)).item()];
    });
    return await Promise.all(both);
  });
  assert.ok(left.report.replays > 10);
  assert.ok(left.report.piecemeal.size > 0);
});

test("a program that uses an argument before waits for no more bytes than there are", async () => {
  using other = batch(2);
  using fast = compile((x: Tensor) => rand([2, 4]).mul(x).exp());
  await sync();
  for (let k = 0; k < 8; k++)
    await lossOf(() => {
      (k % 2 === 0 ? input : other).exp();
      const out = fast(other);
      const { locals, pendingBytes } = runtime().recorder.program;
      const missing = locals.filter(({ buffer }) => buffer === null);
      assert.is(missing.length, 4);
      assert.is(
        pendingBytes,
        missing.reduce((sum, { bytes }) => sum + bytes, 0),
      );
      return out.sum();
    });
  const { atOnce, piecemeal } = fast.report();
  assert.ok(atOnce > 0);
  assert.ok(piecemeal.has("other things were recorded before it"));
});

test("programs that begin otherwise in every call", async () => {
  const left = await alike(async (training, k) =>
    lossOf(() => {
      for (let i = 0; i < k % 3; i++) input.exp();
      return training.call(k % 2 === 0 ? input : batch(k));
    }),
  );
  assert.ok(left.report.piecemeal.size > 1);
});

test("a read of what it updates gets what was there before", async () => {
  const left = await alike(async (training, k) => {
    const [weight] = training.model.parameters();
    const [before, loss] = scoped(
      () => [k > 5 ? weight?.toArray() : 0, training.call(input).item()] as const,
    );
    return [await before, await loss];
  });
  assert.is(left.report.atOnce, 3);
  assert.is(reason(left), "an optimizer does something else than before"); // it keeps a copy
});

test("an optimizer that does something else is followed", async () => {
  const left = await alike(async (training, k) => {
    const { optimizer } = training;
    if (k === 5) optimizer.loadStateDict({ ...optimizer.stateDict(), tensors: new Map() });
    return lossOf(() => training.call(input));
  });
  assert.is(left.report.replays, 6);
  assert.is(reason(left), "an optimizer does something else than before");
});

test("a rate, and a count of steps, that change", async () => {
  await alike(async (training, k) => {
    training.optimizer.lr = 0.1 / (k + 1);
    return lossOf(() => training.call(input));
  });
});

test("in a scheduler's step, with another task beside it", async () => {
  const others: number[][] = [];
  using scheduler = new Scheduler();
  const left = await alike(async (training, k) => {
    const seen: number[] = [];
    const other = async (): Promise<void> => {
      using x = batch(k);
      await Promise.resolve();
      using y = x.mul(3);
      using z = y.add(training.model.parameters()[0]!.sum());
      await Promise.resolve();
      using w = z.neg().exp();
      seen.push(...(await w.data()));
    };
    const [loss] = await Promise.all([
      scheduler.step(async () => {
        using x = batch(k);
        await Promise.resolve();
        const made = training.call(x);
        await Promise.resolve();
        return made;
      }),
      other(),
    ]);
    others.push(seen);
    using kept = loss;
    return await kept.item();
  });
  assert.ok(left.report.replays >= 5);
  assert.equal(others.slice(16), others.slice(0, 8));
  assert.equal(others.slice(8, 16), others.slice(0, 8));
});

test("programs under way keep their own, however many wait for the device", async () => {
  const left = await alike(async (training, k) => {
    const losses = Array.from({ length: 4 }, (_, i) => lossOf(() => training.call(batch(k + i))));
    return await Promise.all(losses);
  });
  assert.is(left.report.atOnce, 29);
});

test("steps in one job do not keep later ones from being recorded at once", async () => {
  using _scope = newDisposeScope({ root: true });
  using training = new Training("at once");
  const job = async (): Promise<void> => {
    for (let k = 0; k < 30; k++) training.call(input).dispose();
    await sync();
  };
  await job();
  const { atOnce } = training.fast.report();
  for (let k = 0; k < 70; k++) {
    training.call(input).dispose();
    await sync();
  }
  assert.ok(training.fast.report().atOnce > atOnce);
});

test("what another program waits for is not taken for its own", async () => {
  using _scope = newDisposeScope({ root: true });
  using training = new Training("at once");
  for (let k = 0; k < 4; k++) scoped(() => void training.call(input));
  const pending = input.mul(7);
  for (let k = 0; k < 3; k++) scoped(() => void training.call(input));
  assert.equal(await pending.toArray(), await input.mul(7).toArray());
  await sync();
  assert.is(training.fast.report().atOnce, 3);
  memory.verify();
});

test.run();

/**
 * Training under a budget, for real: the peak that was predicted is the peak that was measured, and
 * every result has the same bits as without a scheduler.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { memory } from "tenure";
import {
  BudgetError,
  Scheduler,
  type SchedulerOptions,
  type SchedulerReport,
} from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { pattern, setup } from "../../helpers.ts";
import { models } from "./models.ts";

const test = suite("budget");
test.before(async () => {
  await setup();
});

/** Bits of the losses, gradients and parameters after some steps, and the last report. */
interface Outcome {
  bits: string;
  report: SchedulerReport | null;
}

async function train(
  name: string,
  steps: number,
  options: SchedulerOptions | null,
): Promise<Outcome> {
  using t = models[name]!();
  using scheduler = options === null ? null : new Scheduler(options);
  const losses: number[] = [];
  for (let k = 0; k < steps; k++) {
    using loss = scheduler === null ? t.step() : await scheduler.step(() => t.step());
    losses.push(await loss.item());
    if (scheduler === null) continue;
    const { predictedPeakBytes, measuredPeakBytes, budgetBytes } = scheduler.report();
    assert.is(
      measuredPeakBytes,
      predictedPeakBytes,
      `${name}, step ${k}: measured peak is the predicted one`,
    );
    assert.ok(measuredPeakBytes <= budgetBytes, `${name}, step ${k}: within the budget`);
    if (budgetBytes !== Infinity)
      assert.ok(
        runtime().device!.pool.deviceBytes <= Math.max(budgetBytes, measuredPeakBytes),
        "free buffers don't break the budget either",
      );
  }
  const tensors: string[] = [];
  for (const p of t.model.parameters()) {
    tensors.push(asBits(await p.data()));
    using g = p.grad;
    if (g !== null) tensors.push(asBits(await g.data()));
  }
  return { bits: JSON.stringify([losses, tensors]), report: scheduler?.report() ?? null };
}

/** Values as text, in which each bit counts. */
function asBits({ buffer }: { readonly buffer: ArrayBufferLike }): string {
  return new Uint32Array(buffer).join(" ");
}

/** The least budget that every step works with. */
async function leastBudget(
  name: string,
  steps: number,
  options: SchedulerOptions = {},
): Promise<number> {
  for (let budgetBytes = 1, tries = 0; ; tries++) {
    try {
      await train(name, steps, { ...options, budgetBytes });
      return budgetBytes;
    } catch (error) {
      if (!(error instanceof BudgetError) || tries > 3) throw error;
      assert.ok(error.leastBytes > budgetBytes);
      budgetBytes = error.leastBytes;
    }
  }
}

for (const name of Object.keys(models)) {
  test(`${name}: predicted is measured, bits are the same, whatever is left out`, async () => {
    const steps = 3,
      plain = await train(name, steps, null),
      full = await train(name, steps, {});
    assert.is(full.bits, plain.bits, "on");
    const peak = full.report!.predictedPeakBytes,
      none = await train(name, steps, { placement: "none" });
    assert.is(none.bits, plain.bits, "without recycling");
    assert.ok(none.report!.predictedPeakBytes > peak, "recycling lowers the peak");
    assert.is(
      (await train(name, steps, { recompute: { thresholdBytes: 20_000 } })).bits,
      plain.bits,
      "memonger",
    );
    // its kernels took away what would be cheap to compute again
    const budgetBytes = Math.floor((name === "GPT" ? 0.92 : name === "CNN" ? 0.94 : 0.9) * peak);
    for (const options of [
      { budgetBytes, swap: "off" },
      { budgetBytes, recompute: "off", saveHostMemory: name === "CNN" },
    ] as const) {
      const { bits, report } = await train(name, steps, options);
      assert.is(bits, plain.bits, JSON.stringify(options));
      assert.ok(report!.recomputedOps + report!.swapOuts > 0, "something had to be done");
    }
  });
}

// A plan serves from its second run on, and moments count from the third: more steps repeat these.
for (const [name, steps, tried] of [
  ["MLP", 6, [0, 1, 3, 5]],
  ["GPT", 4, [0, 4]],
] as const) {
  test(`${name}: ${steps} steps with dropout are the same at every budget`, async () => {
    const plain = await train(name, steps, null),
      full = await train(name, 3, {}),
      least = await leastBudget(name, 3),
      peak = full.report!.predictedPeakBytes;
    assert.ok(least < 0.88 * peak, `${least} of ${peak}`);
    for (const k of tried) {
      const { bits } = await train(name, steps, {
        budgetBytes: Math.round(least + (k * (peak - least)) / 7),
      });
      assert.is(bits, plain.bits, `budget ${k} of 7`);
    }
  });
}

test("a budget too small is refused before anything runs, and nothing is lost", async () => {
  using t = models["MLP"]!();
  using small = new Scheduler({ budgetBytes: 100_000 });
  const before = await bitsOf(t.model.parameters());
  const { dispatches } = memory.debug();
  let error: unknown;
  try {
    await small.step(() => t.step());
  } catch (caught) {
    error = caught;
  }
  assert.instance(error, BudgetError);
  assert.match(
    (error as Error).message,
    pattern`^[\w+×]+: expected the step to fit into the budget of 100000 bytes, got one that
      needs at least \d+.*; pass budgetBytes of \d+ or more`,
  );
  assert.is(memory.debug().dispatches, dispatches, "nothing ran");
  assert.equal(await bitsOf(t.model.parameters()), before, "the parameters are what they were");
  using enough = new Scheduler({ budgetBytes: 2 * (error as BudgetError).leastBytes });
  using loss = await enough.step(() => t.step());
  assert.ok(Number.isFinite(await loss.item()), "the same model and optimizer go on");
});

test("a device with less memory than the budget gets lower ones, then a typed error", async () => {
  const full = await train("MLP", 2, {});
  const peak = full.report!.predictedPeakBytes,
    plain = await train("MLP", 3, null);
  await memory.trim();
  const { pool } = runtime().device!,
    elsewhere = pool.deviceBytes;
  // stands for the device's own limit
  memory.setBudget(elsewhere + Math.floor(0.93 * peak), "throw");
  try {
    const { bits, report } = await train("MLP", 3, { budgetBytes: 2 * peak });
    assert.is(bits, plain.bits);
    assert.ok(
      report!.outOfMemory >= 1 && report!.outOfMemory <= 4,
      `lowered ${report!.outOfMemory} times`,
    );
    assert.ok(report!.budgetBytes < 2 * peak);
    await memory.trim();
    memory.setBudget(elsewhere + Math.floor(0.2 * peak), "throw");
    let error: unknown;
    try {
      await train("MLP", 1, {});
    } catch (caught) {
      error = caught;
    }
    assert.match(String(error), /BudgetError|OutOfMemoryError/);
  } finally {
    memory.setBudget(Infinity, "report");
  }
});

async function bitsOf(
  tensors: Iterable<{ data(): Promise<{ buffer: ArrayBufferLike }> }>,
): Promise<string[]> {
  const bits: string[] = [];
  for (const t of tensors) bits.push(asBits(await t.data()));
  return bits;
}

test.run();

// node: --expose-gc
/**
 * The least budget that a refusal names: training runs within exactly that, its second step and all
 * later ones too, and not within a byte less.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { sync } from "tenure";
import { BudgetError, Scheduler, type SchedulerOptions } from "tenure/scheduler";
import { runtime } from "../../../src/runtime/runtime.ts";
import { setup } from "../ownership/harness.ts";
import { optimizers, policies, randomTraining } from "./training.ts";

const test = suite("least budget");
const patience = 2000;
test.before(setup);
test.after.each(() => {
  runtime().settings.planningMs = patience;
});

/** Trains for four steps. @returns the refusal, and the step that it was of */
async function train(
  seed: number,
  optimizer: string,
  options: SchedulerOptions,
): Promise<{ refused: BudgetError | null; step: number; text: string }> {
  using t = randomTraining(seed, optimizer);
  await sync();
  using scheduler = new Scheduler(options);
  const text = `${t.text}, ${JSON.stringify(options)}`;
  for (let step = 0; step < 4; step++)
    try {
      using loss = await scheduler.step(() => t.step());
      await loss.item();
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error;
      return { refused: error, step, text };
    }
  return { refused: null, step: 4, text };
}

async function leastOf(seed: number, name: string, policy: SchedulerOptions): Promise<number> {
  const { refused, text } = await train(seed, name, { ...policy, budgetBytes: 1 });
  assert.ok(refused !== null, text);
  return refused.leastBytes;
}

for (const name of Object.keys(optimizers))
  test(`${name}: what a refusal names is enough for all steps, and no byte less`, async () => {
    for (const [k, policy] of policies.entries()) {
      const seed = 11 + (k % 2);
      const budgetBytes = await leastOf(seed, name, policy);
      const enough = await train(seed, name, { ...policy, budgetBytes });
      assert.is(enough.refused, null, `step ${enough.step} is refused, ${enough.text}`);
      const less = { ...policy, budgetBytes: budgetBytes - 1 };
      const { refused, step, text } = await train(seed, name, less);
      assert.is(refused?.leastBytes, budgetBytes, text);
      assert.is(step, 0, `refused before anything ran, ${text}`);
    }
  });

test("it is found again when planning may take no time", async () => {
  for (const policy of policies) {
    const budgetBytes = await leastOf(21, "Adam", policy);
    runtime().settings.planningMs = -1;
    const hurried = await train(21, "Adam", { ...policy, budgetBytes });
    assert.is(hurried.refused, null, `step ${hurried.step} is refused, ${hurried.text}`);
    // One that is hopeless is refused at once, with what plans made in haste need.
    const enough = await leastOf(21, "Adam", policy);
    assert.ok(enough >= budgetBytes, hurried.text);
    const again = await train(21, "Adam", { ...policy, budgetBytes: enough });
    assert.is(again.refused, null, `step ${again.step} is refused, ${again.text}`);
    runtime().settings.planningMs = patience;
  }
});

test("the message says that it is the second step which needs most", async () => {
  const { refused } = await train(1, "Adam", { swap: "off", budgetBytes: 300_000 });
  assert.match(String(refused?.message), /at least \d+ from the second step on, with what/);
});

test.run();

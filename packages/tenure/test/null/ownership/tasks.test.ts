// node: --expose-gc
/**
 * Ten thousand interleaved tasks in Node, with and without the host's async context. The same tasks
 * run in Chromium, in test/gpu/ownership.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { memory } from "tenure";
import { runtime } from "../../../src/runtime/runtime.ts";
import { setup, takeWarnings } from "./harness.ts";
import { runTasks } from "./tasks.ts";

const test = suite("interleaved tasks");
test.before(async () => {
  await setup();
  runtime().settings.verifyPlans = false;
}); // the programs here are thousands of ops long, and not the subject

for (const [name, asyncContext] of [
  ["through scopedAsync, run, wait and go", true],
  ["through wait, go and synchronous segments only", false],
] as const) {
  test(`10,000 tasks ${name}: not one tensor mis-owned`, async () => {
    memory.track("off");
    const result = await runTasks(10_000, asyncContext);
    memory.track("sampled");
    assert.equal(result.bad, []);
    assert.is(result.live, 0);
    assert.ok(
      result.tasks >= 10_000 && result.checks > 100_000 && result.rejected > 500,
      JSON.stringify(result),
    );
    assert.equal(takeWarnings(), []);
    memory.verify();
  });
}

test.run();

/**
 * How many pipelines the first training steps of two models make: they are most of what the first
 * step takes, so their number may fall and not rise.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { init, shutdown } from "tenure";
import { firstSteps, pipelinesOf } from "../../../bench/first-step.ts";

const test = suite("first step");

/** On the null device, whose kernels are those of a GPU. */
const most = { MLP: 15, LeNet: 26 } as const;

for (const name of ["MLP", "LeNet"] as const)
  test(`${name}: no more pipelines than there were`, async () => {
    await shutdown();
    await init({ device: "null" });
    const made = await pipelinesOf(firstSteps[name]);
    assert.ok(made > 5 && made <= most[name], `${made} pipelines`);
    await shutdown();
  });

test.run();

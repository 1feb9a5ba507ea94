/**
 * Random functions, compiled and not, with random things between their calls: values, gradients,
 * states, what is updated in place, random draws, errors and live bytes are the same.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { setup } from "../../helpers.ts";
import { happen, scenarios } from "./random-functions.ts";

const test = suite("random compiled functions");
test.before(async () => {
  await setup();
});

test("whatever happens, compiling changes nothing", async () => {
  let replays = 0;
  let atOnce = 0;
  const runs = 25;
  await fc.assert(
    fc.asyncProperty(scenarios, fc.nat(100), async (scenario, seed) => {
      const plain = await happen(scenario, seed, false);
      const fast = await happen(scenario, seed, true);
      assert.equal(fast.seen, plain.seen);
      replays += fast.replays;
      atOnce += fast.atOnce;
    }),
    { numRuns: runs, seed: 1 },
  );
  assert.ok(replays > 2 * runs, `only ${replays} calls were repeated`);
  assert.ok(atOnce > runs / 2, `only ${atOnce} calls were repeated at once`);
});

test.run();

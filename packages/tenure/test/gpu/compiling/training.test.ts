/**
 * Compiled training steps: losses, parameters, gradients, random streams and books are to the bit
 * and the byte those of the same steps as they are written.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { setup } from "../../helpers.ts";
import { cases, train } from "./models.ts";

const test = suite("compiled training");
test.before(async () => {
  await setup();
});

for (const [name, each] of Object.entries(cases))
  test(name, async () => {
    const plain = await train(each, 5, false);
    const fast = await train(each, 5, true);
    assert.is(fast.replays, 3, [...fast.reasons.keys()].join("; "));
    assert.equal(fast.losses, plain.losses);
    assert.equal(fast.values, plain.values);
    assert.equal(fast.liveBytes, plain.liveBytes);
    assert.equal(fast.tensors, plain.tensors);
    assert.ok(plain.losses[0] !== plain.losses[4]);
  });

test.run();

/**
 * Bad shapes, dtypes and arguments: a typed error that names the op, what it expected, what it got
 * and what to do, thrown at once, with nothing left behind.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { memory, newDisposeScope } from "tenure";
import { setup } from "../../helpers.ts";

await setup();
// Loaded now: what is refused depends on the device.
const { tensorMisuses } = await import("./errors/tensors.ts");
const { layerMisuses } = await import("./errors/layers.ts");
const { creationMisuses } = await import("./errors/creation.ts");
const test = suite("op errors");

for (const [label, fn, type, pattern] of [...tensorMisuses, ...layerMisuses, ...creationMisuses]) {
  test(label, async () => {
    const before = memory.stats();
    let thrown: unknown;
    {
      using scope = newDisposeScope();
      try {
        const result = fn();
        if (result instanceof Promise)
          thrown = await scope.wait(
            result.then(
              () => undefined,
              (error: unknown) => error,
            ),
          );
      } catch (error) {
        thrown = error;
      }
    }
    if (!(thrown instanceof type))
      throw new Error(
        `expected a ${type.name}, got ${thrown instanceof Error ? String(thrown) : "no error"}`,
      );
    assert.match(thrown.message, pattern);
    assert.is(thrown.name, type.name);
    const after = memory.stats();
    assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount, "live handles");
    assert.is(after.storages, before.storages, "storages");
    assert.is(after.liveBytes, before.liveBytes, "bytes");
  });
}

test.run();

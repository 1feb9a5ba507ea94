/**
 * detectAnomaly names the op that made the first NaN or infinity, forward and backward, and leaves
 * nothing behind.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { NumericError, detectAnomaly, newDisposeScope, tensor } from "tenure";
import { pattern, rejects, setup } from "../helpers.ts";

const test = suite("anomalies");
test.before(async () => {
  await setup();
});

test("the first op with NaN or infinity is named, with its line", async () => {
  const bad = (): Promise<unknown> =>
    detectAnomaly(() => {
      using _scope = newDisposeScope();
      const x = tensor([1, -1, 0]);
      return x.log().exp().sum().item();
    });
  await rejects(
    bad,
    NumericError,
    pattern`^log: expected a finite result, got NaN or infinity in float32 \[3\], called at
      .*anomaly\.test\.ts:\d+`,
  );
});

test("backward is watched too", async () => {
  await rejects(
    () =>
      detectAnomaly(() => {
        using _scope = newDisposeScope();
        tensor([0, 4], { requiresGrad: true }).sqrt().sum().backward();
      }),
    NumericError,
    /^div: expected a finite result/,
  );
});

test("finite programs pass, and their results come through", async () => {
  const value = await detectAnomaly(async () => {
    let read: Promise<number>;
    {
      using _scope = newDisposeScope();
      read = tensor([3, 4]).square().sum().sqrt().item();
    }
    return await read;
  });
  assert.is(value, 5);
});

test.run();

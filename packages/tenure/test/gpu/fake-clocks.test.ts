/**
 * Under the fake clocks of test runners, which replace timers, microtasks and `performance` by ones
 * that stand still, a program runs as ever: a device is found, what was computed is read, scopes
 * and counts are right. The clock is made by hand here: nothing that is given to it ever runs.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { init, memory, newDisposeScope, scopedAsync, shutdown, sync, tensor } from "tenure";

const test = suite("fake clocks");

const replaced = [
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "performance",
] as const;

/** Runs `fn` while no timer fires and no time passes. */
async function whileTimeStands(fn: () => Promise<void>): Promise<void> {
  const before = replaced.flatMap((name) => {
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    return property === undefined ? [] : [[name, property] as const]; // pages lack one of them
  });
  const never = (): object => ({ unref: () => undefined });
  const still = { now: () => 0, mark: () => undefined, measure: () => undefined };
  for (const [name] of before)
    Object.defineProperty(globalThis, name, {
      value: name === "performance" ? still : never,
      configurable: true,
      writable: true,
    });
  try {
    await fn();
  } finally {
    for (const [name, property] of before) Object.defineProperty(globalThis, name, property);
  }
}

test("a device is found, products are read, and all ends", async () => {
  await shutdown();
  await whileTimeStands(async () => {
    await init();
    const live = memory.stats().threadTotalLiveCount;
    for (let i = 0; i < 3; i++) {
      using scope = newDisposeScope();
      const a = tensor([
        [1, 2],
        [3, i],
      ]);
      const product = a.matmul(a).relu();
      assert.equal([...(await scope.wait(product.data()))].at(-1), 6 + i * i);
    }
    assert.is(await scopedAsync(async () => tensor([1, 2, 3]).sum().item()), 6);
    await sync();
    assert.is(memory.stats().threadTotalLiveCount, live);
    await shutdown();
  });
  await init();
});

test("handles of one job are watched from the next on, whatever the clock", async () => {
  await whileTimeStands(async () => {
    using x = tensor([1, 2]);
    await Promise.resolve();
    await Promise.resolve();
    assert.is(x.size, 2);
    memory.verify();
  });
});

test.run();

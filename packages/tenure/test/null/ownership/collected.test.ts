// node: --expose-gc
/**
 * The fallback: what nobody disposed is reclaimed, counted, and grouped by the line that dropped
 * it; scopes do not switch it off.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, memory, newDisposeScope, scoped, zeros } from "tenure";
import { Linear } from "tenure/nn";
import { collect, setup, sleep } from "./harness.ts";

const test = suite("garbage-collected fallback");
test.before(setup);
test.before.each(() => {
  memory.track("full");
});
test.after.each(() => {
  memory.track("sampled");
  memory.verify();
  memory.stats().reset();
});

test("dropped tensors are reclaimed with their bytes, and the line is named", async () => {
  const before = memory.stats();
  (() => {
    for (let i = 0; i < 5; i++) zeros([100]);
  })();
  assert.is(memory.stats().storages, before.storages + 5);
  await collect();
  const after = memory.stats();
  assert.equal(
    [
      after.storages,
      after.liveBytes,
      after.threadTotalLiveCount,
      after.finalized - before.finalized,
    ],
    [before.storages, before.liveBytes, before.threadTotalLiveCount, 5],
  );
  const [row] = memory.reclaimed();
  assert.match(row!.site, /collected\.test\.ts:\d+:\d+$/);
  assert.equal(
    [row!.count, row!.bytes, row!.how, row!.example],
    [5, 2000, "dropped without dispose", "tensor float32 [100]"],
  );
});

test("operands and results on a captured stack are not kept alive by it", async () => {
  using a = zeros([1]);
  (() => {
    let t = a.alias();
    for (let i = 0; i < 3; i++) t = t.add(1);
  })();
  await collect();
  assert.is(memory.stats().finalized, 4);
  assert.is(a.isDisposed, false);
});

test("a detached tensor that is dropped is reported with the place of its detach", async () => {
  (() => {
    using s = newDisposeScope();
    s.detach(zeros([1]));
    zeros([1]).detachFromScope();
    scoped(() => zeros([1]));
  })();
  await collect();
  const rows = memory.reclaimed();
  const detached = rows.filter((r) => r.how === "detached, never disposed");
  assert.is(
    detached.reduce((n, r) => n + r.count, 0),
    2,
  ); // the third was moved into `s`, which freed it
  for (const r of detached) assert.match(r.left!, /collected\.test\.ts/);
});

test("a tensor nobody can reach is reclaimed inside an open scope, and leaves it", async () => {
  const s = newDisposeScope({ root: true });
  const kept = zeros([1]);
  (() => {
    zeros([1]);
  })();
  await collect();
  assert.equal([s.count, s.report().finalized, kept.isDisposed], [1, 1, false]);
  assert.is(memory.reclaimed()[0]!.how, "dropped before its scope ended");
  s.dispose();
});

test("a forgotten scope pins nothing", async () => {
  (() => {
    const s = newDisposeScope("forgotten").move();
    s.attach(zeros([1]));
  })();
  await collect();
  await collect();
  assert.is(memory.stats().finalized, 1);
});

test("a module dropped without dispose: its weights are reclaimed and say whose", async () => {
  (() => {
    new Linear(2, 2);
  })();
  await collect();
  await collect();
  assert.is(memory.stats().finalized, 2);
  assert.match(memory.reclaimed()[0]!.how, /kept by Linear, which was never disposed/);
});

test("what dies in its first job never meets the FinalizationRegistry, but is listed", async () => {
  const { FinalizationRegistry: Registry } = globalThis;
  const registered: unknown[] = [],
    register = Registry.prototype.register;
  Registry.prototype.register = function (
    this: FinalizationRegistry<unknown>,
    ...args: Parameters<typeof register>
  ) {
    registered.push(args[0]);
    register.apply(this, args);
  };
  let survivor!: Tensor;
  try {
    {
      using s = newDisposeScope();
      for (let i = 0; i < 10_000; i++) zeros([1]).dispose();
      const young = [zeros([1]), zeros([1])];
      assert.equal(s.tensors(), young);
    }
    survivor = zeros([1]);
    await sleep(1);
    assert.equal(registered.filter((r) => r === survivor).length, 1);
    assert.is(registered.length, 1);
  } finally {
    Registry.prototype.register = register;
  }
  survivor.dispose();
});

test.run();

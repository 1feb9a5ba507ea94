/**
 * Reads and ownership on a real queue: what is disposed under a read arrives all the same, whoever
 * reuses the bytes meanwhile.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { memory, newDisposeScope, scopedAsync, sync, tensor } from "tenure";
import { setup } from "../../helpers.ts";

const test = suite("reads of disposed tensors");
test.before(async () => {
  await setup();
});

test("the values arrive although the tensor, its scope and its buffer are gone", async () => {
  const before = memory.stats();
  const reads: Promise<unknown>[] = [];
  for (let i = 0; i < 50; i++) {
    using _ = newDisposeScope();
    reads.push(tensor([i, 1, 2]).mul(2).toArray());
  }
  assert.equal(
    await Promise.all(reads),
    Array.from({ length: 50 }, (_, i) => [2 * i, 2, 4]),
  );
  const after = memory.stats();
  assert.equal(
    [after.storages, after.liveBytes, after.threadTotalLiveCount],
    [before.storages, before.liveBytes, before.threadTotalLiveCount],
  );
});

test("a dispose between the read and its arrival, with the buffer handed on at once", async () => {
  const t = tensor([1, 2, 3]);
  const first = t.toArray();
  await Promise.resolve();
  t.dispose();
  using u = tensor([7, 8, 9]);
  assert.equal(
    [await first, await u.toArray()],
    [
      [1, 2, 3],
      [7, 8, 9],
    ],
  );
});

test("await using ends after the reads under way have arrived", async () => {
  let arrived: unknown;
  {
    await using s = newDisposeScope();
    const big = tensor(new Float32Array(100_000).fill(1));
    void big
      .sum()
      .item()
      .then((v) => {
        arrived = v;
      });
    assert.is(s.count, 2);
  }
  assert.is(arrived, 100_000);
});

test("concurrent scopes across real reads", async () => {
  const task = (n: number): Promise<number> =>
    scopedAsync(async (s) => {
      let acc = tensor([n]);
      for (let i = 0; i < 5; i++) {
        acc = acc.add(1);
        assert.ok(s.contains(acc));
        await acc.item();
      }
      return acc.item();
    });
  assert.equal(
    await Promise.all(Array.from({ length: 20 }, (_, n) => task(n))),
    Array.from({ length: 20 }, (_, n) => n + 5),
  );
  await sync();
  memory.verify();
});

test.run();

// node: --expose-gc
/** The budget of device memory, and what is left when a program does not fit into it. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, OutOfMemoryError, type Tensor, memory, ones } from "tenure";
import { runtime } from "../../../src/runtime/runtime.ts";
import { pattern } from "../../helpers.ts";
import { rejectionOf, setup, takeWarnings } from "./harness.ts";

const test = suite("budget");
test.before(setup);
test.before.each(() => {
  memory.track("full");
});
test.after.each(() => {
  memory.track("sampled");
  assert.equal(takeWarnings(), []);
  memory.verify();
});

test("setBudget: report says it once, trim frees the pool first, throw refuses", async () => {
  await memory.trim();
  const { pool } = runtime().device!;
  const used = pool.deviceBytes,
    made: Tensor[] = [];
  const fill = async (bytes: number): Promise<Tensor> => {
    const t = ones([bytes / 4]);
    made.push(t);
    await t.data();
    return t;
  };
  try {
    memory.setBudget(used + 1_000_000, "report");
    const a = await fill(600_000);
    assert.equal(takeWarnings(), []);
    const b = await fill(600_000);
    await fill(600_000);
    const told = takeWarnings().filter((w) => w.includes("budget"));
    assert.is(told.length, 1);
    assert.match(
      told[0]!,
      pattern`expected tensors to fit into the budget of \d+ bytes, got \d+ in use and \d+
        more\n\d+ storages own \d+ bytes; .*\n {2}\d+ × tensor float32 \[150000\], \d+
        bytes, made at .*budget\.test\.ts`,
    );
    a.dispose();
    b.dispose();

    memory.setBudget(pool.deviceBytes, "trim");
    const c = await fill(300_000); // fits only when free buffers go
    assert.equal(
      takeWarnings().filter((w) => w.includes("budget")),
      [],
    );
    assert.is(pool.freeBytes, 0);
    assert.is(c.isDisposed, false);

    memory.setBudget(pool.deviceBytes + 1000, "throw");
    const before = memory.stats();
    const error = await rejectionOf(fill(5_000_000));
    assert.instance(error, OutOfMemoryError);
    assert.match(error.message, /setBudget: expected tensors to fit/);
    assert.match(String(error["report"]), /storages own.*\n.*made at .*budget\.test\.ts/);
    assert.is(memory.stats().deviceBytes, before.deviceBytes);
    assert.match(memory.timelineHTML(), /\["outOfMemory",/);
    runtime().device!.takeErrors();
    runtime().device!.errorLog.length = 0;
  } finally {
    memory.setBudget(Infinity, "report");
    for (const t of made) t.dispose();
  }
  for (const [bytes, on] of [
    [0, "throw"],
    [-1, "throw"],
    [NaN, "trim"],
    [1, "shout"],
  ] as const)
    assert.throws(
      () => {
        memory.setBudget(bytes, on as "throw");
      },
      (e: Error) => e instanceof ArgumentError,
    );
  takeWarnings();
});

test("a read that fails lets go of its storage", async () => {
  await memory.trim();
  const before = memory.stats().storages;
  try {
    memory.setBudget(runtime().device!.pool.deviceBytes + 1000, "throw");
    using t = ones([1_000_000]);
    await rejectionOf(t.data()); // tensors, unlike scopes, may be held across await
  } finally {
    memory.setBudget(Infinity, "report");
  }
  runtime().device!.takeErrors();
  runtime().device!.errorLog.length = 0;
  assert.is(memory.stats().storages, before);
  takeWarnings();
});

test.run();

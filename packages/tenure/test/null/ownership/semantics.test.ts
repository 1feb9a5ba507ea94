// node: --expose-gc
/**
 * The table of ownership semantics, row by row: what TorchSharp does and is kept, and its holes
 * that are closed.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DisposeScope,
  DisposedError,
  NewDisposeScope,
  ScopeDisposedError,
  type Tensor,
  currentDisposeScope,
  memory,
  newDisposeScope,
  ones,
  scoped,
  zeros,
} from "tenure";
import { pattern } from "../../helpers.ts";
import { counted, setup, takeWarnings, thrownBy } from "./harness.ts";

const test = suite("ownership semantics");
test.before(setup);
test.after.each(() => {
  assert.is(currentDisposeScope(), null);
  assert.equal(takeWarnings(), []);
  memory.verify();
});

// createdOut, disposedOut, createdIn, disposedIn, attached, detached, live
test("what is made belongs to the current scope, and to nobody without one", () => {
  assert.equal(
    counted(() => {
      zeros([1]).dispose();
    }),
    [1, 1, 0, 0, 0, 0, 0],
  );
  assert.equal(
    counted(() => {
      using _ = newDisposeScope();
      zeros([1]);
      zeros([1]);
    }),
    [0, 0, 2, 2, 0, 0, 0],
  );
});

test("results, aliases and in-place results are fresh handles in the current scope", () => {
  using outer = newDisposeScope("outer");
  const x = zeros([2]);
  {
    using inner = newDisposeScope("inner");
    for (const t of [x.add(1), x.alias(), x.add_(1), x.reshape(2, 1)]) {
      assert.not(t === x);
      assert.ok(inner.contains(t));
      assert.not(outer.contains(t));
    }
    assert.is(inner.count, 4);
  }
  assert.is(x.isDisposed, false);
  assert.is(outer.count, 1);
});

test("a dead scope refuses everything but contains and dispose", () => {
  const s = newDisposeScope({ name: "gone" });
  s.dispose();
  const t = zeros([1]);
  for (const attempt of [
    () => s.attach(t),
    () => s.detach(t),
    () => s.moveToOuter(t),
    () => s.moveTo(null, t),
    () => {
      s.disposeEverything();
    },
    () => s.disposeEverythingBut(t),
    () => s.carry(t, t),
    () => s.use(t),
    () => s.adopt(1, () => undefined),
    () => {
      s.defer(() => undefined);
    },
    () => s.move(),
    () => s.tensors(),
    () => s.run(() => 1),
    () => s.wait(Promise.resolve()),
    () => t.moveTo(s),
  ]) {
    const error = thrownBy(attempt);
    assert.instance(error, ScopeDisposedError);
    assert.is(error["scope"], '"gone"');
  }
  using open = newDisposeScope();
  assert.throws(
    () => open.moveTo(s, t),
    (e: Error) => e instanceof ScopeDisposedError,
  );
  assert.is(s.contains(t), false);
  s.dispose();
  assert.is(s.disposed, true);
  t.dispose();
});

test("disposeEverything keeps the scope open, disposeEverythingBut its members for now", () => {
  using other = newDisposeScope("other");
  const foreign = zeros([1]);
  {
    using s = newDisposeScope("s");
    const [a, b, c] = [zeros([1]), zeros([1]), zeros([1])];
    const kept = s.disposeEverythingBut(a, c);
    assert.equal(kept, [a, c]);
    assert.equal(
      [a, b, c].map((t) => t.isDisposed),
      [false, true, false],
    );
    assert.equal(s.tensors(), [a, c]);
    assert.is(s.disposeEverythingBut(foreign), foreign);
    assert.match(takeWarnings()[0]!, /is not owned by scope "s"/);
    assert.is(a.isDisposed, true);
    assert.is(foreign.isDisposed, false);
    const d = zeros([1]);
    s.disposeEverythingBut(d);
    assert.is(d.isDisposed, false);
    s.disposeEverything();
    assert.is(d.isDisposed, true);
    assert.is(s.disposed, false);
  }
  assert.ok(other.contains(foreign)); // TorchSharp killed it
});

test("a disposer may dispose or add neighbours while the scope is swept", () => {
  const order: string[] = [];
  using s = newDisposeScope();
  const a = zeros([1], { name: "a" }),
    kept = zeros([1]);
  s.defer(() => {
    a.dispose();
    kept.alias();
    s.defer(() => {
      order.push("late");
    });
    order.push("first");
  });
  const b = zeros([1]);
  s.disposeEverythingBut(kept);
  assert.equal(order, ["first", "late"]);
  assert.equal([a.isDisposed, b.isDisposed, kept.isDisposed], [true, true, false]);
  assert.equal(s.tensors().length, 1);
});

test("a scope knows what it lists by its type, and by its class", () => {
  using s: DisposeScope = newDisposeScope();
  zeros([2, 3]);
  const something: unknown = s;
  assert.instance(something, DisposeScope);
  // compiles only while instanceof narrows to scopes of tensors
  const sizes = something instanceof DisposeScope ? something.tensors().map((t) => t.size) : [];
  assert.equal(sizes, [6]);
});

test("scopes disposed out of order: the inner one stays current, finds the next outer", () => {
  const outer = newDisposeScope("outer"),
    middle = newDisposeScope("middle"),
    inner = newDisposeScope("inner");
  const t = zeros([1]);
  middle.dispose();
  const [warning] = takeWarnings();
  assert.match(
    warning!,
    pattern`scope "middle" .*semantics\.test\.ts:\d+:\d+\) was disposed before scope "inner"
      .*semantics\.test\.ts`,
  );
  assert.is(currentDisposeScope(), inner);
  assert.is(inner.outer, outer);
  inner.moveToOuter(t);
  assert.ok(outer.contains(t));
  inner.dispose();
  assert.is(currentDisposeScope(), outer);
  outer.dispose();
  assert.is(t.isDisposed, true);
});

test("disposing twice does nothing and counts nothing, unless the scope is strict", () => {
  assert.equal(
    counted(() => {
      const t = zeros([1]);
      t.dispose();
      t.dispose();
      t[Symbol.dispose]();
    }),
    [1, 1, 0, 0, 0, 0, 0],
  );
  const strict = newDisposeScope({ name: "strict", strict: true });
  const t = zeros([1]);
  strict.dispose();
  assert.throws(
    () => {
      strict.dispose();
    },
    (e: Error) => e instanceof ScopeDisposedError && e.message.includes("ended already"),
  );
  assert.throws(
    () => {
      t.dispose();
    },
    (e: Error) => e instanceof DisposedError,
  );
});

test("use after dispose says what it was, where it was made and who ended it", () => {
  const t = zeros([2, 3], { name: "w" });
  t.dispose();
  const byHand = thrownBy(() => t.add(1));
  assert.instance(byHand, DisposedError);
  assert.match(
    byHand.message,
    pattern`^add: expected a live tensor, got tensor "w" float32 \[2,3\], which was disposed at
      .*semantics\.test\.ts:\d+:\d+ \(made at .*semantics\.test\.ts:\d+:\d+\); dispose it
      after its last use`,
  );
  assert.is(byHand["tensor"], 'tensor "w" float32 [2,3]');
  assert.equal(
    [t.isDisposed, t.shape, t.dtype, t.size, t.name, String(t)],
    [true, [2, 3], "float32", 6, "w", 'tensor "w" float32 [2,3] (disposed)'],
  );
  let escaped!: Tensor;
  {
    using _ = newDisposeScope("step");
    escaped = ones([1]);
  }
  const byScope = thrownBy(() => escaped.mul(2));
  assert.match(
    byScope.message,
    pattern`was disposed when scope "step" \(opened at .*semantics\.test\.ts:\d+:\d+\) ended
      .*moveToOuter\(t\)`,
  );
  assert.match(String(byScope["scope"]), /"step"/);
  const sites = byScope["sites"] as { created: string; disposed: string };
  assert.match(sites.created, /semantics\.test\.ts/);
  assert.match(sites.disposed, /semantics\.test\.ts/);
});

test("an alias outlives its source, whose bytes go with the last alias", () => {
  const before = memory.stats();
  const a = ones([256]),
    b = a.alias(),
    c = b.alias();
  assert.is(memory.stats().liveBytes - before.liveBytes, 1024);
  a.dispose();
  b.dispose();
  assert.is(memory.stats().storages - before.storages, 1);
  assert.is(c.isDisposed, false);
  c.dispose();
  assert.is(memory.stats().storages, before.storages);
});

test("when the body throws, the scope frees all but what had left", () => {
  let moved!: Tensor, detached!: Tensor, lost!: Tensor;
  using outer = newDisposeScope();
  assert.throws(() => {
    using s = newDisposeScope();
    moved = s.moveToOuter(zeros([1]));
    detached = s.detach(zeros([1]));
    lost = zeros([1]);
    throw new Error("body");
  }, /^body$/);
  assert.equal([moved.isDisposed, detached.isDisposed, lost.isDisposed], [false, false, true]);
  assert.ok(outer.contains(moved));
  detached.dispose();
  let result!: Tensor;
  assert.throws(
    () =>
      scoped(() => {
        result = zeros([1]);
        throw new Error("body");
      }),
    /^body$/,
  );
  assert.is(result.isDisposed, true);
});

test("names, order, options", () => {
  assert.is(NewDisposeScope, newDisposeScope);
  using s = newDisposeScope("named");
  assert.is(s.name, "named");
  assert.is(currentDisposeScope(), s);
  const order = ["a", "b", "c"].map((name) => zeros([1], { name }));
  assert.equal(
    s.tensors().map((t) => t.name),
    ["a", "b", "c"],
  );
  assert.is(s.bytes, 12);
  assert.equal(
    order.map((t) => s.contains(t)),
    [true, true, true],
  );
  using inner = newDisposeScope();
  assert.is(inner.outer, s);
  assert.ok(inner.id > s.id);
});

test("a report adds up", () => {
  using outer = newDisposeScope();
  const s = newDisposeScope("report");
  const foreign = zeros([4]).detachFromScope();
  s.attach(foreign);
  zeros([8]).dispose();
  s.moveToOuter(zeros([1]));
  s.detach(zeros([1])).dispose();
  const r = s.report();
  assert.equal(
    [
      r.created,
      r.attached,
      r.disposed,
      r.moved,
      r.detached,
      r.finalized,
      r.live,
      r.bytes,
      r.peakBytes,
    ],
    [4, 1, 1, 1, 2, 0, 1, 16, 48],
  );
  assert.match(
    String(r),
    pattern`^scope "report" \(opened at .*\): 4 created, 1 attached, 1 disposed, 1 moved, 2
      detached, 0 reclaimed, 1 live \(16 bytes, peak 48\)$`,
  );
  s.dispose();
  assert.is(s.report().disposed, 2);
  assert.is(outer.count, 1);
});

test("reset keeps the live count true, and the books balanced", () => {
  const t = zeros([1]);
  memory.stats().reset();
  assert.is(memory.stats().tensor.threadTotalLiveCount, 1);
  assert.is(memory.stats().createdInScopeCount, 0);
  t.dispose();
  assert.is(memory.stats().tensor.threadTotalLiveCount, 0);
  memory.verify();
  assert.match(String(memory.stats()), /^0 live, 0 created, 1 disposed/);
});

test.run();

// node: --expose-gc
/**
 * How tensors change owners: attach, detach, moveTo, moveToOuter, carry, and the way out of
 * `scoped`.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DisposedError,
  TenureError,
  type Tensor,
  currentDisposeScope,
  memory,
  newDisposeScope,
  scoped,
  tensors,
  zeros,
} from "tenure";
import { counted, setup, takeWarnings, thrownBy } from "./harness.ts";

const test = suite("moves between owners");
test.before(setup);
test.after.each(() => {
  assert.is(currentDisposeScope(), null);
  assert.equal(takeWarnings(), []);
  memory.verify();
});

test("a tensor is in one scope at most", () => {
  using a = newDisposeScope("a");
  const t = zeros([1]);
  using b = newDisposeScope("b");
  b.attach(t);
  assert.is(a.contains(t), false);
  assert.is(b.contains(t), true);
  assert.is(a.count + b.count, 1);
});

test("attach: the same scope is a no-op, another one a move, none an adoption", () => {
  assert.equal(
    counted(() => {
      using s = newDisposeScope();
      s.attach(zeros([1]));
    }),
    [0, 0, 1, 1, 0, 0, 0],
  );
  const moved = memory.stats().moved;
  assert.equal(
    counted(() => {
      using a = newDisposeScope();
      const t = zeros([1]);
      using b = newDisposeScope();
      b.attach(t);
      assert.is(a.count, 0);
    }),
    [0, 0, 1, 1, 1, 0, 0],
  );
  assert.is(memory.stats().moved, moved + 1);
  assert.equal(
    counted(() => {
      const t = zeros([1]);
      using s = newDisposeScope();
      s.attach(t);
    }),
    [1, 0, 0, 1, 1, 0, 0],
  );
});

test("attaching or moving a disposed tensor throws, and moves nothing else", () => {
  using s = newDisposeScope("s");
  const good = zeros([1]),
    dead = zeros([2, 3], { name: "w" });
  dead.dispose();
  using other = newDisposeScope("other");
  for (const attempt of [
    () => other.attach(good, dead),
    () => s.moveToOuter(good, dead),
    () => s.moveTo(other, good, dead),
    () => s.detach(good, dead),
    () => dead.moveTo(other),
    () => dead.moveToOuter(),
    () => dead.detachFromScope(),
    () => good.moveTo(dead),
  ]) {
    const error = thrownBy(attempt);
    assert.instance(error, DisposedError);
    assert.match(error.message, 'tensor "w" float32 [2,3]');
    assert.ok(s.contains(good));
  }
});

test("moveToOuter: into the enclosing scope, without one to nobody", () => {
  assert.equal(
    counted(() => {
      using outer = newDisposeScope();
      {
        using inner = newDisposeScope();
        const t = inner.moveToOuter(zeros([1]));
        assert.ok(outer.contains(t));
      }
      assert.is(outer.count, 1);
    }),
    [0, 0, 1, 1, 0, 0, 0],
  );
  assert.equal(
    counted(() => {
      let t: Tensor;
      {
        using s = newDisposeScope();
        t = s.moveToOuter(zeros([1]));
      }
      t.dispose();
    }),
    [0, 1, 1, 0, 0, 1, 0],
  );
});

test("scope.moveToOuter leaves what it does not own, and refuses what would die inside", () => {
  using outer = newDisposeScope("outer");
  const mine = zeros([1]);
  using middle = newDisposeScope("middle");
  assert.is(middle.moveToOuter(mine), mine);
  assert.ok(outer.contains(mine));
  {
    using inner = newDisposeScope("inner");
    const deep = zeros([1]);
    const error = thrownBy(() => middle.moveToOuter(deep));
    assert.instance(error, TenureError);
    assert.match(error.message, /nested inside it.*call moveToOuter on the inner scope/);
    assert.ok(inner.contains(deep));
  }
});

test("several things come back as a tuple, one as itself", () => {
  using s = newDisposeScope();
  const [a, b] = [zeros([1]), zeros([2])];
  assert.is(s.attach(a), a);
  assert.equal(s.attach(a, b), [a, b]);
  const [c, d] = s.detach(a, b);
  assert.is(c, a);
  assert.is(d, b);
  assert.is(s.attach(), undefined);
  s.attach(a, b);
});

test("t.moveToOuter climbs one level per call, and says when its owner is not current", () => {
  using a = newDisposeScope("a");
  using b = newDisposeScope("b");
  using c = newDisposeScope("c");
  const t = zeros([1]);
  t.moveToOuter();
  assert.ok(b.contains(t));
  assert.equal(takeWarnings(), []);
  t.moveToOuter();
  assert.ok(a.contains(t));
  assert.match(takeWarnings()[0]!, /moves out of scope "b".*not the current scope/);
  t.moveToOuter();
  takeWarnings();
  assert.is(a.count + b.count + c.count, 0);
  t.moveToOuter(); // unowned: nothing
  t.dispose();
});

test("t.moveTo another tensor: beside it, wherever that is", () => {
  using a = newDisposeScope();
  const inA = zeros([1]);
  using b = newDisposeScope();
  const t = zeros([1]);
  t.moveTo(inA);
  assert.ok(a.contains(t));
  t.moveTo(b);
  assert.ok(b.contains(t));
  const free = zeros([1]).detachFromScope();
  t.moveTo(free);
  assert.is(a.contains(t) || b.contains(t), false);
  free.dispose();
  t.dispose();
});

test("detach, and attach again", () => {
  assert.equal(
    counted(() => {
      using s = newDisposeScope();
      const t = s.detach(zeros([1]));
      assert.is(s.count, 0);
      s.detach(t); // not in the scope: nothing
      s.attach(t);
    }),
    [0, 0, 1, 1, 1, 1, 0],
  );
});

test("scoped moves out what its result reaches: arrays, objects, Map, Set and [tensors]()", () => {
  class Pair {
    readonly a = zeros([1]);
    readonly hidden = zeros([1]);
    [tensors](): Tensor[] {
      return [this.a];
    }
  }
  class Opaque {
    readonly t = zeros([1]);
  }
  using outer = newDisposeScope();
  const mine = zeros([1]);
  let opaque!: Opaque, nested!: Tensor;
  const result = scoped((s) => {
    opaque = new Opaque();
    using inner = newDisposeScope();
    nested = zeros([1]);
    const kept = {
      a: zeros([1]),
      list: [zeros([1]), [zeros([1])]],
      map: new Map([["k", zeros([1])]]),
      set: new Set([zeros([1])]),
      pair: new Pair(),
      opaque,
      mine,
      n: 3,
      nothing: null,
    };
    inner.moveTo(s, kept.a);
    inner.moveToOuter(...inner.tensors());
    return kept;
  });
  const out = [
    result.a,
    result.list[0] as Tensor,
    (result.list[1] as Tensor[])[0]!,
    result.map.get("k")!,
    [...result.set][0]!,
    result.pair.a,
  ];
  for (const t of out) assert.ok(outer.contains(t));
  assert.equal(
    [result.pair.hidden.isDisposed, opaque.t.isDisposed, nested.isDisposed, mine.isDisposed],
    [true, true, true, false],
  );
  assert.is(outer.count, out.length + 1);
  const cycle: { t?: Tensor; self?: unknown } = scoped(() => {
    const c: { t?: Tensor; self?: unknown } = { t: zeros([1]) };
    c.self = c;
    return c;
  });
  assert.ok(outer.contains(cycle.t!));
});

test("when looking for tensors in the result throws, nothing escapes", () => {
  let first!: Tensor;
  using outer = newDisposeScope();
  assert.throws(
    () =>
      scoped(() => {
        first = zeros([1]);
        return [
          first,
          {
            [tensors]() {
              throw new Error("walk");
            },
          },
        ];
      }),
    /^walk$/,
  );
  assert.is(first.isDisposed, true);
  assert.is(outer.count, 0);
});

test("carry: the new value takes the old one's place", () => {
  const { moved, carried } = memory.stats();
  assert.equal(
    counted(() => {
      using outer = newDisposeScope("outer");
      let acc = zeros([1]);
      for (let i = 0; i < 3; i++) {
        using s = newDisposeScope("step");
        const before = acc;
        acc = s.carry(acc, acc.add(1));
        assert.ok(outer.contains(acc));
        assert.is(before.isDisposed, true);
        assert.is(s.count, 0);
      }
      assert.is(outer.count, 1);
    }),
    [0, 0, 4, 4, 0, 0, 0],
  );
  assert.equal([memory.stats().moved - moved, memory.stats().carried - carried], [3, 3]);
  let free = zeros([1]);
  {
    using s = newDisposeScope();
    free = s.carry(free, free.add(1));
    assert.is(s.report().moved, 1);
  }
  assert.is(free.isDisposed, false);
  {
    using s = newDisposeScope();
    const same = zeros([1]);
    assert.is(s.carry(same, same), same);
    assert.is(same.isDisposed, false);
  }
  free.dispose();
});

test("when every scope around it has ended, what moves out is orphaned", () => {
  const { orphaned } = memory.stats();
  const outer = newDisposeScope("outer"),
    inner = newDisposeScope("inner");
  const a = zeros([1]),
    b = zeros([1]);
  outer.dispose();
  takeWarnings();
  inner.moveToOuter(a);
  b.moveToOuter();
  inner.dispose();
  assert.is(memory.stats().orphaned, orphaned + 2);
  assert.equal([a.isDisposed, b.isDisposed], [false, false]);
  a.dispose();
  b.dispose();
});

test("a scope moves tensors to scopes only, or to none", () => {
  using scope = newDisposeScope("from");
  const t = zeros([1]);
  for (const target of [undefined, 3, {}, t, [scope]]) {
    const error = thrownBy(() => scope.moveTo(target as never, t));
    assert.instance(error, ArgumentError);
    assert.match(String(error), /moveTo: expected a scope, or null for none, got .*; pass/);
  }
  assert.ok(scope.contains(t));
});

test.run();

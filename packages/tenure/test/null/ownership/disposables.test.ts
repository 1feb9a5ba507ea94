// node: --expose-gc
/**
 * Scopes own any Disposable: use, adopt, defer, move, as DisposableStack does, with every disposer
 * run and every error kept.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ScopeDisposedError,
  type Tensor,
  memory,
  newDisposeScope,
  scoped,
  zeros,
} from "tenure";
import { collect, setup, takeWarnings, thrownBy } from "./harness.ts";

const test = suite("disposables in scopes");
test.before(setup);
test.after.each(() => {
  assert.equal(takeWarnings(), []);
  memory.verify();
});

/** Writes its name when it is disposed. */
function logging(log: string[], name: string, error?: Error): Disposable {
  return {
    [Symbol.dispose]() {
      log.push(name);
      if (error !== undefined) throw error;
    },
  };
}

test("everything ends in reverse order of registration, tensors and disposables alike", () => {
  const log: string[] = [];
  {
    using s = newDisposeScope();
    s.use(logging(log, "used"));
    const t = zeros([1]);
    s.adopt({ name: "adopted" }, (v) => {
      log.push(`${v.name}, tensor ${t.isDisposed ? "gone" : "alive"}`);
    });
    s.defer(() => log.push("deferred"));
    assert.is(s.count, 4);
  }
  assert.equal(log, ["deferred", "adopted, tensor alive", "used"]);
});

test("use passes null through, refuses what is no Disposable, and owns a thing once", () => {
  const log: string[] = [];
  using s = newDisposeScope();
  assert.is(s.use(null), null);
  assert.is(s.use(undefined), undefined);
  for (const wrong of [{}, 3, "x", () => undefined])
    assert.throws(
      () => s.use(wrong as unknown as Disposable),
      (e: Error) => e instanceof ArgumentError && e.message.includes("adopt(value, free)"),
    );
  const d = s.use(logging(log, "d"));
  s.use(d);
  assert.is(s.count, 1);
  using inner = newDisposeScope();
  inner.use(d);
  assert.equal([s.contains(d), inner.contains(d)], [false, true]);
  inner.dispose();
  s.dispose();
  assert.equal(log, ["d"]);
});

test("the same function deferred twice runs twice, and adopted values can move", () => {
  let runs = 0;
  const f = (): void => {
    runs++;
  };
  {
    using s = newDisposeScope();
    s.defer(f);
    s.defer(f);
  }
  assert.is(runs, 2);
  const freed: string[] = [],
    resource = { id: "r" };
  using outer = newDisposeScope();
  {
    using s = newDisposeScope();
    s.adopt(resource, (r) => {
      freed.push(r.id);
    });
    s.adopt("text", (t) => {
      freed.push(t);
    });
    s.moveToOuter(resource as unknown as Disposable);
  }
  assert.equal(freed, ["text"]);
  outer.dispose();
  assert.equal(freed, ["text", "r"]);
});

test("all disposers run although some throw; the errors come out as one chain", () => {
  const log: string[] = [];
  const [one, two, three] = [new Error("one"), new Error("two"), new Error("three")];
  let t!: Tensor;
  const error = thrownBy(() => {
    using s = newDisposeScope();
    s.use(logging(log, "1", one));
    t = zeros([1]);
    s.use(logging(log, "2", two));
    s.use(logging(log, "fine"));
    s.use(logging(log, "3", three));
  });
  assert.equal(log, ["3", "fine", "2", "1"]);
  assert.is(t.isDisposed, true);
  assert.is(error.name, "SuppressedError");
  assert.is(error["error"], one);
  const older = error["suppressed"] as Error & Record<string, unknown>;
  assert.is(older.name, "SuppressedError");
  assert.equal([older["error"], older["suppressed"]], [two, three]);
});

test("a throwing disposer neither keeps the scope current nor hides the body's error", () => {
  const body = new Error("body"),
    late = new Error("late");
  const error = thrownBy(() => {
    using s = newDisposeScope();
    s.defer(() => {
      throw late;
    });
    throw body;
  });
  assert.equal([error.name, error["error"], error["suppressed"]], ["SuppressedError", late, body]);
  const inScoped = thrownBy(() =>
    scoped((s) => {
      s.defer(() => {
        throw late;
      });
      throw body;
    }),
  );
  assert.equal(
    [inScoped.name, inScoped["error"], inScoped["suppressed"]],
    ["SuppressedError", late, body],
  );
  const t = zeros([1]);
  assert.is(memory.stats().tensor.createdOutsideScopeCount > 0, true);
  t.dispose();
});

test("for its disposers the scope has ended already: they cannot add to it", () => {
  let refused: unknown;
  const s = newDisposeScope();
  s.defer(() => {
    refused = thrownBy(() => {
      s.defer(() => undefined);
    });
  });
  s.dispose();
  assert.instance(refused, ScopeDisposedError);
});

test("move hands everything to a scope that is not current, in order", () => {
  const log: string[] = [];
  const s = newDisposeScope("kept");
  s.use(logging(log, "a"));
  const t = zeros([1]);
  s.use(logging(log, "b"));
  const { moved } = memory.stats();
  const other = s.move();
  assert.equal(
    [s.disposed, s.count, other.count, other.name, other.contains(t)],
    [true, 0, 3, "kept", true],
  );
  assert.is(memory.stats().moved, moved + 3);
  const free = zeros([1]);
  assert.is(other.contains(free), false);
  assert.equal(log, []);
  other.dispose();
  assert.equal(log, ["b", "a"]);
  assert.is(t.isDisposed, true);
  free.dispose();
});

test("containers count apart from tensors, as one entry each", () => {
  const before = memory.stats();
  {
    using s = newDisposeScope();
    s.use(logging([], "c"));
    const now = memory.stats();
    assert.equal(
      [
        now.container.threadTotalLiveCount - before.container.threadTotalLiveCount,
        now.tensor.threadTotalLiveCount - before.tensor.threadTotalLiveCount,
      ],
      [1, 0],
    );
    assert.equal(memory.why(s.use(logging([], "why"))).length, 1);
    const bare: Disposable = Object.assign<object, Disposable>(Object.create(null), {
      [Symbol.dispose]() {
        /* nothing */
      },
    });
    s.use(bare);
    assert.match(memory.why(bare)[0]!.text, /^disposable, in scope #/);
  }
  assert.is(
    memory.stats().container.disposedInScopeCount - before.container.disposedInScopeCount,
    3,
  );
});

test("a scope holds its containers strongly, its tensors weakly", async () => {
  const log: string[] = [];
  const s = newDisposeScope({ root: true });
  s.use(logging(log, "held"));
  const { finalized } = memory.stats();
  (() => {
    zeros([1]);
  })();
  await collect();
  assert.equal(log, []);
  assert.is(memory.stats().finalized, finalized + 1);
  assert.is(s.report().finalized, 1);
  assert.is(s.count, 1);
  s.dispose();
  assert.equal(log, ["held"]);
  memory.stats().reset();
});

test("DisposableStack and scopes own each other, where the host has it", () => {
  const Stack =
    (
      globalThis as {
        DisposableStack?: new () => Disposable & {
          use<T extends Disposable>(d: T): T;
          dispose(): void;
        };
      }
    ).DisposableStack ?? ListStack;
  const log: string[] = [];
  {
    using s = newDisposeScope();
    const stack = s.use(new Stack());
    stack.use(logging(log, "in stack"));
    const t = stack.use(zeros([1]));
    s.detach(t);
    s.defer(() => log.push(`tensor ${t.isDisposed ? "gone" : "alive"}`));
  }
  assert.equal(log, ["tensor alive", "in stack"]);
  const stack = new Stack();
  const aside = scoped((s) => {
    zeros([1]);
    return stack.use(s.move());
  });
  assert.is(aside.count, 1);
  stack.dispose();
  assert.is(aside.disposed, true);
});

/** As much of DisposableStack as the test needs, for hosts without. */
class ListStack implements Disposable {
  readonly #list: Disposable[] = [];
  use<T extends Disposable>(d: T): T {
    this.#list.push(d);
    return d;
  }
  dispose(): void {
    for (const d of this.#list.splice(0).reverse()) d[Symbol.dispose]();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }
}

test.run();

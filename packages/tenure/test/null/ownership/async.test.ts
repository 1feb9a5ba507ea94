// node: --expose-gc
/**
 * Which scope is current across await: exact through scopedAsync, run, wait and go, on hosts
 * with an async context and on those without.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  AsyncScopeError,
  type DisposeScope,
  ScopeDisposedError,
  type Tensor,
  currentDisposeScope,
  memory,
  newDisposeScope,
  scoped,
  scopedAsync,
  sync,
  zeros,
} from "tenure";
import { pattern } from "../../helpers.ts";
import { rejectionOf, setup, sleep, takeWarnings, tick } from "./harness.ts";

const test = suite("scopes across await");
test.before(setup);
test.after.each(() => {
  assert.is(currentDisposeScope(), null);
  assert.equal(takeWarnings(), []);
  memory.verify();
});

test("the classic bug: two interleaved functions keep their tensors apart", async () => {
  const task = async (ms: number): Promise<[Tensor, Tensor, DisposeScope]> => {
    let scope!: DisposeScope;
    const pair = await scopedAsync(async (s) => {
      scope = s;
      const a = zeros([1]);
      await sleep(ms);
      const b = zeros([1]);
      assert.ok(s.contains(a) && s.contains(b));
      assert.is(currentDisposeScope(), s);
      return [a, b] as [Tensor, Tensor];
    }, `${ms} ms`);
    return [...pair, scope];
  };
  const done = await Promise.all([task(5), task(20), task(1)]);
  for (const [a, b, scope] of done) {
    assert.equal([a.isDisposed, b.isDisposed, scope.disposed], [false, false, true]);
    a.dispose();
    b.dispose();
  }
});

test("scopedAsync: results move to the caller's scope, nothing after a rejection", async () => {
  let lost!: Tensor;
  {
    using outer = newDisposeScope("outer");
    const reading = outer.wait(
      scopedAsync(async () => {
        await tick();
        return { t: zeros([1]) };
      }),
    );
    assert.is(currentDisposeScope(), null); // put aside for the await
    const { t } = await reading;
    assert.is(currentDisposeScope(), outer);
    assert.ok(outer.contains(t));
    try {
      await outer.wait(
        scopedAsync(async () => {
          lost = zeros([1]);
          await tick();
          throw new Error("body");
        }),
      );
      assert.unreachable();
    } catch (error) {
      assert.is((error as Error).message, "body");
    }
    assert.is(currentDisposeScope(), outer);
  }
  assert.is(lost.isDisposed, true);
});

test("calling an async function leaves the caller's ambient scope alone", () => {
  using outer = newDisposeScope();
  const calls: Promise<unknown>[] = [];
  for (const start of [
    () =>
      scopedAsync(async () => {
        await tick();
      }),
    () =>
      outer.run(async () => {
        await tick();
      }),
    () =>
      outer.go(function* () {
        using inner = newDisposeScope();
        yield null;
        inner.dispose();
      }),
    async () => {
      using s = newDisposeScope();
      await s.wait(Promise.resolve());
    },
  ]) {
    calls.push(Promise.resolve(start()));
    assert.is(currentDisposeScope(), outer);
  }
  for (const call of calls) call.catch(() => undefined); // the scope ends before they do
});

test("run: a synchronous segment hides the caller's frames and gives them back", () => {
  using target = newDisposeScope("target");
  using caller = newDisposeScope("caller");
  const t = target.run(() => {
    assert.is(currentDisposeScope(), target);
    return zeros([1]);
  });
  assert.ok(target.contains(t));
  assert.throws(
    () =>
      target.run(() => {
        throw new Error("inside");
      }),
    /^inside$/,
  );
  assert.is(currentDisposeScope(), caller);
  target.run(() => {
    caller.dispose();
    assert.is(currentDisposeScope(), target);
  });
  assert.is(currentDisposeScope(), target); // the ended frame is skipped
});

test("run with an async function stays in the scope across its awaits", async () => {
  using outer = newDisposeScope("outer");
  const aside = scoped(() => newDisposeScope("aside").move());
  await outer.wait(
    aside.run(async (s) => {
      for (let i = 0; i < 3; i++) {
        await sleep(1);
        assert.ok(s.contains(zeros([1])));
      }
    }),
  );
  assert.is(aside.count, 3);
  assert.is(outer.count, 0);
  aside.dispose();
});

test("wait keeps inner scopes, skips those that ended, and works inside scopedAsync", async () => {
  {
    using a = newDisposeScope("a");
    using b = newDisposeScope("b");
    assert.is(await a.wait(Promise.resolve(7)), 7);
    assert.is(currentDisposeScope(), b);
    assert.is(b.outer, a);
    const waiting = a.wait(sleep(1));
    b.dispose();
    await waiting;
    assert.is(currentDisposeScope(), a);
    try {
      await a.wait(Promise.reject(new Error("inner")));
    } catch (e) {
      assert.is((e as Error).message, "inner");
    }
    assert.is(currentDisposeScope(), a);
  }
  await scopedAsync(async (s) => {
    using inner = newDisposeScope("inner");
    await s.wait(sleep(1));
    assert.is(currentDisposeScope(), inner);
    assert.ok(inner.contains(zeros([1])));
  });
});

test("wait is for one await", async () => {
  using s = newDisposeScope();
  const once = s.wait(Promise.resolve(1));
  await once;
  const error = await rejectionOf(once);
  assert.instance(error, AsyncScopeError);
  assert.match(error.message, /one await per wait\(\).*Promise\.all\(…\) as a whole/);
  takeWarnings(); // the second await was a raw one
});

test("go: yield for await, inner scopes kept, errors both ways, the result stays", async () => {
  const scope = scoped(() => newDisposeScope("go").move());
  const seen: unknown[] = [];
  const result = await scope.go(function* (s) {
    assert.is(currentDisposeScope(), s);
    using inner = newDisposeScope("inner");
    seen.push(yield Promise.resolve("a"));
    assert.is(currentDisposeScope(), inner);
    assert.ok(inner.contains(zeros([1])));
    try {
      yield Promise.reject(new Error("b"));
    } catch (e) {
      seen.push((e as Error).message);
    }
    seen.push(yield "not a promise");
    return zeros([1]);
  });
  assert.equal(seen, ["a", "b", "not a promise"]);
  assert.is(result.isDisposed, true); // it was in `inner`
  assert.is(scope.count, 0);
  const failed = await rejectionOf(
    scope.go(function* () {
      yield sleep(1);
      throw new Error("body");
    }),
  );
  assert.is(failed.message, "body");
  scope.dispose();
});

test("go: when the scope ends meanwhile, the generator's own clean-up still runs", async () => {
  const scope = scoped(() => newDisposeScope("go").move());
  let cleaned = false,
    inner!: DisposeScope;
  const going = scope.go(function* () {
    try {
      inner = newDisposeScope("inner");
      yield sleep(2);
    } finally {
      cleaned = true;
      inner.dispose();
    }
  });
  scope.dispose();
  assert.instance(await rejectionOf(going), ScopeDisposedError);
  assert.equal([cleaned, inner.disposed], [true, true]);
  assert.instance(
    await rejectionOf(
      scope.go(function* () {
        yield 1;
      }),
    ),
    ScopeDisposedError,
  );
});

test("a root scope lies under all jobs and is exempt", async () => {
  const root = newDisposeScope({ name: "root", root: true });
  await sleep(1);
  const t = zeros([1]);
  assert.ok(root.contains(t));
  {
    using s = newDisposeScope();
    assert.is(s.outer, root);
    assert.is(currentDisposeScope(), s);
  }
  await scopedAsync(async (s) => {
    await tick();
    assert.is(s.outer, root);
  });
  assert.is(currentDisposeScope(), root);
  root.dispose();
  assert.is(t.isDisposed, true);
});

test("a promise from scoped is refused, and its rejection is not left unhandled", async () => {
  let inside!: Tensor;
  assert.throws(
    () =>
      scoped(async () => {
        inside = zeros([1]);
        await tick();
        throw new Error("later");
      }),
    (e: Error) => e instanceof AsyncScopeError && e.message.includes("use scopedAsync"),
  );
  assert.is(inside.isDisposed, true);
  await sleep(1);
  takeWarnings();
});

test("await using disposes, then waits for reads under way and submitted work", async () => {
  const order: string[] = [];
  let t!: Tensor;
  const block = async (): Promise<void> => {
    await using s = newDisposeScope("read");
    t = zeros([4]);
    void t.data().then(() => order.push("read"));
    s.defer(() => order.push("disposed"));
  };
  await block();
  order.push("after");
  assert.equal(order, ["disposed", "read", "after"]);
  assert.is(t.isDisposed, true);
});

test("a tensor may be disposed while its read is pending", async () => {
  const before = memory.stats().storages;
  let reading!: Promise<number>;
  {
    using _ = newDisposeScope();
    reading = zeros([1]).add(1).item();
  }
  assert.is(memory.stats().storages, before + 1); // pinned by the read
  assert.is(typeof (await reading), "number");
  assert.is(memory.stats().storages, before);
  await sync();
});

/** Runs a program in a process of its own, and reads what it prints as JSON. */
async function elsewhere<T>(program: string, env: Record<string, string> = {}): Promise<T> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--conditions=tenure:source", "--input-type=module", "-e", program],
    { cwd: import.meta.dirname, env: { ...process.env, ...env } },
  );
  return JSON.parse(stdout) as T;
}

test("async bodies are refused on a host without an async context", async () => {
  const [first, second, third] = await elsewhere<[string, string, number]>(`
    process.getBuiltinModule = undefined;
    const { scopedAsync, newDisposeScope } = await import("tenure");
    const s = newDisposeScope("here");
    const told = (p) => p.then(() => "accepted", (e) => e.name + " " + e.message);
    const errors = await Promise.all([
      told(scopedAsync(async () => 1)),
      told(s.run(async () => 1)),
    ]);
    console.log(JSON.stringify([...errors, s.run(() => 7)]));
    s.dispose();`);
  for (const text of [first, second])
    assert.match(
      text,
      pattern`^AsyncScopeError .*scope\.wait\(promise\).*scope\.go\(function\* …\).*close the
        scope before each await`,
    );
  assert.is(third, 7);
});

test("AsyncContext is used where the host has it", async () => {
  const seen = await elsewhere<unknown[]>(`
    const { AsyncLocalStorage } = process.getBuiltinModule("node:async_hooks");
    let made = 0;
    class Variable {
      #storage = new AsyncLocalStorage();
      constructor() { made++; }
      run(value, fn) { return this.#storage.run(value, fn); }
      get() { return this.#storage.getStore(); }
    }
    globalThis.AsyncContext = { Variable };
    process.getBuiltinModule = undefined;
    const { scopedAsync, zeros } = await import("tenure");
    const owned = await scopedAsync(async (s) => {
      await null;
      const t = zeros([1]);
      await null;
      return s.contains(t);
    });
    console.log(JSON.stringify([owned, made]));`);
  assert.equal(seen, [true, 1]);
});

test("in production a raw await is told once, and nothing is tracked", async () => {
  const seen = await elsewhere<unknown[]>(
    `
    const { newDisposeScope, setWarnSink, zeros } = await import("tenure");
    const warnings = [];
    setWarnSink((w) => { warnings.push(w); });
    for (let i = 0; i < 3; i++) {
      const s = newDisposeScope("raw");
      const t = zeros([1]);
      await null;
      s.dispose();
      if (!t.isDisposed) warnings.push("lost");
    }
    console.log(JSON.stringify([warnings.length, /opened at/.test(warnings[0])]));`,
    { NODE_ENV: "production" },
  );
  assert.equal(seen, [1, false]);
});

test.run();

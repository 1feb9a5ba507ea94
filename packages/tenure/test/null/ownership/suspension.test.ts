// node: --expose-gc
/**
 * What happens to a scope that a raw await, a generator or late work leaves open: it is suspended,
 * named, and never owns what others make.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type DisposeScope,
  type Tensor,
  currentDisposeScope,
  memory,
  newDisposeScope,
  scoped,
  scopedAsync,
  zeros,
} from "tenure";
import { pattern } from "../../helpers.ts";
import { setup, sleep, takeWarnings, tick } from "./harness.ts";

const test = suite("scopes left open");
test.before(setup);
test.after.each(() => {
  assert.is(currentDisposeScope(), null);
  assert.equal(takeWarnings(), []);
  memory.verify();
});

const threeWaysOut =
  /scopedAsync\(async \(\) => …\).*scope\.wait\(promise\).*close the scope before the await/;

test("a raw await inside a using scope: suspended, named with the ways out, and safe", async () => {
  let before!: Tensor, after!: Tensor;
  const offender = async (): Promise<void> => {
    using s = newDisposeScope("raw");
    before = zeros([1]);
    await sleep(2);
    after = zeros([1]);
    assert.equal(
      [s.contains(before), s.contains(after), s.suspended, currentDisposeScope()],
      [true, false, true, null],
    );
  };
  const other = async (): Promise<Tensor> =>
    scopedAsync(async () => {
      await sleep(1);
      return zeros([1]);
    });
  const [, t] = await Promise.all([offender(), other()]);
  assert.equal([before.isDisposed, after.isDisposed, t.isDisposed], [true, false, false]);
  const warnings = takeWarnings();
  assert.is(warnings.length, 1);
  assert.match(
    warnings[0]!,
    pattern`an await was reached while scope "raw" \(opened at .*suspension\.test\.ts:\d+:\d+\)
      was open, so it is suspended`,
  );
  assert.match(warnings[0]!, threeWaysOut);
  after.dispose();
  t.dispose();
});

test("a loop is told once", async () => {
  for (let i = 0; i < 3; i++) {
    using _s = newDisposeScope();
    await sleep(1);
  }
  assert.is(takeWarnings().length, 1);
});

test("what the caller makes after the raw await does not stay in the suspended scope", async () => {
  const helper = (): Tensor => zeros([1]);
  const offender = async (): Promise<boolean[]> => {
    using s = newDisposeScope("raw");
    const [a, b] = [zeros([1]), helper()];
    await sleep(1);
    return [a, b].map((t) => s.contains(t));
  };
  const offending = offender();
  // lands in "raw" for now: nothing has told Tenure of the await yet
  const [t, u] = [zeros([1]), helper()];
  assert.equal(await offending, [true, true]);
  assert.equal([t.isDisposed, u.isDisposed], [false, false]);
  t.dispose();
  u.dispose();
  {
    using outer = newDisposeScope("outer");
    const again = outer.wait(Promise.all([offender(), offender()])),
      v = zeros([1]);
    await again;
    assert.is(v.isDisposed, false);
    v.dispose();
  }
  takeWarnings();
});

test("a suspended scope does not own what other async contexts make meanwhile", async () => {
  // The continuation of `early` is queued before the offender opens its scope, so it runs before
  // the checkpoint does.
  let early!: Tensor;
  await scopedAsync(async (s) => {
    const first = scopedAsync(async (own) => {
      await tick();
      early = zeros([1]);
      assert.ok(own.contains(early));
    });
    const raw = (async () => {
      using _ = newDisposeScope("raw");
      await first;
    })();
    await Promise.all([first, raw]);
    assert.is(currentDisposeScope(), s);
  });
  assert.is(takeWarnings().length, 1);
});

test("a raw await inside scopedAsync falls back to the async scope", async () => {
  await scopedAsync(async (s) => {
    using inner = newDisposeScope("inner");
    const a = zeros([1]);
    await sleep(1);
    const b = zeros([1]);
    assert.equal([inner.contains(a), s.contains(b)], [true, true]);
  });
  assert.match(takeWarnings()[0]!, /scope "inner"/);
});

test("a generator that yields inside its scope: told when the scopes end out of order", () => {
  const loader = function* (): Generator<Tensor> {
    using _ = newDisposeScope("loader");
    for (let i = 0; i < 2; i++) yield zeros([1]);
  };
  for (const t of loader()) {
    using _ = newDisposeScope("consumer");
    t.add(1);
  }
  assert.equal(takeWarnings(), []); // LIFO by luck
  const it = loader();
  {
    using _ = newDisposeScope("consumer");
    it.next();
  }
  assert.match(
    takeWarnings()[0]!,
    /scope "consumer".*was disposed before scope "loader".*A generator that yields/,
  );
  it.return(undefined);
});

test("an unfinished generator is suspended at the end of the job", async () => {
  const it = (function* () {
    using s = newDisposeScope("generator");
    yield s;
  })();
  const { value } = it.next() as { value: DisposeScope };
  await tick();
  await tick();
  assert.is(value.suspended, true);
  assert.is(currentDisposeScope(), null);
  assert.match(takeWarnings()[0]!, /scope "generator"/);
  it.return(undefined);
  assert.is(value.disposed, true);
});

test("work that outlives its scope goes to the nearest living one, and is told once", async () => {
  let late!: Promise<Tensor[]>;
  const outer = scoped(() => newDisposeScope("outer").move());
  await outer.run(async () => {
    await scopedAsync(async () => {
      late = (async () => {
        await sleep(3);
        return [zeros([1]), zeros([1])];
      })();
      await tick();
    }, "short");
  });
  const made = await late;
  assert.equal(
    made.map((t) => outer.contains(t)),
    [true, true],
  );
  const warnings = takeWarnings();
  assert.is(warnings.length, 1);
  assert.match(warnings[0]!, /work outlived scope "short"/);
  outer.dispose();
});

test("what moves out is orphaned when the outer scope died while the inner waited", async () => {
  const { orphaned } = memory.stats();
  const outer = newDisposeScope("outer");
  const work = (async () => {
    using inner = newDisposeScope("inner");
    const t = zeros([1]);
    await inner.wait(sleep(2));
    return inner.moveToOuter(t);
  })();
  outer.dispose();
  const t = await work;
  assert.is(memory.stats().orphaned, orphaned + 1);
  t.dispose();
});

test.run();

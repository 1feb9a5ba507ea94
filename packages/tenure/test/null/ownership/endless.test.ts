/**
 * Values without an end: arrays that hold themselves, results nested deeper than the stack,
 * generators that are none. They are refused or taken, and never hang or end the process.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  init,
  memory,
  newDisposeScope,
  ones,
  scoped,
  tensor,
} from "tenure";
import { assertNoLeaks, installTestHooks } from "tenure/testing";

await init({ device: "null" });
installTestHooks();
const test = suite("values without an end");

type Nested = (Nested | number)[];

test("an array that holds itself is no tensor", () => {
  const cyclic: Nested = [];
  cyclic.push(cyclic);
  const second: Nested = [[cyclic]];
  for (const array of [cyclic, second])
    try {
      tensor(array);
      assert.unreachable();
    } catch (error) {
      assert.instance(error, ShapeError);
      assert.match((error as Error).message, /nested at most 64 deep, got more; check that no/);
    }
});

test("a result moves out however deep it lies", () =>
  assertNoLeaks(() => {
    let kept: Tensor | undefined;
    const deep = scoped(() => {
      kept = ones([1]);
      let list: unknown = kept;
      for (let k = 0; k < 100_000; k++) list = k % 2 === 0 ? [list] : { list };
      return list;
    });
    assert.ok(Array.isArray(deep) || typeof deep === "object");
    assert.is(kept?.isDisposed, false);
    kept?.dispose();
  }));

test("go takes generators alone, and keeps nothing of others", async () => {
  const before = memory.stats().threadTotalLiveCount;
  const others: readonly unknown[] = [
    // Never ends when it is driven like one that is synchronous.
    async function* () {
      yield ones([1]);
      yield ones([2]);
    },
    () => ones([1]),
    () => [ones([1])],
    () => Promise.reject(new Error("hidden by the error of go")),
    () => null,
  ];
  for (const other of others) {
    const scope = newDisposeScope();
    const going = scope.go(other as () => Generator<unknown, void>);
    scope.dispose();
    const error: unknown = await going.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.instance(error, ArgumentError);
    assert.match((error as Error).message, /^go: expected a function that returns a generator/);
  }
  assert.is(memory.stats().threadTotalLiveCount, before);
});

test.run();

/**
 * What `tune` keeps in browsers: choices come back from IndexedDB, by adapter, and a store that
 * cannot be opened or holds something else is an empty one.
 */
import { IDBFactory } from "fake-indexeddb";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tuned, browserStore } from "../../src/runtime/tuned-store.ts";

const test = suite("tuned store");

const tuned: Tuned = [
  ["matmul 512", "tiles 64×64"],
  ["softmax 4096", "one pass"],
];

test("a browser keeps choices by adapter", async () => {
  const factory = new IDBFactory();
  await browserStore(factory).save("one", tuned);
  const again = browserStore(factory);
  assert.equal(await again.load("one"), tuned);
  assert.equal(await again.load("another"), []);
  await again.save("one", []);
  assert.equal(await browserStore(factory).load("one"), []);
});

test("what cannot be kept or read is nothing", async () => {
  const closed = new IDBFactory();
  closed.open = () => {
    throw new DOMException("a private window", "SecurityError");
  };
  await browserStore(closed).save("one", tuned);
  assert.equal(await browserStore(closed).load("one"), []);
  const strange = new IDBFactory();
  await browserStore(strange).save("one", [["a", 3]] as unknown as Tuned);
  assert.equal(await browserStore(strange).load("one"), []);
});

test.run();

/**
 * The short run of the soak harness: some hundred steps over few shapes, after which nothing grows;
 * and the check for growth itself, which must be able to find some.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Sample, growth, soak } from "../soak/main.ts";

const test = suite("soak");
const samples = await soak(200, 1, { batchSizes: 2, lengths: 2 });

/** The samples with the last one changed. */
function ending(change: (last: Sample) => Partial<Sample>): Sample[] {
  return samples.map((sample, k) =>
    k === samples.length - 1 ? { ...sample, ...change(sample) } : sample,
  );
}

test("nothing grows once the caches are full", () => {
  assert.equal(growth(samples), []);
  assert.is(samples.length, 10);
});

test("a handle more is growth", () => {
  const [only, ...others] = growth(ending(({ handles }) => ({ handles: handles + 1 })));
  assert.match(only ?? "", /^live handles grew from \d+ to \d+$/);
  assert.is(others.length, 0);
});

test("a heap that rises by more than noise is growth", () => {
  const grown = growth(ending(({ heapBytes }) => ({ heapBytes: 1.1 * heapBytes + 4e6 })));
  assert.match(grown.join(), /^the heap grew/);
});

test("nothing is said while the caches fill", () => {
  const filling = ending(({ counters }) => ({
    counters: { ...counters, planMisses: counters.planMisses + 1 },
  }));
  assert.equal(growth(filling), ["the caches were still filling at the end"]);
});

test.run();

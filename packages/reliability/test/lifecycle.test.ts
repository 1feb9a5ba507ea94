/**
 * The short run of the lifecycle harness: processes that end in four states, side by side; and the
 * judgement itself, which must be able to find something wrong.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { endIn, expected, lifecycleTable } from "../lifecycle/main.ts";

const test = suite("lifecycle");

test("processes end as they asked to, whatever is under way", async () => {
  const states = [
    "exit while the device computes",
    "signal while reading",
    "uncaught exception",
    "exit of a worker that computes",
  ];
  const wanted = expected.filter(({ state }) => states.includes(state));
  assert.is(wanted.length, states.length);
  const endings = await Promise.all(wanted.map(endIn));
  assert.equal(
    endings.filter(({ problem }) => problem !== null),
    [],
  );
});

test("another end than the expected one is found", async () => {
  const ending = await endIn({ state: "exit with a pending read", code: 0 });
  assert.match(ending.problem ?? "", /^ended with 3, not with 0/);
  assert.match(lifecycleTable([ending]), /exit with a pending read: ended with 3/);
});

test.run();

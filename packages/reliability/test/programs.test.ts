/**
 * Short runs of the harness of random programs; the long run's record is checked in.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { runPrograms } from "../programs/main.ts";

const test = suite("random programs");

test("whole programs agree with the plain interpreter, on a device that watches", async () => {
  const { programs, problems, coverage, counters } = await runPrograms(100, 1000);
  assert.equal(problems, []);
  assert.is(programs, 100);
  const rare = ["step that recomputed", "step that swapped"];
  for (const [kind, n] of Object.entries(coverage))
    assert.ok(n > 0 || rare.includes(kind), `no program had a "${kind}"`);
  assert.ok((counters["pipelines"] ?? 0) > 100, "programs have kernels of their own");
});

test("and on the software adapter", async () => {
  const { programs, problems } = await runPrograms(15, 1000, "software");
  assert.equal(problems, []);
  assert.is(programs, 15);
});

test.run();

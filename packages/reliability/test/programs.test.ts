/**
 * A short run of the harness of random programs; the long run's record is checked in.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { runPrograms } from "../programs/main.ts";

const test = suite("random programs");

test("whole programs agree with the plain interpreter", async () => {
  const { programs, problems } = await runPrograms(50, 1000);
  assert.equal(problems, []);
  assert.is(programs, 50);
});

test.run();

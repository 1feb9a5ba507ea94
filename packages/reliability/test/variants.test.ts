/**
 * A short run of the harness of variants, and whether it would see a wrong result; the long run's
 * record is checked in.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { init } from "tenure";
import { Random } from "../random.ts";
import { judge } from "../variants/judge.ts";
import { runVariants } from "../variants/main.ts";
import { product } from "../variants/products.ts";

const test = suite("variants");
test.before(async () => {
  await init();
});

for (const kind of ["product", "softmax"])
  test(`every way of a ${kind} is what plain arithmetic says`, async () => {
    const { problems, ways, runs, wrong } = await runVariants({ seed: 5, count: 1, kind });
    assert.equal(wrong, []);
    assert.equal(problems, { [kind]: 1 });
    assert.ok(Object.keys(ways).length >= 2, "kernels were written in several ways");
    assert.ok(runs >= 2 * (2 + 2), "twice each: the standard, every way, the other adapter's");
  });

test("it sees one number that is wrong, in every way", async () => {
  const problem = product(new Random(5));
  const [expected] = problem.expected;
  const values = [...Array.from(expected!.values)];
  values[values.length - 1]! += 1;
  const wrong = await judge({ ...problem, expected: [{ ...expected!, values }] });
  assert.is(wrong.problems.length, wrong.runs / 2);
  assert.match(wrong.problems[0]!, /1 of \d+ are wrong/);
});

test.run();

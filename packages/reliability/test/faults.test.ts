/**
 * The short run of the fault harness: one point of every kind, plain and on a budget, and several
 * buffers in a scheduler and on a budget. After each, an error that says what it is about, nothing
 * lost that no program was writing, and equal bits in the end.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { shutdown } from "tenure";
import { faultKinds } from "../faults/device.ts";
import { injectFaults } from "../faults/main.ts";

const test = suite("faults");
test.after(shutdown);

/** More calls than any kind has: of each kind, one in the middle fails. */
const every = 1000;

for (const mode of ["plain", "budget"] as const)
  test(`${mode}: what fails at the device is said, and nothing is lost`, async () => {
    const verdicts = await injectFaults({ every, modes: [mode] });
    const fired = verdicts.filter((verdict) => verdict.fired);
    assert.is(fired.length, faultKinds.length, "all were reached");
    for (const { kind, at, problems } of fired) assert.equal(problems, [], `${kind}, call ${at}`);
  });

test("budget: what a failed measurement borrowed goes back", async () => {
  const kinds = ["submit: throws"] as const;
  const verdicts = await injectFaults({ every: 10, modes: ["budget"], kinds });
  assert.ok(verdicts.length > 2);
  for (const { at, problems } of verdicts) assert.equal(problems, [], `call ${at}`);
});

test("compiled: a device that is lost, or full, where steps are recorded at once", async () => {
  const kinds = ["createBuffer: out of memory", "submit: device lost"] as const;
  const verdicts = await injectFaults({ every: 12, modes: ["compiled"], kinds });
  assert.ok(verdicts.length > 2);
  for (const { kind, at, problems } of verdicts) assert.equal(problems, [], `${kind}, ${at}`);
});

for (const [mode, every] of [
  ["scheduler", 5],
  ["budget", 24],
] as const)
  test(`${mode}: a buffer that the device refuses loses nothing, whatever it is for`, async () => {
    const kinds = ["createBuffer: out of memory"] as const;
    const verdicts = await injectFaults({ every, modes: [mode], kinds });
    assert.ok(verdicts.length > 2);
    for (const { at, problems } of verdicts) assert.equal(problems, [], `call ${at}`);
  });

test.run();

/**
 * The numeric oracle: calls whose answers and gradients PyTorch computed once (generate.py), on the
 * adapter at hand. Every op, layer, loss, optimizer and schedule has cases in each run, a share of
 * the others is left to `TENURE_ORACLE=all npm test -- oracle`. What differs on purpose stands in
 * deliberate.ts.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { init } from "tenure";
import { setup } from "../helpers.ts";
import { type OracleCase, cases } from "./cases.ts";
import { deliberate } from "./deliberate.ts";
import { runCase } from "./run.ts";

await setup();
const test = suite("oracle");
const all = process.env["TENURE_ORACLE"] === "all";
/** Of the cases of a call, one in so many is run unless all are. */
const SHARE = 12;

const reasonFor = (c: OracleCase): boolean => deliberate.some((d) => d.cases.test(c.name));

/** The cases of this run: the first of each call, every special one, and a share of the rest. */
function chosen(): OracleCase[] {
  const seen = new Map<string, number>();
  return cases.filter((c) => {
    const call = `${c.kind} ${c.call}`,
      before = seen.get(call) ?? 0;
    seen.set(call, before + 1);
    return all || c.kind === "schedule" || before % SHARE === 0 || reasonFor(c);
  });
}

const byKind = new Map<string, OracleCase[]>();
for (const c of chosen()) byKind.set(c.kind, [...(byKind.get(c.kind) ?? []), c]);

// A kernel per op: few to compile for many cases.
test.before(async () => {
  await init({ flush: "eachOp" });
});
test.after(async () => {
  await init({ flush: "auto" });
});

for (const [kind, list] of byKind)
  test(`${kind}: ${list.length} cases answer as PyTorch does`, async () => {
    const wrong: string[] = [];
    for (const c of list) {
      const differences = await runCase(c);
      if (reasonFor(c)) {
        if (differences.length === 0) wrong.push(`${c.name}: does not differ; drop its row`);
      } else wrong.push(...differences.map((text) => `${c.name}: ${text}`));
    }
    assert.is(wrong.length, 0, wrong.slice(0, 20).join("\n"));
  });

test("every deliberate difference has a case, and there are a thousand cases or more", () => {
  for (const { what, cases: pattern } of deliberate)
    assert.ok(
      cases.some((c) => pattern.test(c.name)),
      what,
    );
  assert.ok(cases.length >= 1000);
  assert.is(
    new Set(cases.map((c) => `${c.kind} ${c.name}`)).size,
    cases.length,
    "names are unique",
  );
});

test.run();

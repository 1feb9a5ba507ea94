/**
 * Every built-in op against a plain float64 reference, on random and special values, through
 * every kind of view, in every dtype it takes. In-place ops are also checked to change exactly what
 * their target shows. An op without a case fails.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { newDisposeScope, noGrad } from "tenure";
import { assertClose } from "tenure/testing";
import { type AnyOp, uniqueName } from "../../../src/ops/op.ts";
import { setup } from "../../helpers.ts";
import { allOps } from "../../op-records.ts";
import type { Case } from "./cases/case.ts";
import { casesOf } from "./cases.ts";
import { type ViewKind, execute, upload } from "./host.ts";

await setup();
const test = suite("op values");

async function check(op: AnyOp, c: Case, views: readonly ViewKind[] | undefined): Promise<void> {
  const checks: Promise<void>[] = [],
    where =
      c.label + (views === undefined ? "" : ` (${views.slice(0, c.inputs.length).join(", ")})`);
  const tolerance = { rel: c.rel ?? 1e-5, abs: c.abs ?? 1e-6 };
  {
    using _ = newDisposeScope(where);
    const inputs = c.inputs.map((h, i) => upload(h, views?.[i] ?? "plain"));
    const outputs = noGrad(() => execute(op, inputs, c.attrs, c.words ?? []));
    outputs.forEach((out, k) => {
      const want = c.expected[k]!;
      assert.equal(out.shape, want.shape, `${where}: shape`);
      assert.is(out.dtype, want.dtype, `${where}: dtype`);
      checks.push(assertClose(out, want.values as number[], tolerance));
      const target = op.facts.inplaceOf?.[k] ?? -1;
      if (target !== -1)
        checks.push(assertClose(inputs[target]!, want.values as number[], tolerance));
    });
    // What is not a target stays as it was.
    c.inputs.forEach((h, i) => {
      if (op.facts.inplaceOf?.includes(i) !== true)
        checks.push(assertClose(inputs[i]!, h.values as number[], 0));
    });
  }
  for (const result of await Promise.allSettled(checks))
    if (result.status === "rejected")
      throw new Error(`${op.name}, ${where}: ${(result.reason as Error).message}`);
}

const ops = allOps(),
  names = new Set<string>();
test("every op has a case and a name of its own", () => {
  for (const op of ops) {
    if (casesOf(uniqueName(op)) === undefined)
      throw new Error(`no case for the op ${uniqueName(op)}`);
    assert.not(names.has(uniqueName(op)), `two ops are called ${uniqueName(op)}`);
    names.add(uniqueName(op));
  }
});

for (const op of ops) {
  test(uniqueName(op), async () => {
    const runs = casesOf(uniqueName(op))!.flatMap((c) =>
      (c.views ?? [undefined]).map((views) => check(op, c, views)),
    );
    const failures = (await Promise.allSettled(runs)).flatMap((r) =>
      r.status === "rejected" ? [(r.reason as Error).message] : [],
    );
    if (failures.length > 0) throw new Error(failures.slice(0, 6).join("\n"));
    assert.ok(runs.length > 0);
  });
}

test.run();

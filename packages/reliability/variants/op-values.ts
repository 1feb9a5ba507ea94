/**
 * The cases that the tests of op values have, each with each of its views, as problems. Owns
 * nothing.
 */
import { noGrad } from "tenure";
import { uniqueName } from "../../tenure/src/ops/op.ts";
import { casesOf } from "../../tenure/test/gpu/ops/cases.ts";
import { execute } from "../../tenure/test/gpu/ops/host.ts";
import { allOps } from "../../tenure/test/op-records.ts";
import type { Problem } from "./problem.ts";

/** Every case of every op, in one order. */
export function opValues(): Problem[] {
  return allOps().flatMap((op) =>
    (casesOf(uniqueName(op)) ?? []).flatMap((c) =>
      (c.views ?? [[]]).map((views): Problem => {
        const expected = c.expected.map(({ shape, values }) => ({
          shape,
          values,
          abs: c.abs ?? 1e-6,
          rel: c.rel ?? 1e-5,
        }));
        const label = `${op.name}, ${c.label}${views.length > 0 ? ` (${views.join()})` : ""}`;
        const run: Problem["run"] = (inputs) =>
          noGrad(() => execute(op, inputs, c.attrs, c.words ?? []));
        return { label, inputs: c.inputs, views, run, expected };
      }),
    ),
  );
}

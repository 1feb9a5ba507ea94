/**
 * What must hold for any plan, by oracles that share no code with the passes. Tests only.
 */
import * as assert from "uvu/assert";
import { type Plan, type PlanOptions, type Program, plan } from "tenure/scheduler";
import { execute, interpret, stepPeak } from "./programs.ts";

/** Everything that must hold for any plan. */
export function check(program: Program, options: PlanOptions = {}): Plan {
  const made = plan(program, options);
  made.verify();
  const want = interpret(program);
  for (const [storage, value] of execute(made))
    assert.is(value, want[storage], program.storages[storage]!.id);
  const { lowerBoundBytes, plannedBytes, naiveBytes, predictedPeakBytes } = made.report();
  assert.ok(
    lowerBoundBytes <= plannedBytes && plannedBytes <= naiveBytes,
    `${lowerBoundBytes} <= ${plannedBytes} <= ${naiveBytes}`,
  );
  // A lifespan may reserve memory before its first value is there.
  if (program.storages.every((s) => s.lifespan === undefined))
    assert.is(stepPeak(made), lowerBoundBytes);
  else assert.ok(stepPeak(made) <= lowerBoundBytes);
  assert.is(predictedPeakBytes, plannedBytes);
  if (options.budgetBytes !== undefined) assert.ok(plannedBytes <= options.budgetBytes);
  return made;
}

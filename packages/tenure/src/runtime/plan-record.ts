/**
 * A compiled program as people see it: an object, and a text. Called by `debug`, and through
 * inspection.ts by whoever prints. Owns nothing.
 */
import { comparePlacements } from "../planner/place/compare.ts";
import { reportOf } from "../planner/plan-figures.ts";
import { formatBytes } from "../planner/plan-report.ts";
import type { PlanRecord, Planned } from "./inspector.ts";

/** A program that was planned and compiled. */
export function planRecord({ ops, kernels, unfused, plan, tookTooLong }: Planned): PlanRecord {
  const record = {
    ops,
    kernels,
    unfused: unfused(),
    report: reportOf(plan, comparePlacements),
    tookTooLong,
  };
  return { ...record, toString: () => planText(record) };
}

/** A plan as people read it. */
function planText({
  ops,
  kernels,
  unfused,
  report,
  tookTooLong,
}: Omit<PlanRecord, "toString">): string {
  return [
    `${ops.length} ops in ${kernels.length} kernels, ${formatBytes(report.naiveBytes)} → ` +
      `${formatBytes(report.plannedBytes)} (lower bound ${formatBytes(report.lowerBoundBytes)})`,
    ...(tookTooLong ? ["  planning took too long: unfused, in order"] : []),
    ...kernels.map((k) => `  ${k.name}  ${k.workgroups.join("×")} workgroups  ${k.key}`),
    ...unfused.map(
      ({ maker, reader, reason }) =>
        `  not fused: ${maker.name} (op ${maker.op}) ` +
        `into ${reader.name} (op ${reader.op}): ${reason}`,
    ),
  ].join("\n");
}

/**
 * Runs of programs in the event log: when, under which plan, with what peak. Called by the policies
 * once a plan ran. Keeps numbers and the names of ops only.
 */
import { log } from "../../ownership/log.ts";
import { sites } from "../../ownership/site.ts";
import type { Plan } from "../../planner/plan.ts";
import type { RunFigures } from "./figures.ts";

/** What a scheduler knows of a run besides: bytes its plan does not touch, and the budget. */
interface StepBytes {
  readonly others: number;
  readonly budgetBytes: number;
}

/** Logs a run unless tracking is off. */
export function logRun(plan: Plan, figures: RunFigures, step: StepBytes | null): void {
  if (!sites().scopes) return;
  const { extra } = plan;
  const dispatches = plan.steps.filter((s) => s.kind === "dispatch" || s.kind === "recompute");
  const ofStep = {
    predictedPeakBytes: step === null ? null : plan.plannedBytes + step.others,
    lowerBoundBytes: step === null ? null : plan.lowerBoundBytes + step.others,
    budgetBytes: step === null || step.budgetBytes === Infinity ? null : step.budgetBytes,
  };
  const ops = Object.fromEntries([...figures.ops].map(([name, t]) => [name, t.seconds]));
  log("run", 0, figures.peakBytes, `${dispatches.length} dispatches`, null, {
    figures: {
      from: figures.startedAt,
      dispatches: dispatches.length,
      measuredPeakBytes: figures.peakBytes,
      ...ofStep,
      swapOuts: extra.swapOuts,
      swapOutBytes: extra.swapOutBytes,
      swapIns: extra.swapIns,
      swapInBytes: extra.swapInBytes,
      recomputedOps: extra.recomputedOps,
      stalls: figures.stalls,
      opSeconds: ops,
    },
  });
}

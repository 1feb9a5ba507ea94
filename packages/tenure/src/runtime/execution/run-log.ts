/**
 * Runs of programs in the event log: when, under which plan, with what peak, and what happened
 * inside. Called by the policies once a plan ran, and by segments on the way. Keeps numbers and
 * names only.
 */
import { log } from "../../ownership/log.ts";
import { sites } from "../../ownership/site.ts";
import type { RunnablePlan } from "../../planner/runnable-plan.ts";
import type { RunFigures } from "./figures.ts";

/** What a scheduler knows of a run besides: bytes its plan does not touch, and the budget. */
interface StepBytes {
  readonly others: number;
  readonly budgetBytes: number;
}

/** Logs that a run copied a value, computed it again, took or gave back a buffer. */
export function logMoment(
  kind: "swapOut" | "swapIn" | "recompute" | "buffer",
  text: string,
  bytes: number,
): void {
  if (sites().scopes) log(kind, 0, bytes, text, null);
}

/** Logs what the device was waited for: an op, or all ops of a phase in a row. */
export function logTimed(name: string, phase: string, from: number, seconds: number): void {
  if (sites().scopes) log("op", 0, 0, name, null, { figures: { from, seconds, phase } });
}

/**
 * Logs a run unless tracking is off. `seconds`: what the whole run took on the device; null where
 * it was not waited for.
 */
export function logRun(
  plan: RunnablePlan,
  figures: RunFigures,
  step: StepBytes | null,
  seconds: number | null,
): void {
  if (!sites().scopes) return;
  const { dispatched, extra } = plan;
  let dispatches = 0;
  for (const name in dispatched) dispatches += dispatched[name] ?? 0;
  const ofStep = {
    predictedPeakBytes: step === null ? null : plan.plannedBytes + step.others,
    lowerBoundBytes: step === null ? null : plan.lowerBoundBytes + step.others,
    budgetBytes: step === null || step.budgetBytes === Infinity ? null : step.budgetBytes,
  };
  log("run", 0, figures.peakBytes, `${dispatches} dispatches`, null, {
    figures: {
      from: figures.startedAt,
      dispatches,
      ops: dispatched,
      deviceSeconds: seconds,
      measuredPeakBytes: figures.peakBytes,
      ...ofStep,
      swapOuts: extra.swapOuts,
      swapOutBytes: extra.swapOutBytes,
      swapIns: extra.swapIns,
      swapInBytes: extra.swapInBytes,
      recomputedOps: extra.recomputedOps,
      stalls: figures.stalls,
      opSeconds: figures.opSeconds(),
    },
  });
}

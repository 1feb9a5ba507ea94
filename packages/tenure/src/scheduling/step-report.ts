/**
 * What a scheduler tells about its last step: figures for programs, and a text for people. Called
 * by the scheduler. Owns nothing.
 */
import { type PlanReport, explainReport, formatBytes, reportRow } from "../planner/plan-report.ts";
import type { Executable } from "../runtime/executable.ts";
import type { RunFigures, Timing } from "../runtime/execution/figures.ts";

/**
 * What the last step that ran amounted to: the plan, and what was measured. Of a step that reads
 * split, the program with the highest peak.
 */
export interface SchedulerReport extends PlanReport {
  /** Everything resident: the plan's slots, and tensors that the step did not touch. */
  readonly predictedPeakBytes: number;
  /**
   * Most bytes of buffers for tensors that the device held while the step ran, counted where they
   * are made and destroyed.
   */
  readonly measuredPeakBytes: number;
  readonly budgetBytes: number;
  /** Waits for the host that really waited, and the time they took. */
  readonly stalls: number;
  readonly stallSeconds: number;
  /** Of the staging rings, and of copies in host memory. Not part of the peak. */
  readonly stagingBytes: number;
  readonly hostBytes: number;
  readonly planCache: { readonly hits: number; readonly misses: number };
  /**
   * Steps so far; programs they were split into by reads, beyond one each; steps that, after some
   * had found their plan, had a structure of their own.
   */
  readonly steps: number;
  readonly splits: number;
  readonly offSchedule: number;
  /**
   * Plans that were replaced because of measured rates or stalls, and because the device had less
   * memory than the budget.
   */
  readonly replans: number;
  readonly outOfMemory: number;
  /** Seconds by phase and by op in the last step; empty unless `profile` asks for them. */
  readonly phaseSeconds: Readonly<Record<string, number>>;
  readonly opSeconds: Readonly<Record<string, number>>;
}

/** One program that ran. */
export interface Run {
  readonly exe: Executable;
  /** Bytes of tensors outside the program. */
  readonly others: number;
  readonly figures: RunFigures;
}

/** The run with the highest predicted peak. */
export function largestRun(runs: readonly Run[]): Run | undefined {
  let largest: Run | undefined;
  for (const run of runs)
    if (largest === undefined || predictedPeak(run) > predictedPeak(largest)) largest = run;
  return largest;
}

/** Bytes resident while a run is at its peak, as planned. */
export function predictedPeak({ exe, others }: Run): number {
  return exe.plan.plannedBytes + others;
}

/** Seconds by row. */
export function secondsOf(rows: ReadonlyMap<string, Timing>): Record<string, number> {
  return Object.fromEntries([...rows].map(([name, { seconds }]) => [name, seconds]));
}

/** The report as an engineer would paste it into a pull request. */
export function explainRun(
  { exe, others, figures }: Run,
  report: SchedulerReport,
  ofPlan: PlanReport,
): string {
  const { plan } = exe;
  const lines = [
    stepLine(report),
    peakLine(report, others),
    explainReport(ofPlan, plan.program, plan.slots.length, plan.budgetBytes),
  ];
  if (exe.inSegments)
    lines.push(
      reportRow("stalls", `${report.stalls}, ${(1000 * report.stallSeconds).toFixed(1)} ms`),
    );
  lines.push(...table("phase", figures.phases), ...table("op", figures.ops));
  return lines.join("\n");
}

function stepLine(r: SchedulerReport): string {
  const { hits, misses } = r.planCache;
  const lowered = r.outOfMemory > 0 ? `, budget lowered ${r.outOfMemory} times` : "";
  return reportRow(
    "step",
    `${r.steps} so far, ${hits} found their plan, ${misses} planned ` +
      `(${r.replans} replanned after measuring), ${r.offSchedule} off schedule, ` +
      `${r.splits} splits by reads${lowered}`,
  );
}

function peakLine(r: SchedulerReport, others: number): string {
  const budget = r.budgetBytes === Infinity ? "" : ` of ${formatBytes(r.budgetBytes)}`;
  const outside = others > 0 ? `, ${formatBytes(others)} of it outside the step` : "";
  const host = r.hostBytes > 0 ? `, host copies ${formatBytes(r.hostBytes)}` : "";
  return reportRow(
    "peak",
    `predicted ${formatBytes(r.predictedPeakBytes)}, ` +
      `measured ${formatBytes(r.measuredPeakBytes)}${budget}${outside}; ` +
      `staging ${formatBytes(r.stagingBytes)}${host}`,
  );
}

function table(title: string, rows: ReadonlyMap<string, Timing>): string[] {
  if (rows.size === 0) return [];
  const width = Math.max(title.length, ...[...rows.keys()].map((name) => name.length));
  const slowestFirst = [...rows].sort((a, b) => b[1].seconds - a[1].seconds);
  return [
    "",
    `${title.padEnd(width)}  count  milliseconds`,
    ...slowestFirst.map(([name, { count, seconds }]) => {
      const milliseconds = (1000 * seconds).toFixed(2).padStart(12);
      return `${name.padEnd(width)}  ${String(count).padStart(5)}  ${milliseconds}`;
    }),
  ];
}

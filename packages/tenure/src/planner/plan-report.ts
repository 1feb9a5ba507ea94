/**
 * What a plan amounts to, in words. Called by plans, and by schedulers, which have measured figures
 * to add. Pure.
 */
import type { Program } from "../graph/program.ts";
import type { LayerOrder } from "./layer-order.ts";

/** What a plan amounts to. Bytes are of everything the program touches. */
export interface PlanReport {
  /** Ops of the program that run. */
  readonly ops: number;
  readonly dispatches: number;
  /**
   * Runs of dispatches that the device can overlap: none of a run touches a buffer that another
   * writes.
   */
  readonly waves: number;
  /** As if nothing shared memory. */
  readonly naiveBytes: number;
  /** All slots that have buffers at one time, at most. */
  readonly plannedBytes: number;
  /** Most bytes live at one time in this schedule. */
  readonly lowerBoundBytes: number;
  readonly predictedPeakBytes: number;
  /** lowerBoundBytes / plannedBytes. */
  readonly efficiency: number;
  readonly recomputedOps: number;
  readonly recomputeFlops: number;
  readonly flops: number;
  readonly swapInBytes: number;
  readonly swapOutBytes: number;
  readonly swapIns: number;
  readonly swapOuts: number;
  /** Waits for copies to the host. */
  readonly stalls: number;
  readonly layers: readonly LayerOrder[];
  /** How the schedule was found. */
  readonly how: string;
  /** Bytes other placements of the same schedule would take. */
  readonly placements: Readonly<Record<string, number>>;
  /** memonger's plan info, when its plan is used. */
  readonly mirror: {
    readonly thresholdBytes: number;
    readonly savedBytes: number;
    readonly largestSegmentBytes: number;
  } | null;
}

/** Units of bytes, largest first. */
const units: readonly (readonly [string, number])[] = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
];

/** `1.25 MB`, in decimal units. */
export function formatBytes(bytes: number): string {
  for (const [unit, size] of units)
    if (bytes >= size) return `${(bytes / size).toFixed(2)} ${unit}`;
  return `${bytes} bytes`;
}

function percent(part: number, whole: number): string {
  return `${(whole === 0 ? 0 : (100 * part) / whole).toFixed(1)} %`;
}

/** One row of a report: what it is about, and what there is to say. */
export function reportRow(about: string, text: string): string {
  return `${about.padEnd(10)}${text}`;
}

/** A report as an engineer would paste it into a pull request. */
export function explainReport(
  report: PlanReport,
  program: Program,
  slots: number,
  budgetBytes: number,
): string {
  const { naiveBytes, plannedBytes, lowerBoundBytes, efficiency, placements } = report;
  const others = Object.entries(placements).map(([name, bytes]) => `${name} ${formatBytes(bytes)}`);
  return [
    reportRow(
      "memory",
      `naive ${formatBytes(naiveBytes)} → planned ${formatBytes(plannedBytes)} ` +
        `(lower bound ${formatBytes(lowerBoundBytes)}, ` +
        `efficiency ${(100 * efficiency).toFixed(1)} %) in ${slots} slots`,
    ),
    reportRow(
      "ops",
      `${report.ops} of ${program.ops.length} run in ${report.dispatches} dispatches ` +
        `and ${report.waves} waves, ${program.ops.length - report.ops} needed by nobody`,
    ),
    ...explainSchedule(report, budgetBytes),
    reportRow("placement", others.join(", ")),
    reportRow("storages", countRoles(program)),
    ...(report.layers.length > 0 ? ["", ...layerTable(report.layers)] : []),
  ].join("\n");
}

/** How the schedule was found, and what it does besides running every op once. */
function explainSchedule(report: PlanReport, budgetBytes: number): string[] {
  const { how, mirror } = report;
  const budget = budgetBytes === Infinity ? "" : `, budget ${formatBytes(budgetBytes)}`;
  const lines = [reportRow("schedule", `${how}${budget}`)];
  if (report.recomputedOps > 0) {
    const more = percent(report.recomputeFlops, report.flops);
    lines.push(reportRow("recompute", `${report.recomputedOps} ops, ${more} more flops`));
  }
  if (mirror !== null)
    lines.push(
      reportRow(
        "memonger",
        `threshold ${formatBytes(mirror.thresholdBytes)}: ` +
          `keeps ${formatBytes(mirror.savedBytes)}, ` +
          `largest segment ${formatBytes(mirror.largestSegmentBytes)}`,
      ),
    );
  const { swapIns, swapOuts, swapInBytes, swapOutBytes, stalls } = report;
  if (swapIns + swapOuts > 0)
    lines.push(
      reportRow(
        "swap",
        `${swapOuts} out (${formatBytes(swapOutBytes)}), ` +
          `${swapIns} in (${formatBytes(swapInBytes)}), ${stalls} waits`,
      ),
    );
  return lines;
}

/** How many storages of each role there are, and their bytes. */
function countRoles(program: Program): string {
  const roles = new Map<string, { count: number; bytes: number }>();
  for (const { role, bytes } of program.storages) {
    const row = roles.get(role) ?? { count: 0, bytes: 0 };
    roles.set(role, { count: row.count + 1, bytes: row.bytes + bytes });
  }
  return [...roles]
    .map(([role, { count, bytes }]) => `${count} ${role} ${formatBytes(bytes)}`)
    .join(", ");
}

/** The order of the layers, as NNTrainer counted once and counts today. */
function layerTable(layers: readonly LayerOrder[]): string[] {
  const width = Math.max(5, ...layers.map((l) => l.name.length));
  const cell = (value: number | string, columns: number): string => String(value).padStart(columns);
  const rows = layers.map(({ name, forward, calcGradient, calcDerivative, order4, trainable }) =>
    [
      name.padEnd(width),
      cell(forward, 7),
      cell(calcGradient, 12),
      cell(calcDerivative, 14),
      "|",
      cell(order4.calcGradient, 26),
      cell(order4.calcDerivative, 10),
      cell(trainable ? order4.applyGradient : "–", 5),
    ].join("  "),
  );
  const heads = `${"layer".padEnd(width)}  forward  calcGradient  calcDerivative`;
  return [`${heads}  |  with apply slots: gradient  derivative  apply`, ...rows];
}

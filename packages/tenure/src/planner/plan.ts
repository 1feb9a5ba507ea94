/**
 * A plan: what a program becomes after the passes. Immutable; cached by the runtime, printed for
 * people, checked by `verify`. Owns no memory: its slots are numbers until an executor fills them
 * with buffers.
 */
import type { Program, ProgramJSON } from "../graph/program.ts";
import type { Extra } from "./cost.ts";
import type { Emitted, Slot, Step } from "./passes/emit.ts";
import { type LayerOrder, layerOrder } from "./layer-order.ts";
import { wavesOf } from "./passes/overlap.ts";
import { verifyPlan } from "./verify.ts";

export type { Slot, Step } from "./passes/emit.ts";

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

/** The plan's own format, version 1. */
export interface PlanJSON {
  version: 1;
  program: ProgramJSON;
  slots: { bytes: number; entry: string | null; exit: string | null; late?: true }[];
  steps: Step[];
  report: PlanReport;
}

/** What the passes found out. */
export interface PlanParts extends Emitted {
  readonly program: Program;
  /** Storages with bytes before the first step. */
  readonly resident: readonly boolean[];
  readonly naiveBytes: number;
  readonly lowerBoundBytes: number;
  readonly budgetBytes: number;
  readonly extra: Extra;
  readonly how: string;
  readonly mirror: PlanReport["mirror"];
  readonly placements: () => Record<string, number>;
}

export class Plan {
  readonly program: Program;
  readonly steps: readonly Step[];
  readonly slots: readonly Slot[];
  /**
   * Slot that holds each storage before the first step; -1 when nobody needs what it holds then.
   */
  readonly entrySlot: readonly number[];
  readonly budgetBytes: number;
  readonly #parts: PlanParts;
  /** Most bytes of slots that have buffers at one time. */
  readonly plannedBytes: number;

  constructor(parts: PlanParts) {
    this.program = parts.program;
    this.steps = parts.steps;
    this.slots = parts.slots;
    this.entrySlot = parts.entrySlot;
    this.budgetBytes = parts.budgetBytes;
    this.#parts = parts;
    this.plannedBytes = bytesOf(parts);
  }

  /** Storages with bytes before the first step. */
  get resident(): readonly boolean[] {
    return this.#parts.resident;
  }
  /** What it does besides running every op once. */
  get extra(): Extra {
    return this.#parts.extra;
  }
  /** How the schedule was found. */
  get how(): string {
    return this.#parts.how;
  }
  /** Of the ops that run, each once. */
  get flops(): number {
    return this.steps.reduce(
      (sum, s) => (s.kind === "dispatch" ? sum + this.program.ops[s.op!]!.flops : sum),
      0,
    );
  }

  report(): PlanReport {
    const { naiveBytes, lowerBoundBytes, extra, how, mirror, placements } = this.#parts,
      { plannedBytes, program, steps } = this;
    const count = (kind: Step["kind"]): number =>
      steps.reduce((n, s) => (s.kind === kind ? n + 1 : n), 0);
    const ops = count("dispatch");
    return {
      ops,
      dispatches: ops + count("recompute"),
      waves: wavesOf(steps),
      naiveBytes,
      plannedBytes,
      lowerBoundBytes,
      predictedPeakBytes: plannedBytes,
      efficiency: plannedBytes === 0 ? 1 : lowerBoundBytes / plannedBytes,
      recomputedOps: extra.recomputedOps,
      recomputeFlops: extra.recomputeFlops,
      flops: this.flops,
      swapInBytes: extra.swapInBytes,
      swapOutBytes: extra.swapOutBytes,
      swapIns: extra.swapIns,
      swapOuts: extra.swapOuts,
      stalls: count("wait"),
      layers: layerOrder(program),
      how,
      placements: placements(),
      mirror,
    };
  }

  /** The report as an engineer would paste it into a pull request. */
  explain(): string {
    return explainReport(this.report(), this.program, this.slots.length, this.budgetBytes);
  }

  toJSON(): PlanJSON {
    const id = (s: number): string | null => (s === -1 ? null : this.program.storages[s]!.id);
    return {
      version: 1,
      program: this.program.toJSON(),
      slots: this.slots.map(({ bytes, entry, exit, late }) => ({
        bytes,
        entry: id(entry),
        exit: id(exit),
        ...(late === true ? { late } : {}),
      })),
      steps: [...this.steps],
      report: this.report(),
    };
  }

  /**
   * Executes the plan symbolically against the program, trusting nothing the passes computed.
   * @throws Error (internal) at the first breach
   */
  verify(): void {
    verifyPlan(this);
  }
}

function bytesOf({ slots, steps }: PlanParts): number {
  let now = slots.reduce((sum, s) => (s.late === true ? sum : sum + s.bytes), 0),
    most = now;
  for (const { kind, slot } of steps) {
    if (kind === "open") now += slots[slot!]!.bytes;
    else if (kind === "close") now -= slots[slot!]!.bytes;
    if (now > most) most = now;
  }
  return most;
}

/** `1.25 MB`, in decimal units. */
export function formatBytes(bytes: number): string {
  const [unit, size] =
    bytes >= 1e9
      ? ["GB", 1e9]
      : bytes >= 1e6
        ? ["MB", 1e6]
        : bytes >= 1e3
          ? ["kB", 1e3]
          : ["bytes", 1];
  return `${size === 1 ? bytes : (bytes / size).toFixed(2)} ${unit}`;
}

const percent = (part: number, whole: number): string =>
  `${(whole === 0 ? 0 : (100 * part) / whole).toFixed(1)} %`;

/** Shared with the runtime's scheduler, which has measured figures to add. */
export function explainReport(
  r: PlanReport,
  program: Program,
  slots: number,
  budgetBytes: number,
): string {
  const lines = [
    `memory   naive ${formatBytes(r.naiveBytes)} → planned ${formatBytes(r.plannedBytes)} (lower bound ${formatBytes(r.lowerBoundBytes)}, efficiency ${(100 * r.efficiency).toFixed(1)} %) in ${slots} slots`,
    `ops      ${r.ops} of ${program.ops.length} run in ${r.dispatches} dispatches and ${r.waves} waves, ${program.ops.length - r.ops} needed by nobody`,
    `schedule ${r.how}${budgetBytes === Infinity ? "" : `, budget ${formatBytes(budgetBytes)}`}`,
  ];
  if (r.recomputedOps > 0)
    lines.push(`again    ${r.recomputedOps} ops, ${percent(r.recomputeFlops, r.flops)} more flops`);
  if (r.mirror !== null)
    lines.push(
      `memonger threshold ${formatBytes(r.mirror.thresholdBytes)}: keeps ${formatBytes(r.mirror.savedBytes)}, largest segment ${formatBytes(r.mirror.largestSegmentBytes)}`,
    );
  if (r.swapIns + r.swapOuts > 0)
    lines.push(
      `swap     ${r.swapOuts} out (${formatBytes(r.swapOutBytes)}), ${r.swapIns} in (${formatBytes(r.swapInBytes)}), ${r.stalls} waits`,
    );
  lines.push(
    `placing  ${Object.entries(r.placements)
      .map(([name, bytes]) => `${name} ${formatBytes(bytes)}`)
      .join(", ")}`,
  );
  const roles = new Map<string, { count: number; bytes: number }>();
  for (const { role, bytes } of program.storages) {
    const row = roles.get(role) ?? { count: 0, bytes: 0 };
    roles.set(role, { count: row.count + 1, bytes: row.bytes + bytes });
  }
  lines.push(
    `storages ${[...roles].map(([role, { count, bytes }]) => `${count} ${role} ${formatBytes(bytes)}`).join(", ")}`,
  );
  if (r.layers.length > 0) {
    const width = Math.max(5, ...r.layers.map((l) => l.name.length));
    lines.push(
      "",
      `${"layer".padEnd(width)}  forward  calcGradient  calcDerivative  |  with apply slots: gradient  derivative  apply`,
    );
    for (const l of r.layers)
      lines.push(
        `${l.name.padEnd(width)}  ${String(l.forward).padStart(7)}  ${String(l.calcGradient).padStart(12)}  ${String(l.calcDerivative).padStart(14)}  |  ${String(l.order4.calcGradient).padStart(26)}  ${String(l.order4.calcDerivative).padStart(10)}  ${l.trainable ? String(l.order4.applyGradient).padStart(5) : "    –"}`,
      );
  }
  return lines.join("\n");
}

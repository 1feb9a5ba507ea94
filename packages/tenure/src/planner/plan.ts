/**
 * A plan: what a program becomes after the passes. Immutable; cached by the runtime, printed for
 * people, checked by `verify`. Owns no memory: its slots are numbers until an executor fills them
 * with buffers.
 */
import { at } from "../base/access.ts";
import { opAt, type Program, type ProgramJSON, storageAt } from "../graph/program.ts";
import type { Extra } from "./cost.ts";
import { layerOrder } from "./layer-order.ts";
import { type PlanReport, explainReport } from "./plan-report.ts";
import type { Emitted, Slot, Step } from "./steps.ts";
import { verifyPlan } from "./verify.ts";
import { wavesOf } from "./waves.ts";

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
  /** Bytes that other placements of the schedule would take, computed when asked. */
  readonly placements: () => Record<string, number>;
}

/** The steps that run a program in some slots of memory, and what is known of them. */
export class Plan {
  /** The program it runs: the one that was planned, or that one with ops fused. */
  readonly program: Program;
  /** What to do, in order. */
  readonly steps: readonly Step[];
  /** The buffers it needs. */
  readonly slots: readonly Slot[];
  /**
   * Slot that holds each storage before the first step; -1 when nobody needs what it holds then.
   */
  readonly entrySlot: readonly number[];
  /** Most bytes it may take; Infinity without a budget. */
  readonly budgetBytes: number;
  readonly #parts: PlanParts;
  #dispatched: Readonly<Record<string, number>> | undefined;
  /** Most bytes of slots that have buffers at one time. */
  readonly plannedBytes: number;

  /** @internal Made by the planner. */
  constructor(parts: PlanParts) {
    this.program = parts.program;
    this.steps = parts.steps;
    this.slots = parts.slots;
    this.entrySlot = parts.entrySlot;
    this.budgetBytes = parts.budgetBytes;
    this.#parts = parts;
    this.plannedBytes = mostBytes(parts);
  }

  /** Storages with bytes before the first step. */
  get resident(): readonly boolean[] {
    return this.#parts.resident;
  }
  /** What it does besides running every op once. */
  get extra(): Extra {
    return this.#parts.extra;
  }
  /** Most bytes live at one time in this schedule. */
  get lowerBoundBytes(): number {
    return this.#parts.lowerBoundBytes;
  }
  /** How the schedule was found. */
  get how(): string {
    return this.#parts.how;
  }
  /** Of the ops that run, each once. */
  get flops(): number {
    let flops = 0;
    for (const { kind, op } of this.steps)
      if (kind === "dispatch" && op !== undefined) flops += opAt(this.program, op).flops;
    return flops;
  }

  /** How often each op is dispatched, by its name; counted once. */
  get dispatched(): Readonly<Record<string, number>> {
    if (this.#dispatched !== undefined) return this.#dispatched;
    const counts: Record<string, number> = {};
    for (const { op } of this.steps) {
      if (op === undefined) continue;
      const { name } = opAt(this.program, op);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return (this.#dispatched = counts);
  }

  /** Its figures, some of which are computed on each call. */
  report(): PlanReport {
    const { naiveBytes, lowerBoundBytes, extra, how, mirror, placements } = this.#parts;
    const { plannedBytes, program, steps } = this;
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

  /** Everything in the plan's own format, for tools and for comparison. */
  toJSON(): PlanJSON {
    const id = (s: number): string | null => (s === -1 ? null : storageAt(this.program, s).id);
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

/** Most bytes of slots that have buffers at one time. */
function mostBytes({ slots, steps }: Emitted): number {
  let now = slots.reduce((sum, s) => (s.late === true ? sum : sum + s.bytes), 0);
  let most = now;
  for (const { kind, slot = -1 } of steps) {
    if (kind === "open") now += at(slots, slot).bytes;
    else if (kind === "close") now -= at(slots, slot).bytes;
    if (now > most) most = now;
  }
  return most;
}

/**
 * What runs of a plan: what a program becomes after the passes. Immutable; made by the planners,
 * cached by the runtime. Owns no memory: its slots are numbers until an executor fills them with
 * buffers. What people look at is in plan.ts.
 */
import { at } from "../base/access.ts";
import { opAt, type Program } from "../graph/program.ts";
import type { Extra } from "./cost.ts";
import type { Item } from "./place/items.ts";
import type { PlanReport } from "./plan-report.ts";
import type { Emitted, Slot, Step } from "./steps.ts";

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
  /** What was placed: other placements of it are compared when somebody asks. */
  readonly items: readonly Item[];
}

/** The steps that run a program in some slots of memory. */
export class RunnablePlan {
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
  /** @internal What the passes found out. */
  readonly parts: PlanParts;
  /** Most bytes of slots that have buffers at one time. */
  readonly plannedBytes: number;
  /** How often each op is dispatched, by its name. */
  readonly dispatched: Readonly<Record<string, number>>;

  /** @internal Made by the planner. */
  constructor(parts: PlanParts) {
    this.program = parts.program;
    this.steps = parts.steps;
    this.slots = parts.slots;
    this.entrySlot = parts.entrySlot;
    this.budgetBytes = parts.budgetBytes;
    this.parts = parts;
    this.plannedBytes = mostBytes(parts);
    this.dispatched = dispatchesByName(parts);
  }

  /** Storages with bytes before the first step. */
  get resident(): readonly boolean[] {
    return this.parts.resident;
  }
  /** What it does besides running every op once. */
  get extra(): Extra {
    return this.parts.extra;
  }
  /** Most bytes live at one time in this schedule. */
  get lowerBoundBytes(): number {
    return this.parts.lowerBoundBytes;
  }
  /** How the schedule was found. */
  get how(): string {
    return this.parts.how;
  }
  /** Of the ops that run, each once. */
  get flops(): number {
    let flops = 0;
    for (const { kind, op } of this.steps)
      if (kind === "dispatch" && op !== undefined) flops += opAt(this.program, op).flops;
    return flops;
  }
}

function dispatchesByName({ steps, program }: PlanParts): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { op } of steps) {
    if (op === undefined) continue;
    const { name } = opAt(program, op);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
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

/**
 * Plans as rectangles, slots against steps: which value lies where, from when to when. Called for
 * the inspector's page by those who make it. Pure.
 */
import { at } from "../base/access.ts";
import type { PlanBox, TraceExtras, TracedPlan } from "../ownership/trace-data.ts";
import { opAt, storageAt } from "../graph/program.ts";
import type { RunnablePlan } from "../planner/runnable-plan.ts";
import type { Step } from "../planner/steps.ts";
import type { Runtime } from "./runtime.ts";

/** A value while it is in a slot. */
interface Resident {
  readonly slot: number;
  readonly offset: number;
  readonly bytes: number;
  readonly from: number;
  to: number;
  readonly storage: number;
  readonly op: string;
  readonly phase: string;
}

/** Follows the steps of one plan. */
class Boxes {
  readonly #plan: RunnablePlan;
  readonly #done: Resident[] = [];
  /** What is in each slot. */
  readonly #slots = new Map<number, Resident[]>();

  constructor(plan: RunnablePlan) {
    this.#plan = plan;
    for (const [storage, slot] of plan.entrySlot.entries())
      if (slot !== -1) this.#put({ storage, slot, offset: 0, from: 0, op: "", phase: "before" });
  }

  /** The value comes into the slot; what it covers ends. One that is there already stays. */
  #put(value: Omit<Resident, "to" | "bytes">): void {
    const { slot, storage, offset, from } = value;
    const { bytes } = storageAt(this.#plan.program, storage);
    const inside = this.#slots.get(slot) ?? [];
    const same = inside.find((r) => r.storage === storage && r.offset === offset);
    if (same !== undefined) {
      same.to = from;
      return;
    }
    const covered = (r: Resident): boolean =>
      r.offset < offset + bytes && offset < r.offset + r.bytes;
    this.#done.push(...inside.filter(covered));
    const kept = inside.filter((r) => !covered(r));
    this.#slots.set(slot, [...kept, { ...value, bytes, to: from }]);
  }

  /** One step. */
  follow(step: Step, i: number): void {
    const { program } = this.#plan;
    if (step.kind === "release" || step.kind === "close") {
      for (const r of this.#slots.get(step.slot ?? -1) ?? []) this.#done.push(r);
      this.#slots.delete(step.slot ?? -1);
      return;
    }
    if (step.kind === "swapIn" || step.kind === "swapOut") {
      const storage = program.storages.findIndex(({ id }) => id === step.storage);
      const { slot = -1, offset = 0, kind } = step;
      if (storage !== -1 && slot !== -1)
        this.#put({ storage, slot, offset, from: i, op: kind, phase: "swap" });
      return;
    }
    if (step.op === undefined) return;
    const { name, reads, writes, phase } = opAt(program, step.op);
    const op = step.kind === "recompute" ? `${name} (again)` : name;
    const touch = (
      storages: readonly number[],
      slots: readonly number[] = [],
      offsets: readonly number[] = [],
    ): void => {
      for (const [k, storage] of storages.entries())
        if (slots[k] !== undefined && slots[k] !== -1)
          this.#put({ storage, slot: slots[k], offset: offsets[k] ?? 0, from: i, op, phase });
    };
    touch(reads, step.reads, step.readOffsets);
    touch(writes, step.writes, step.writeOffsets);
  }

  /** The rectangles; what a slot keeps after the program goes on to the end. */
  finish(): PlanBox[] {
    const { program, slots, steps } = this.#plan;
    for (const [slot, inside] of this.#slots)
      for (const r of inside) {
        if (at(slots, slot).exit === r.storage) r.to = steps.length - 1;
        this.#done.push(r);
      }
    return this.#done.map((r) => {
      const { id, role } = storageAt(program, r.storage);
      return [r.slot, r.offset, r.bytes, r.from, r.to, id, role, r.op, r.phase];
    });
  }
}

/** What the inspector shows besides the event log. */
export function traceExtras({ device, inspector }: Runtime): TraceExtras {
  return {
    device: device === null ? null : device.info.name,
    plans: inspector.ranPlans().map(tracedPlan),
  };
}

/** The rectangles of a plan. */
function tracedPlan(plan: RunnablePlan): TracedPlan {
  const { program, slots, steps, plannedBytes, lowerBoundBytes, budgetBytes } = plan;
  const boxes = new Boxes(plan);
  for (const [i, step] of steps.entries()) boxes.follow(step, i);
  const name = ({ kind, op, storage }: Step): string =>
    op === undefined ? `${kind} ${storage ?? ""}`.trimEnd() : `${kind} ${opAt(program, op).name}`;
  return {
    title: `${program.ops.length} ops, ${slots.length} slots`,
    slots: slots.map(({ bytes }) => bytes),
    steps: steps.map(name),
    boxes: boxes.finish(),
    plannedBytes,
    lowerBoundBytes,
    budgetBytes: budgetBytes === Infinity ? null : budgetBytes,
  };
}

/**
 * The last pass: a schedule and its placement become the list of steps an executor follows. Each dispatch says in which slots its operands are; memory is
 * released right behind the last step that needs it. Pure.
 */
import type { Program } from "../graph/program.ts";
import type { Item, Placed } from "./place.ts";
import type { Action } from "./schedule.ts";

/** One thing to do. */
export interface Step {
  /** `wait`: the host copy of `storage` must be complete. `release`: the slot is free from here on. */
  readonly kind: "dispatch" | "recompute" | "swapIn" | "swapOut" | "wait" | "release";
  /** Index of the op. */
  readonly op?: number;
  readonly storage?: string;
  readonly slot?: number;
  readonly bytes?: number;
  /** Slots of the op's reads, and of its writes, in the program's order. */
  readonly reads?: readonly number[];
  readonly writes?: readonly number[];
}

/** One buffer. */
export interface Slot {
  readonly bytes: number;
  /** The storage that brings the buffer along at entry, or -1. */
  readonly entry: number;
  /** The storage that keeps the buffer after the program, or -1: it goes back to where it came from. */
  readonly exit: number;
}

export interface Emitted {
  readonly steps: Step[];
  readonly slots: Slot[];
  /** Slot that holds each storage before the first step; -1 when nobody needs what it holds then. */
  readonly entrySlot: number[];
}

export function emit({ storages, ops }: Program, actions: readonly Action[], items: readonly Item[], { slotOf = [], slots = [] }: Placed): Emitted {
  const made = slots.map((bytes) => ({ bytes, entry: -1, exit: -1 })), entrySlot = storages.map(() => -1);
  const starts: number[][] = actions.map(() => []), ends: number[][] = actions.map(() => []);
  const where = storages.map(() => -1);
  items.forEach((item, i) => {
    const slot = slotOf[i]!;
    if (item.entry) made[slot]!.entry = item.storage;
    if (item.exit) made[slot]!.exit = item.storage;
    if (item.resident && (item.end > 0 || item.exit)) { entrySlot[item.storage] = slot; where[item.storage] = slot; }
    if (item.begin < item.end) starts[item.begin]!.push(i);
    if (item.exit) return;
    if (item.begin < item.end) ends[item.end - 1]!.push(i);
  });
  const id = (s: number): string => storages[s]!.id, steps: Step[] = [], copied = new Set<number>();
  const release = (i: number): void => { const { storage } = items[i]!; steps.push({ kind: "release", storage: id(storage), slot: slotOf[i]!, bytes: storages[storage]!.bytes }); };
  actions.forEach(({ kind, op, storage }, t) => {
    for (const i of starts[t]!) where[items[i]!.storage] = slotOf[i]!;
    if (kind === "out") {
      copied.add(storage);
      steps.push({ kind: "swapOut", storage: id(storage), slot: where[storage]!, bytes: storages[storage]!.bytes });
    } else if (kind === "in") {
      if (copied.delete(storage)) steps.push({ kind: "wait", storage: id(storage), bytes: storages[storage]!.bytes });
      steps.push({ kind: "swapIn", storage: id(storage), slot: where[storage]!, bytes: storages[storage]!.bytes });
    } else {
      const { reads, writes } = ops[op]!;
      steps.push({ kind: kind === "run" ? "dispatch" : "recompute", op, reads: reads.map((r) => where[r]!), writes: writes.map((w) => where[w]!) });
    }
    ends[t]!.forEach(release);
  });
  return { steps, slots: made, entrySlot };
}

/**
 * The last pass: a schedule and its placement become the list of steps an executor follows. Each
 * dispatch says in which slots its operands are; memory is released right behind the last step that
 * needs it. Pure.
 */
import type { Program } from "../../graph/program.ts";
import type { Item, Placed } from "../place/place.ts";
import type { Action } from "../schedule.ts";

/** One thing to do. */
export interface Step {
  /**
   * `wait`: the host copy of `storage` must be complete. `release`: the slot is free from here on.
   * `open`: the slot gets a buffer. `close`: it has none from here on.
   */
  readonly kind:
    "dispatch" | "recompute" | "swapIn" | "swapOut" | "wait" | "release" | "open" | "close";
  /** Index of the op. */
  readonly op?: number;
  readonly storage?: string;
  readonly slot?: number;
  readonly bytes?: number;
  /** Where in the slot, when it is not at its start. */
  readonly offset?: number;
  /** Slots of the op's reads, and of its writes, in the program's order. */
  readonly reads?: readonly number[];
  readonly writes?: readonly number[];
  /** Offsets in these slots; absent when all are 0. */
  readonly readOffsets?: readonly number[];
  readonly writeOffsets?: readonly number[];
}

/** One buffer. */
export interface Slot {
  readonly bytes: number;
  /** Has no buffer before its `open` step. */
  readonly late?: boolean;
  /** The storage that brings the buffer along at entry, or -1. */
  readonly entry: number;
  /**
   * The storage that keeps the buffer after the program, or -1: it goes back to where it came from.
   */
  readonly exit: number;
}

export interface Emitted {
  readonly steps: Step[];
  readonly slots: Slot[];
  /**
   * Slot that holds each storage before the first step; -1 when nobody needs what it holds then.
   */
  readonly entrySlot: number[];
}

export function emit(
  { storages, ops }: Program,
  actions: readonly Action[],
  items: readonly Item[],
  { slotOf = [], slots = [], inSlot, spans }: Placed,
): Emitted {
  const made = slots.map(
      (bytes): { bytes: number; entry: number; exit: number; late?: boolean } => ({
        bytes,
        entry: -1,
        exit: -1,
      }),
    ),
    entrySlot = storages.map(() => -1);
  const starts: number[][] = actions.map(() => []),
    ends: number[][] = actions.map(() => []);
  const where = storages.map(() => -1),
    offset = storages.map(() => 0),
    offsetOf = (i: number): number => inSlot?.[i] ?? 0;
  items.forEach((item, i) => {
    const slot = slotOf[i]!;
    if (item.entry) made[slot]!.entry = item.storage;
    if (item.exit) made[slot]!.exit = item.storage;
    if (item.resident && (item.end > 0 || item.exit)) {
      entrySlot[item.storage] = slot;
      where[item.storage] = slot;
    }
    if (item.begin < item.end) starts[item.begin]!.push(i);
    if (item.exit) return;
    if (item.begin < item.end) ends[item.end - 1]!.push(i);
  });
  const id = (s: number): string => storages[s]!.id,
    steps: Step[] = [],
    copied = new Set<number>();
  const opens: number[][] = actions.map(() => []),
    closes: number[][] = actions.map(() => []);
  const openOrClose =
    (kind: "open" | "close") =>
    (slot: number): void => {
      steps.push({ kind, slot, bytes: made[slot]!.bytes });
    };
  if (spans !== undefined) {
    const arrives = new Set(
      items.flatMap((item, i) => (item.entry || item.resident ? [slotOf[i]!] : [])),
    );
    spans.forEach(([from, to], slot) => {
      if (!arrives.has(slot)) {
        made[slot]!.late = true;
        opens[from]!.push(slot);
      }
      if (to === 0) openOrClose("close")(slot);
      else if (made[slot]!.exit === -1) closes[to - 1]!.push(slot);
    });
  }
  const place = (
    storage: number,
    slot: number,
    at: number,
  ): Pick<Step, "storage" | "slot" | "bytes" | "offset"> => ({
    storage: id(storage),
    slot,
    bytes: storages[storage]!.bytes,
    ...(at === 0 ? {} : { offset: at }),
  });
  const release = (i: number): void => {
    const { storage } = items[i]!;
    steps.push({ kind: "release", ...place(storage, slotOf[i]!, offsetOf(i)) });
  };
  actions.forEach(({ kind, op, storage }, t) => {
    opens[t]!.forEach(openOrClose("open"));
    for (const i of starts[t]!) {
      where[items[i]!.storage] = slotOf[i]!;
      offset[items[i]!.storage] = offsetOf(i);
    }
    if (kind === "swapOut") {
      copied.add(storage);
      steps.push({ kind: "swapOut", ...place(storage, where[storage]!, offset[storage]!) });
    } else if (kind === "swapIn") {
      if (copied.delete(storage))
        steps.push({ kind: "wait", storage: id(storage), bytes: storages[storage]!.bytes });
      steps.push({ kind: "swapIn", ...place(storage, where[storage]!, offset[storage]!) });
    } else {
      const { reads, writes } = ops[op]!;
      const moved = reads.some((r) => offset[r] !== 0) || writes.some((w) => offset[w] !== 0);
      steps.push({
        kind,
        op,
        reads: reads.map((r) => where[r]!),
        writes: writes.map((w) => where[w]!),
        ...(moved
          ? {
              readOffsets: reads.map((r) => offset[r]!),
              writeOffsets: writes.map((w) => offset[w]!),
            }
          : {}),
      });
    }
    ends[t]!.forEach(release);
    closes[t]!.forEach(openOrClose("close"));
  });
  return { steps, slots: made, entrySlot };
}

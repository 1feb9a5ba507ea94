/**
 * The last pass: a schedule and its placement become the list of steps an executor follows. Each
 * dispatch says in which slots its operands are; memory is released right behind the last step that
 * needs it. Pure.
 */
import { at } from "../../base/access.ts";
import { opAt, type Program, storageAt } from "../../graph/program.ts";
import type { Item, Placed } from "../place/items.ts";
import type { Action } from "../schedule.ts";
import { type PlanState, chosenOf, placementOf } from "../plan-state.ts";
import type { Emitted, Step } from "../steps.ts";

/** The pass: sets the steps. */
export function emitSteps(state: PlanState): PlanState {
  const { items, placed } = placementOf(state);
  const { actions } = chosenOf(state);
  return { ...state, emitted: emit(state.context.program, actions, items, placed) };
}

/** The steps of a schedule whose items were placed in slots. */
export function emit(
  program: Program,
  actions: readonly Action[],
  items: readonly Item[],
  placed: Placed,
): Emitted {
  return new Emission(program, actions, items, placed).run();
}

/** A slot while the steps are written. */
interface SlotInProgress {
  readonly bytes: number;
  entry: number;
  exit: number;
  late?: boolean;
}

/** What happens at each position of the schedule, besides its action. */
interface Events {
  /** Items whose live range begins, or ends. */
  readonly begins: number[];
  readonly ends: number[];
  /** Slots that get a buffer, or lose it. */
  readonly opens: number[];
  readonly closes: number[];
}

class Emission {
  readonly #program: Program;
  readonly #actions: readonly Action[];
  readonly #items: readonly Item[];
  readonly #placed: Placed;
  readonly #slots: SlotInProgress[];
  readonly #events: Events[];
  readonly #entrySlot: number[];
  /** Slot of each storage at the position at hand, and offset in it. */
  readonly #slot: number[];
  readonly #offset: number[];
  /** Storages with a copy on its way to the host. */
  readonly #copied = new Set<number>();
  readonly #steps: Step[] = [];

  constructor(
    program: Program,
    actions: readonly Action[],
    items: readonly Item[],
    placed: Placed,
  ) {
    this.#program = program;
    this.#actions = actions;
    this.#items = items;
    this.#placed = placed;
    this.#slots = (placed.slots ?? []).map((bytes) => ({ bytes, entry: -1, exit: -1 }));
    this.#events = actions.map(() => ({ begins: [], ends: [], opens: [], closes: [] }));
    this.#entrySlot = program.storages.map(() => -1);
    this.#slot = program.storages.map(() => -1);
    this.#offset = program.storages.map(() => 0);
  }

  run(): Emitted {
    for (const [i, item] of this.#items.entries()) this.#arrange(item, i);
    this.#arrangeTransients();
    for (const [t, action] of this.#actions.entries()) {
      const { begins, ends, opens, closes } = at(this.#events, t);
      for (const slot of opens) this.#openOrClose("open", slot);
      for (const i of begins) {
        const { storage } = at(this.#items, i);
        this.#slot[storage] = this.#slotOf(i);
        this.#offset[storage] = this.#offsetOf(i);
      }
      this.#act(action);
      for (const i of ends) this.#release(i);
      for (const slot of closes) this.#openOrClose("close", slot);
    }
    return { steps: this.#steps, slots: this.#slots, entrySlot: this.#entrySlot };
  }

  #slotOf(i: number): number {
    return at(this.#placed.slotOf ?? [], i);
  }

  #offsetOf(i: number): number {
    return this.#placed.inSlot?.[i] ?? 0;
  }

  /** Notes who brings and keeps an item's slot, and when the item is there. */
  #arrange(item: Item, i: number): void {
    const number = this.#slotOf(i);
    const slot = at(this.#slots, number);
    if (item.entry) slot.entry = item.storage;
    if (item.exit) slot.exit = item.storage;
    if (item.resident && (item.end > 0 || item.exit)) {
      this.#entrySlot[item.storage] = number;
      this.#slot[item.storage] = number;
    }
    if (item.begin >= item.end) return;
    at(this.#events, item.begin).begins.push(i);
    if (!item.exit) at(this.#events, item.end - 1).ends.push(i);
  }

  /** Notes when slots that come and go do so. */
  #arrangeTransients(): void {
    const { spans } = this.#placed;
    if (spans === undefined) return;
    const arrive = new Set(
      this.#items.flatMap((item, i) => (item.entry || item.resident ? [this.#slotOf(i)] : [])),
    );
    for (const [number, [from, to]] of spans.entries()) {
      const slot = at(this.#slots, number);
      if (!arrive.has(number)) {
        slot.late = true;
        at(this.#events, from).opens.push(number);
      }
      if (to === 0) this.#openOrClose("close", number);
      else if (slot.exit === -1) at(this.#events, to - 1).closes.push(number);
    }
  }

  #act({ kind, op, storage }: Action): void {
    if (kind === "dispatch" || kind === "recompute") {
      this.#run(kind, op);
      return;
    }
    if (kind === "swapOut") this.#copied.add(storage);
    else if (this.#copied.delete(storage)) {
      const { id, bytes } = storageAt(this.#program, storage);
      this.#steps.push({ kind: "wait", storage: id, bytes });
    }
    const place = this.#place(storage, at(this.#slot, storage), at(this.#offset, storage));
    this.#steps.push({ kind, ...place });
  }

  #run(kind: "dispatch" | "recompute", op: number): void {
    const { reads, writes } = opAt(this.#program, op);
    const step = {
      kind,
      op,
      reads: reads.map((r) => at(this.#slot, r)),
      writes: writes.map((w) => at(this.#slot, w)),
    };
    const readOffsets = reads.map((r) => at(this.#offset, r));
    const writeOffsets = writes.map((w) => at(this.#offset, w));
    const moved = [...readOffsets, ...writeOffsets].some((offset) => offset !== 0);
    this.#steps.push(moved ? { ...step, readOffsets, writeOffsets } : step);
  }

  #release(i: number): void {
    const { storage } = at(this.#items, i);
    const place = this.#place(storage, this.#slotOf(i), this.#offsetOf(i));
    this.#steps.push({ kind: "release", ...place });
  }

  #openOrClose(kind: "open" | "close", slot: number): void {
    this.#steps.push({ kind, slot, bytes: at(this.#slots, slot).bytes });
  }

  #place(
    storage: number,
    slot: number,
    offset: number,
  ): Pick<Step, "storage" | "slot" | "bytes" | "offset"> {
    const { id, bytes } = storageAt(this.#program, storage);
    const place = { storage: id, slot, bytes };
    return offset === 0 ? place : { ...place, offset };
  }
}

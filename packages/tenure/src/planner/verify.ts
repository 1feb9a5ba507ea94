/**
 * The checker: executes a plan symbolically against the original program. It calls no planner
 * helper: residency, versions and bytes are derived here again, from the program and the list of
 * steps alone. Every plan in every test goes through it. Owns only what it keeps track of.
 */
import { at } from "../base/access.ts";
import { internal } from "../base/errors.ts";
import { opAt, type Program, residentAtEntry, storageAt } from "../graph/program.ts";
import type { Slot, Step } from "./steps.ts";

/** What the checker needs to know of a plan. */
export interface CheckedPlan {
  readonly program: Program;
  readonly steps: readonly Step[];
  readonly slots: readonly Slot[];
  readonly entrySlot: readonly number[];
  readonly budgetBytes: number;
}

/**
 * Checks that every read finds the version the program would have seen, slots hold one value at a
 * time, no dispatch binds one buffer under two names, host copies are complete before they come
 * back, resident bytes never exceed the budget, and what somebody owns is in place at the end.
 * @throws Error (internal)
 */
export function verifyPlan(plan: CheckedPlan): void {
  new Verifier(plan).run();
}

function fail(text: string): never {
  throw internal(`plan: ${text}`);
}

/**
 * What the program does in issue order: which value each op reads, and the last of each storage.
 */
interface Reference {
  readonly sees: readonly (readonly string[])[];
  readonly final: readonly (string | undefined)[];
}

/** A value is known by the op and storage that made it. */
function valueMade(program: Program, op: number, storage: number): string {
  return `${storageAt(program, storage).id} by op ${op}`;
}

function initialValue(program: Program, storage: number): string {
  return `${storageAt(program, storage).id} as it came`;
}

function referenceOf(program: Program, resident: readonly boolean[]): Reference {
  const final: (string | undefined)[] = program.storages.map((_, s) =>
    resident[s] === true ? initialValue(program, s) : undefined,
  );
  const sees = program.ops.map(({ reads, writes, name }, i) => {
    const seen = reads.map((s) => {
      const { id } = storageAt(program, s);
      return final[s] ?? fail(`op ${i} ${name} reads ${id} before anything wrote it`);
    });
    for (const w of writes) final[w] = valueMade(program, i, w);
    return seen;
  });
  return { sees, final };
}

/** A value in a slot. */
interface Held {
  readonly storage: number;
  readonly offset: number;
  value: string;
}

/** A slot while the steps are followed. */
interface SlotState {
  readonly bytes: number;
  open: boolean;
  held: Held[];
}

class Verifier {
  readonly #plan: CheckedPlan;
  readonly #program: Program;
  readonly #resident: readonly boolean[];
  readonly #reference: Reference;
  readonly #slots: SlotState[];
  /** Slot that holds each storage; -1 for none. */
  readonly #place: number[];
  readonly #index: ReadonlyMap<string, number>;
  readonly #host = new Map<number, { readonly value: string; complete: boolean }>();
  readonly #ran = new Set<number>();
  #residentBytes = 0;
  #openBytes = 0;

  constructor(plan: CheckedPlan) {
    this.#plan = plan;
    this.#program = plan.program;
    this.#resident = residentAtEntry(plan.program);
    this.#reference = referenceOf(plan.program, this.#resident);
    this.#slots = plan.slots.map(({ bytes, late }) => ({ bytes, open: late !== true, held: [] }));
    this.#place = plan.program.storages.map(() => -1);
    this.#index = new Map(plan.program.storages.map((s, i) => [s.id, i]));
  }

  run(): void {
    this.#enter();
    for (const [n, step] of this.#plan.steps.entries())
      this.#follow(step, `step ${n} ${step.kind}`);
    this.#exit();
  }

  // === Entry and exit ===

  /** What is resident lies where the plan says, in slots that have buffers. */
  #enter(): void {
    for (const { open, bytes } of this.#slots) if (open) this.#openBytes += bytes;
    const { budgetBytes, entrySlot, slots } = this.#plan;
    if (this.#openBytes > budgetBytes)
      fail(`the slots are larger than the budget of ${budgetBytes} bytes`);
    for (const [s, { id }] of this.#program.storages.entries()) {
      const slot = entrySlot[s] ?? -1;
      // nobody needs it: a read would notice
      if (this.#resident[s] !== true || slot === -1) continue;
      this.#put(s, slot, 0, initialValue(this.#program, s), `entry of ${id}`);
    }
    for (const [k, { entry, late, bytes }] of slots.entries()) {
      if (entry === -1) continue;
      const brought = storageAt(this.#program, entry);
      if (late === true) fail(`slot ${k} has no buffer, but ${brought.id} brings one`);
      if (brought.bytes !== bytes)
        fail(`slot ${k} has ${bytes} bytes, but ${brought.id} brings ${brought.bytes}`);
    }
  }

  /** What somebody owns has its last value, in a buffer of its own. */
  #exit(): void {
    for (const [s, { id, pinned, bytes }] of this.#program.storages.entries()) {
      const final = this.#reference.final[s];
      if (!pinned || final === undefined) continue;
      const number = at(this.#place, s);
      const found = this.#heldAt(number, 0);
      if (found?.value !== final)
        fail(`${id} ends as ${found?.value ?? "nothing"}, but should be ${final}`);
      if (at(this.#plan.slots, number).exit !== s)
        fail(`${id} is owned by somebody, but does not keep slot ${number}`);
      const slot = at(this.#slots, number);
      if (slot.held.length !== 1)
        fail(`${id} would keep slot ${number}, which holds something else too`);
      if (slot.bytes !== bytes) fail(`${id} would keep slot ${number}, which has another size`);
    }
  }

  // === Steps ===

  #follow(step: Step, what: string): void {
    if (step.kind === "dispatch" || step.kind === "recompute") this.#run(step, what);
    else if (step.kind === "open" || step.kind === "close") this.#openOrClose(step, what);
    else this.#move(step, what);
  }

  #run(step: Step, what: string): void {
    const i = step.op ?? fail(`${what}: names no op`);
    const op = this.#program.ops[i] ?? fail(`${what}: there is no op ${i}`);
    const label = `${what} of op ${i} ${op.name}`;
    if (step.kind === "dispatch") {
      if (this.#ran.has(i)) fail(`${label}: runs twice`);
      this.#ran.add(i);
    } else {
      if (!this.#ran.has(i)) fail(`${label}: never ran before`);
      if (!op.recomputable) fail(`${label}: may not run again`);
      if (op.writes.some((w) => op.reads.includes(w))) fail(`${label}: updates its input in place`);
    }
    this.#read(step, i, label);
    this.#write(step, i, label);
    for (const w of op.writes) this.#host.delete(w);
  }

  /** Every read finds the value that the program would have seen. */
  #read(step: Step, i: number, label: string): void {
    const sees = at(this.#reference.sees, i);
    for (const [k, s] of opAt(this.#program, i).reads.entries()) {
      const slot = step.reads?.[k] ?? -1;
      const found = this.#heldAt(slot, step.readOffsets?.[k] ?? 0);
      const value = at(sees, k);
      if (found?.storage !== s || found.value !== value)
        fail(`${label}: reads ${value}, but slot ${slot} holds ${found?.value ?? "nothing"}`);
    }
  }

  /**
   * Results go where there is room, or in place. One buffer, one kind of access: what is written
   * shares its buffer with nothing that is only read.
   */
  #write(step: Step, i: number, label: string): void {
    const { reads, writes } = opAt(this.#program, i);
    for (const [k, w] of writes.entries()) {
      const slot = step.writes?.[k] ?? -1;
      const offset = step.writeOffsets?.[k] ?? 0;
      const { id } = storageAt(this.#program, w);
      const value = valueMade(this.#program, i, w);
      const updated = reads.indexOf(w);
      if (updated === -1) this.#put(w, slot, offset, value, label);
      else {
        const held = this.#heldAt(slot, offset);
        const same =
          slot === step.reads?.[updated] && offset === (step.readOffsets?.[updated] ?? 0);
        if (!same || held === undefined)
          return fail(`${label}: reads and writes ${id} in two places`);
        held.value = value;
      }
      for (const [j, r] of reads.entries())
        if (!writes.includes(r) && step.reads?.[j] === slot) {
          const read = storageAt(this.#program, r).id;
          fail(`${label}: binds slot ${slot} read-only for ${read} and writable for ${id}`);
        }
    }
  }

  #openOrClose({ kind, slot: number = -1 }: Step, what: string): void {
    const slot = this.#slots[number] ?? fail(`${what}: there is no slot ${number}`);
    const opening = kind === "open";
    if (slot.open === opening)
      fail(`${what}: slot ${number} ${opening ? "has a buffer already" : "has no buffer"}`);
    const [held] = slot.held;
    if (held !== undefined) fail(`${what}: slot ${number} still holds ${held.value}`);
    slot.open = opening;
    this.#openBytes += opening ? slot.bytes : -slot.bytes;
    const { budgetBytes } = this.#plan;
    if (this.#openBytes > budgetBytes)
      fail(`${what}: the slots have ${this.#openBytes} bytes, the budget is ${budgetBytes}`);
  }

  /** Copies to the host and back, and releases. */
  #move(step: Step, what: string): void {
    const storage = this.#index.get(step.storage ?? "") ?? fail(`${what}: names no storage`);
    const { id, bytes } = storageAt(this.#program, storage);
    const { slot = -1, offset = 0 } = step;
    switch (step.kind) {
      case "swapOut": {
        const found = this.#heldAt(slot, offset);
        if (found?.storage !== storage) return fail(`${what}: slot ${slot} does not hold ${id}`);
        this.#host.set(storage, { value: found.value, complete: false });
        return;
      }
      case "wait": {
        const copy = this.#host.get(storage);
        if (copy === undefined) return fail(`${what}: ${id} is not on its way to the host`);
        copy.complete = true;
        return;
      }
      case "swapIn": {
        const copy = this.#host.get(storage);
        if (copy === undefined) return fail(`${what}: the host has no copy of ${id}`);
        if (!copy.complete) fail(`${what}: the copy of ${id} is not complete`);
        this.#put(storage, slot, offset, copy.value, what);
        return;
      }
      case "release": {
        const place = this.#slots[slot];
        const held = this.#heldAt(slot, offset);
        if (place === undefined || held?.storage !== storage || this.#place[storage] !== slot)
          return fail(`${what}: slot ${slot} does not hold ${id}`);
        place.held = place.held.filter((h) => h.storage !== storage);
        this.#place[storage] = -1;
        this.#residentBytes -= bytes;
        return;
      }
      default:
        return fail(`${what}: unknown`);
    }
  }

  // === Slots ===

  #heldAt(slot: number, offset: number): Held | undefined {
    return this.#slots[slot]?.held.find((h) => h.offset === offset);
  }

  /** A value comes into a slot, where there must be room for it. */
  #put(storage: number, number: number, offset: number, value: string, what: string): void {
    const slot = this.#slots[number] ?? fail(`${what}: there is no slot ${number}`);
    const { id, bytes } = storageAt(this.#program, storage);
    const end = offset + bytes;
    if (offset < 0 || slot.bytes < end) fail(`${what}: ${id} does not fit into slot ${number}`);
    if (!slot.open) fail(`${what}: slot ${number} has no buffer`);
    if (offset % 256 !== 0) fail(`${what}: ${id} is not aligned in slot ${number}`);
    for (const h of slot.held)
      if (h.offset < end && offset < h.offset + storageAt(this.#program, h.storage).bytes)
        fail(`${what}: slot ${number} still holds ${h.value}`);
    const place = at(this.#place, storage);
    if (place !== -1) fail(`${what}: ${id} is already in slot ${place}`);
    slot.held.push({ storage, offset, value });
    this.#place[storage] = number;
    this.#residentBytes += bytes;
    const { budgetBytes } = this.#plan;
    if (this.#residentBytes > budgetBytes)
      fail(`${what}: ${this.#residentBytes} bytes are resident, the budget is ${budgetBytes}`);
  }
}

/**
 * A plan: what a program becomes after the passes. Immutable; cached by the runtime, printed for people, checked by `verifyPlan`. Owns no memory: its slots
 * are numbers until the executor fills them with buffers.
 */
import { internal } from "../base/errors.ts";
import { type Program, residentAtEntry } from "../graph/program.ts";
import type { Placement } from "./place.ts";

export interface Plan extends Placement {
  readonly program: Program;
  /** Op indices in the order they run; ops nobody needs are absent. */
  readonly order: readonly number[];
  /** Sum of all storages that need memory, as if none were shared. */
  readonly naiveBytes: number;
  /** Sum of the slots. */
  readonly plannedBytes: number;
  /** Most bytes live at one time: no placement can do with less. */
  readonly lowerBoundBytes: number;
}

/** `planned 1.2 MB of naive 4.0 MB (lower bound 1.1 MB, efficiency 92 %)`. */
export function formatPlan(plan: Plan): string {
  const mb = (n: number): string => `${(n / 1e6).toFixed(2)} MB`;
  const efficiency = plan.plannedBytes === 0 ? 100 : (100 * plan.lowerBoundBytes) / plan.plannedBytes;
  return `${plan.order.length} of ${plan.program.ops.length} ops run; naive ${mb(plan.naiveBytes)} -> planned ${mb(plan.plannedBytes)} (lower bound ${mb(plan.lowerBoundBytes)}, efficiency ${efficiency.toFixed(0)} %) in ${plan.slots.length} slots`;
}

/**
 * Runs the plan symbolically against the program and trusts nothing the passes computed: every read must find in its slot the version last written,
 * every pinned storage must hold its final version at the end, and no dispatch may write a buffer it also reads under another name.
 * @throws Error (internal) at the first breach.
 */
export function verifyPlan(plan: Plan): void {
  const { program, order, slots, slotOf } = plan;
  // Reference: run every op, note the version each read sees and the final version of each storage.
  const resident = residentAtEntry(program);
  const version: number[] = program.storages.map((_, i) => (resident[i] === true ? 0 : -1));
  const seen = program.ops.map((op, i) => {
    const reads = op.reads.map((s) => { if (version[s] === -1) throw internal(`op ${i} ${op.name} reads ${program.storages[s]!.id} before anything wrote it`); return version[s]!; });
    for (const w of op.writes) version[w] = i + 1;
    return reads;
  });
  // The plan: what each slot holds, as (storage, version).
  const holds = slots.map((slot) => (slot.entry === -1 ? undefined : { storage: slot.entry, version: 0 }));
  slotOf.forEach((slot, storage) => {
    if (slot === -1 || slots[slot]!.entry === storage || resident[storage] !== true) return;
    holds[slot] = { storage, version: 0 }; // an upload may take the buffer of a storage nobody reads any more: reads below would notice
  });
  let previous = -1;
  for (const i of order) {
    const op = program.ops[i]!;
    if (i <= previous) throw internal(`op ${i} ${op.name} runs out of issue order`);
    previous = i;
    op.reads.forEach((s, k) => {
      const found = holds[slotOf[s]!];
      if (found?.storage !== s || found.version !== seen[i]![k]) throw internal(`op ${i} ${op.name} reads ${program.storages[s]!.id} version ${seen[i]![k]} but slot ${slotOf[s]} holds ${found === undefined ? "nothing" : `${program.storages[found.storage]!.id} version ${found.version}`}`);
    });
    for (const w of op.writes) {
      const slot = slotOf[w]!;
      if (slot === -1 || slots[slot]!.bytes < program.storages[w]!.bytes) throw internal(`op ${i} ${op.name} writes ${program.storages[w]!.id} into a slot too small`);
      for (const r of op.reads) if (r !== w && slotOf[r] === slot) throw internal(`op ${i} ${op.name} reads and writes slot ${slot} under two names`);
      for (const other of op.writes) if (other !== w && slotOf[other] === slot) throw internal(`op ${i} ${op.name} writes slot ${slot} twice`);
      holds[slot] = { storage: w, version: i + 1 };
    }
  }
  program.storages.forEach((s, i) => {
    if (!s.pinned) return;
    const found = holds[slotOf[i]!];
    if (found?.storage !== i || found.version !== version[i]) throw internal(`${s.id} does not hold its final value at the end`);
    if (slots[slotOf[i]!]!.exit !== i) throw internal(`${s.id} is pinned but does not keep its slot`);
  });
}

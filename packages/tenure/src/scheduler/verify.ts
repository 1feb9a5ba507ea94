/**
 * The checker: executes a plan symbolically against the original program. It calls no planner helper: residency, versions and bytes are derived here again,
 * from the program and the list of steps alone. Every plan in every test goes through it.
 */
import { internal } from "../base/errors.ts";
import { residentAtEntry } from "../graph/program.ts";
import type { Plan } from "./plan.ts";

/**
 * Checks that every read finds the version the program would have seen, slots hold one value at a time, no dispatch binds one buffer under two names, host copies
 * are complete before they come back, resident bytes never exceed the budget, and what somebody owns is in place at the end. @throws Error (internal)
 */
export function verifyPlan({ program, steps, slots, entrySlot, budgetBytes }: Pick<Plan, "program" | "steps" | "slots" | "entrySlot" | "budgetBytes">): void {
  const { storages, ops } = program;
  // A value is known by the op and storage that made it.
  const initial = (s: number): string => `${storages[s]!.id} as it came`, made = (op: number, s: number): string => `${storages[s]!.id} by op ${op}`;

  // Reference: issue order. Which value each op reads, and the last value of every storage.
  const resident = residentAtEntry(program), value: (string | undefined)[] = storages.map((_, s) => (resident[s] === true ? initial(s) : undefined));
  const sees = ops.map(({ reads, writes, name }, i) => {
    const seen = reads.map((s) => value[s] ?? fail(`op ${i} ${name} reads ${storages[s]!.id} before anything wrote it`));
    for (const w of writes) value[w] = made(i, w);
    return seen;
  });

  // Entry: what is resident lies where the plan says.
  const holds: ({ storage: number; value: string } | null)[] = slots.map(() => null), at: number[] = storages.map(() => -1);
  let bytes = 0;
  const bytesIn = (slot: number, storage: number, what: string, token: string): void => {
    const room = slots[slot] ?? fail(`${what}: there is no slot ${slot}`);
    if (room.bytes < storages[storage]!.bytes) fail(`${what}: ${storages[storage]!.id} does not fit into slot ${slot}`);
    if (holds[slot] != null) fail(`${what}: slot ${slot} still holds ${holds[slot].value}`);
    if (at[storage] !== -1) fail(`${what}: ${storages[storage]!.id} is already in slot ${at[storage]}`);
    holds[slot] = { storage, value: token };
    at[storage] = slot;
    bytes += storages[storage]!.bytes;
    if (bytes > budgetBytes) fail(`${what}: ${bytes} bytes are resident, the budget is ${budgetBytes}`);
  };
  if (slots.reduce((sum, s) => sum + s.bytes, 0) > budgetBytes) fail(`the slots are larger than the budget of ${budgetBytes} bytes`);
  storages.forEach((s, i) => {
    if (resident[i] !== true) return;
    if (entrySlot[i] === -1 || entrySlot[i] === undefined) return; // nobody needs it: a read would notice
    bytesIn(entrySlot[i], i, `entry of ${s.id}`, initial(i));
  });
  slots.forEach(({ entry, bytes: size }, k) => { if (entry !== -1 && storages[entry]!.bytes !== size) fail(`slot ${k} has ${size} bytes, but ${storages[entry]!.id} brings ${storages[entry]!.bytes}`); });

  const index = new Map(storages.map((s, i) => [s.id, i]));
  const host = new Map<number, { value: string; complete: boolean }>(), ran = new Set<number>();
  steps.forEach((step, n) => {
    const what = `step ${n} ${step.kind}`;
    if (step.kind === "dispatch" || step.kind === "recompute") {
      const i = step.op ?? fail(`${what}: names no op`), op = ops[i] ?? fail(`${what}: there is no op ${i}`), label = `${what} of op ${i} ${op.name}`;
      if (step.kind === "dispatch") { if (ran.has(i)) fail(`${label}: runs twice`); ran.add(i); } else {
        if (!ran.has(i)) fail(`${label}: never ran before`);
        if (!op.recomputable) fail(`${label}: may not run again`);
        if (op.writes.some((w) => op.reads.includes(w))) fail(`${label}: updates its input in place`);
      }
      op.reads.forEach((s, k) => {
        const slot = step.reads?.[k] ?? -1, found = holds[slot];
        if (found?.storage !== s || found.value !== sees[i]![k]) fail(`${label}: reads ${sees[i]![k]}, but slot ${slot} holds ${found?.value ?? "nothing"}`);
      });
      op.writes.forEach((w, k) => {
        const slot = step.writes?.[k] ?? -1, updated = op.reads.indexOf(w);
        if (updated !== -1) {
          if (slot !== step.reads?.[updated]) fail(`${label}: reads and writes ${storages[w]!.id} in two slots`);
          holds[slot] = { storage: w, value: made(i, w) };
        } else bytesIn(slot, w, label, made(i, w));
      });
      const bound = new Map<number, number>();
      [...op.reads.map((s, k) => [s, step.reads![k]!] as const), ...op.writes.map((s, k) => [s, step.writes![k]!] as const)].forEach(([s, slot]) => {
        if ((bound.get(slot) ?? s) !== s) fail(`${label}: binds slot ${slot} under two names`);
        bound.set(slot, s);
      });
      for (const w of op.writes) host.delete(w);
      return;
    }
    const storage = index.get(step.storage ?? "") ?? fail(`${what}: names no storage`), id = storages[storage]!.id, slot = step.slot ?? -1;
    switch (step.kind) {
      case "swapOut": {
        const found = holds[slot];
        if (found?.storage !== storage) return fail(`${what}: slot ${slot} does not hold ${id}`);
        host.set(storage, { value: found.value, complete: false });
        return;
      }
      case "wait": {
        const copy = host.get(storage) ?? fail(`${what}: ${id} is not on its way to the host`);
        copy.complete = true;
        return;
      }
      case "swapIn": {
        const copy = host.get(storage) ?? fail(`${what}: the host has no copy of ${id}`);
        if (!copy.complete) fail(`${what}: the copy of ${id} is not complete`);
        bytesIn(slot, storage, what, copy.value);
        return;
      }
      case "release":
        if (holds[slot]?.storage !== storage || at[storage] !== slot) fail(`${what}: slot ${slot} does not hold ${id}`);
        holds[slot] = null;
        at[storage] = -1;
        bytes -= storages[storage]!.bytes;
        return;
      default: return fail(`${what}: unknown`);
    }
  });

  storages.forEach(({ id, pinned }, s) => {
    if (!pinned || value[s] === undefined) return;
    const slot = at[s]!, found = holds[slot];
    if (found?.value !== value[s]) fail(`${id} ends as ${found?.value ?? "nothing"}, but should be ${value[s]}`);
    if (slots[slot]!.exit !== s) fail(`${id} is owned by somebody, but does not keep slot ${slot}`);
    if (slots[slot]!.bytes !== storages[s]!.bytes) fail(`${id} would keep slot ${slot}, which has another size`);
  });
}

function fail(text: string): never { throw internal(`plan: ${text}`); }

/**
 * The checker: executes a plan symbolically against the original program. It calls no planner
 * helper: residency, versions and bytes are derived here again, from the program and the list of
 * steps alone. Every plan in every test goes through it.
 */
import { internal } from "../base/errors.ts";
import { residentAtEntry } from "../graph/program.ts";
import type { Plan } from "./plan.ts";

/**
 * Checks that every read finds the version the program would have seen, slots hold one value at a
 * time, no dispatch binds one buffer under two names, host copies are complete before they come
 * back, resident bytes never exceed the budget, and what somebody owns is in place at the end.
 * @throws Error (internal)
 */
export function verifyPlan({
  program,
  steps,
  slots,
  entrySlot,
  budgetBytes,
}: Pick<Plan, "program" | "steps" | "slots" | "entrySlot" | "budgetBytes">): void {
  const { storages, ops } = program;
  // A value is known by the op and storage that made it.
  const initial = (s: number): string => `${storages[s]!.id} as it came`,
    made = (op: number, s: number): string => `${storages[s]!.id} by op ${op}`;

  // Reference: issue order. Which value each op reads, and the last value of every storage.
  const resident = residentAtEntry(program),
    value: (string | undefined)[] = storages.map((_, s) =>
      resident[s] === true ? initial(s) : undefined,
    );
  const sees = ops.map(({ reads, writes, name }, i) => {
    const seen = reads.map(
      (s) => value[s] ?? fail(`op ${i} ${name} reads ${storages[s]!.id} before anything wrote it`),
    );
    for (const w of writes) value[w] = made(i, w);
    return seen;
  });

  // Entry: what is resident lies where the plan says.
  interface Held {
    readonly storage: number;
    readonly offset: number;
    value: string;
  }
  const holds: Held[][] = slots.map(() => []),
    at: number[] = storages.map(() => -1);
  const heldAt = (slot: number, offset: number): Held | undefined =>
    holds[slot]?.find((h) => h.offset === offset);
  let bytes = 0;
  const bytesIn = (
    slot: number,
    offset: number,
    storage: number,
    what: string,
    token: string,
  ): void => {
    const room = slots[slot] ?? fail(`${what}: there is no slot ${slot}`),
      end = offset + storages[storage]!.bytes;
    if (offset < 0 || room.bytes < end)
      fail(`${what}: ${storages[storage]!.id} does not fit into slot ${slot}`);
    if (!open[slot]!) fail(`${what}: slot ${slot} has no buffer`);
    if (offset % 256 !== 0)
      fail(`${what}: ${storages[storage]!.id} is not aligned in slot ${slot}`);
    for (const h of holds[slot]!)
      if (h.offset < end && offset < h.offset + storages[h.storage]!.bytes)
        fail(`${what}: slot ${slot} still holds ${h.value}`);
    if (at[storage] !== -1)
      fail(`${what}: ${storages[storage]!.id} is already in slot ${at[storage]}`);
    holds[slot]!.push({ storage, offset, value: token });
    at[storage] = slot;
    bytes += storages[storage]!.bytes;
    if (bytes > budgetBytes)
      fail(`${what}: ${bytes} bytes are resident, the budget is ${budgetBytes}`);
  };
  const open = slots.map(({ late }) => late !== true);
  let openBytes = slots.reduce((sum, s, k) => (open[k]! ? sum + s.bytes : sum), 0);
  if (openBytes > budgetBytes) fail(`the slots are larger than the budget of ${budgetBytes} bytes`);
  storages.forEach((s, i) => {
    if (resident[i] !== true) return;
    // nobody needs it: a read would notice
    if (entrySlot[i] === -1 || entrySlot[i] === undefined) return;
    bytesIn(entrySlot[i], 0, i, `entry of ${s.id}`, initial(i));
  });
  slots.forEach(({ entry, late, bytes: size }, k) => {
    if (entry !== -1 && late === true)
      fail(`slot ${k} has no buffer, but ${storages[entry]!.id} brings one`);
    if (entry !== -1 && storages[entry]!.bytes !== size)
      fail(
        `slot ${k} has ${size} bytes, but ${storages[entry]!.id} brings ${storages[entry]!.bytes}`,
      );
  });

  const index = new Map(storages.map((s, i) => [s.id, i]));
  const host = new Map<number, { value: string; complete: boolean }>(),
    ran = new Set<number>();
  steps.forEach((step, n) => {
    const what = `step ${n} ${step.kind}`;
    if (step.kind === "dispatch" || step.kind === "recompute") {
      const i = step.op ?? fail(`${what}: names no op`),
        op = ops[i] ?? fail(`${what}: there is no op ${i}`),
        label = `${what} of op ${i} ${op.name}`;
      if (step.kind === "dispatch") {
        if (ran.has(i)) fail(`${label}: runs twice`);
        ran.add(i);
      } else {
        if (!ran.has(i)) fail(`${label}: never ran before`);
        if (!op.recomputable) fail(`${label}: may not run again`);
        if (op.writes.some((w) => op.reads.includes(w)))
          fail(`${label}: updates its input in place`);
      }
      op.reads.forEach((s, k) => {
        const slot = step.reads?.[k] ?? -1,
          found = heldAt(slot, step.readOffsets?.[k] ?? 0);
        if (found?.storage !== s || found.value !== sees[i]![k])
          fail(
            `${label}: reads ${sees[i]![k]}, but slot ${slot} holds ${found?.value ?? "nothing"}`,
          );
      });
      op.writes.forEach((w, k) => {
        const slot = step.writes?.[k] ?? -1,
          offset = step.writeOffsets?.[k] ?? 0,
          updated = op.reads.indexOf(w);
        if (updated !== -1) {
          if (slot !== step.reads?.[updated] || offset !== (step.readOffsets?.[updated] ?? 0))
            fail(`${label}: reads and writes ${storages[w]!.id} in two places`);
          heldAt(slot, offset)!.value = made(i, w);
        } else bytesIn(slot, offset, w, label, made(i, w));
      });
      // One buffer, one kind of access: what is written shares its buffer with nothing that is only
      // read.
      op.writes.forEach((w, k) => {
        op.reads.forEach((r, j) => {
          if (!op.writes.includes(r) && step.reads![j] === step.writes![k])
            fail(
              `${label}: binds slot ${step.writes![k]} read-only for ${storages[r]!.id} and writable for ${storages[w]!.id}`,
            );
        });
      });
      for (const w of op.writes) host.delete(w);
      return;
    }
    if (step.kind === "open" || step.kind === "close") {
      const slot = step.slot ?? -1,
        { bytes: size } = slots[slot] ?? fail(`${what}: there is no slot ${slot}`),
        opening = step.kind === "open";
      if (open[slot] === opening)
        fail(`${what}: slot ${slot} ${opening ? "has a buffer already" : "has no buffer"}`);
      if (holds[slot]!.length > 0)
        fail(`${what}: slot ${slot} still holds ${holds[slot]![0]!.value}`);
      open[slot] = opening;
      openBytes += opening ? size : -size;
      if (openBytes > budgetBytes)
        fail(`${what}: the slots have ${openBytes} bytes, the budget is ${budgetBytes}`);
      return;
    }
    const storage = index.get(step.storage ?? "") ?? fail(`${what}: names no storage`),
      id = storages[storage]!.id,
      slot = step.slot ?? -1;
    switch (step.kind) {
      case "swapOut": {
        const found = heldAt(slot, step.offset ?? 0);
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
        bytesIn(slot, step.offset ?? 0, storage, what, copy.value);
        return;
      }
      case "release":
        if (heldAt(slot, step.offset ?? 0)?.storage !== storage || at[storage] !== slot)
          fail(`${what}: slot ${slot} does not hold ${id}`);
        holds[slot] = holds[slot]!.filter((h) => h.storage !== storage);
        at[storage] = -1;
        bytes -= storages[storage]!.bytes;
        return;
      default:
        return fail(`${what}: unknown`);
    }
  });

  storages.forEach(({ id, pinned }, s) => {
    if (!pinned || value[s] === undefined) return;
    const slot = at[s]!,
      found = heldAt(slot, 0);
    if (found?.value !== value[s])
      fail(`${id} ends as ${found?.value ?? "nothing"}, but should be ${value[s]}`);
    if (slots[slot]!.exit !== s) fail(`${id} is owned by somebody, but does not keep slot ${slot}`);
    if (holds[slot]!.length !== 1)
      fail(`${id} would keep slot ${slot}, which holds something else too`);
    if (slots[slot]!.bytes !== storages[s]!.bytes)
      fail(`${id} would keep slot ${slot}, which has another size`);
  });
}

function fail(text: string): never {
  throw internal(`plan: ${text}`);
}

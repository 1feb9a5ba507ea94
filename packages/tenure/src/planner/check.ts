/**
 * Checks between the passes: whatever the state says so far must be right. Tests run it after each
 * pass; it knows the program and what schedules mean, and trusts nothing that a pass computed.
 * Pure.
 */
import { at } from "../base/access.ts";
import { internal } from "../base/errors.ts";
import { opAt, type Program, storageAt } from "../graph/program.ts";
import type { Candidate } from "./candidate.ts";
import { checkPlacement } from "./place/check-placement.ts";
import { slotted } from "./place/open-slots.ts";
import { type Context, livePeak, runsOf } from "./schedule.ts";
import { type PlanState, chosenOf } from "./plan-state.ts";
import { verifyPlan } from "./verify.ts";

/** @throws Error (internal), naming the pass, for the first thing that is wrong */
export function checkState(pass: string, state: PlanState): void {
  const { context, order, candidates, chosen, placement, emitted, policy } = state;
  const schedules = chosen === null ? candidates : [...candidates, chosen];
  checkSchedule(`${pass}: the order`, context, runsOf(order));
  for (const candidate of schedules) checkCandidate(pass, context, order, candidate);
  if (placement !== null) {
    const { items, placed } = placement;
    const { name, slots = [], slotOf = [], spans } = placed;
    // Slots that come and go share no memory with each other, whatever their offsets.
    checkPlacement(items, spans === undefined ? placed : slotted(name, slots, slotOf));
    if (placed.bytes < chosenOf(state).peak)
      throw internal(`${pass}: a placement takes less than what is live at one time`);
  }
  if (emitted !== null)
    verifyPlan({ program: context.program, budgetBytes: policy.budgetBytes, ...emitted });
}

function checkCandidate(
  pass: string,
  context: Context,
  order: readonly number[],
  { how, actions, peak }: Candidate,
): void {
  const what = `${pass}: ${how}`;
  checkSchedule(what, context, actions);
  const ran = actions.flatMap(({ kind, op }) => (kind === "dispatch" ? [op] : []));
  if (new Set(ran).size !== ran.length || ran.length !== order.length)
    throw internal(`${what}: runs ${ran.length} ops once of ${order.length}`);
  if (peak !== livePeak(context, actions)) throw internal(`${what}: has another peak`);
}

/** The op that made what each storage holds; -1 for what came from outside. */
type Makers = number[];

/** Every op sees the values that it sees in issue order, and what is owned ends the same. */
function checkSchedule(
  what: string,
  { program }: Context,
  actions: PlanState["candidates"][number]["actions"],
): void {
  if (actions.length === 0) return;
  const { sees, final } = issueOrder(program);
  const now: Makers = program.storages.map(() => -1);
  const host = new Map<number, number>();
  for (const { kind, op, storage } of actions) {
    if (kind === "swapOut") host.set(storage, at(now, storage));
    else if (kind === "swapIn") {
      const copy = host.get(storage);
      if (copy === undefined)
        throw internal(`${what}: the host has no copy of ${storageAt(program, storage).id}`);
      now[storage] = copy;
    } else {
      const { name, reads, writes } = opAt(program, op);
      const seen = at(sees, op);
      if (reads.some((r, k) => now[r] !== seen[k]))
        throw internal(`${what}: op ${op} ${name} sees other values than in issue order`);
      for (const w of writes) now[w] = op;
    }
  }
  program.storages.forEach(({ id, pinned }, s) => {
    if (pinned && now[s] !== final[s]) throw internal(`${what}: ${id} ends with another value`);
  });
}

/** What each op sees in issue order, by who made it, and who made what is there at the end. */
function issueOrder(program: Program): { sees: Makers[]; final: Makers } {
  const final: Makers = program.storages.map(() => -1);
  const sees = program.ops.map(({ reads, writes }, i) => {
    const seen = reads.map((r) => at(final, r));
    for (const w of writes) final[w] = i;
    return seen;
  });
  return { sees, final };
}

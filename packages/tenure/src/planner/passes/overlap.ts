/**
 * The pass that moves independent ops next to each other, so that the device can overlap them,
 * where that takes no more memory. It works on the chosen schedule, whose order is otherwise final,
 * and only when every op runs once and nothing is swapped. Pure.
 */
import { opAt } from "../../graph/program.ts";
import type { Candidate } from "../candidate.ts";
import { Ordering } from "../ordering.ts";
import { type Context, runsOf } from "../schedule.ts";
import { type PlanState, chosenOf } from "../plan-state.ts";
import type { Emitted } from "../steps.ts";
import { wavesOf } from "../waves.ts";
import { emit } from "./emit.ts";

/** The pass: the chosen schedule with fewer waves, or as it was. */
export function runSideBySide(state: PlanState): PlanState {
  const chosen = chosenOf(state);
  const fits = state.placements.bytes(chosen) <= state.policy.budgetBytes;
  return fits ? { ...state, chosen: sideBySide(state, chosen) } : state;
}

/**
 * The schedule with independent ops next to each other, where that takes no more memory and buffers
 * that are shared don't tie them together again.
 */
function sideBySide({ context, placements }: PlanState, chosen: Candidate): Candidate {
  if (chosen.actions.some((a) => a.kind !== "dispatch")) return chosen;
  const emitted = (c: Candidate): Emitted => {
    const { items, placed } = placements.of(c);
    return emit(context.program, c.actions, items, placed);
  };
  const bytes = ({ slots }: Emitted): number => slots.reduce((sum, s) => sum + s.bytes, 0);
  const order = chosen.actions.map((a) => a.op);
  const before = emitted(chosen);
  for (const width of widths) {
    const actions = runsOf(overlapped(context, order, width));
    if (actions.every(({ op }, k) => op === order[k])) continue;
    const other = { ...chosen, actions };
    const after = emitted(other);
    if (bytes(after) <= bytes(before) && wavesOf(after.steps) < wavesOf(before.steps)) return other;
  }
  return chosen;
}

/**
 * Ops among which independent ones are looked for: the wider, the more are found, and the more
 * memory they take together.
 */
export const widths: readonly number[] = [64, 24, 8];
/** The least worth looking at. */
const narrowest = 8;

/**
 * An order with fewer waves and no higher peak; the same where there is none. Forward ops stay
 * before the others.
 */
export function overlapped(
  context: Context,
  order: readonly number[],
  width: number,
): readonly number[] {
  return reordered(context, order, width).order;
}

/** The same, with the steps that it took. */
export function reordered(context: Context, order: readonly number[], width: number): Ordering {
  const ordering = new Ordering(context, order);
  const improve = (from: number, to: number): void => {
    context.deadline?.check();
    if (ordering.tryLevels(from, to) !== "refused" || to - from < 2 * narrowest) return;
    const middle = (from + to) >> 1;
    improve(from, middle);
    improve(middle, to);
  };
  const forward = order.map((i) => opAt(context.program, i).phase === "forward");
  let from = 0;
  while (from < order.length) {
    let to = from + 1;
    while (to < order.length && to - from < width && forward[to] === forward[from]) to++;
    improve(from, to);
    from = to;
  }
  return ordering;
}

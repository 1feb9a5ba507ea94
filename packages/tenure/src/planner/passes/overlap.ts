/**
 * The pass that moves independent ops next to each other, so that the device can overlap them,
 * where that takes no more memory. It works on the chosen schedule, whose order is otherwise final,
 * and only when every op runs once and nothing is swapped. Pure.
 */
import { lookup } from "../../base/access.ts";
import { opAt, type Program } from "../../graph/program.ts";
import type { Candidate } from "../candidate.ts";
import { dependencies } from "../dependencies.ts";
import { type Context, livePeak, runsOf } from "../schedule.ts";
import { type PlanState, chosenOf } from "../plan-state.ts";
import type { Emitted } from "../steps.ts";
import { countWaves, wavesOf } from "../waves.ts";
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
/** Ops from which an order stays as it is: looking takes too long. */
const manyOps = 2500;

/**
 * An order with fewer waves and no higher peak; the same where there is none. Forward ops stay
 * before the others.
 */
export function overlapped(
  context: Context,
  order: readonly number[],
  width: number,
): readonly number[] {
  if (order.length > manyOps) return order;
  const { program } = context;
  const before = dependencies(program, order);
  const most = livePeak(context, runsOf(order));
  let best = [...order];
  const improve = (from: number, to: number): void => {
    context.deadline?.check();
    const ops = best.slice(from, to);
    const levelled = byLevel(ops, before);
    if (wavesIn(program, levelled) >= wavesIn(program, ops)) return;
    const tried = [...best.slice(0, from), ...levelled, ...best.slice(to)];
    const fewer = wavesIn(program, tried) < wavesIn(program, best);
    if (fewer && livePeak(context, runsOf(tried)) <= most) {
      best = tried;
      return;
    }
    if (to - from < 2 * narrowest) return;
    const middle = (from + to) >> 1;
    improve(from, middle);
    improve(middle, to);
  };
  const forward = order.map((i) => opAt(program, i).phase === "forward");
  let from = 0;
  while (from < order.length) {
    let to = from + 1;
    while (to < order.length && to - from < width && forward[to] === forward[from]) to++;
    improve(from, to);
    from = to;
  }
  return best;
}

function wavesIn(program: Program, ops: readonly number[]): number {
  return countWaves(ops.map((i) => opAt(program, i)));
}

/**
 * Ops behind those they depend on, and otherwise as early as possible: in levels, each in the order
 * given.
 */
function byLevel(ops: readonly number[], before: ReadonlyMap<number, readonly number[]>): number[] {
  const level = new Map<number, number>();
  for (const i of ops)
    level.set(i, Math.max(0, ...lookup(before, i).map((d) => (level.get(d) ?? -1) + 1)));
  return [...ops].sort((a, b) => lookup(level, a) - lookup(level, b));
}

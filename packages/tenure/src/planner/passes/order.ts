/**
 * The first pass: which ops run, and in which order. Ops whose effect nobody can observe are
 * dropped. Weight updates move right behind the last op they depend on, where NNTrainer applies
 * them, and gradients that free more than they make before derivatives, unless that raises the
 * peak: the gradients of different layers then share memory, and inputs go sooner. Pure.
 */
import { append, lookup } from "../../base/access.ts";
import { bytesOf, opAt, type Program, storageAt } from "../../graph/program.ts";
import { dependencies, neededOps } from "../dependencies.ts";
import { type Context, livePeak, runsOf } from "../schedule.ts";
import type { PlanState } from "../plan-state.ts";

/** The pass: sets the order. */
export function putInOrder(state: PlanState): PlanState {
  return { ...state, order: orderOps(state.context) };
}

/** The order in which the needed ops run. */
export function orderOps(context: Context): number[] {
  const { program } = context;
  const issued = neededOps(program);
  const isUpdate = (i: number): boolean => opAt(program, i).phase === "apply";
  if (!issued.some(isUpdate)) return issued;
  const gradients = gradientsThatFree(program, issued);
  let best = issued;
  let least = livePeak(context, runsOf(issued));
  for (const mayMove of [isUpdate, (i: number) => isUpdate(i) || gradients.has(i)]) {
    const moved = moveEarly(program, issued, mayMove);
    const peak = livePeak(context, runsOf(moved));
    if (peak > least) continue;
    best = moved;
    least = peak;
  }
  return best;
}

/**
 * Gradient ops that, moved behind the last op they depend on, free at least as many bytes there as
 * they write.
 */
function gradientsThatFree(program: Program, order: readonly number[]): Set<number> {
  const before = dependencies(program, order);
  const position = new Map(order.map((i, k) => [i, k]));
  const readers = new Map<number, number[]>();
  for (const i of order) for (const r of opAt(program, i).reads) append(readers, r, i);
  const frees = (i: number): boolean => {
    const { phase, reads, writes } = opAt(program, i);
    if (phase !== "calcGradient") return false;
    const place = Math.max(-1, ...lookup(before, i).map((d) => lookup(position, d)));
    const done = (r: number): boolean =>
      !storageAt(program, r).pinned &&
      lookup(readers, r).every((o) => o === i || lookup(position, o) <= place);
    return bytesOf(program, reads.filter(done)) >= bytesOf(program, writes);
  };
  return new Set(order.filter(frees));
}

/** Ops that may move do so, right behind the last op they depend on. */
function moveEarly(
  program: Program,
  order: readonly number[],
  mayMove: (op: number) => boolean,
): number[] {
  const before = dependencies(program, order);
  const step = 0.5 ** 20;
  // An op's place: its own number, or for updates just behind the last op it depends on. Sorting is
  // stable, so equal places keep issue order.
  const place = new Map<number, number>();
  /** First values of states, which depend on nothing: made when they are needed. */
  const rootless = new Set<number>();
  order.forEach((i, own) => {
    const after = lookup(before, i);
    if (!mayMove(i)) place.set(i, own);
    else if (after.length === 0) rootless.add(i);
    else {
      const places = after.filter((d) => !rootless.has(d)).map((d) => lookup(place, d));
      place.set(i, Math.max(-1, ...places) + step);
    }
  });
  for (const i of order)
    for (const d of lookup(before, i)) {
      if (!rootless.has(d)) continue;
      place.set(d, Math.min(place.get(d) ?? Infinity, lookup(place, i) - step / 2));
    }
  order.forEach((i, own) => {
    if (!place.has(i)) place.set(i, own);
  });
  return [...order].sort((a, b) => lookup(place, a) - lookup(place, b));
}

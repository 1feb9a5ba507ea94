/**
 * Taking recomputations back that a schedule's peak does not ask for: greedy searches make some
 * that later ones replace. Called on every schedule of the recompute family. Pure.
 */
import { at, lookup } from "../../base/access.ts";
import { opAt, type ProgramOp, storageAt } from "../../graph/program.ts";
import { type Action, type Context, curveOf, highest } from "../schedule.ts";

/** A value that has to stay longer when an op does not run again. */
interface Stay {
  readonly bytes: number;
  readonly from: number;
}

/** The schedule without the recomputations that its peak does not ask for, dearest first. */
export function takeBack(
  context: Context,
  actions: readonly Action[],
  cost: (op: ProgramOp) => number,
): Action[] {
  const { program, touches } = context;
  const gone = new Set<number>();
  const curve = curveOf(context, actions);
  const peak = highest(curve).bytes;
  const recomputed: number[] = [];
  for (let t = 0; t < actions.length; t++) if (actions[t]!.kind === "recompute") recomputed.push(t);
  const touched = usesOf(context, actions, recomputed);
  const opOf = (t: number): number => at(actions, t).op;
  const costs = new Map(recomputed.map((t) => [t, cost(opAt(program, opOf(t)))]));
  for (const t of recomputed.sort((a, b) => lookup(costs, b) - lookup(costs, a) || a - b)) {
    const { reads, writes } = opAt(program, opOf(t));
    const stay: Stay[] = [];
    context.deadline?.check();
    for (const w of writes) {
      const uses = lookup(touched, w);
      const k = uses.indexOf(t);
      const next = uses[k + 1];
      if (next !== undefined && !touches.bears(opOf(next), w))
        stay.push({ bytes: storageAt(program, w).bytes, from: at(uses, k - 1) + 1 });
    }
    if (!fits(curve, stay, t, peak)) continue;
    for (const { bytes, from } of stay) for (let k = from; k < t; k++) curve[k]! += bytes;
    for (const s of [...reads, ...writes]) {
      const uses = touched.get(s);
      uses?.splice(uses.indexOf(t), 1);
    }
    gone.add(t);
  }
  return actions.filter((_, t) => !gone.has(t));
}

/** Where a schedule uses the storages that are made again, rising. */
function usesOf(
  { program, touches: { begin, storages } }: Context,
  actions: readonly Action[],
  recomputed: readonly number[],
): Map<number, number[]> {
  const uses = new Map<number, number[]>();
  for (const t of recomputed)
    for (const w of opAt(program, at(actions, t).op).writes) uses.set(w, []);
  const wanted: (number[] | undefined)[] = program.storages.map((_, s) => uses.get(s));
  for (let t = 0; t < actions.length; t++) {
    const { op } = actions[t]!;
    const end = begin[op + 1]!;
    for (let k = begin[op]!; k < end; k++) {
      const list = wanted[storages[k]!];
      // One that an op reads and writes stands there twice.
      if (list !== undefined && list.at(-1) !== t) list.push(t);
    }
  }
  return uses;
}

/** Whether values may stay up to position `to` without raising the peak. */
function fits(curve: Float64Array, stay: readonly Stay[], to: number, peak: number): boolean {
  const first = Math.min(to, ...stay.map((s) => s.from));
  for (let t = first; t < to; t++) {
    let bytes = curve[t]!;
    for (const s of stay) if (s.from <= t) bytes += s.bytes;
    if (bytes > peak) return false;
  }
  return true;
}

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
  const { program } = context;
  const gone = new Set<number>();
  const curve = curveOf(context, actions);
  const peak = highest(curve).bytes;
  const ops = actions.map(({ op }) => opAt(program, op));
  const touched: number[][] = program.storages.map(() => []);
  const recomputed: number[] = [];
  for (const [t, { reads, writes }] of ops.entries()) {
    if (at(actions, t).kind === "recompute") recomputed.push(t);
    for (const s of new Set([...reads, ...writes])) at(touched, s).push(t);
  }
  const born = (s: number, t: number): boolean => {
    const { reads, writes } = at(ops, t);
    return writes.includes(s) && !reads.includes(s);
  };
  const costs = new Map(recomputed.map((t) => [t, cost(at(ops, t))]));
  for (const t of recomputed.sort((a, b) => lookup(costs, b) - lookup(costs, a) || a - b)) {
    const { reads, writes } = at(ops, t);
    const stay: Stay[] = [];
    context.deadline?.check();
    for (const w of writes) {
      const uses = at(touched, w);
      const k = uses.indexOf(t);
      const next = uses[k + 1];
      if (next !== undefined && !born(w, next))
        stay.push({ bytes: storageAt(program, w).bytes, from: at(uses, k - 1) + 1 });
    }
    if (!fits(curve, stay, t, peak)) continue;
    for (const { bytes, from } of stay) for (let k = from; k < t; k++) curve[k]! += bytes;
    for (const s of [...reads, ...writes]) {
      const uses = at(touched, s);
      uses.splice(uses.indexOf(t), 1);
    }
    gone.add(t);
  }
  return actions.filter((_, t) => !gone.has(t));
}

/** Whether values may stay up to position `to` without raising the peak. */
function fits(curve: Float64Array, stay: readonly Stay[], to: number, peak: number): boolean {
  const first = Math.min(to, ...stay.map((s) => s.from));
  for (let t = first; t < to; t++) {
    let bytes = at(curve, t);
    for (const s of stay) if (s.from <= t) bytes += s.bytes;
    if (bytes > peak) return false;
  }
  return true;
}

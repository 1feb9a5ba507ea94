/**
 * Replaces swaps by recomputation where that is cheaper and the op's inputs are resident when the
 * value has to be back. Called by the swap pass on every schedule with swaps. Pure.
 */
import { append, at } from "../../base/access.ts";
import { opAt, storageAt } from "../../graph/program.ts";
import { type Action, type Context, type Segment, segmentsOf } from "../schedule.ts";

/** The schedule with the cheaper of both for each value. */
export function preferRecompute(
  context: Context,
  actions: readonly Action[],
  candidates: ReadonlySet<number>,
  recomputeSeconds: (op: number) => number,
  swapSeconds: (bytes: number) => number,
): Action[] {
  const { program } = context;
  const copies = copiesOf(actions);
  const producer = new Map<number, number>();
  for (const { kind, op } of actions)
    if (kind === "dispatch") for (const w of opAt(program, op).writes) producer.set(w, op);
  const residencies = new Map<number, Segment[]>();
  for (const s of segmentsOf(context, actions)) append(residencies, s.storage, s);
  const isResident = (storage: number, t: number): boolean =>
    residencies.get(storage)?.some((s) => s.begin < t && s.end > t) === true;
  const version = new Int32Array(program.storages.length);
  /** Versions of the inputs each op saw. */
  const saw = new Map<number, number[]>();
  /** The op that may bring a value back in place of a fetch at t; undefined when none may. */
  const makerFor = (storage: number, t: number): number | undefined => {
    const maker = candidates.has(storage) ? producer.get(storage) : undefined;
    if (maker === undefined) return undefined;
    const { reads, writes } = opAt(program, maker);
    const seen = saw.get(maker);
    const unchanged = reads.every((r, k) => version[r] === seen?.[k] && isResident(r, t));
    const { bytes } = storageAt(program, storage);
    const cheaper = recomputeSeconds(maker) < swapSeconds(bytes);
    return writes.length === 1 && unchanged && cheaper ? maker : undefined;
  };
  const list: Action[] = [];
  const dropped = new Set<Action>();
  for (const [t, action] of actions.entries()) {
    const { kind, op, storage } = action;
    context.deadline?.check();
    if (kind === "swapIn") {
      // A copy that serves several fetches stays.
      const copy = copies.get(action);
      const maker = copy?.fetches === 1 ? makerFor(storage, t) : undefined;
      if (copy !== undefined && maker !== undefined) {
        dropped.add(copy.out);
        list.push({ kind: "recompute", op: maker, storage: -1 });
        continue;
      }
    }
    if (kind === "dispatch") {
      const { reads, writes } = opAt(program, op);
      saw.set(
        op,
        reads.map((r) => at(version, r)),
      );
      for (const w of writes) version[w]!++;
    }
    list.push(action);
  }
  return list.filter((a) => !dropped.has(a));
}

/** A copy to the host, and how many fetches it serves. */
interface Copy {
  readonly out: Action;
  fetches: number;
}

/** For each fetch, the copy it brings back. */
function copiesOf(actions: readonly Action[]): Map<Action, Copy> {
  const latest = new Map<number, Copy>();
  const copies = new Map<Action, Copy>();
  for (const action of actions) {
    if (action.kind === "swapOut") latest.set(action.storage, { out: action, fetches: 0 });
    const copy = action.kind === "swapIn" ? latest.get(action.storage) : undefined;
    if (copy === undefined) continue;
    copy.fetches++;
    copies.set(action, copy);
  }
  return copies;
}

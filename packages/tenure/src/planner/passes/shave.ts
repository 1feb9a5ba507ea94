/**
 * Shaving peaks: where most memory is used, a value that waits for its next use is forgotten and
 * computed again right before it, cheapest per byte first, again and again until nothing helps (as
 * XLA's rematerialization pass does). Works on any schedule without swaps, so it polishes what the
 * other passes find. Pure.
 *
 *     a ------- a is not used here, memory peaks ------- a used          again: inputs of a are there, or are made again on the way
 *     a used |            not resident            | again a, used
 */
import type { ProgramOp } from "../../graph/program.ts";
import { type Action, type Context, liveCurve, segmentsOf } from "../schedule.ts";

/** How many ops may be run again to bring one value back. */
const maxDepth = 8;

/** One way to lower a peak: ops to run again before position `at`. */
interface Offer {
  readonly key: string;
  readonly at: number;
  readonly ops: readonly number[];
  readonly price: number;
}

/**
 * Ever smaller schedules, by half a percent at least, the last the smallest; empty when nothing can
 * be shaved.
 * @param candidates storages that may be forgotten, each made whole by one op
 * @param producer for each storage the op that makes it, or -1
 * @param cost of running an op again
 */
export function shave(
  context: Context,
  actions: readonly Action[],
  candidates: ReadonlySet<number>,
  producer: Int32Array,
  cost: (op: ProgramOp) => number,
  maxSteps = 400,
): Action[][] {
  const refused = new Set<string>(),
    found: Action[][] = [];
  let now = [...actions],
    peak = highest(curveOf(context, now)),
    best = peak.bytes;
  for (let step = 0; step < maxSteps; step++) {
    const offer = cheapestAt(context, now, peak.at, candidates, producer, cost, refused);
    if (offer === null) break;
    const next = [
        ...now.slice(0, offer.at),
        ...offer.ops.map((op): Action => ({ kind: "recompute", op, storage: -1 })),
        ...now.slice(offer.at),
      ],
      nextCurve = curveOf(context, next);
    let raised = false;
    for (let t = offer.at; t <= offer.at + offer.ops.length && !raised; t++)
      raised = nextCurve[t]! >= peak.bytes;
    if (raised) {
      refused.add(offer.key);
      continue;
    }
    now = next;
    peak = highest(nextCurve);
    if (peak.bytes < 0.995 * best) {
      best = peak.bytes;
      found.push(now);
    }
  }
  if (now.length > actions.length && found.at(-1) !== now) found.push(now);
  return found;
}

/**
 * The schedule without the recomputations that its peak does not ask for: greedy searches make some
 * that later ones replace. Dearest first.
 */
export function takeBack(
  context: Context,
  actions: readonly Action[],
  cost: (op: ProgramOp) => number,
): Action[] {
  const { program } = context,
    gone = new Set<number>(),
    curve = curveOf(context, actions),
    peak = highest(curve).bytes;
  const touched: number[][] = program.storages.map(() => []),
    again: number[] = [];
  actions.forEach(({ kind, op }, t) => {
    if (kind === "recompute") again.push(t);
    for (const s of new Set([...program.ops[op]!.reads, ...program.ops[op]!.writes]))
      touched[s]!.push(t);
  });
  const opAt = (t: number): ProgramOp => program.ops[actions[t]!.op]!,
    born = (s: number, t: number): boolean =>
      opAt(t).writes.includes(s) && !opAt(t).reads.includes(s);
  for (const t of again.sort((a, b) => cost(opAt(b)) - cost(opAt(a)) || a - b)) {
    const { reads, writes } = opAt(t),
      stay: { bytes: number; from: number }[] = [];
    for (const w of writes) {
      const k = touched[w]!.indexOf(t),
        next = touched[w]![k + 1];
      if (next !== undefined && !born(w, next))
        stay.push({ bytes: program.storages[w]!.bytes, from: touched[w]![k - 1]! + 1 });
    }
    const bytesAt = (at: number): number =>
      stay.reduce((sum, { bytes, from }) => (from <= at ? sum + bytes : sum), 0);
    let fits = true;
    for (let at = Math.min(t, ...stay.map((s) => s.from)); at < t && fits; at++)
      fits = curve[at]! + bytesAt(at) <= peak;
    if (!fits) continue;
    for (const { bytes, from } of stay) for (let at = from; at < t; at++) curve[at]! += bytes;
    for (const s of [...reads, ...writes]) touched[s]!.splice(touched[s]!.indexOf(t), 1);
    gone.add(t);
  }
  return gone.size === 0 ? [...actions] : actions.filter((_, t) => !gone.has(t));
}

function curveOf(context: Context, actions: readonly Action[]): Float64Array {
  return liveCurve(context.program, segmentsOf(context, actions), actions.length);
}

function highest(curve: Float64Array): { at: number; bytes: number } {
  let at = 0;
  for (let t = 1; t < curve.length; t++) if (curve[t]! > curve[at]!) at = t;
  return { at, bytes: curve[at]! };
}

/** The cheapest offer per byte at a position. */
function cheapestAt(
  { program, resident }: Context,
  actions: readonly Action[],
  peak: number,
  candidates: ReadonlySet<number>,
  producer: Int32Array,
  cost: (op: ProgramOp) => number,
  refused: ReadonlySet<string>,
): Offer | null {
  // Positions that touch each storage, and which of them begin a new residency or version.
  const touched: number[][] = program.storages.map(() => []),
    births: Set<number>[] = [],
    changed: number[][] = [],
    ranAt = new Int32Array(program.ops.length).fill(-1);
  actions.forEach(({ kind, op }, t) => {
    const { reads, writes } = program.ops[op]!;
    if (kind === "dispatch") ranAt[op] = t;
    for (const r of reads) touched[r]!.push(t);
    for (const w of writes) {
      if (!reads.includes(w)) {
        touched[w]!.push(t);
        (births[w] ??= new Set()).add(t);
      }
      if (kind === "dispatch") (changed[w] ??= []).push(t);
    }
  });
  const after = (s: number, t: number): number => {
    let low = 0,
      high = touched[s]!.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (touched[s]![mid]! < t) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  /** Whether a value is resident just before position t. */
  const there = (s: number, t: number): boolean => {
    const k = after(s, t),
      next = touched[s]![k];
    if (k === 0 && resident[s] !== true) return false;
    return next === undefined ? program.storages[s]!.pinned : births[s]?.has(next) !== true;
  };
  const unchanged = (op: number, t: number): boolean =>
    program.ops[op]!.reads.every((r) => changed[r]?.some((c) => c > ranAt[op]! && c < t) !== true);
  let best: Offer | null = null;
  for (const s of candidates) {
    const k = after(s, peak + 1),
      at = touched[s]![k],
      { bytes } = program.storages[s]!;
    if (k === 0 || at === undefined || touched[s]![k - 1]! >= peak || births[s]?.has(at) === true)
      continue;
    const key = `${s} ${actions[at]!.op} ${actions[at]!.kind}`;
    if (refused.has(key)) continue;
    const ops: number[] = [];
    const bring = (storage: number): boolean => {
      const op = producer[storage]!;
      if (op === -1 || !candidates.has(storage) || !unchanged(op, at)) return false;
      for (const r of program.ops[op]!.reads)
        if (
          !there(r, at) &&
          !ops.some((o) => program.ops[o]!.writes.includes(r)) &&
          !(ops.length < maxDepth && bring(r))
        )
          return false;
      ops.push(op);
      return true;
    };
    if (!bring(s) || ops.length > maxDepth) continue;
    const price = ops.reduce((sum, op) => sum + cost(program.ops[op]!), 0) / bytes;
    if (best === null || price < best.price) best = { key, at, ops, price };
  }
  return best;
}

/**
 * Shaving peaks: where most memory is used, a value that waits for its next use is forgotten and
 * recomputed right before it, cheapest per byte first, again and again until nothing helps (as
 * XLA's rematerialization pass does). Works on any schedule without swaps, so it polishes what the
 * other passes find. Pure.
 *
 *     a ------- a is not used here, memory peaks ------- a used
 *     a used |            not resident            | recompute a, a used
 *
 * The inputs of a are there, or are recomputed on the way.
 */
import { at } from "../../base/access.ts";
import { opAt, type ProgramOp, storageAt } from "../../graph/program.ts";
import { type Action, type Context, curveOf, highest } from "../schedule.ts";
import { Uses } from "./uses.ts";

/** How many ops may be run again to bring one value back. */
const maxDepth = 8;

/** One way to lower a peak: ops to run again before position `before`. */
interface Offer {
  readonly key: string;
  readonly before: number;
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
  const refused = new Set<string>();
  const found: Action[][] = [];
  let now = [...actions];
  let peak = highest(curveOf(context, now));
  let best = peak.bytes;
  const uses = new Uses(context, now, producer);
  for (let step = 0; step < maxSteps; step++) {
    context.deadline?.check();
    const offer = cheapestAt(context, uses, peak.at, candidates, cost, refused);
    if (offer === null) break;
    const { before, ops } = offer;
    const next = now.slice();
    next.splice(before, 0, ...ops.map((op) => context.runs.again(op)));
    const curve = curveOf(context, next);
    if (curve.subarray(before, before + ops.length + 1).some((bytes) => bytes >= peak.bytes)) {
      refused.add(offer.key);
      continue;
    }
    now = next;
    uses.insert(before, ops, now);
    peak = highest(curve);
    if (peak.bytes < 0.995 * best) {
      best = peak.bytes;
      found.push(now);
    }
  }
  if (now.length > actions.length && found.at(-1) !== now) found.push(now);
  return found;
}

/** The cheapest offer per byte at a position. */
function cheapestAt(
  { program }: Context,
  uses: Uses,
  peak: number,
  candidates: ReadonlySet<number>,
  cost: (op: ProgramOp) => number,
  refused: ReadonlySet<string>,
): Offer | null {
  let best: Offer | null = null;
  for (const s of candidates) {
    const before = uses.waitsAcross(s, peak);
    if (before === -1) continue;
    const { bytes } = storageAt(program, s);
    const maker = opAt(program, at(uses.producer, s));
    if (best !== null && cost(maker) / bytes >= best.price) continue; // and its inputs besides
    const { kind, op: reader } = at(uses.actions, before);
    const key = `${s} ${reader} ${kind}`;
    if (refused.has(key)) continue;
    const ops = opsToBring(program, uses, candidates, s, before);
    if (ops === null || ops.length > maxDepth) continue;
    const price = ops.reduce((sum, op) => sum + cost(opAt(program, op)), 0) / bytes;
    if (best === null || price < best.price) best = { key, before, ops, price };
  }
  return best;
}

/** The ops that make a value again before a position, inputs first; null when that cannot be. */
function opsToBring(
  program: Context["program"],
  uses: Uses,
  candidates: ReadonlySet<number>,
  wanted: number,
  before: number,
): number[] | null {
  const ops: number[] = [];
  const made = (r: number): boolean => ops.some((op) => opAt(program, op).writes.includes(r));
  const bring = (storage: number): boolean => {
    const op = at(uses.producer, storage);
    if (op === -1 || !candidates.has(storage) || !uses.inputsUnchanged(op, before)) return false;
    for (const r of opAt(program, op).reads) {
      if (uses.isResident(r, before) || made(r)) continue;
      if (ops.length >= maxDepth || !bring(r)) return false;
    }
    ops.push(op);
    return true;
  };
  return bring(wanted) ? ops : null;
}

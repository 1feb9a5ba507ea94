/**
 * A schedule: what runs, in order, as the passes hand it to each other. An action runs an op (for
 * the first time, or once more) or moves a storage to the host or back. Nothing says when memory is
 * freed: a value is resident from the action that brings it (its birth) to the last action that
 * needs it before the next birth. So recomputing or fetching a value is all it takes to end its
 * earlier residency. Pure; everything else in this folder builds on it.
 *
 *     birth        last read          birth (recompute, swapIn)   last read
 *     |-------------------|  not resident  |----------------------|
 */
import { at } from "../base/access.ts";
import { bytesOf, type Program, residentAtEntry, storageAt } from "../graph/program.ts";
import type { Deadline } from "./deadline.ts";
import { OpRuns } from "./op-runs.ts";
import { Touches } from "./touches.ts";

/**
 * `dispatch`: an op for the first time. `recompute`: the same op once more. `swapOut`, `swapIn`: a
 * copy to the host, and back. Plans have steps of the same kinds.
 */
export interface Action {
  readonly kind: "dispatch" | "recompute" | "swapOut" | "swapIn";
  /** Index of the op; -1 for copies. */
  readonly op: number;
  /** Index of the storage; -1 for ops. */
  readonly storage: number;
}

/**
 * One residency of a storage: positions in a schedule, `begin` inclusive, `end` exclusive, `begin
 * <= end`; empty when it holds bytes at entry that nobody uses.
 */
export interface Segment {
  readonly storage: number;
  readonly begin: number;
  readonly end: number;
  /** Resident before the first action. */
  readonly entry: boolean;
  /** Still owned after the last one. */
  readonly exit: boolean;
}

/** What passes need to know of a program besides its text. */
export interface Context {
  readonly program: Program;
  /** Per storage: holds bytes before the first op. */
  readonly resident: readonly boolean[];
  /**
   * Per storage: ops between which it must be resident whatever its uses say, as a half-open range
   * of op indices; null for none.
   */
  readonly extended: readonly (readonly [number, number] | null)[];
  /** What its ops touch. */
  readonly touches: Touches;
  /** Actions that run its ops. */
  readonly runs: OpRuns;
  /** When planning should be done; asked wherever it can take long. None: it takes its time. */
  readonly deadline?: Deadline | undefined;
}

/** Ops in order, each run once. */
export function runsOf(order: readonly number[]): Action[] {
  return order.map((op) => ({ kind: "dispatch", op, storage: -1 }));
}

/** A context without lifespans. */
export function contextOf(program: Program): Context {
  return {
    program,
    resident: residentAtEntry(program),
    extended: program.storages.map(() => null),
    touches: new Touches(program),
    runs: new OpRuns(program.ops.length),
  };
}

/**
 * The residencies a schedule implies, in no particular order. @throws nothing: reading what is not
 * there shows in `verify`.
 */
export function segmentsOf(context: Context, actions: readonly Action[]): Segment[] {
  const { program, extended } = context;
  const segments = walk(context, actions);
  if (!extended.some((e) => e !== null)) return segments;
  // Where each op runs, as lifespans ask for it.
  const ranAt = new Int32Array(program.ops.length).fill(-1);
  actions.forEach(({ kind, op }, t) => {
    if (kind === "dispatch") ranAt[op] = t;
  });
  extended.forEach((range, s) => {
    if (range !== null) widen(segments, s, range, ranAt, actions.length);
  });
  return segments;
}

/** The residencies of a schedule in the order in which they end, before lifespans widen them. */
function walk(
  { program: { storages }, resident, touches }: Context,
  actions: readonly Action[],
): Segment[] {
  const segments: Segment[] = [];
  // Of each residency at hand: where it begins, -1 before the first; the end of its last use.
  const begins = new Int32Array(storages.length).fill(-1);
  const ends = new Int32Array(storages.length);
  const entry = new Uint8Array(storages.length);
  for (let s = 0; s < storages.length; s++) {
    if (resident[s] !== true) continue;
    begins[s] = 0;
    entry[s] = 1;
  }
  const close = (s: number, end: number, exit: boolean): void => {
    if (begins[s] === -1) return;
    segments.push({ storage: s, begin: begins[s]!, end, entry: entry[s] === 1, exit });
    entry[s] = 0;
  };
  const bear = (s: number, t: number): void => {
    close(s, ends[s]!, false);
    begins[s] = t;
    ends[s] = t + 1;
  };
  const { begin, born, storages: touched } = touches;
  for (let t = 0; t < actions.length; t++) {
    const { kind, op, storage } = actions[t]!;
    if (kind === "swapOut") ends[storage] = t + 1;
    else if (kind === "swapIn") bear(storage, t);
    else {
      const first = born[op]!;
      const end = begin[op + 1]!;
      for (let k = begin[op]!; k < first; k++) ends[touched[k]!] = t + 1;
      for (let k = first; k < end; k++) bear(touched[k]!, t);
    }
  }
  for (let s = 0; s < storages.length; s++) {
    const { pinned } = at(storages, s);
    close(s, pinned ? actions.length : ends[s]!, pinned);
  }
  return segments;
}

/**
 * Lets the residencies of a storage cover a range of ops: the first begins no later, the last ends
 * no earlier, and there are no gaps between.
 */
function widen(
  segments: Segment[],
  storage: number,
  [first, last]: readonly [number, number],
  ranAt: Int32Array,
  length: number,
): void {
  const own = segments
    .map((segment, i) => ({ segment, i }))
    .filter(({ segment }) => segment.storage === storage)
    .sort((a, b) => a.segment.begin - b.segment.begin);
  if (own.length === 0) return;
  let from = length;
  let to = 0;
  for (const t of ranAt.subarray(first, last)) {
    if (t === -1) continue;
    from = Math.min(from, t);
    to = Math.max(to, t + 1);
  }
  if (first === 0) from = 0;
  if (last === ranAt.length) to = length;
  own.forEach(({ segment, i }, k) => {
    const begin = k === 0 ? Math.min(segment.begin, from) : segment.begin;
    const end = own[k + 1]?.segment.begin ?? Math.max(segment.end, to);
    segments[i] = { ...segment, begin, end };
  });
}

/** Bytes resident at each position: the sum of the segments there. */
export function liveCurve(
  program: Program,
  segments: readonly Segment[],
  length: number,
): Float64Array {
  const curve = new Float64Array(length + 1);
  for (const { storage, begin, end } of segments) {
    const { bytes } = storageAt(program, storage);
    curve[begin]! += bytes;
    curve[end]! -= bytes;
  }
  for (let t = 1; t <= length; t++) curve[t]! += curve[t - 1]!;
  return curve;
}

/** Bytes resident at each position of a schedule. */
export function curveOf(context: Context, actions: readonly Action[]): Float64Array {
  const { program, extended } = context;
  const { length } = actions;
  if (extended.some((e) => e !== null))
    return liveCurve(program, segmentsOf(context, actions), length);
  // The same without segments, since this is asked for every schedule that is thought of.
  const { bytes } = context.touches;
  const curve = new Float64Array(length + 1);
  // Where the last use of each residency ends; -1 for storages that are not resident.
  const ends = new Int32Array(bytes.length).fill(-1);
  for (let s = 0; s < bytes.length; s++) {
    if (context.resident[s] !== true) continue;
    ends[s] = 0;
    curve[0]! += bytes[s]!;
  }
  const { begin, born, storages } = context.touches;
  // As `walk` goes, without its functions: calls for each touch would take most of the time.
  for (let t = 0; t < length; t++) {
    const { kind, op, storage } = actions[t]!;
    let first = 0;
    let end = 0;
    if (kind === "swapOut") {
      if (ends[storage] !== -1) ends[storage] = t + 1;
    } else if (kind === "swapIn") {
      if (ends[storage] !== -1) curve[ends[storage]!]! -= bytes[storage]!;
      curve[t]! += bytes[storage]!;
      ends[storage] = t + 1;
    } else {
      first = born[op]!;
      end = begin[op + 1]!;
      for (let k = begin[op]!; k < first; k++) {
        const s = storages[k]!;
        if (ends[s] !== -1) ends[s] = t + 1;
      }
    }
    for (let k = first; k < end; k++) {
      const s = storages[k]!;
      if (ends[s] !== -1) curve[ends[s]!]! -= bytes[s]!;
      curve[t]! += bytes[s]!;
      ends[s] = t + 1;
    }
  }
  for (let s = 0; s < bytes.length; s++) {
    if (ends[s] === -1) continue;
    const end = program.storages[s]!.pinned ? length : ends[s]!;
    curve[end]! -= bytes[s]!;
  }
  for (let t = 1; t <= length; t++) curve[t]! += curve[t - 1]!;
  return curve;
}

/** Where a curve is highest first, and how high. */
export function highest(curve: Float64Array): { readonly at: number; readonly bytes: number } {
  let top = 0;
  for (let t = 1; t < curve.length; t++) if (curve[t]! > curve[top]!) top = t;
  return { at: top, bytes: at(curve, top) };
}

/** Most bytes live at one time: no placement can do with less. */
export function livePeak(context: Context, actions: readonly Action[]): number {
  if (actions.length === 0) {
    // Without actions, what is owned is resident all the same.
    const kept = segmentsOf(context, actions).filter((s) => s.exit);
    return bytesOf(
      context.program,
      kept.map((s) => s.storage),
    );
  }
  return Math.max(0, highest(curveOf(context, actions)).bytes);
}

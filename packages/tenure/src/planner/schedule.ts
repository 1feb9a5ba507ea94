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
import { bytesOf, opAt, type Program, residentAtEntry, storageAt } from "../graph/program.ts";
import type { Deadline } from "./deadline.ts";

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
  };
}

/**
 * The residencies a schedule implies, in no particular order. @throws nothing: reading what is not
 * there shows in `verify`.
 */
export function segmentsOf(
  { program, resident, extended }: Context,
  actions: readonly Action[],
): Segment[] {
  const residencies = new Residencies(resident);
  // Where each op runs, when lifespans ask for it.
  const ranAt = extended.some((e) => e !== null)
    ? new Int32Array(program.ops.length).fill(-1)
    : null;
  actions.forEach(({ kind, op, storage }, t) => {
    if (kind === "swapOut") {
      residencies.use(storage, t);
      return;
    }
    if (kind === "swapIn") {
      residencies.begin(storage, t);
      return;
    }
    const { reads, writes } = opAt(program, op);
    if (ranAt !== null && kind === "dispatch") ranAt[op] = t;
    for (const r of reads) residencies.use(r, t);
    for (const w of writes)
      if (reads.includes(w)) residencies.use(w, t);
      else residencies.begin(w, t);
  });
  program.storages.forEach(({ pinned }, s) => {
    residencies.finish(s, pinned ? actions.length : null);
  });
  const { segments } = residencies;
  if (ranAt === null) return segments;
  extended.forEach((range, s) => {
    if (range !== null) widen(segments, s, range, ranAt, actions.length);
  });
  return segments;
}

/** The residencies of all storages while a schedule is walked through. */
class Residencies {
  readonly segments: Segment[] = [];
  /**
   * Of the residency at hand: where it begins, -1 before the first; and the end of its last use.
   */
  readonly #begin: Int32Array;
  readonly #end: Int32Array;
  readonly #entry: Uint8Array;

  constructor(resident: readonly boolean[]) {
    this.#begin = new Int32Array(resident.length).fill(-1);
    this.#end = new Int32Array(resident.length);
    this.#entry = new Uint8Array(resident.length);
    resident.forEach((here, s) => {
      if (!here) return;
      this.#begin[s] = 0;
      this.#entry[s] = 1;
    });
  }

  use(storage: number, t: number): void {
    this.#end[storage] = t + 1;
  }

  begin(storage: number, t: number): void {
    this.#close(storage, false, this.#end[storage]!);
    this.#begin[storage] = t;
    this.#end[storage] = t + 1;
  }

  /** @param exit the end of the schedule, when somebody keeps the storage */
  finish(storage: number, exit: number | null): void {
    this.#close(storage, exit !== null, exit ?? this.#end[storage]!);
  }

  #close(storage: number, exit: boolean, end: number): void {
    const begin = this.#begin[storage]!;
    if (begin === -1) return;
    this.segments.push({ storage, begin, end, entry: this.#entry[storage] === 1, exit });
    this.#entry[storage] = 0;
  }
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
  return liveCurve(context.program, segmentsOf(context, actions), actions.length);
}

/** Where a curve is highest first, and how high. */
export function highest(curve: Float64Array): { readonly at: number; readonly bytes: number } {
  let top = 0;
  for (let t = 1; t < curve.length; t++) if (curve[t]! > curve[top]!) top = t;
  return { at: top, bytes: at(curve, top) };
}

/** Most bytes live at one time: no placement can do with less. */
export function livePeak(context: Context, actions: readonly Action[]): number {
  const segments = segmentsOf(context, actions);
  // Without actions, what is owned is resident all the same.
  let most = 0;
  if (actions.length === 0)
    most = bytesOf(
      context.program,
      segments.filter((s) => s.exit).map((s) => s.storage),
    );
  for (const bytes of liveCurve(context.program, segments, actions.length))
    if (bytes > most) most = bytes;
  return most;
}

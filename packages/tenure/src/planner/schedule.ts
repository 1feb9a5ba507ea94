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
import { type Program, residentAtEntry } from "../graph/program.ts";

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
  const segments: Segment[] = [],
    n = program.storages.length;
  const begin = new Int32Array(n).fill(-1),
    end = new Int32Array(n),
    entry = new Uint8Array(n);
  for (let s = 0; s < n; s++)
    if (resident[s] === true) {
      begin[s] = 0;
      entry[s] = 1;
    }
  const close = (storage: number, exit: boolean, at: number): void => {
    if (begin[storage] === -1) return;
    segments.push({ storage, begin: begin[storage]!, end: at, entry: entry[storage] === 1, exit });
    entry[storage] = 0;
  };
  const born = (storage: number, at: number): void => {
    close(storage, false, end[storage]!);
    begin[storage] = at;
    end[storage] = at + 1;
  };
  const needsOps = extended.some((e) => e !== null),
    at = needsOps ? new Int32Array(program.ops.length).fill(-1) : null;
  actions.forEach(({ kind, op, storage }, t) => {
    if (kind === "swapOut") {
      end[storage] = t + 1;
      return;
    }
    if (kind === "swapIn") {
      born(storage, t);
      return;
    }
    const { reads, writes } = program.ops[op]!;
    if (at !== null && kind === "dispatch") at[op] = t;
    for (const r of reads) end[r] = t + 1;
    for (const w of writes)
      if (reads.includes(w)) end[w] = t + 1;
      else born(w, t);
  });
  program.storages.forEach(({ pinned }, s) => {
    close(s, pinned, pinned ? actions.length : end[s]!);
  });
  if (at !== null)
    extended.forEach((range, s) => {
      if (range !== null) widen(segments, s, range, at, actions.length);
    });
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
  at: Int32Array,
  length: number,
): void {
  const own = segments
    .map((s, i) => ({ s, i }))
    .filter(({ s }) => s.storage === storage)
    .sort((a, b) => a.s.begin - b.s.begin);
  if (own.length === 0) return;
  let from = length,
    to = 0;
  for (let op = first; op < last; op++)
    if (at[op] !== -1) {
      from = Math.min(from, at[op]!);
      to = Math.max(to, at[op]! + 1);
    }
  if (first === 0) from = 0;
  if (last === at.length) to = length;
  own.forEach(({ s, i }, k) => {
    const next = own[k + 1]?.s.begin ?? Math.max(s.end, to);
    segments[i] = { ...s, begin: k === 0 ? Math.min(s.begin, from) : s.begin, end: next };
  });
}

/** Bytes resident at each position: the sum of the segments there. */
export function liveCurve(
  program: Program,
  segments: readonly Segment[],
  length: number,
): Float64Array {
  const delta = new Float64Array(length + 1);
  for (const { storage, begin, end } of segments) {
    const { bytes } = program.storages[storage]!;
    delta[begin]! += bytes;
    delta[end]! -= bytes;
  }
  for (let t = 1; t <= length; t++) delta[t]! += delta[t - 1]!;
  return delta;
}

/** Most bytes live at one time: no placement can do with less. */
export function livePeak(
  context: Context,
  actions: readonly Action[],
  segments: readonly Segment[] = segmentsOf(context, actions),
): number {
  // Without actions, what is owned is resident all the same.
  let most =
    actions.length === 0
      ? segments.reduce(
          (sum, s) => (s.exit ? sum + context.program.storages[s.storage]!.bytes : sum),
          0,
        )
      : 0;
  for (const bytes of liveCurve(context.program, segments, actions.length))
    if (bytes > most) most = bytes;
  return most;
}

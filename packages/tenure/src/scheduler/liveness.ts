/**
 * Liveness: which ops must run and when each storage holds a value somebody still needs. Pure; first pass of the pipeline.
 */
import { type Program, residentAtEntry } from "../graph/program.ts";

/** Half-open interval of op positions, `begin` inclusive, `end` exclusive, `begin <= end`. Empty means the storage never needs memory. */
export interface LiveRange { readonly begin: number; readonly end: number }

/**
 * Indices of the ops whose effect somebody can observe, in issue order. An op is needed when it writes a storage that is pinned or read later;
 * a whole overwrite (written, not read) ends the need for older values.
 */
export function neededOps(program: Program): number[] {
  const wanted = program.storages.map((s) => s.pinned);
  const needed: number[] = [];
  for (let i = program.ops.length - 1; i >= 0; i--) {
    const op = program.ops[i]!;
    if (!op.writes.some((w) => wanted[w])) continue;
    needed.push(i);
    for (const w of op.writes) if (!op.reads.includes(w)) wanted[w] = false;
    for (const r of op.reads) wanted[r] = true;
  }
  return needed.reverse();
}

/**
 * The live range of each storage over positions in `order` (a list of op indices). Storages resident at entry begin at 0, pinned ones end after the last op.
 */
export function liveRanges(program: Program, order: readonly number[]): LiveRange[] {
  const begin = program.storages.map(() => -1), end = program.storages.map(() => -1);
  order.forEach((op, at) => {
    const { reads, writes } = program.ops[op]!;
    for (const s of reads) { if (begin[s] === -1) begin[s] = at; end[s] = at + 1; }
    for (const s of writes) { if (begin[s] === -1) begin[s] = at; end[s] = at + 1; }
  });
  const resident = residentAtEntry(program);
  return program.storages.map((s, i) => {
    const used = begin[i] !== -1;
    if (resident[i]) return s.pinned ? { begin: 0, end: order.length } : used ? { begin: 0, end: end[i]! } : { begin: 0, end: 0 };
    if (!used) return { begin: 0, end: 0 };
    return { begin: begin[i]!, end: s.pinned ? order.length : end[i]! };
  });
}

/** Bytes live at each position, and their maximum: no placement can need less. */
export function lowerBound(program: Program, ranges: readonly LiveRange[], positions: number): number {
  const delta = new Float64Array(positions + 1);
  ranges.forEach((r, i) => { if (r.begin < r.end) { delta[r.begin]! += program.storages[i]!.bytes; delta[r.end]! -= program.storages[i]!.bytes; } });
  let now = 0, most = 0;
  for (const d of delta) { now += d; if (now > most) most = now; }
  return most;
}

/**
 * What the order of ops is bound by: who needs whose results, and who must not overwrite what
 * another still reads. Called by the passes that reorder, fuse and recompute. Pure.
 */
import { append } from "../base/access.ts";
import { opAt, type Program } from "../graph/program.ts";

/**
 * Indices of the ops whose effect somebody can observe, in issue order. An op is needed when it
 * writes a storage that is pinned or read later; a whole overwrite (written, not read) ends the
 * need for older values.
 */
export function neededOps(program: Program): number[] {
  const wanted = program.storages.map((s) => s.pinned);
  const needed: number[] = [];
  for (let i = program.ops.length - 1; i >= 0; i--) {
    const { reads, writes } = opAt(program, i);
    if (!writes.some((w) => wanted[w])) continue;
    needed.push(i);
    for (const w of writes) if (!reads.includes(w)) wanted[w] = false;
    for (const r of reads) wanted[r] = true;
  }
  return needed.reverse();
}

/**
 * For each op of `order`, the ops it must come after: writers of what it reads (RAW), readers (WAR)
 * and writers (WAW) of what it writes.
 */
export function dependencies(program: Program, order: readonly number[]): Map<number, number[]> {
  const writer = new Map<number, number>();
  const readers = new Map<number, number[]>();
  const result = new Map<number, number[]>();
  for (const i of order) {
    const { reads, writes } = opAt(program, i);
    const before = new Set<number>();
    for (const s of [...reads, ...writes]) {
      const w = writer.get(s);
      if (w !== undefined) before.add(w);
    }
    for (const w of writes) for (const r of readers.get(w) ?? []) before.add(r);
    before.delete(i);
    result.set(i, [...before]);
    for (const r of reads) append(readers, r, i);
    for (const w of writes) {
      writer.set(w, i);
      readers.set(w, []);
    }
  }
  return result;
}

/** Ops that write each storage, in the order given. */
export function writersOf(program: Program, order: readonly number[]): number[][] {
  const writers: number[][] = program.storages.map(() => []);
  for (const i of order) for (const w of opAt(program, i).writes) writers[w]?.push(i);
  return writers;
}

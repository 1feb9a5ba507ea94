/**
 * What no schedule can do without: found in one walk over a program, so that a budget far too small
 * is refused before anybody searches. Called by the planners. Pure.
 */
import { opAt, type Program, residentAtEntry, storageAt } from "../graph/program.ts";
import { neededOps } from "./dependencies.ts";

/**
 * Bytes that every schedule of a program holds at some time, however its ops are fused: what is
 * there at the start and used, what is owned at the end, and what any op reads and writes of that.
 */
export function leastPossible(program: Program): number {
  const resident = residentAtEntry(program);
  const stays = (s: number): boolean => resident[s] === true || storageAt(program, s).pinned;
  const bytesAmong = (storages: Iterable<number>, counts: (s: number) => boolean): number => {
    let sum = 0;
    for (const s of storages) if (counts(s)) sum += storageAt(program, s).bytes;
    return sum;
  };
  const touched = new Set<number>();
  let most = 0;
  for (const i of neededOps(program)) {
    const { reads, writes } = opAt(program, i);
    const own = new Set([...reads, ...writes]);
    most = Math.max(most, bytesAmong(own, stays));
    for (const s of own) touched.add(s);
  }
  const atStart = bytesAmong(touched, (s) => resident[s] === true);
  const atEnd = bytesAmong(touched, (s) => storageAt(program, s).pinned);
  return Math.max(most, atStart, atEnd);
}

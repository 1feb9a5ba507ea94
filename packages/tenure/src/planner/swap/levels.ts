/**
 * Amounts of memory at which swaps are tried: between the least that can work and what a schedule
 * needs in core, at what is live along the schedule. Called by the swap pass. Pure.
 */
import { greatestCommonDivisor } from "../../base/bits.ts";
import { bytesOf, opAt } from "../../graph/program.ts";
import { type Candidate, spread } from "../candidate.ts";
import { bytesTouched } from "../cost.ts";
import { type Context, curveOf } from "../schedule.ts";

/** Ops up to which all levels are tried, when sizes have a large common divisor. */
const fewOps = 300;

/** At most about so many levels, rising. */
export function levelsFor(context: Context, base: Candidate, most: number): number[] {
  const { program } = context;
  const least = leastBytes(context, base);
  const room = base.peak - least;
  // Sizes with a large common divisor have few levels: all are tried.
  const unit = program.storages.reduce((g, s) => greatestCommonDivisor(g, s.bytes), 0);
  if (program.ops.length <= fewOps && room / unit <= 2 * most)
    return Array.from({ length: Math.ceil(room / unit) }, (_, k) => least + k * unit);
  const live = [...new Set(curveOf(context, base.actions))]
    .filter((b) => b >= least && b < base.peak)
    .sort((a, b) => a - b);
  const half = most >> 1;
  const steps = Array.from({ length: half }, (_, k) => Math.round(least + (k * room) / half));
  return [...new Set([least, ...spread(live, most), ...steps])]
    .filter((b) => b < base.peak)
    .sort((a, b) => a - b);
}

/** Bytes below which no schedule works: what one op touches, what is resident at entry or exit. */
function leastBytes({ program, resident, extended }: Context, { actions }: Candidate): number {
  const fixed = program.storages.reduce(
    (sum, { bytes }, s) => (extended[s] === null ? sum : sum + bytes),
    0,
  );
  const isFree = (s: number): boolean => extended[s] === null;
  const used = new Set<number>();
  let least = 0;
  for (const { op } of actions) {
    const { reads, writes } = opAt(program, op);
    for (const s of [...reads, ...writes]) used.add(s);
    const free = { reads: reads.filter(isFree), writes: writes.filter(isFree) };
    least = Math.max(
      least,
      bytesTouched(program, { reads, writes }),
      fixed + bytesTouched(program, free),
    );
  }
  const entry: number[] = [];
  const exit: number[] = [];
  program.storages.forEach(({ pinned }, s) => {
    if (resident[s] === true && (used.has(s) || pinned)) entry.push(s);
    if (pinned && (used.has(s) || resident[s] === true)) exit.push(s);
  });
  return Math.max(least, bytesOf(program, entry), bytesOf(program, exit));
}

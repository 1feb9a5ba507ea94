/**
 * Optimal recomputation on chains by dynamic programming (Griewank & Walther's Revolve for equal
 * steps; Beaumont et al. 2019, arXiv 1911.13214, for unequal ones, whose program is called Rotor).
 *
 * `Rev(i, j, m)`: the least cost of running the backward groups j … i+1 with boundary i resident
 * and m units of memory besides; choices are to run on to a boundary s, keep it, reverse behind it,
 * then before it; or to keep all of stage i+1 and reverse behind it. Called by chain-plans.ts.
 * Pure.
 */
import { at } from "../../base/access.ts";
import { internal } from "../../base/errors.ts";
import type { Deadline } from "../deadline.ts";
import type { StageBytes, StageCosts } from "./stage-costs.ts";
import type { Stage } from "./stages.ts";

/** What to do with the first stage of a range. */
export type Choice =
  | { readonly kind: "keepStage" }
  /** Run on to a boundary; `held`: boundary j stays resident for what is before. */
  | { readonly kind: "runTo"; readonly stage: number; readonly held: boolean };

/** What a table answers, whoever filled it. */
export interface ChainTable {
  /** The least cost; Infinity when it cannot be done in that memory. */
  cost(e: number, i: number, j: number, m: number): number;
  /** How the least cost is reached, for ranges of several stages. */
  choice(e: number, i: number, j: number, m: number): Choice;
  /** Units that are free before stage i when what is kept of it is, and its boundary. */
  besideStage(i: number, m: number): number;
  /** Units that are free beside the boundary of a stage. */
  besideBoundary(stage: number, m: number): number;
  /** Units there are when boundary j is not needed beside them any more. */
  withBoundary(e: number, j: number, m: number): number;
}

/** A way to reverse a range i … j: run on to boundary s, reverse behind it, then before it. */
interface Run {
  readonly e: number;
  readonly i: number;
  readonly j: number;
  readonly s: number;
  /** Cost of running up to the boundary. */
  readonly run: number;
  /** Units of boundary j that are there beside the memory. */
  readonly beside: number;
  /** Least memory for it. */
  readonly from: number;
}

/**
 * The table of the dynamic program. Cells are `Rev(i, j, m)`, twice: `e` is 1 when boundary j is
 * resident beside m. They hold costs alone; which choice led there is found when somebody asks.
 */
export class Rotor implements ChainTable {
  readonly #stages: readonly Stage[];
  readonly #units: StageBytes;
  readonly #costs: StageCosts;
  readonly #levels: number;
  readonly #table: Float64Array;

  constructor(stages: readonly Stage[], units: StageBytes, costs: StageCosts, levels: number) {
    const n = stages.length;
    this.#stages = stages;
    this.#units = units;
    this.#costs = costs;
    this.#levels = levels;
    this.#table = new Float64Array(n * (n + 1) * (levels + 1)).fill(Infinity);
  }

  /** Where the cells of a range begin, one for each amount of memory. */
  #row(e: number, i: number, j: number): number {
    const n = this.#stages.length;
    const ranges = (n * (n + 1)) / 2;
    const before = i * n - (i * (i - 1)) / 2; // that begin at a lower stage
    return (e * ranges + before + j - i - 1) * (this.#levels + 1);
  }

  cost(e: number, i: number, j: number, m: number): number {
    return m < 0 ? Infinity : this.#table[this.#row(e, i, j) + Math.min(m, this.#levels)]!;
  }

  choice(e: number, i: number, j: number, m: number): Choice {
    const level = Math.min(m, this.#levels);
    const least = this.cost(e, i, j, level);
    const keeps = level >= this.#keepFrom(e, i, j) && this.#keepCost(e, i, j, level) === least;
    if (keeps) return { kind: "keepStage" };
    for (const run of this.#runsOf(e, i, j))
      for (const held of [false, true])
        if (level >= run.from && this.#runCost(run, level, held) === least)
          return { kind: "runTo", stage: run.s, held };
    throw internal(`plan: stages ${i} to ${j} cannot be reversed in ${m} units`);
  }

  besideStage(i: number, m: number): number {
    return m - at(this.#units.inside, i) - at(this.#units.boundary, i);
  }

  besideBoundary(stage: number, m: number): number {
    return m - at(this.#units.boundary, stage - 1);
  }

  withBoundary(e: number, j: number, m: number): number {
    return e === 1 ? m + at(this.#units.boundary, j - 1) : m;
  }

  /** Computes all cells, shorter ranges first. @throws PlanningTooLong after the deadline */
  fill(deadline?: Deadline): void {
    const n = this.#stages.length;
    for (let length = 1; length <= n; length++)
      for (let i = 0; i + length <= n; i++) {
        deadline?.check();
        for (let e = 0; e < 2; e++)
          if (length > 1) this.#decide(e, i, i + length);
          else
            for (let m = 0; m <= this.#levels; m++)
              this.#table[this.#row(e, i, i + 1) + m] = this.#lastStage(i, m, e);
      }
  }

  /** One stage alone; `e`: its boundary is resident beside m. */
  #lastStage(k: number, m: number, e: number): number {
    const { inside, readsBoundary } = at(this.#stages, k);
    const { group, pending, toNeeded } = this.#units;
    const room = this.withBoundary(e, k + 1, m);
    if (at(group, k) > room) return Infinity;
    if (inside.size === 0 && (e === 1 || !readsBoundary)) return 0;
    return at(toNeeded, k) + at(pending, k) <= room ? at(this.#costs.toNeeded, k) : Infinity;
  }

  /** One range, for all amounts of memory: their cells lie side by side. */
  #decide(e: number, i: number, j: number): void {
    const table = this.#table;
    const most = this.#levels;
    const row = this.#row(e, i, j);
    for (let m = this.#keepFrom(e, i, j); m <= most; m++)
      table[row + m] = this.#keepCost(e, i, j, m);
    // More memory never makes a choice dearer: one that all memory makes no cheaper than what is
    // found for some of it needs no look from there on. The most promising come first.
    const runs = this.#runsOf(e, i, j).map((run) => ({
      run,
      least: Math.min(this.#runCost(run, most, false), this.#runCost(run, most, true)),
    }));
    runs.sort((a, b) => a.least - b.least);
    for (const { run, least } of runs) this.#runTo(run, this.#levelsAbove(row, least));
  }

  /** With how many amounts of memory, the least ones, a range costs more than that so far. */
  #levelsAbove(row: number, cost: number): number {
    let low = 0;
    let high = this.#levels + 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#table[row + middle]! > cost) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Least memory in which all of the first stage can be kept. */
  #keepFrom(e: number, i: number, j: number): number {
    const { group, inside, boundary, pending, toAll } = this.#units;
    const beside = e === 1 ? boundary[j - 1]! : 0;
    return Math.max(toAll[i]! + pending[j - 1]!, group[i]! - beside, inside[i]! + boundary[i]!);
  }

  /** What keeping all of the first stage costs in the end. */
  #keepCost(e: number, i: number, j: number, m: number): number {
    const less = this.#units.inside[i]! + this.#units.boundary[i]!;
    return this.#costs.toAll[i]! + this.#table[this.#row(e, i + 1, j) + m - less]!;
  }

  /** The boundaries of a range that one can run on to. */
  #runsOf(e: number, i: number, j: number): Run[] {
    const { boundary, pending, toBoundary } = this.#units;
    const beside = e === 1 ? boundary[j - 1]! : 0;
    const waits = pending[j - 1]!;
    const runs: Run[] = [];
    let run = 0;
    let room = 0;
    for (let s = i + 1; s < j; s++) {
      const before = s - 1 > i ? boundary[s - 2]! : 0;
      room = Math.max(room, before + toBoundary[s - 1]! + waits);
      if (room > this.#levels) break;
      run += this.#costs.toBoundary[s - 1]!;
      const from = Math.max(room, boundary[s - 1]!);
      if (from <= this.#levels) runs.push({ e, i, j, s, run, beside, from });
    }
    return runs;
  }

  /** What running on to a boundary costs in the end, which stays for what is before or does not. */
  #runCost({ e, i, j, s, run, beside }: Run, m: number, held: boolean): number {
    const kept = this.#units.boundary[s - 1]!;
    const behind = run + this.#table[this.#row(e, s, j) + m - kept]!;
    const after = m + beside - (held ? kept : 0);
    return behind + this.#table[this.#row(held ? 1 : 0, i, s) + Math.min(after, this.#levels)]!;
  }

  /** Runs on to a boundary, wherever that is the best so far, with less memory than `end`. */
  #runTo({ e, i, j, s, run, beside, from }: Run, end: number): void {
    const table = this.#table;
    const most = this.#levels;
    const kept = this.#units.boundary[s - 1]!;
    const row = this.#row(e, i, j);
    const behindAt = this.#row(e, s, j) - kept;
    const droppedAt = this.#row(0, i, s);
    const heldAt = this.#row(1, i, s);
    for (let m = from; m < end; m++) {
      const behind = run + table[behindAt + m]!;
      if (behind >= table[row + m]!) continue;
      const after = m + beside;
      const dropped = behind + table[droppedAt + (after < most ? after : most)]!;
      const held = behind + table[heldAt + (after - kept < most ? after - kept : most)]!;
      table[row + m] = Math.min(table[row + m]!, dropped, held);
    }
  }
}

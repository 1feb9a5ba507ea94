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

/** A range i … j, and what running on in it takes. */
interface Run {
  readonly e: number;
  readonly i: number;
  readonly j: number;
  /** Cost of running up to the boundary at hand. */
  readonly run: number;
  /** Units of boundary j that are there beside the memory. */
  readonly beside: number;
  /** Least memory in which the stages up to the boundary can run. */
  readonly from: number;
}

/**
 * The table of the dynamic program. Cells are `Rev(i, j, m)`, twice: `e` is 1 when boundary j is
 * resident beside m.
 */
export class Rotor implements ChainTable {
  readonly #stages: readonly Stage[];
  readonly #units: StageBytes;
  readonly #costs: StageCosts;
  readonly #levels: number;
  readonly #table: Float64Array;
  /** 0 none, 1 keep the stage, 2 + 2s + e run on to boundary s. */
  readonly #choice: Int16Array;

  constructor(stages: readonly Stage[], units: StageBytes, costs: StageCosts, levels: number) {
    const n = stages.length;
    this.#stages = stages;
    this.#units = units;
    this.#costs = costs;
    this.#levels = levels;
    this.#table = new Float64Array(2 * n * (n + 1) * (levels + 1)).fill(Infinity);
    this.#choice = new Int16Array(this.#table.length);
  }

  #cell(e: number, i: number, j: number, m: number): number {
    const n = this.#stages.length;
    return ((e * n + i) * (n + 1) + j) * (this.#levels + 1) + Math.min(m, this.#levels);
  }

  cost(e: number, i: number, j: number, m: number): number {
    return m < 0 ? Infinity : this.#table[this.#cell(e, i, j, m)]!;
  }

  choice(e: number, i: number, j: number, m: number): Choice {
    const which = at(this.#choice, this.#cell(e, i, j, m));
    if (which === 1) return { kind: "keepStage" };
    return { kind: "runTo", stage: (which - 2) >> 1, held: (which & 1) === 1 };
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
              this.#table[this.#cell(e, i, i + 1, m)] = this.#lastStage(i, m, e);
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
    const { boundary, group, pending, toBoundary, toAll } = this.#units;
    const beside = e === 1 ? boundary[j - 1]! : 0;
    const waits = pending[j - 1]!;
    this.#keepStage(e, i, j, Math.max(toAll[i]! + waits, group[i]! - beside));
    let run = 0;
    let from = 0;
    for (let s = i + 1; s < j; s++) {
      const before = s - 1 > i ? boundary[s - 2]! : 0;
      from = Math.max(from, before + toBoundary[s - 1]! + waits);
      if (from > this.#levels) return;
      run += this.#costs.toBoundary[s - 1]!;
      this.#runTo(s, { e, i, j, run, beside, from });
    }
  }

  /** Keeps all of the first stage, where there are `from` units of memory. */
  #keepStage(e: number, i: number, j: number, from: number): void {
    const cost = this.#costs.toAll[i]!;
    const less = this.#units.inside[i]! + this.#units.boundary[i]!;
    const row = this.#cell(e, i, j, 0);
    const rest = this.#cell(e, i + 1, j, 0);
    for (let m = Math.max(from, less); m <= this.#levels; m++) {
      const total = cost + this.#table[rest + m - less]!;
      this.#table[row + m] = total;
      if (total < Infinity) this.#choice[row + m] = 1;
    }
  }

  /** Runs on to a boundary, wherever that is the best so far. */
  #runTo(s: number, { e, i, j, run, beside, from }: Run): void {
    const table = this.#table;
    const choice = this.#choice;
    const most = this.#levels;
    const kept = this.#units.boundary[s - 1]!;
    const row = this.#cell(e, i, j, 0);
    const behindAt = this.#cell(e, s, j, 0) - kept;
    const droppedAt = this.#cell(0, i, s, 0);
    const heldAt = this.#cell(1, i, s, 0);
    for (let m = Math.max(from, kept); m <= most; m++) {
      const behind = run + table[behindAt + m]!;
      if (behind >= table[row + m]!) continue;
      const after = m + beside;
      const dropped = behind + table[droppedAt + (after < most ? after : most)]!;
      const held = behind + table[heldAt + (after - kept < most ? after - kept : most)]!;
      if (dropped < table[row + m]!) {
        table[row + m] = dropped;
        choice[row + m] = 2 + 2 * s;
      }
      if (held < table[row + m]!) {
        table[row + m] = held;
        choice[row + m] = 3 + 2 * s;
      }
    }
  }
}

/**
 * The dynamic program of rotor.ts for chains whose stages are alike but for the first and the last:
 * what a range costs depends on its length then, not on where it begins, so that chains of a
 * thousand stages take a fraction of a second. Called by chain-plans.ts. Pure.
 *
 * Run on to a stage, keep it, reverse behind it, then before it: both parts cost the more per stage
 * the longer they are (Griewank and Walther 2000), so their sum falls and then rises along the
 * stage that is kept, and the best stage moves little from one length to the next.
 */
import { at } from "../../base/access.ts";
import type { ChainTable, Choice } from "./rotor.ts";
import type { Deadline } from "../deadline.ts";
import type { StageBytes, StageCosts } from "./stage-costs.ts";
import type { Stage } from "./stages.ts";

/** What the table needs to know of one stage, in units of memory. */
interface Needs {
  readonly inside: number;
  readonly group: number;
  readonly pending: number;
  readonly toBoundary: number;
  readonly toAll: number;
  readonly toNeeded: number;
  readonly boundaryCost: number;
  readonly allCost: number;
  readonly neededCost: number;
  /** Whether its backward group asks for none of its values, or only for its boundary. */
  readonly asksNothing: boolean;
  readonly asksBoundary: boolean;
}

/** Ranges of one kind, by their length and the units of memory. */
interface Ranges {
  /** Stage that they begin with, and the one they end with, as an example. */
  readonly first: Needs;
  readonly last: Needs;
  /** Units of the boundary at their end, when it is resident beside the memory they have. */
  readonly held: number;
  readonly cost: Float64Array;
  /** 0 none, 1 keep the stage, 2 + 2d + e run on by d stages. */
  readonly choice: Int16Array;
}

/** Cells that a table may have. */
const maxCells = 1.6e6;
/** Units of a boundary that is not resident. */
const none = -1;
/** Stages of a chain in which every choice is weighed. */
const fewStages = 72;
/** Stages that a choice can name. */
const maxStages = 4000;

function needsOf(stages: readonly Stage[], units: StageBytes, costs: StageCosts, k: number): Needs {
  const { inside, readsBoundary } = at(stages, k);
  return {
    inside: at(units.inside, k),
    group: at(units.group, k),
    pending: at(units.pending, k),
    toBoundary: at(units.toBoundary, k),
    toAll: at(units.toAll, k),
    toNeeded: at(units.toNeeded, k),
    boundaryCost: at(costs.toBoundary, k),
    allCost: at(costs.toAll, k),
    neededCost: at(costs.toNeeded, k),
    asksNothing: inside.size === 0 && !readsBoundary,
    asksBoundary: inside.size === 0,
  };
}

/**
 * Whether all stages are alike but for the first and the last, and nothing but their boundaries is
 * kept: with values inside, costs need not fall and then rise.
 */
export function isEven(stages: readonly Stage[], units: StageBytes, costs: StageCosts): boolean {
  const n = stages.length;
  if (n < 4 || n > maxStages || stages.some((s) => s.inside.size > 0)) return false;
  const like = Object.values(needsOf(stages, units, costs, 1));
  for (let k = 0; k < n - 1; k++) if (units.boundary[k] !== units.boundary[0]) return false;
  for (let k = 2; k < n - 1; k++) {
    const own = Object.values(needsOf(stages, units, costs, k));
    if (own.some((value, which) => value !== like[which])) return false;
  }
  return true;
}

/** Steps of memory that the table of so many stages can tell apart. */
export function evenLevels(stages: number): number {
  return Math.floor(maxCells / stages);
}

/** The table of the dynamic program, by lengths. */
export class EvenRotor implements ChainTable {
  readonly #n: number;
  readonly #levels: number;
  readonly #boundary: number;
  /** Ranges between the ends; from the first stage on; up to the last; all. By `e` if it varies. */
  readonly #within: readonly [Ranges, Ranges];
  readonly #fromFirst: readonly [Ranges, Ranges];
  readonly #toLast: Ranges;
  readonly #all: Ranges;
  /** Of the range at hand: the best stages to run on by so far, and what that costs. */
  #by = 1;
  #least = Infinity;
  /** Choices that were weighed so far. */
  steps = 0;

  constructor(stages: readonly Stage[], units: StageBytes, costs: StageCosts, levels: number) {
    const n = stages.length;
    this.#n = n;
    this.#levels = levels;
    this.#boundary = at(units.boundary, 0);
    const first = needsOf(stages, units, costs, 0);
    const inner = needsOf(stages, units, costs, 1);
    const last = needsOf(stages, units, costs, n - 1);
    const ranges = (from: Needs, to: Needs, e: number, rows: number): Ranges => ({
      first: from,
      last: to,
      held: e === 1 ? this.#boundary : none,
      cost: new Float64Array(rows * (levels + 1)).fill(Infinity),
      choice: new Int16Array(rows * (levels + 1)),
    });
    this.#within = [ranges(inner, inner, 0, n), ranges(inner, inner, 1, n)];
    this.#fromFirst = [ranges(first, inner, 0, n), ranges(first, inner, 1, n)];
    this.#toLast = ranges(inner, last, 0, n);
    this.#all = ranges(first, last, 0, 1);
  }

  #rangesOf(e: number, i: number, j: number): Ranges {
    if (j === this.#n) return i === 0 ? this.#all : this.#toLast;
    const both = i === 0 ? this.#fromFirst : this.#within;
    return e === 1 ? both[1] : both[0];
  }

  /** Ranges of all stages have one length, the others a row for each. */
  #cell(ranges: Ranges, length: number, m: number): number {
    const row = ranges === this.#all ? 0 : length;
    return row * (this.#levels + 1) + (m < this.#levels ? m : this.#levels);
  }

  #costOf(ranges: Ranges, length: number, m: number): number {
    return m < 0 ? Infinity : ranges.cost[this.#cell(ranges, length, m)]!;
  }

  cost(e: number, i: number, j: number, m: number): number {
    return this.#costOf(this.#rangesOf(e, i, j), j - i, m);
  }

  choice(e: number, i: number, j: number, m: number): Choice {
    const ranges = this.#rangesOf(e, i, j);
    const which = at(ranges.choice, this.#cell(ranges, j - i, m));
    if (which === 1) return { kind: "keepStage" };
    return { kind: "runTo", stage: i + ((which - 2) >> 1), held: (which & 1) === 1 };
  }

  besideStage(i: number, m: number): number {
    const { first } = i === 0 ? this.#all : this.#toLast;
    return m - first.inside - this.#boundary;
  }

  besideBoundary(_stage: number, m: number): number {
    return m - this.#boundary;
  }

  withBoundary(e: number, _j: number, m: number): number {
    return e === 1 ? m + this.#boundary : m;
  }

  /** Computes all cells, shorter ranges first. @throws PlanningTooLong after the deadline */
  fill(deadline?: Deadline): void {
    const n = this.#n;
    const kinds = [...this.#within, ...this.#fromFirst, this.#toLast];
    const best = kinds.map(() => new Int16Array(this.#levels + 1).fill(1));
    for (const ranges of kinds) this.#fillSingle(ranges);
    for (let length = 2; length < n; length++) {
      deadline?.check();
      for (const [k, ranges] of kinds.entries()) this.#fillRow(ranges, length, at(best, k));
    }
    this.#fillRow(this.#all, n, new Int16Array(this.#levels + 1).fill(1));
  }

  /** Ranges of one stage. */
  #fillSingle(ranges: Ranges): void {
    const { first, last, held } = ranges;
    const stage = ranges === this.#toLast ? last : first;
    for (let m = 0; m <= this.#levels; m++) {
      const room = m + Math.max(0, held);
      if (stage.group > room) continue;
      let cost = Infinity;
      if (stage.asksNothing || (stage.asksBoundary && held !== none)) cost = 0;
      else if (stage.toNeeded + stage.pending <= room) cost = stage.neededCost;
      ranges.cost[this.#cell(ranges, 1, m)] = cost;
    }
  }

  /** Ranges of one length. @param best where the best choice was for the last length, by memory */
  #fillRow(ranges: Ranges, length: number, best: Int16Array): void {
    const begin = this.#cell(ranges, length, 0);
    const end = begin + this.#levels;
    const { cost, choice } = ranges;
    this.#decide(ranges, length, this.#levels, best);
    for (let m = 0; m < this.#levels; m++) {
      this.#decide(ranges, length, m, best);
      // With more memory it stays as cheap as with all of it.
      if (!(cost[begin + m]! <= cost[end]! * (1 + 1e-12)) || cost[begin + m] === Infinity) continue;
      cost.fill(cost[begin + m]!, begin + m, end);
      choice.fill(choice[begin + m]!, begin + m, end);
      best.fill(best[m]!, m, this.#levels);
      return;
    }
  }

  #decide(ranges: Ranges, length: number, m: number, best: Int16Array): void {
    const { first, last, held } = ranges;
    const room = m + Math.max(0, held);
    let least = Infinity;
    let which = 0;
    const tail = this.#behind(ranges);
    if (first.toAll + last.pending <= m && first.group <= room) {
      least = first.allCost + this.#costOf(tail, length - 1, m - first.inside - this.#boundary);
      if (least < Infinity) which = 1;
    }
    const most = this.#farthest(ranges, length, m);
    if (most > 0) {
      const by = this.#bestRun(ranges, length, m, most, best[m]!);
      best[m] = by;
      const run = this.#runCost(ranges, length, m, by);
      if (run < least) {
        least = run;
        which = 2 + 2 * by + Number(this.#isHeld(ranges, by, room));
      }
    }
    const cell = this.#cell(ranges, length, m);
    ranges.cost[cell] = least;
    ranges.choice[cell] = which;
  }

  /** Ranges that are left behind a stage that was run to. */
  #behind(ranges: Ranges): Ranges {
    if (ranges === this.#all || ranges === this.#toLast) return this.#toLast;
    return ranges.held === none ? this.#within[0] : this.#within[1];
  }

  /** Ranges before a stage that was run to, which is resident (1) or not (0). */
  #before(ranges: Ranges): readonly [Ranges, Ranges] {
    return ranges === this.#all || ranges.first === this.#all.first
      ? this.#fromFirst
      : this.#within;
  }

  /** How far one may run on in so much memory. */
  #farthest({ first, last }: Ranges, length: number, m: number): number {
    const inner = this.#toLast.first;
    if (first.toBoundary + last.pending > m) return 0;
    return this.#boundary + inner.toBoundary + last.pending > m ? 1 : length - 1;
  }

  /** The stages to run on by: falls and rises, so it is looked for from where it was before. */
  #bestRun(ranges: Ranges, length: number, m: number, most: number, near: number): number {
    this.#by = 1;
    this.#least = this.#runCost(ranges, length, m, 1);
    if (this.#n <= fewStages) {
      for (let next = 2; next <= most; next++) this.#improves(ranges, length, m, next);
      return this.#by;
    }
    for (let start = near; start <= near + 1; start++)
      if (start <= most) this.#improves(ranges, length, m, start);
    this.#improves(ranges, length, m, most);
    while (this.#by < most && this.#improves(ranges, length, m, this.#by + 1));
    while (this.#by > 1 && this.#improves(ranges, length, m, this.#by - 1));
    return this.#by;
  }

  /** Whether it is better than the best so far to run on by so many. */
  #improves(ranges: Ranges, length: number, m: number, by: number): boolean {
    const cost = this.#runCost(ranges, length, m, by);
    if (cost >= this.#least) return false;
    this.#by = by;
    this.#least = cost;
    return true;
  }

  /** What running on by some stages costs in the end. */
  #runCost(ranges: Ranges, length: number, m: number, by: number): number {
    this.steps++;
    const run = ranges.first.boundaryCost + (by - 1) * this.#toLast.first.boundaryCost;
    const behind = run + this.#costOf(this.#behind(ranges), length - by, m - this.#boundary);
    const [dropped, held] = this.#before(ranges);
    const room = m + Math.max(0, ranges.held);
    return (
      behind +
      Math.min(this.#costOf(dropped, by, room), this.#costOf(held, by, room - this.#boundary))
    );
  }

  /** Whether it pays to have the boundary resident that was run to. */
  #isHeld(ranges: Ranges, by: number, room: number): boolean {
    const [dropped, held] = this.#before(ranges);
    return this.#costOf(held, by, room - this.#boundary) < this.#costOf(dropped, by, room);
  }
}

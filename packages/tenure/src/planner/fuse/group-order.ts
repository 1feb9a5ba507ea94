/**
 * The groups that a fuse pass has found so far, in an order that every dependency agrees with, and
 * the way back: every merge can be undone. A merge moves the groups that it has to and no others:
 * long programs take no longer per op than short ones. Called by the fuse pass. Owned by one pass;
 * holds numbers only.
 */
import { at, last, lookup } from "../../base/access.ts";
import type { Program } from "../../graph/program.ts";
import { dependencies } from "../dependencies.ts";
import type { KernelOutline } from "./group.ts";

/** What several groups become. */
export interface MergedGroup {
  /** Ops of all, in issue order. */
  readonly together: readonly number[];
  readonly outline: KernelOutline;
  /** A number that stands for these ops; single ops have their own. */
  readonly contents: number;
}

/** What a merge did. */
export interface Merge {
  /** The group that has the ops of all now. */
  readonly kept: number;
  /** Other groups that are at another place now. */
  readonly moved: readonly number[];
}

/** A place that no group is at any more. */
const vacant = -1;

/**
 * Dependencies that are followed to find out what lies between some groups. Where that is not
 * enough they stay apart: programs of 10,000 ops would take long otherwise.
 */
const maxVisits = 4096;

/** Groups of ops, each op in one of them; at the start every op is its own. */
export class GroupOrder {
  /** Group of each op. */
  readonly #groupOf: number[];
  /** Ops of each group, in issue order. */
  readonly #members: (readonly number[])[];
  /** What the kernel of each group is; null for ops that are alone. */
  readonly #outlines: (KernelOutline | null)[];
  /** Stands for the ops of a group. */
  readonly #contents: number[];
  /** The group at each place, or `vacant`; and the place of each group. */
  readonly #order: number[];
  readonly #place: number[];
  readonly #before: readonly (readonly number[])[];
  /** How to take back what was done, in order. */
  readonly #undo: (() => void)[] = [];
  /** Dependencies that were followed so far. */
  visits = 0;

  constructor(program: Program) {
    const all = program.ops.map((_, i) => i);
    this.#groupOf = [...all];
    this.#members = all.map((i) => [i]);
    this.#outlines = all.map(() => null);
    this.#contents = [...all];
    this.#order = [...all];
    this.#place = [...all];
    const before = dependencies(program, all);
    this.#before = all.map((i) => lookup(before, i));
  }

  /** The group of an op. */
  of(op: number): number {
    return at(this.#groupOf, op);
  }

  /** Ops of a group, in issue order. */
  members(group: number): readonly number[] {
    return at(this.#members, group);
  }

  /** What a group consists of, as a number that no other set of ops has. */
  contents(group: number): number {
    return at(this.#contents, group);
  }

  /** The kernel of a group; null for one op alone. */
  outline(group: number): KernelOutline | null {
    return this.#outlines[group] ?? null;
  }

  /** Where a group is in the order. */
  place(group: number): number {
    return at(this.#place, group);
  }

  /** All groups in order. */
  inOrder(): number[] {
    return this.#order.filter((g) => g !== vacant);
  }

  /** Ops of some groups, in issue order. */
  together(groups: Iterable<number>): number[] {
    const ops: number[] = [];
    let isSorted = true;
    for (const g of groups)
      for (const op of this.members(g)) {
        isSorted &&= ops.length === 0 || last(ops) < op;
        ops.push(op);
      }
    return isSorted ? ops : ops.sort((a, b) => a - b);
  }

  /**
   * The groups between the first and the last of `groups` that must come before them; null when one
   * of them would have to come after as well, or when there is too much to look at.
   */
  between(groups: ReadonlySet<number>): Set<number> | null {
    let first = Infinity;
    for (const g of groups) first = Math.min(first, at(this.#place, g));
    const most = this.visits + maxVisits;
    const earlier = new Set<number>();
    const stack = [...groups];
    for (let g = stack.pop(); g !== undefined; g = stack.pop())
      for (const member of this.members(g))
        for (const previous of at(this.#before, member)) {
          if (++this.visits > most) return null;
          const h = at(this.#groupOf, previous);
          if (h === g || earlier.has(h) || at(this.#place, h) < first) continue;
          if (!groups.has(h)) {
            earlier.add(h);
            stack.push(h);
          } else if (!groups.has(g)) return null;
        }
    return earlier;
  }

  /**
   * Makes one group. It goes as early as what it depends on allows: a result takes the place of the
   * value that is gone, and operands are done with sooner.
   *
   *     places    4 5 6 7 8 9          groups a and b, e comes before them
   *     before    a x e y - b
   *     after     e a x y - -
   *
   * @param merged what the group is then
   * @param earlier what `between` answered
   */
  merge(groups: ReadonlySet<number>, merged: MergedGroup, earlier: ReadonlySet<number>): Merge {
    const { together, outline, contents } = merged;
    const [kept = vacant] = groups;
    const formerOps = this.members(kept);
    const formerOutline = this.outline(kept);
    const formerContents = this.contents(kept);
    const others = [...groups].filter((g) => g !== kept);
    const { moved, undo } = this.#makeRoom(kept, groups, earlier);
    this.#undo.push(() => {
      undo();
      this.#members[kept] = formerOps;
      this.#outlines[kept] = formerOutline;
      this.#contents[kept] = formerContents;
      for (const g of others) for (const m of this.members(g)) this.#groupOf[m] = g;
    });
    for (const m of together) this.#groupOf[m] = kept;
    this.#members[kept] = together;
    this.#outlines[kept] = outline;
    this.#contents[kept] = contents;
    return { kept, moved };
  }

  /** Takes groups from their places and puts one of them, behind what is earlier, at the first. */
  #makeRoom(
    kept: number,
    groups: ReadonlySet<number>,
    earlier: ReadonlySet<number>,
  ): { readonly moved: readonly number[]; readonly undo: () => void } {
    let first = Infinity;
    for (const g of groups) first = Math.min(first, at(this.#place, g));
    const inFront = [...earlier].sort((a, b) => at(this.#place, a) - at(this.#place, b));
    const latest = inFront.at(-1);
    const to = [...inFront, kept];
    // What lies in between moves on, until there is room.
    const end = latest === undefined ? first : at(this.#place, latest);
    for (let place = first; place < end; place++) {
      const g = at(this.#order, place);
      if (g === vacant || groups.has(g) || earlier.has(g)) continue;
      if (place >= first + to.length) break;
      to.push(g);
    }
    const from = [...to, ...[...groups].filter((g) => g !== kept)];
    const places = from.map((g) => at(this.#place, g));
    const undo = (): void => {
      for (let k = 0; k < to.length; k++) this.#order[first + k] = vacant;
      for (const [k, g] of from.entries()) this.#put(g, at(places, k));
    };
    for (const place of places) this.#order[place] = vacant;
    for (const [k, g] of to.entries()) this.#put(g, first + k);
    const moved = to.filter((g, k) => g !== kept && at(places, k) !== first + k);
    return { moved, undo };
  }

  #put(group: number, place: number): void {
    this.#order[place] = group;
    this.#place[group] = place;
  }

  /** A moment to come back to. */
  mark(): number {
    return this.#undo.length;
  }

  /** Takes back all merges since a mark. */
  undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }
}

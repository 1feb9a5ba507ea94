/**
 * The groups that a fuse pass has found so far, in an order that every dependency agrees with, and
 * the way back: every merge can be undone. A merge touches the places between the merged groups and
 * no others, so that long programs take no longer per op than short ones. Called by the fuse pass.
 * Owned by one pass; holds numbers only.
 */
import { at, lookup } from "../../base/access.ts";
import type { Program } from "../../graph/program.ts";
import { dependencies } from "../dependencies.ts";
import type { KernelOutline } from "./group.ts";

/** Places `first` inclusive to `end` exclusive in the order of groups. */
export interface Region {
  readonly first: number;
  readonly end: number;
}

/** A place that no group is at any more. */
const vacant = -1;

/** Groups of ops, each op in one of them; at the start every op is its own. */
export class GroupOrder {
  /** Group of each op. */
  readonly #groupOf: number[];
  /** Ops of each group, in issue order. */
  readonly #members: (readonly number[])[];
  /** What the kernel of each group is; null for ops that are alone. */
  readonly #outlines: (KernelOutline | null)[];
  /** Stands for the ops of a group; and the number of each list of ops that was one. */
  readonly #contents: number[];
  readonly #numbers = new Map<readonly number[], number>();
  /** The group at each place, or `vacant`; and the place of each group. */
  readonly #order: number[];
  readonly #rank: number[];
  readonly #before: readonly (readonly number[])[];
  /** How to take back what was done, in order. */
  readonly #undo: (() => void)[] = [];

  constructor(program: Program) {
    const all = program.ops.map((_, i) => i);
    this.#groupOf = [...all];
    this.#members = all.map((i) => [i]);
    this.#outlines = all.map(() => null);
    this.#contents = [...all];
    this.#order = [...all];
    this.#rank = [...all];
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

  /** The group at a place; undefined where there is none any more. */
  groupAt(place: number): number | undefined {
    const group = at(this.#order, place);
    return group === vacant ? undefined : group;
  }

  /** All groups in order. */
  inOrder(): number[] {
    return this.#order.filter((g) => g !== vacant);
  }

  /** Ops of some groups, in issue order. */
  together(groups: Iterable<number>): number[] {
    return [...groups].flatMap((g) => this.members(g)).sort((a, b) => a - b);
  }

  /**
   * The groups of the region spanned by `groups` that must come before them; null when one of them
   * would have to come after as well.
   */
  between(groups: ReadonlySet<number>): Set<number> | null {
    let first = Infinity;
    for (const g of groups) first = Math.min(first, at(this.#rank, g));
    const earlier = new Set<number>();
    const stack = [...groups];
    for (let g = stack.pop(); g !== undefined; g = stack.pop())
      for (const member of this.members(g))
        for (const previous of at(this.#before, member)) {
          const h = at(this.#groupOf, previous);
          if (h === g || earlier.has(h) || at(this.#rank, h) < first) continue;
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
   * @param earlier what `between` answered
   */
  merge(
    groups: ReadonlySet<number>,
    together: readonly number[],
    outline: KernelOutline,
    earlier: ReadonlySet<number>,
  ): Region {
    const ranks = [...groups].map((g) => at(this.#rank, g));
    const first = Math.min(...ranks);
    const end = Math.max(...ranks) + 1;
    const [kept = vacant] = groups;
    const was = this.#order.slice(first, end);
    const formerOps = this.members(kept);
    const formerOutline = this.outline(kept);
    const formerContents = this.contents(kept);
    const others = [...groups].filter((g) => g !== kept);
    this.#undo.push(() => {
      this.#arrange(first, was);
      this.#members[kept] = formerOps;
      this.#outlines[kept] = formerOutline;
      this.#contents[kept] = formerContents;
      for (const g of others) for (const m of this.members(g)) this.#groupOf[m] = g;
    });
    const rest = was.filter((g) => g !== vacant && !groups.has(g));
    const now = [
      ...rest.filter((g) => earlier.has(g)),
      kept,
      ...rest.filter((g) => !earlier.has(g)),
    ];
    while (now.length < was.length) now.push(vacant);
    this.#arrange(first, now);
    for (const m of together) this.#groupOf[m] = kept;
    this.#members[kept] = together;
    this.#outlines[kept] = outline;
    this.#contents[kept] = this.#numberOf(together);
    return { first, end };
  }

  /** Lists are compared by identity: whoever merges the same ops again passes the same list. */
  #numberOf(ops: readonly number[]): number {
    const known = this.#numbers.get(ops);
    if (known !== undefined) return known;
    const number = this.#order.length + this.#numbers.size;
    this.#numbers.set(ops, number);
    return number;
  }

  #arrange(first: number, groups: readonly number[]): void {
    for (const [k, g] of groups.entries()) {
      this.#order[first + k] = g;
      if (g !== vacant) this.#rank[g] = first + k;
    }
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

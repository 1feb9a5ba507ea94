/**
 * Swapping under a byte budget, after NNabla's SwapInOutScheduler: values leave for the host when
 * the budget needs their room and come back before their next use. A swap-out is only issued when
 * the room was really needed (NNabla cancels it otherwise), right behind the value's last use; a
 * value whose host copy is still good is dropped without a transfer; what is never used again is
 * freed on last use (preclear). Victims are those used farthest in the future, which on chains is
 * the least possible. Called by the swap pass for each level of memory. Pure.
 */
import { at } from "../../base/access.ts";
import { bytesOf, opAt, storageAt } from "../../graph/program.ts";
import { BudgetError } from "../budget-error.ts";
import type { Action, Context } from "../schedule.ts";
import { prefetch } from "./prefetch.ts";

/** The budget of a schedule with swaps. */
export interface SwapOptions {
  /** Most bytes resident at any action. */
  readonly budgetBytes: number;
  /** How far ahead of its use a value may be fetched, in bytes of arrays touched in between. */
  readonly prefetchBytes: number;
  /**
   * Drop the host copy when a value comes back: host memory holds one copy, and leaving again costs
   * a transfer.
   */
  readonly saveHostMemory: boolean;
}

/**
 * The schedule with copies to the host and back. @throws BudgetError naming the op that needs more
 * than the budget
 */
export function insertSwaps(
  context: Context,
  actions: readonly Action[],
  options: SwapOptions,
): Action[] {
  const moves = new Offload(context, actions, options).run();
  return prefetch(context, merge(actions, moves), options);
}

/** Which values move when. */
interface Moves {
  /** Storages copied out before the first position. */
  readonly first: number[];
  /** Storages fetched before each position, and before the end. */
  readonly before: number[][];
  /** Storages copied out after each position. */
  readonly after: number[][];
}

function merge(actions: readonly Action[], { first, before, after }: Moves): Action[] {
  const swapOut = (storage: number): Action => ({ kind: "swapOut", op: -1, storage });
  const swapIn = (storage: number): Action => ({ kind: "swapIn", op: -1, storage });
  const merged = first.map(swapOut);
  actions.forEach((action, t) => {
    merged.push(...at(before, t).map(swapIn), action, ...at(after, t).map(swapOut));
  });
  merged.push(...at(before, actions.length).map(swapIn));
  return merged;
}

/** A use of a storage: where, and whether it begins a new value. */
interface Use {
  readonly position: number;
  readonly birth: boolean;
}

/** A walk through a schedule that keeps to the budget. */
class Offload {
  readonly #context: Context;
  readonly #actions: readonly Action[];
  readonly #options: SwapOptions;
  readonly #moves: Moves;
  /** Uses of each storage, in order. */
  readonly #uses: Use[][];
  /** Index of the next of them. */
  readonly #next: Int32Array;
  /** Position of the last use of each storage so far; -1 for none. */
  readonly #last: Int32Array;
  readonly #resident = new Set<number>();
  readonly #onHost = new Set<number>();
  #bytes = 0;

  constructor(context: Context, actions: readonly Action[], options: SwapOptions) {
    this.#context = context;
    this.#actions = actions;
    this.#options = options;
    const { storages } = context.program;
    const lists = (length: number): number[][] => Array.from({ length }, () => []);
    this.#moves = {
      first: [],
      before: lists(actions.length + 1),
      after: lists(actions.length),
    };
    this.#uses = storages.map(() => []);
    this.#next = new Int32Array(storages.length);
    this.#last = new Int32Array(storages.length).fill(-1);
    actions.forEach(({ op }, position) => {
      const { reads, writes } = opAt(context.program, op);
      for (const s of reads) at(this.#uses, s).push({ position, birth: false });
      for (const s of writes)
        if (!reads.includes(s)) at(this.#uses, s).push({ position, birth: true });
    });
  }

  run(): Moves {
    this.#begin();
    for (let t = 0; t < this.#actions.length; t++) this.#step(t);
    this.#bringBackOwned();
    return this.#moves;
  }

  /** What is resident at entry and needed. */
  #begin(): void {
    this.#context.program.storages.forEach((_, s) => {
      if (this.#context.resident[s] === true && this.#nextNeed(s) !== Infinity) this.#enter(s);
    });
    const { budgetBytes } = this.#options;
    if (this.#bytes > budgetBytes)
      throw new BudgetError(
        "plan",
        `expected what is resident at entry to fit into the budget of ${budgetBytes} bytes, ` +
          `got ${this.#bytes}`,
        budgetBytes,
        this.#bytes,
      );
  }

  #step(t: number): void {
    const { program, deadline } = this.#context;
    deadline?.check();
    const { reads, writes } = opAt(program, at(this.#actions, t).op);
    const touched = new Set([...reads, ...writes]);
    const missing = [...touched].filter((s) => !this.#resident.has(s));
    this.#makeRoom(bytesOf(program, missing), touched, t);
    for (const s of missing) {
      if (reads.includes(s)) {
        at(this.#moves.before, t).push(s);
        if (this.#options.saveHostMemory) this.#onHost.delete(s);
      }
      this.#enter(s);
    }
    for (const s of writes) this.#onHost.delete(s);
    for (const s of touched) {
      this.#next[s]!++;
      this.#last[s] = t;
      if (this.#nextNeed(s) === Infinity) this.#leave(s);
    }
  }

  /** What somebody still owns must be back at the end. */
  #bringBackOwned(): void {
    const { program, resident } = this.#context;
    const end = this.#actions.length;
    const owned = program.storages.flatMap(({ pinned }, s) =>
      pinned && (at(this.#uses, s).length > 0 || resident[s] === true) ? [s] : [],
    );
    const missing = owned.filter((s) => !this.#resident.has(s));
    this.#makeRoom(bytesOf(program, missing), new Set(owned), end);
    for (const s of missing) {
      at(this.#moves.before, end).push(s);
      this.#enter(s);
    }
  }

  /** Sends away what is used farthest in the future until there is room. */
  #makeRoom(need: number, keep: ReadonlySet<number>, t: number): void {
    while (this.#bytes + need > this.#options.budgetBytes) {
      const victim = this.#victim(keep);
      if (victim === -1) throw this.#tooLarge(need, t);
      this.#leave(victim);
      if (this.#onHost.has(victim)) continue;
      const { first, after } = this.#moves;
      (after[at(this.#last, victim)] ?? first).push(victim);
      this.#onHost.add(victim);
    }
  }

  /** The value to send away: needed last, of those the largest; -1 when all must stay. */
  #victim(keep: ReadonlySet<number>): number {
    const { program, extended } = this.#context;
    let victim = -1;
    let farthest = -1;
    let most = 0;
    for (const s of this.#resident) {
      if (keep.has(s) || extended[s] !== null) continue;
      const need = this.#nextNeed(s);
      const { bytes } = storageAt(program, s);
      if (need < farthest || (need === farthest && bytes <= most)) continue;
      victim = s;
      farthest = need;
      most = bytes;
    }
    return victim;
  }

  #tooLarge(need: number, t: number): BudgetError {
    const { program } = this.#context;
    const { budgetBytes } = this.#options;
    const action = this.#actions[t];
    const name = action === undefined ? "the end of the program" : opAt(program, action.op).name;
    return new BudgetError(
      name,
      `expected the tensors it needs at one time to fit into the budget of ${budgetBytes} bytes, ` +
        `got ${this.#bytes + need}`,
      budgetBytes,
      this.#bytes + need,
    );
  }

  /**
   * When the value in a storage is needed again: a position, the number of actions for the end of
   * the program, Infinity for never.
   */
  #nextNeed(s: number): number {
    const use = at(this.#uses, s)[at(this.#next, s)];
    if (use !== undefined) return use.birth ? Infinity : use.position;
    return storageAt(this.#context.program, s).pinned ? this.#actions.length : Infinity;
  }

  #enter(s: number): void {
    this.#resident.add(s);
    this.#bytes += storageAt(this.#context.program, s).bytes;
  }

  #leave(s: number): void {
    this.#resident.delete(s);
    this.#bytes -= storageAt(this.#context.program, s).bytes;
  }
}

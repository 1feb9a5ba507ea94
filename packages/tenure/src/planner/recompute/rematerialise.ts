/**
 * Recomputation: given the storages not to be kept for the backward pass, the schedule that
 * computes them again. Clones are inserted right before the first backward op that needs them,
 * inputs first, and never hoisted; once recomputed, a value stays until its last use. Pure; the
 * policies in memonger.ts, mincut.ts, rotor.ts and exact.ts decide what to drop.
 *
 *     forward  a b c d      kept: b      backward needs c, d: b is there, recompute c, then d
 */
import { at } from "../../base/access.ts";
import { opAt, type Program } from "../../graph/program.ts";
import { writersOf } from "../dependencies.ts";
import type { OpRuns } from "../op-runs.ts";
import type { Action, Context } from "../schedule.ts";

/** For storages that one op makes: that op. */
export function onlyWriter(
  program: Program,
  order: readonly number[],
): (storage: number) => number {
  const writers = new Int32Array(program.storages.length).fill(-1);
  for (let k = order.length - 1; k >= 0; k--)
    for (const w of opAt(program, order[k]!).writes) writers[w] = order[k]!;
  return (storage) => at(writers, storage);
}

/**
 * Storages that may be dropped and computed again: made whole by one recomputable forward op, not
 * kept by anybody, read after the forward pass or needed to recompute one that is.
 */
export function droppable(
  { program, resident, extended }: Context,
  order: readonly number[],
): number[] {
  const writers = writersOf(program, order);
  const found: number[] = [];
  program.storages.forEach((s, i) => {
    const [writer, another] = at(writers, i);
    if (s.pinned || resident[i] === true || extended[i] !== null) return;
    if (writer === undefined || another !== undefined) return;
    const { recomputable, phase, reads, writes } = opAt(program, writer);
    if (recomputable && phase === "forward" && !writes.some((w) => reads.includes(w)))
      found.push(i);
  });
  return found;
}

/**
 * The schedule in which `dropped` storages are recomputed after the forward pass. A storage whose
 * inputs were overwritten in the meantime cannot be: it is kept, and removed from `dropped`.
 * @param transient dropped storages that, computed on the way to another, don't stay for their own
 *   use but are computed once more
 */
export function rematerialise(
  context: Context,
  order: readonly number[],
  dropped: Set<number>,
  transient?: ReadonlySet<number>,
): Action[] {
  const { program } = context;
  const producer = new Int32Array(program.storages.length).fill(-1);
  for (const i of order) for (const w of opAt(program, i).writes) producer[w] = i;
  for (;;) {
    context.deadline?.check();
    const attempt = new Attempt(context, dropped, producer, transient);
    const failed = attempt.run(order);
    if (failed === null) return attempt.actions;
    for (const s of opAt(program, failed).writes) dropped.delete(s);
  }
}

/** One try to recompute all dropped storages. */
class Attempt {
  readonly actions: Action[] = [];
  readonly #program: Program;
  readonly #runs: OpRuns;
  readonly #producer: Int32Array;
  readonly #transient: ReadonlySet<number> | undefined;
  /** Where each op ran first, and where each storage was written last; -1 for never. */
  readonly #ranAt: Int32Array;
  readonly #written: Int32Array;
  /** Dropped storages that are not resident again. */
  readonly #missing: Uint8Array;
  /** Storages that came back for the op at hand. */
  #brought: number[] = [];

  constructor(
    { program, runs }: Context,
    dropped: ReadonlySet<number>,
    producer: Int32Array,
    transient: ReadonlySet<number> | undefined,
  ) {
    this.#program = program;
    this.#runs = runs;
    this.#producer = producer;
    this.#transient = transient;
    this.#ranAt = new Int32Array(program.ops.length).fill(-1);
    this.#written = new Int32Array(program.storages.length).fill(-1);
    this.#missing = new Uint8Array(program.storages.length);
    for (const s of dropped) this.#missing[s] = 1;
  }

  /** Fills `actions`; returns an op that cannot run again, or null when all can. */
  run(order: readonly number[]): number | null {
    for (let t = 0; t < order.length; t++) {
      const i = at(order, t);
      const { phase, reads, writes } = opAt(this.#program, i);
      if (phase !== "forward")
        for (const r of reads) {
          const failed = this.#missing[r] === 1 ? this.#bringBack(r) : null;
          if (failed !== null) return failed;
        }
      this.#ranAt[i] = t;
      this.actions.push(this.#runs.first(i));
      for (const w of writes) this.#written[w] = t;
      for (const s of this.#brought)
        if (this.#transient?.has(s) === true && !reads.includes(s)) this.#missing[s] = 1;
      this.#brought = [];
    }
    return null;
  }

  /**
   * Emits the ops that bring a storage back, inputs first, with a stack of its own: chains are as
   * deep as networks. Returns an op whose inputs have changed since, or null.
   */
  #bringBack(storage: number): number | null {
    const stack = [storage];
    for (let s = stack.at(-1); s !== undefined; s = stack.at(-1)) {
      if (this.#missing[s] === 0) {
        stack.pop();
        continue;
      }
      const op = at(this.#producer, s);
      const { reads, writes } = opAt(this.#program, op);
      const missing = reads.filter((r) => this.#missing[r] === 1);
      if (missing.length > 0) {
        stack.push(...missing);
        continue;
      }
      const ran = at(this.#ranAt, op);
      if (ran === -1 || reads.some((r) => at(this.#written, r) >= ran)) return op;
      this.actions.push(this.#runs.again(op));
      for (const w of writes) {
        this.#missing[w] = 0;
        this.#brought.push(w);
      }
      stack.pop();
    }
    return null;
  }
}

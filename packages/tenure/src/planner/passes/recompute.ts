/**
 * Recomputation: given the storages not to be kept for the backward pass, the schedule that
 * computes them again. Clones are inserted right before the first backward op that needs them,
 * inputs first, and never hoisted; once recomputed, a value stays until its last use. Pure; the
 * policies in memonger.ts, mincut.ts, chain.ts and exact.ts decide what to drop.
 *
 *     forward  a b c d          kept: b        backward needs c, d:   b is there -> c again -> d again
 */
import type { Program } from "../../graph/program.ts";
import type { Action, Context } from "../schedule.ts";

/** Ops that write each storage, in the order given. */
export function writersOf(program: Program, order: readonly number[]): number[][] {
  const writers: number[][] = program.storages.map(() => []);
  for (const i of order) for (const w of program.ops[i]!.writes) writers[w]!.push(i);
  return writers;
}

/**
 * Storages that may be dropped and computed again: made whole by one recomputable forward op, not
 * kept by anybody, read after the forward pass or needed to recompute one that is.
 */
export function droppable(
  { program, resident, extended }: Context,
  order: readonly number[],
): number[] {
  const writers = writersOf(program, order),
    found: number[] = [];
  program.storages.forEach((s, i) => {
    if (s.pinned || resident[i] === true || extended[i] !== null || writers[i]!.length !== 1)
      return;
    const op = program.ops[writers[i]![0]!]!;
    if (op.recomputable && op.phase === "forward" && !op.writes.some((w) => op.reads.includes(w)))
      found.push(i);
  });
  return found;
}

/**
 * The schedule in which `dropped` storages are recomputed after the forward pass. A storage whose
 * inputs were overwritten in the meantime cannot be: it is kept, and removed from `dropped`.
 * @param fleeting dropped storages that, computed on the way to another, don't stay for their own
 *   use but are computed once more
 */
export function rematerialise(
  context: Context,
  order: readonly number[],
  dropped: Set<number>,
  fleeting?: ReadonlySet<number>,
): Action[] {
  const { program } = context,
    producer = new Int32Array(program.storages.length).fill(-1);
  for (const i of order) for (const w of program.ops[i]!.writes) producer[w] = i;
  for (;;) {
    const result = attempt(program, order, dropped, producer, fleeting);
    if (Array.isArray(result)) return result;
    for (const s of program.ops[result.op]!.writes) dropped.delete(s);
  }
}

function attempt(
  program: Program,
  order: readonly number[],
  dropped: ReadonlySet<number>,
  producer: Int32Array,
  fleeting?: ReadonlySet<number>,
): Action[] | { op: number } {
  const actions: Action[] = [];
  const version = new Int32Array(program.storages.length);
  /** Versions of the inputs each op saw. */
  const saw: (Int32Array | undefined)[] = [];
  const again = new Uint8Array(program.storages.length),
    brought: number[] = [];
  const unchanged = (op: number): boolean =>
    program.ops[op]!.reads.every((r, k) => version[r] === saw[op]![k]);

  /**
   * Emits the ops that bring `storage` back, inputs first, with a stack of its own: chains are as
   * deep as networks.
   */
  const bringBack = (storage: number): { op: number } | null => {
    const stack = [storage];
    while (stack.length > 0) {
      const s = stack.at(-1)!,
        op = producer[s]!;
      if (again[s] === 1) {
        stack.pop();
        continue;
      }
      const missing = program.ops[op]!.reads.filter((r) => dropped.has(r) && again[r] === 0);
      if (missing.length > 0) {
        stack.push(...missing);
        continue;
      }
      if (!unchanged(op)) return { op };
      actions.push({ kind: "recompute", op, storage: -1 });
      for (const w of program.ops[op]!.writes) {
        again[w] = 1;
        brought.push(w);
      }
      stack.pop();
    }
    return null;
  };

  for (const i of order) {
    const op = program.ops[i]!;
    if (op.phase !== "forward") {
      for (const r of op.reads) {
        if (!dropped.has(r) || again[r] === 1) continue;
        const failed = bringBack(r);
        if (failed !== null) return failed;
      }
    }
    saw[i] = Int32Array.from(op.reads, (r) => version[r]!);
    actions.push({ kind: "dispatch", op: i, storage: -1 });
    for (const w of op.writes) version[w]!++;
    for (const s of brought.splice(0))
      if (fleeting?.has(s) === true && !op.reads.includes(s)) again[s] = 0;
  }
  return actions;
}

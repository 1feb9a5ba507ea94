/**
 * What random programs did, counted by kind, so that a record shows what was tried and a kind that
 * is never tried stands out as a zero. Owned by one run; runs add up.
 */

/** Everything that a program can do. */
export const kinds = [
  "program of 1 task",
  "program of 2 tasks",
  "program of 3 tasks",
  "scheduler without budget",
  "scheduler under a budget",
  "scheduler, swap off",
  "scheduler, recompute off",
  "scheduler, fuse off",
  "made from numbers",
  "neg",
  "relu",
  "add",
  "sub",
  "mul",
  "sum",
  "matmul",
  "alias",
  "transpose",
  "slice",
  "reshape",
  "fill_",
  "add_",
  "mul_",
  "broadcast",
  "read",
  "read of a view",
  "dispose",
  "turn of the event loop",
  "scope",
  "scope left by a throw",
  "moved out of a scope",
  "gradient",
  "step",
  "step that waits",
  "step left by a throw",
  "gradient in a step",
  "step refused by its budget",
  "step that recomputed",
  "step that swapped",
] as const;

/** One kind. */
export type Kind = (typeof kinds)[number];

/** Counts by kind, or by counter of the library. */
export type Counts = Record<string, number>;

/** Adds counts to others. */
export function addCounts(to: Counts, counts: Counts): void {
  for (const [kind, n] of Object.entries(counts)) to[kind] = (to[kind] ?? 0) + n;
}

/** Counts of one run. */
export class Coverage {
  readonly counts: Counts = Object.fromEntries(kinds.map((kind) => [kind, 0]));

  count(kind: Kind): void {
    addCounts(this.counts, { [kind]: 1 });
  }
}

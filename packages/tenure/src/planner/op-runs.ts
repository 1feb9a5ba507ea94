/**
 * The actions that run the ops of a program, each made once: the many schedules that are thought of
 * for it consist of the same. Made with the context of a program. Owns its actions.
 */

/** Runs an op: for the first time, or once more. */
export interface OpRun {
  readonly kind: "dispatch" | "recompute";
  /** Index of the op. */
  readonly op: number;
  readonly storage: -1;
}

/** Actions that run ops. */
export class OpRuns {
  /** How many ops there are. */
  readonly ops: number;
  readonly #first: (OpRun | undefined)[];
  readonly #again: (OpRun | undefined)[];

  constructor(ops: number) {
    this.ops = ops;
    this.#first = new Array<undefined>(ops).fill(undefined);
    this.#again = new Array<undefined>(ops).fill(undefined);
  }

  /** An op for the first time. */
  first(op: number): OpRun {
    return (this.#first[op] ??= { kind: "dispatch", op, storage: -1 });
  }

  /** An op once more. */
  again(op: number): OpRun {
    return (this.#again[op] ??= { kind: "recompute", op, storage: -1 });
  }
}

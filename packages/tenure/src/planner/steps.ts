/**
 * What a plan is made of: steps to follow, and the slots they speak of. Written by the last pass,
 * read by executors, the checker and reports. Pure data; a slot is a number until an executor fills
 * it with a buffer.
 */

/** One thing to do. */
export interface Step {
  /**
   * `dispatch`: an op runs for the first time. `recompute`: it runs once more. `swapOut`, `swapIn`:
   * a copy to the host, and back. `wait`: the host copy of `storage` must be complete. `release`:
   * the slot is free from here on. `open`: the slot gets a buffer. `close`: it has none from here
   * on.
   */
  readonly kind:
    "dispatch" | "recompute" | "swapIn" | "swapOut" | "wait" | "release" | "open" | "close";
  /** Index of the op. */
  readonly op?: number;
  readonly storage?: string;
  readonly slot?: number;
  readonly bytes?: number;
  /** Where in the slot, when it is not at its start. */
  readonly offset?: number;
  /** Slots of the op's reads, and of its writes, in the program's order. */
  readonly reads?: readonly number[];
  readonly writes?: readonly number[];
  /** Offsets in these slots; absent when all are 0. */
  readonly readOffsets?: readonly number[];
  readonly writeOffsets?: readonly number[];
}

/** One buffer. */
export interface Slot {
  readonly bytes: number;
  /** Has no buffer before its `open` step. */
  readonly late?: boolean;
  /** The storage that brings the buffer along at entry, or -1. */
  readonly entry: number;
  /**
   * The storage that keeps the buffer after the program, or -1: it goes back to where it came from.
   */
  readonly exit: number;
}

/** The steps of a plan, its slots, and what is where at the start. */
export interface Emitted {
  readonly steps: Step[];
  readonly slots: Slot[];
  /**
   * Slot that holds each storage before the first step; -1 when nobody needs what it holds then.
   */
  readonly entrySlot: number[];
}

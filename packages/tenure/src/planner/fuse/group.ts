/**
 * Groups: what one op of a fused program consists of. Made by the fuse pass, read by the runtime,
 * which makes one kernel of each. Pure data; owns nothing.
 */
import type { Layout } from "../../base/layout.ts";
import type { Shape } from "../../base/shape.ts";
import type { Program } from "../../graph/program.ts";
import type { Deadline } from "../deadline.ts";

/**
 * What an op does in a kernel. `main`: the one op that is not elementwise, computed as its own
 * kernel does. `prologue`: elementwise, computes an operand of the main op. `epilogue`: any other
 * elementwise op.
 */
export type Section = "prologue" | "main" | "epilogue";

/** One op of a kernel. */
export interface Member {
  /** Index into the ops of the unfused program. */
  readonly op: number;
  /** How its operands and results lie in memory, over the shape of its section. */
  readonly operands: readonly Layout[];
  readonly results: readonly Layout[];
  readonly section: Section;
}

/**
 * What one op of the fused program consists of. Members are in issue order; an op that runs alone
 * is a group of one, without layouts.
 */
export interface Group {
  readonly members: readonly Member[];
  /** Shape that the results are computed over. */
  readonly shape: Shape;
  /** Shape of the operand that the prologue computes. */
  readonly over: Shape;
  /** Storages that are written at the end; all other results stay in registers. */
  readonly stored: readonly number[];
}

/** What the kernel of several ops reads and writes. */
export interface KernelOutline {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
}

/** A group of several ops, and what its kernel reads and writes. */
export interface KernelDraft extends Group, KernelOutline {}

/**
 * `groups[i]` is what op `i` of `program` does. Storages keep their indices; no op mentions those
 * that need no memory any more.
 */
export interface Fused {
  readonly program: Program;
  readonly groups: readonly Group[];
  /** Steps that finding the groups took: they grow like the program. */
  readonly work: number;
  /** Why values still pass through memory between kernels; computed when asked for. */
  readonly unfused: () => readonly Unfused[];
}

/** Two ops, one of which reads what the other makes, that stayed in kernels of their own. */
export interface Unfused {
  /** Indices into the ops of the unfused program. */
  readonly maker: number;
  readonly reader: number;
  readonly reason: string;
}

/** What one kernel may be. */
export interface FuseLimits {
  /** Storage buffers one kernel may bind. */
  readonly maxStorageBuffers?: number;
  /** Ops one kernel may hold: its text grows with them. */
  readonly maxOps?: number;
  /** When the pass gives up. */
  readonly deadline?: Deadline;
}

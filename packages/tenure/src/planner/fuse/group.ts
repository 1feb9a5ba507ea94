/**
 * Groups: what one op of a fused program consists of. Made by the fuse pass, read by the runtime,
 * which makes one kernel of each. Pure data; owns nothing.
 */
import type { Layout } from "../../base/layout.ts";
import type { Shape } from "../../base/shape.ts";
import type { Program } from "../../graph/program.ts";
import type { Deadline } from "../deadline.ts";

/**
 * Where an op of a kernel belongs. `before`: it computes the operand of the whole op. `whole`: no
 * map, computed as its own kernel does. `after`: any other map.
 */
export type Side = "before" | "whole" | "after";

/** One op of a kernel. */
export interface Member {
  /** Index into the ops of the program before. */
  readonly op: number;
  /** Where its operands and results lie, over the shape of its side; one for each of its facts. */
  readonly operands: readonly Layout[];
  readonly results: readonly Layout[];
  readonly side: Side;
}

/**
 * What one op of the new program consists of. Members are in issue order; a lone op is a group of
 * one, without layouts.
 */
export interface Group {
  readonly members: readonly Member[];
  /** Shape that the results are computed over, and the operand on the way. */
  readonly shape: Shape;
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
 * `groups[i]` is what op `i` of `program` does. Storages keep their indices; those that need no
 * memory any more are just not mentioned.
 */
export interface Fused {
  readonly program: Program;
  readonly groups: readonly Group[];
  /** Why values are still handed from kernel to kernel; worked out when it is asked for. */
  readonly unfused: () => readonly Unfused[];
}

/** Two ops, one of which reads what the other makes, that stayed in kernels of their own. */
export interface Unfused {
  /** Indices into the ops of the program before. */
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

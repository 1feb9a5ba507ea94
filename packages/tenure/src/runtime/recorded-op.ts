/**
 * An op as the recorder writes it down, and its operands. Types only, read wherever programs are:
 * open programs, scripts, fusion, lowering. An operand does not keep its storage alive.
 */
import type { Phase } from "../graph/program.ts";
import type { View } from "../kernels/kernel.ts";
import type { AnyOp } from "../ops/op.ts";
import type { Storage } from "./storage.ts";

/** A view of a storage: an op's operand. */
export interface Operand extends View {
  readonly storage: Storage;
}

/** One recorded op. */
export interface RecordedOp {
  readonly op: AnyOp;
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Operand[];
  readonly attrs: unknown;
  /** Where the op's per-call scalars begin among the program's, and how many they are. */
  readonly scalarStart: number;
  readonly scalarCount: number;
  /** Where its words begin in the program's signature. */
  readonly signatureStart: number;
  readonly phase: Phase;
  readonly layer: string;
}

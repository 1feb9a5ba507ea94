/**
 * A script: what a repeated call recorded, without the storages and numbers that are others in
 * every call. A program that begins as the one it was taken from follows it: whole stretches of ops
 * are recorded by a count. Made by a repeated call from the program that it recorded in, and known
 * to the plan cache, so that a program that followed one to its end finds its plan without
 * signature or hash. Owns nothing; the storages in it are dead: they stand for values that live
 * only inside a program.
 */
import type { Int32s } from "../base/bytes.ts";
import { sameView } from "../base/layout.ts";
import type { View } from "../kernels/kernel.ts";
import type { AnyOp } from "../ops/op.ts";
import type { Operand, RecordedOp } from "./recorded-op.ts";
import type { Storage } from "./storage.ts";

/** A view of a storage, by the storage's index in the program. */
export interface ScriptView extends View {
  readonly local: number;
}

/** An op whose operands are told by their index. */
export interface ScriptOp extends Omit<RecordedOp, "inputs" | "outputs"> {
  readonly inputs: readonly ScriptView[];
  readonly outputs: readonly ScriptView[];
  /** Storages that the ops before it mention. */
  readonly localsBefore: number;
}

/** How much a program held at some moment: where a script begins, or a function is traced. */
export interface ProgramMark {
  readonly ops: number;
  readonly uploads: number;
  readonly locals: number;
  readonly scalars: number;
  readonly undo: number;
  readonly signature: number;
  readonly pendingBytes: number;
}

/** The ops of one repeated call, behind what the program held before. */
export interface Script {
  readonly start: ProgramMark;
  readonly ops: readonly ScriptOp[];
  /** The program's signature from its beginning to the last op. */
  readonly words: Int32s;
  /** Scalars of the ops; some are others in every call. */
  readonly scalars: readonly number[];
  /** Storages in the order of their mention; null for those that a call brings along. */
  readonly locals: readonly (Storage | null)[];
  /** Indices in the program of the storages a call brings along. */
  readonly brought: readonly number[];
  /** Those among them that ops write. */
  readonly written: readonly number[];
}

/** The program that a script is taken from. */
interface Source {
  readonly ops: readonly RecordedOp[];
  readonly locals: readonly Storage[];
  readonly scalars: readonly number[];
  readonly signature: { readonly snapshot: () => Int32s };
  readonly local: (storage: Storage) => number;
}

/**
 * A script of everything behind `start`. `isOwn`: whether a storage lives only inside of it, and is
 * dead already.
 */
export function scriptOf(
  program: Source,
  start: ProgramMark,
  isOwn: (storage: Storage) => boolean,
): Script {
  const view = ({ storage, layout, dtype }: Operand): ScriptView => ({
    local: program.local(storage),
    layout,
    dtype,
  });
  let localsBefore = start.locals;
  const ops = program.ops.slice(start.ops).map((recorded): ScriptOp => {
    const inputs = recorded.inputs.map(view);
    const outputs = recorded.outputs.map(view);
    const op = { ...recorded, inputs, outputs, localsBefore };
    for (const { local } of [...inputs, ...outputs])
      if (local >= localsBefore) localsBefore = local + 1;
    return op;
  });
  const locals = program.locals.slice(start.locals).map((s) => (isOwn(s) ? s : null));
  const isBrought = (local: number): boolean =>
    local < start.locals || locals[local - start.locals] === null;
  const written = new Set(ops.flatMap(({ outputs }) => outputs.map(({ local }) => local)));
  return {
    start,
    ops,
    words: program.signature.snapshot(),
    scalars: program.scalars.slice(start.scalars),
    locals,
    brought: locals.flatMap((storage, i) => (storage === null ? [start.locals + i] : [])),
    written: [...written].filter(isBrought),
  };
}

/** Whether an op, in a program of this serial number, is what a script says. */
export function isSameOp(
  known: ScriptOp,
  op: AnyOp,
  inputs: readonly Operand[],
  outputs: readonly Operand[],
  attrs: unknown,
  serial: number,
): boolean {
  return (
    known.op === op &&
    areSame(known.inputs, inputs, serial) &&
    areSame(known.outputs, outputs, serial) &&
    sameAttrs(op, known.attrs, attrs)
  );
}

function areSame(known: readonly ScriptView[], seen: readonly Operand[], serial: number): boolean {
  if (known.length !== seen.length) return false;
  for (let i = 0; i < seen.length; i++) if (!isView(known[i]!, seen[i]!, serial)) return false;
  return true;
}

function isView(
  { local, layout, dtype }: ScriptView,
  { storage, layout: seen, dtype: type }: Operand,
  serial: number,
): boolean {
  return (
    storage.programSerial === serial &&
    storage.programIndex === local &&
    type === dtype &&
    (seen === layout || (seen.contiguous === layout.contiguous && sameView(seen, layout)))
  );
}

function sameAttrs(op: AnyOp, a: unknown, b: unknown): boolean {
  if (a === b || op.key === undefined) return true;
  const [x, y] = [op.key(a), op.key(b)];
  return x.length === y.length && x.every((word, i) => word === y[i]);
}

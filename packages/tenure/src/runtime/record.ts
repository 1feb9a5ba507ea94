/**
 * The open program: ops are appended in issue order, nothing is allocated and nothing runs. While
 * recording, every fact a plan depends on is also written into the program's signature, so that a
 * flush finds its plan by comparing words. Called by the tensor layer through `record` and
 * `recordUpload`, and by the executor, which takes the program and leaves an empty one. Owns no
 * storage: mentioning one does not keep it alive.
 */
import { dtypeCode } from "../base/dtype.ts";
import type { Phase } from "../graph/program.ts";
import { Signature } from "../graph/signature.ts";
import type { PooledBuffer } from "../device/pool.ts";
import { counters } from "../device/counters.ts";
import type { View } from "../kernels/kernel.ts";
import { type AnyOp, opId } from "../ops/op.ts";
import type { TenureError } from "../base/errors.ts";
import { type Storage, setUnreferenced } from "./storage.ts";

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
  /** Where the op's per-call scalars begin in `words`, and how many. */
  readonly wordStart: number;
  readonly wordCount: number;
  readonly phase: Phase;
  readonly layer: string;
}

/** Host bytes to be placed in a storage before the first op. */
export interface Upload {
  readonly storage: Storage;
  readonly data: Uint8Array<ArrayBuffer>;
}

/** How much was recorded at some moment. */
export interface ProgramMark {
  readonly ops: number;
  readonly uploads: number;
  readonly locals: number;
  readonly words: number;
  readonly undo: number;
  readonly signature: number;
  readonly pendingBytes: number;
}

/** Everything recorded since the last flush. */
export class OpenProgram {
  serial = 1;
  readonly ops: RecordedOp[] = [];
  readonly uploads: Upload[] = [];
  /** Storages by local index, in order of first mention. */
  readonly locals: Storage[] = [];
  /** Per-call scalars of all ops, one after the other. */
  readonly words: number[] = [];
  /**
   * What takes back, newest last, what the host remembers of recording this program: see
   * `whenDiscarded` in tensor/step.ts.
   */
  readonly undo: (() => void)[] = [];
  readonly signature = new Signature();
  /** Bytes of storages mentioned but not resident: what the program may allocate at most. */
  pendingBytes = 0;

  get isEmpty(): boolean {
    return this.ops.length === 0 && this.uploads.length === 0;
  }

  local(storage: Storage): number {
    if (storage.programSerial === this.serial) return storage.programIndex;
    storage.programSerial = this.serial;
    storage.programIndex = this.locals.length;
    this.locals.push(storage);
    if (storage.buffer === null) this.pendingBytes += storage.bytes;
    return storage.programIndex;
  }

  /** Where the program stands, to go back to. */
  mark(): ProgramMark {
    return {
      ops: this.ops.length,
      uploads: this.uploads.length,
      locals: this.locals.length,
      words: this.words.length,
      undo: this.undo.length,
      signature: this.signature.length,
      pendingBytes: this.pendingBytes,
    };
  }

  /**
   * Forgets everything recorded since `mark`. Storages mentioned only since then are no longer
   * mentioned; buffers nobody owns go home.
   */
  rollback(mark: ProgramMark): void {
    for (const { outputs } of this.ops.splice(mark.ops))
      for (const { storage } of outputs) storage.version--;
    this.uploads.length = mark.uploads;
    this.words.length = mark.words;
    this.signature.length = mark.signature;
    this.pendingBytes = mark.pendingBytes;
    for (const storage of this.locals.splice(mark.locals)) {
      storage.programSerial = 0;
      if (storage.refs > 0 || storage.buffer === null) continue;
      freeing.buffer(storage.buffer);
      storage.buffer = null;
    }
    this.takeBack(mark.undo);
  }

  /** Runs what `whenDiscarded` was given, newest first, down to the first `from`. */
  takeBack(from = 0): void {
    for (const undo of this.undo.splice(from).reverse()) undo();
  }

  /**
   * Runs `fn` with the storages' local indices as they are in this program, which was taken: others
   * may have been recorded since.
   */
  reindexed<T>(fn: () => T): T {
    const now = this.locals.map((s) => [s.programSerial, s.programIndex] as const);
    this.locals.forEach((s, i) => {
      s.programSerial = this.serial;
      s.programIndex = i;
    });
    try {
      return fn();
    } finally {
      this.locals.forEach((s, i) => {
        [s.programSerial, s.programIndex] = now[i]!;
      });
    }
  }

  mentions(storage: Storage): boolean {
    return storage.programSerial === this.serial;
  }

  clear(): void {
    this.serial++;
    this.ops.length =
      this.uploads.length =
      this.locals.length =
      this.words.length =
      this.undo.length =
        0;
    this.signature.clear();
    this.pendingBytes = 0;
  }
}

/** The one open program of the realm. */
export let program = new OpenProgram();

/**
 * Takes the open program, to be run while the next one is recorded. Local indices of its storages
 * hold until the next op is recorded.
 */
export function takeProgram(): OpenProgram {
  const taken = program;
  program = new OpenProgram();
  program.serial = taken.serial + 1;
  return taken;
}

/**
 * Gives up a program that was taken and did not run. What it would have updated is as before. What
 * it would have made says `failure` when it is used; only uploads, and ops that need no input (the
 * zeros of an optimizer's state, say), are recorded again for those who still own them.
 */
export function discardProgram(taken: OpenProgram, failure: TenureError): void {
  taken.takeBack();
  const lost = (storage: Storage): boolean => storage.refs > 0 && storage.buffer === null;
  for (const storage of taken.locals) {
    if (lost(storage)) storage.failure ??= failure;
    else if (storage.refs === 0 && storage.buffer !== null && !program.mentions(storage)) {
      freeing.buffer(storage.buffer);
      storage.buffer = null;
    }
  }
  for (const { storage, data } of taken.uploads) {
    if (!lost(storage)) continue;
    storage.failure = null;
    recordUpload(storage, data);
  }
  for (const { op, inputs, outputs, attrs, wordStart, wordCount } of taken.ops) {
    if (inputs.length > 0 || !outputs.every((o) => lost(o.storage))) continue;
    for (const { storage } of outputs) {
      storage.failure = null;
      storage.version--;
    } // counted again by `record`
    record(op, inputs, outputs, attrs, taken.words.slice(wordStart, wordStart + wordCount));
  }
}

/** Labels put on recorded ops: which part of a training step, and which layer. */
export const labels: { phase: Phase; layer: string } = { phase: "forward", layer: "" };

const uploadOp = 0;

/** Appends an op. The operands' storages must be live or mentioned by the open program. */
export function record(
  op: AnyOp,
  inputs: readonly Operand[],
  outputs: readonly Operand[],
  attrs: unknown,
  words: readonly number[],
): void {
  counters.recorded++;
  const { signature } = program;
  signature.push(opId(op));
  const key = op.key?.(attrs);
  if (key !== undefined) for (let i = 0; i < key.length; i++) signature.push(key[i]!);
  for (let i = 0; i < inputs.length; i++) pushOperand(inputs[i]!);
  for (let i = 0; i < outputs.length; i++) {
    const { storage } = outputs[i]!;
    signature.push(program.local(storage));
    storage.version++;
  }
  const wordStart = program.words.length;
  for (let i = 0; i < words.length; i++) program.words.push(words[i]!);
  program.ops.push({
    op,
    inputs,
    outputs,
    attrs,
    wordStart,
    wordCount: words.length,
    phase: labels.phase,
    layer: labels.layer,
  });
}

/**
 * Puts host bytes into a fresh storage. Takes ownership of `data`; it must not change afterwards.
 */
export function recordUpload(storage: Storage, data: Uint8Array<ArrayBuffer>): void {
  program.signature.push(uploadOp);
  program.signature.push(program.local(storage));
  program.uploads.push({ storage, data });
}

function pushOperand({ storage, layout, dtype }: Operand): void {
  const { signature } = program,
    { shape } = layout;
  signature.push(program.local(storage));
  signature.push(dtypeCode(dtype) | (layout.contiguous ? 8 : 0) | (shape.length << 4));
  for (let k = 0; k < shape.length; k++) signature.push(shape[k]!);
  if (layout.contiguous && layout.offset === 0) {
    signature.push(0);
    return;
  }
  signature.push(layout.offset + 1);
  if (!layout.contiguous) for (let k = 0; k < shape.length; k++) signature.push(layout.strides[k]!);
}

/** How a buffer goes home; set by the executor once there is a device. */
export const freeing: { buffer: (buffer: PooledBuffer) => void } = { buffer: () => undefined };

// A storage the open program mentions may still be read or written by it: the flush recycles its
// buffer. Any other is freed at once.
setUnreferenced((storage) => {
  if (storage.buffer === null || program.mentions(storage)) return;
  freeing.buffer(storage.buffer);
  storage.buffer = null;
});

/**
 * The recorder: appends ops to the open program in issue order; nothing is allocated and nothing
 * runs. While recording, every fact a plan depends on is also written into the program's signature,
 * so that a flush finds its plan by comparing words. Called by the tensor layer, and by a flush,
 * which takes the program and leaves an empty one. Makes storages; owns none.
 */
import { dtypeCode } from "../base/dtype.ts";
import type { TenureError } from "../base/errors.ts";
import type { CounterSet } from "../device/counters.ts";
import type { Phase, Role } from "../graph/program.ts";
import type { Signature } from "../graph/signature.ts";
import type { AnyOp } from "../ops/op.ts";
import type { Inspector } from "./inspector.ts";
import { OpenProgram, type Operand } from "./open-program.ts";
import { Storage, StorageBooks } from "./storage.ts";

/** Stands for an upload in signatures; ops are numbered from 1. */
const uploadId = 0;

/** Empty programs kept for their arrays: as many as wait for the device's verdict, mostly. */
const sparePrograms = 4;

/** Labels put on recorded ops: which part of a training step, and which layer. */
export interface Labels {
  phase: Phase;
  layer: string;
}

/** Where ops go until they run. */
export class Recorder {
  readonly labels: Labels = { phase: "forward", layer: "" };
  readonly storages: StorageBooks = new StorageBooks((storage) => {
    // One that the open program mentions may still be read or written: its flush frees the buffer.
    if (!this.#program.mentions(storage)) storage.freeBuffer();
  });
  /** While set, what is recorded is only looked at: nothing is flushed. */
  tracing = false;
  readonly #counters: CounterSet;
  readonly #inspector: Inspector;
  readonly #opIds = new WeakMap<AnyOp, number>();
  #lastOpId = uploadId;
  #serial = 1;
  #program = new OpenProgram(1);
  /** Empty programs whose arrays have grown already. */
  readonly #spares: OpenProgram[] = [];

  constructor(counters: CounterSet, inspector: Inspector) {
    this.#counters = counters;
    this.#inspector = inspector;
  }

  /** The one open program. */
  get program(): OpenProgram {
    return this.#program;
  }

  /** A virtual storage. */
  storage(bytes: number, role: Role): Storage {
    return new Storage(this.storages, bytes, role);
  }

  /** Appends an op. The operands' storages must be live or mentioned by the open program. */
  record(
    op: AnyOp,
    inputs: readonly Operand[],
    outputs: readonly Operand[],
    attrs: unknown,
    scalars: readonly number[],
  ): void {
    this.#counters.recorded++;
    const program = this.#program;
    const { signature } = program;
    const signatureStart = signature.length;
    signature.push(this.#opId(op));
    const key = op.key?.(attrs);
    if (key !== undefined) for (let i = 0; i < key.length; i++) signature.push(key[i]!);
    for (let i = 0; i < inputs.length; i++) signOperand(signature, program, inputs[i]!);
    for (let i = 0; i < outputs.length; i++) {
      const { storage } = outputs[i]!;
      signature.push(program.local(storage));
      storage.version++;
    }
    const scalarStart = program.scalars.length;
    for (let i = 0; i < scalars.length; i++) program.scalars.push(scalars[i]!);
    program.ops.push({
      op,
      inputs,
      outputs,
      attrs,
      scalarStart,
      scalarCount: scalars.length,
      signatureStart,
      phase: this.labels.phase,
      layer: this.labels.layer,
    });
    if (this.#inspector.showsOps) this.#inspector.recorded(op.name, inputs, outputs);
  }

  /**
   * Puts host bytes into a fresh storage. Takes ownership of `data`; it must not change afterwards.
   */
  recordUpload(storage: Storage, data: Uint8Array<ArrayBuffer>): void {
    const { signature, uploads } = this.#program;
    const local = this.#program.local(storage);
    signature.push(uploadId);
    signature.push(local);
    uploads.push({ storage, local, data });
  }

  /**
   * Takes the open program, to be run while the next one is recorded. Local indices of its storages
   * hold until the next op is recorded.
   */
  take(): OpenProgram {
    const taken = this.#program;
    this.#serial++;
    this.#program = this.#spares.pop() ?? new OpenProgram(this.#serial);
    this.#program.reset(this.#serial);
    return taken;
  }

  /** Gets a taken program back that nobody needs any more, for its arrays. */
  recycle(taken: OpenProgram): void {
    taken.reset(0);
    if (this.#spares.length < sparePrograms) this.#spares.push(taken);
  }

  /**
   * Gives up a program that was taken and did not run. What it would have updated is as before.
   * What it would have made says `failure` when it is used; only uploads, and ops that need no
   * input (the zeros of an optimizer's state, say), are recorded again for those who still own
   * them. Where more was recorded meanwhile, that stands: what it uses of this program is lost, and
   * what the host counted since is not taken back.
   */
  discard(taken: OpenProgram, failure: TenureError, isLatest = true): void {
    if (isLatest && this.#program.isEmpty) taken.takeBack();
    const used = new Set(this.#program.isEmpty ? [] : this.#program.locals);
    const lost = (storage: Storage): boolean =>
      storage.refs > 0 && storage.buffer === null && !used.has(storage);
    for (const storage of used)
      if (storage.buffer === null && taken.locals.includes(storage)) storage.failure ??= failure;
    for (const storage of taken.locals) {
      if (lost(storage)) storage.failure ??= failure;
      else if (storage.refs === 0 && !this.#program.mentions(storage)) storage.freeBuffer();
    }
    for (const { storage, data } of taken.uploads) {
      if (!lost(storage)) continue;
      storage.failure = null;
      this.recordUpload(storage, data);
    }
    for (const { op, inputs, outputs, attrs, scalarStart, scalarCount } of taken.ops) {
      if (inputs.length > 0 || !outputs.every((o) => lost(o.storage))) continue;
      for (const { storage } of outputs) {
        storage.failure = null;
        storage.version--; // counted again by `record`
      }
      const scalars = taken.scalars.slice(scalarStart, scalarStart + scalarCount);
      this.record(op, inputs, outputs, attrs, scalars);
    }
  }

  /** Small positive integer that stands for the op in signatures. */
  #opId(op: AnyOp): number {
    let id = this.#opIds.get(op);
    if (id === undefined) {
      id = ++this.#lastOpId;
      this.#opIds.set(op, id);
    }
    return id;
  }
}

function signOperand(
  signature: Signature,
  program: OpenProgram,
  { storage, layout, dtype }: Operand,
): void {
  const { shape, strides, offset, contiguous } = layout;
  signature.push(program.local(storage));
  signature.push(dtypeCode(dtype) | (contiguous ? 8 : 0) | (shape.length << 4));
  for (let k = 0; k < shape.length; k++) signature.push(shape[k]!);
  if (contiguous && offset === 0) {
    signature.push(0);
    return;
  }
  signature.push(offset + 1);
  if (!contiguous) for (let k = 0; k < shape.length; k++) signature.push(strides[k]!);
}

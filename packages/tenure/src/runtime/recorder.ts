/**
 * The recorder: appends ops to the open program in issue order; nothing is allocated and nothing
 * runs. While recording, every fact a plan depends on is also written into the program's signature,
 * so that a flush finds its plan by comparing words. Called by the tensor layer, and by a flush,
 * which takes the program and leaves an empty one. Makes storages; owns none.
 */
import type { Bytes } from "../base/bytes.ts";
import { dtypeCode } from "../base/dtype.ts";
import { type TenureError, internal } from "../base/errors.ts";
import type { CounterSet } from "../device/counters.ts";
import type { Phase, Role } from "../graph/program.ts";
import type { Signature } from "../graph/signature.ts";
import type { AnyOp } from "../ops/op.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Inspector } from "./inspector.ts";
import { Lanes } from "./lanes.ts";
import type { Lane, OpenProgram } from "./open-program.ts";
import type { Operand, RecordedOp } from "./recorded-op.ts";
import { Steps } from "./step-turns.ts";
import { Storage, StorageBooks } from "./storage.ts";

/** Stands for an upload in signatures; ops are numbered from 1. */
const uploadId = 0;

/** Labels put on recorded ops: which part of a training step, and which layer. */
export interface Labels {
  phase: Phase;
  layer: string;
}

/** Sees what a function asks of the runtime, so that it need not run again to ask the same. */
export interface RecordingWatcher {
  /** An op that is about to be recorded. */
  op(
    op: AnyOp,
    inputs: readonly Operand[],
    outputs: readonly Operand[],
    attrs: unknown,
    scalars: readonly number[],
  ): void;
  /** Something that cannot be repeated without running the function. */
  refuse(why: string): void;
}

/** Where ops go until they run. */
export class Recorder {
  readonly labels: Labels = { phase: "forward", layer: "" };
  readonly lanes: Lanes;
  readonly storages: StorageBooks = new StorageBooks((storage) => {
    if (storage.buffer === null && this.lanes.loose.size === 0) return;
    // One that a program mentions may still be read or written: its flush frees the buffer.
    if (this.lanes.mention(storage)) return;
    this.lanes.loose.delete(storage);
    storage.freeBuffer();
  });
  /** While set, what is recorded is only looked at: nothing is flushed. */
  tracing = false;
  /** Sees what is recorded; null mostly. */
  watcher: RecordingWatcher | null = null;
  readonly #counters: CounterSet;
  readonly #inspector: Inspector;
  readonly #parts: EngineParts;
  readonly #opIds = new WeakMap<AnyOp, number>();
  #lastOpId = uploadId;

  constructor(
    counters: CounterSet,
    inspector: Inspector,
    parts: EngineParts,
    steps: Steps = new Steps(),
  ) {
    this.#parts = parts;
    this.#counters = counters;
    this.#inspector = inspector;
    this.lanes = new Lanes(steps);
  }

  /** The open program of the code that runs now. */
  get program(): OpenProgram {
    return this.lanes.here;
  }

  /** A virtual storage. */
  storage(bytes: number, role: Role): Storage {
    return new Storage(this.storages, bytes, role);
  }

  /** Appends an op. The operands' storages must be live or mentioned by an open program. */
  record(
    op: AnyOp,
    inputs: readonly Operand[],
    outputs: readonly Operand[],
    attrs: unknown,
    scalars: readonly number[],
  ): void {
    this.#counters.recorded++;
    this.watcher?.op(op, inputs, outputs, attrs, scalars);
    const { lanes, tracing } = this;
    const program = tracing ? lanes.here : lanes.forOp(inputs, outputs);
    if (lanes.loose.size > 0) for (const { storage } of inputs) this.bringAlong(storage, program);
    for (let i = 0; i < outputs.length; i++) outputs[i]!.storage.version++;
    if (!program.follows(op, inputs, outputs, attrs, scalars))
      this.#append(program, op, inputs, outputs, attrs, scalars, this.labels);
    if (this.#inspector.showsOps) this.#inspector.recorded(op.name, inputs, outputs);
  }

  #append(
    program: OpenProgram,
    op: AnyOp,
    inputs: readonly Operand[],
    outputs: readonly Operand[],
    attrs: unknown,
    scalars: readonly number[],
    { phase, layer }: Readonly<Labels>,
  ): void {
    const { signature } = program;
    const signatureStart = signature.length;
    signature.push(this.#opId(op));
    const key = op.key?.(attrs);
    if (key !== undefined) for (let i = 0; i < key.length; i++) signature.push(key[i]!);
    for (let i = 0; i < inputs.length; i++) signOperand(signature, program, inputs[i]!);
    for (let i = 0; i < outputs.length; i++) signature.push(program.local(outputs[i]!.storage));
    const scalarStart = program.scalars.length;
    const scalarCount = scalars.length;
    for (let i = 0; i < scalarCount; i++) program.scalars.push(scalars[i]!);
    program.ops.push({
      op,
      inputs,
      outputs,
      attrs,
      scalarStart,
      scalarCount,
      signatureStart,
      phase,
      layer,
    });
  }

  /**
   * The program in which what is recorded now may follow a script; or, in words, why single ops
   * must be seen.
   */
  followable(): OpenProgram | string {
    const { lanes } = this;
    if (this.watcher !== null || this.tracing) return "a function that calls it is watched";
    if (this.#inspector.showsOps) return "TENURE_DEBUG shows every op";
    if (!lanes.areApart) return lanes.here;
    return "another task has a step under way";
  }

  /** Records the next `count` ops of the script that a program follows. */
  skip(program: OpenProgram, count: number): void {
    this.#counters.recorded += count;
    program.skip(count);
  }

  /** Appends an op of another program, which gives it up, as it is. */
  #adopt(program: OpenProgram, from: OpenProgram, recorded: RecordedOp): void {
    const { op, inputs, outputs, attrs, scalarStart, scalarCount } = recorded;
    const scalars = from.scalars.slice(scalarStart, scalarStart + scalarCount);
    this.#append(program, op, inputs, outputs, attrs, scalars, recorded);
  }

  /**
   * Puts host bytes into a fresh storage. Takes ownership of `data`; it must not change afterwards.
   */
  recordUpload(storage: Storage, data: Bytes, program: OpenProgram = this.program): void {
    const { signature, uploads } = program;
    const local = program.local(storage);
    signature.push(uploadId);
    signature.push(local);
    uploads.push({ storage, local, data });
  }

  /** Records an upload from before the step in the first program that uses it. */
  bringAlong(storage: Storage, program: OpenProgram): void {
    const { lanes, tracing } = this;
    const data = lanes.loose.get(storage);
    if (data === undefined || tracing) return;
    lanes.loose.delete(storage);
    this.recordUpload(storage, data, program.lane === "after" ? lanes.main : program);
  }

  /**
   * Takes the open program of a lane, to be run while the next one is recorded. Local indices of
   * its storages hold until the next op is recorded.
   */
  take(lane: Lane = this.program.lane): OpenProgram {
    const taken = this.lanes.take(lane);
    if (taken === null) throw internal(`a program is taken that was not begun: ${lane}`);
    return taken;
  }

  /** A taken program is in the queue: what it mentions and nobody owns may be used again. */
  submitted(taken: OpenProgram): void {
    this.lanes.forget(taken);
    this.#freeUnowned(taken.dropped.all());
  }

  /** Drops a reference, which `revive` takes back if the open program is discarded. */
  drop(storage: Storage): void {
    this.program.dropped.add(storage);
    storage.release();
  }

  /** Takes a dropped reference back. */
  revive(storage: Storage): void {
    this.program.dropped.delete(storage);
    storage.revive();
  }

  /** Nothing was recorded that could be given up: what was dropped will not be taken back. */
  forgetDropped(): void {
    const { main } = this.lanes;
    const dropped = [...main.dropped.all()];
    main.undo.length = 0;
    main.dropped.clear();
    this.#freeUnowned(dropped);
  }

  #freeUnowned(storages: Iterable<Storage>): void {
    for (const storage of storages)
      if (storage.refs === 0 && storage.buffer !== null && !this.lanes.mention(storage))
        storage.freeBuffer();
  }

  /** Whether the open program of a lane has something in it. */
  isRecording(lane: Lane): boolean {
    return this.lanes.of(lane)?.isEmpty === false;
  }

  /** Gets a taken program back that nobody needs any more, for its arrays. */
  recycle(taken: OpenProgram): void {
    this.lanes.recycle(taken);
  }

  /** A taken program ran, and others may have been recorded meanwhile: frees what nobody owns. */
  ended(taken: OpenProgram): void {
    this.submitted(taken);
    this.#freeUnowned(taken.locals);
  }

  /**
   * Gives up a program that was taken and did not run. What it would have updated is as before.
   * What it would have made says `failure` when it is used; only uploads, and ops that need no
   * input (the zeros of an optimizer's state, say), are recorded again for those who still own
   * them.
   * @param isLatest false where more was recorded meanwhile: that stands, and what the host has
   *   counted since is not taken back
   */
  discard(taken: OpenProgram, failure: TenureError, isLatest = true): void {
    const { main, after } = this.lanes;
    this.lanes.forget(taken);
    if (isLatest) taken.takeBack();
    const emptied = taken.dropped.restore();
    const lost = (storage: Storage): boolean =>
      (storage.refs > 0 || after?.mentions(storage) === true) &&
      storage.buffer === null &&
      !main.writes(storage) &&
      !this.lanes.loose.has(storage);
    for (const storage of [...taken.locals, ...emptied]) {
      if (lost(storage)) storage.failure ??= failure;
      else if (storage.refs === 0 && !this.lanes.mention(storage)) storage.freeBuffer();
    }
    for (const { storage, data } of taken.uploads) {
      if (!lost(storage)) continue;
      storage.failure = null;
      this.recordUpload(storage, data, main);
    }
    for (const recorded of taken.ops) {
      const { inputs, outputs } = recorded;
      if (inputs.length > 0 || !outputs.every((o) => lost(o.storage))) continue;
      // Too late where the main program reads it already.
      if (outputs.some((o) => main.mentions(o.storage))) continue;
      for (const { storage } of outputs) storage.failure = null;
      this.#adopt(main, taken, recorded);
    }
    this.#freeUnowned(taken.dropped.all());
  }

  /**
   * Begins a step's lane. Uploads that nobody has used or asked for go along with who uses them
   * first.
   */
  openStep(): void {
    const { lanes } = this;
    if (lanes.main.opCount === 0 && lanes.main.uploads.length > 0) {
      const before = lanes.take("main") ?? lanes.main;
      for (const storage of before.awaited) lanes.main.awaited.add(storage);
      for (const { storage, data } of before.uploads)
        if (before.awaited.has(storage)) this.recordUpload(storage, data, lanes.main);
        else if (storage.refs > 0) lanes.loose.set(storage, data);
      lanes.recycle(before);
    }
    lanes.openStep();
  }

  /**
   * Ends a step's lane: what waited for it becomes the end of main. @returns the failure of an op
   * that overwrites something from values that were given up with the step
   */
  closeStep(): TenureError | null {
    const dropped = [...(this.lanes.of("step")?.dropped.all() ?? [])];
    const after = this.lanes.closeStep();
    const { main, loose } = this.lanes;
    this.#freeUnowned(dropped);
    for (const [storage, data] of loose)
      if (storage.refs > 0) this.recordUpload(storage, data, main);
    loose.clear();
    if (after === null) return null;
    let failure: TenureError | null = null;
    for (const storage of after.awaited) main.awaited.add(storage);
    for (const recorded of after.ops) {
      const { inputs, outputs } = recorded;
      const lost = inputs.find(({ storage }) => storage.failure !== null)?.storage.failure ?? null;
      if (lost === null) this.#adopt(main, after, recorded);
      else
        for (const { storage } of outputs)
          if (storage.buffer !== null || main.writes(storage)) failure ??= lost;
          else storage.failure = lost;
    }
    this.#freeUnowned(after.locals);
    return failure;
  }

  /** Small positive integer that stands for the op in signatures. Asks for the op's kernels. */
  #opId(op: AnyOp): number {
    let id = this.#opIds.get(op);
    if (id === undefined) {
      id = ++this.#lastOpId;
      this.#opIds.set(op, id);
      if (op.family !== undefined) this.#parts.want(op.family);
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

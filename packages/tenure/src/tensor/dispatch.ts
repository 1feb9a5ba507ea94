/**
 * The only file through which tensors reach the runtime: whatever they and the layers above them
 * ask of the recorder, the reads and the device, they ask here, and no other file of theirs imports
 * runtime/. Storages belong to the handles that are made of them.
 */
import type { Bytes } from "../base/bytes.ts";
import { dtypeBytes } from "../base/dtype.ts";
import { DTypeError, OutOfMemoryError } from "../base/errors.ts";
import { formatShape, sizeOf } from "../base/shape.ts";
import type { Role } from "../graph/program.ts";
import type { AnyOp, Meta } from "../ops/op.ts";
import type { OpenProgram } from "../runtime/open-program.ts";
import type { Operand } from "../runtime/recorded-op.ts";
import type { Labels, RecordingWatcher } from "../runtime/recorder.ts";
import { type Place, runtime } from "../runtime/runtime.ts";
import type { Script } from "../runtime/script.ts";
import type { Storage } from "../runtime/storage.ts";

export type { OpenProgram } from "../runtime/open-program.ts";
export type { Operand } from "../runtime/recorded-op.ts";
export type { RecordingWatcher } from "../runtime/recorder.ts";
export type { GPUBuffer } from "../runtime/runtime.ts";
export { type ProgramMark, type Script, scriptOf } from "../runtime/script.ts";
export type { Storage } from "../runtime/storage.ts";

// === Storages ===

/**
 * A virtual storage for `meta`. @throws OutOfMemoryError, DTypeError when the device could never
 * hold it.
 */
export function allocate(op: string, meta: Meta, role: Role): Storage {
  return runtime().recorder.storage(checkedBytes(op, meta), role);
}

/** Bytes of a storage for `meta`. @throws as `allocate` */
function checkedBytes(op: string, { shape, dtype }: Meta): number {
  const bytes = Math.max(4, Math.ceil((sizeOf(shape) * dtypeBytes(dtype)) / 4) * 4);
  const { device } = runtime();
  if (device !== null) {
    if (bytes > device.info.maxTensorBytes)
      throw new OutOfMemoryError(
        op,
        `expected a tensor of at most ${device.info.maxTensorBytes} bytes ` +
          `on ${device.info.name}, got ${formatShape(shape)} ${dtype} with ${bytes} bytes; ` +
          "split it along a dimension",
      );
    if (dtype === "float16") requireHalf(op);
  }
  return bytes;
}

/** A virtual storage as large as another. */
export function allocateLike({ bytes }: Storage): Storage {
  return runtime().recorder.storage(bytes, "activation");
}

/** @throws DTypeError when there is a device and it has no float16 */
export function requireHalf(op: string): void {
  const { device } = runtime();
  if (device !== null && !device.caps.f16)
    throw new DTypeError(
      op,
      "a device with shader-f16 for float16 tensors",
      `${device.info.name} without it`,
      "stay with float32, or choose another adapter with init({ device }); " +
        'deviceInfo().features says "shader-f16" where it works',
    );
}

// === Recording ===

/** Labels put on recorded ops: which part of a training step, and which layer. */
export function labels(): Labels {
  return runtime().recorder.labels;
}

/**
 * Called before an op is recorded: keeps the open program within its limits. @throws TenureError
 * where a scheduler's step would use what other tasks can only make after it
 */
export function beforeOp(op: string, inputs: readonly Operand[]): void {
  runtime().submission.beforeOp(op, inputs);
}

/** Appends an op. The operands' storages must be live or mentioned by the open program. */
export function record(
  op: AnyOp,
  inputs: readonly Operand[],
  outputs: readonly Operand[],
  attrs: unknown,
  scalars: readonly number[],
): void {
  runtime().recorder.record(op, inputs, outputs, attrs, scalars);
}

/**
 * Puts host bytes into a fresh storage. Takes ownership of `data`; it must not change afterwards.
 */
export function recordUpload(storage: Storage, data: Bytes): void {
  const { recorder } = runtime();
  recorder.watcher?.refuse(
    "it makes a tensor of host data, which may be another the next time; " +
      "make that outside, and pass it as an argument",
  );
  recorder.recordUpload(storage, data);
}

/** Called after an op was recorded: runs it when ops run one by one. */
export function opRecorded(): void {
  const { settings, device, submission } = runtime();
  if (settings.flushEachOp && device !== null) submission.flush();
}

/**
 * Marks the end of a training step: what it recorded is flushed when the current scope ends, or
 * with this job.
 */
export function stepEnded(): void {
  runtime().submission.stepEnded();
}

/**
 * Takes back what the host counts while it records (steps of optimizers, random streams) if that is
 * discarded: because a scheduler's step failed, or was only traced. Nothing else is ever discarded
 * with it, so everywhere else this costs nothing.
 * @param remember called at once where it matters; returns what restores the state of now
 * @param watched whether whoever watches the recording heard of it in another way
 */
export function whenDiscarded(remember: () => () => void, watched = false): void {
  if (!watched) refuseToRepeat();
  runtime().whenDiscarded(remember);
}

function refuseToRepeat(): void {
  runtime().recorder.watcher?.refuse(
    "it changes what the host remembers (a seed, a gradient scaler, a schedule, …); " +
      "do that outside",
  );
}

/**
 * Drops a reference to something that a step which is discarded, or a function that was only
 * traced, has dropped too early: call `regain` when it is taken back. Takes no memory more.
 */
export function dropUntilDiscarded(storage: Storage): void {
  runtime().recorder.drop(storage);
}

/** Takes back a reference that `dropUntilDiscarded` dropped. */
export function regain(storage: Storage): void {
  runtime().recorder.revive(storage);
}

/**
 * Like `whenDiscarded`, for what belongs to no program: it is taken back with a scheduler's step or
 * a trace, and nowhere else.
 */
export function whenStepDiscarded(remember: () => () => void): void {
  refuseToRepeat();
  if (mayBeDiscarded()) whenDiscarded(remember, true);
}

/** Whether what is recorded now is given up as a whole if it fails, or in any case. */
export function mayBeDiscarded(): boolean {
  const { lanes, tracing } = runtime().recorder;
  return tracing || lanes.inStep;
}

/** Whether the code that runs now is part of a scheduler's step. */
export function inStep(): boolean {
  return runtime().recorder.lanes.inStep;
}

// === Repeating ===

/** Has everything that is recorded seen; null ends it. @returns who saw it before */
export function watchRecording(watcher: RecordingWatcher | null): RecordingWatcher | null {
  const { recorder } = runtime();
  const before = recorder.watcher;
  recorder.watcher = watcher;
  return before;
}

/** The number of the storage that was made last: later ones have higher numbers. */
export function lastStorage(): number {
  return runtime().recorder.storages.created;
}

/** A virtual storage of so many bytes, which the device is known to have room for. */
export function freshStorage(bytes: number, role: Role): Storage {
  return runtime().recorder.storage(bytes, role);
}

/**
 * What stands for the device: recordings made with another one may not fit. Null where ops run one
 * by one, are only traced, or cannot run yet.
 */
export function repeatableOn(): object | null {
  const { device, recorder, settings } = runtime();
  return recorder.tracing || settings.flushEachOp ? null : device;
}

/**
 * The program in which what is recorded now may follow a script; or, in words, why every op must be
 * seen.
 */
export function followable(): OpenProgram | string {
  return runtime().recorder.followable();
}

/** Whether more may be recorded in a program that `followable` returned earlier. */
export function isOpenProgram(program: OpenProgram): boolean {
  return runtime().recorder.lanes.isOpen(program);
}

/** Records uploads from before a scheduler's step in the step, as an op that uses them would. */
export function bringAlong(storages: readonly Storage[]): void {
  const { recorder } = runtime();
  if (recorder.lanes.loose.size === 0) return;
  const program = recorder.program;
  for (const storage of storages) recorder.bringAlong(storage, program);
}

/**
 * Begins to follow a script with the storages it is brought. @returns why that cannot be, with
 * nothing done; null where it can
 */
export function follow(
  program: OpenProgram,
  script: Script,
  brought: readonly Storage[],
): string | null {
  const { recorder, settings } = runtime();
  const { loose } = recorder.lanes;
  if (loose.size > 0 && brought.some((storage) => loose.has(storage)))
    return "an upload from before the step is used for the first time";
  if (program.opCount + script.ops.length >= settings.maxOps) return "the program gets too long";
  if (!program.follow(script, brought)) return "other things were recorded before it";
  if (program.pendingBytes < settings.maxPendingBytes) return null;
  program.unfold(); // nothing was recorded
  return "too many bytes wait to be made";
}

/** Records the next `count` ops of the script that a program follows. */
export function skipOps(program: OpenProgram, count: number): void {
  runtime().recorder.skip(program, count);
}

/** Counts storages that a script stands for, and the bytes that they take at most. */
export function storagesPassed(count: number, mostBytes: number): void {
  runtime().recorder.storages.passed(count, mostBytes);
}

/** Bytes by which the live storages grow at most while `fn` runs. */
export function growthWhile(fn: () => void): number {
  return runtime().recorder.storages.growthWhile(fn);
}

/** Counts a call that was repeated, or one that was not for some reason, and tells who looks. */
export function countRepeat(name: string, reason: string | null): void {
  const { counters, inspector } = runtime();
  if (reason === null) counters.replays++;
  else {
    counters.fallbacks++;
    inspector.fellBack(name, reason);
  }
}

// === Reading ===

/**
 * Bytes of a storage as they will be once everything recorded so far has run. Pins the storage at
 * once; flushes at the end of this job.
 */
export function readBytes(storage: Storage, offset: number, bytes: number): Promise<ArrayBuffer> {
  return runtime().readBytes(storage, offset, bytes);
}

/**
 * Copies bytes of a storage, as `readBytes` gives them, into a buffer of the program. Resolves once
 * the device has taken the copy.
 */
export async function copyBytesOut(
  storage: Storage,
  offset: number,
  bytes: number,
  target: Place,
): Promise<void> {
  await runtime().readBytes(storage, offset, bytes, target);
}

/** Whether `copyBytesOut` would take a place. @throws DeviceLostError, ArgumentError */
export function checkTarget(op: string, target: Place, bytes: number): void {
  runtime().lent(op).lending.checkPlace(op, target, bytes, "COPY_DST");
}

/**
 * A storage with a copy of what lies in a buffer of the program. @throws DeviceLostError,
 * ArgumentError, OutOfMemoryError, DTypeError when the device has no such tensors
 */
export function copyBytesIn(op: string, meta: Meta, from: Place): Storage {
  return runtime().copyIn(op, from, checkedBytes(op, meta));
}

/** Marks a promise as that of a read, which goes on without the code that asked for it. */
export function reading<T>(promise: Promise<T>): Promise<T> {
  return runtime().reading(promise);
}

/** Reads that pin a storage now. */
export function pendingReads(storage: Storage): number {
  return runtime().reads.pinning(storage);
}

/**
 * Before a storage is overwritten: lets its pending reads find what it holds now in `copy()`, which
 * is called only when there are any.
 */
export function redirectReads(storage: Storage, copy: () => Storage): void {
  const { reads, recorder } = runtime();
  if (reads.pinning(storage) > 0)
    reads.redirect(storage, recorder.lanes.forWrite(storage).lane, copy);
}

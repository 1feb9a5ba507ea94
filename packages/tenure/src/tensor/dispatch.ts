/**
 * The one door between tensors and the runtime: everything that tensors and the layers above them
 * ask of the recorder, the reads and the device goes through here, and no other file of theirs
 * imports runtime/. Storages belong to the handles that are made of them.
 */
import { dtypeBytes } from "../base/dtype.ts";
import { DTypeError, OutOfMemoryError } from "../base/errors.ts";
import { formatShape, sizeOf } from "../base/shape.ts";
import type { Role } from "../graph/program.ts";
import type { Meta } from "../ops/op.ts";
import { flush, runtime } from "../runtime/execute.ts";
import { program } from "../runtime/record.ts";
import { Storage } from "../runtime/storage.ts";

export {
  keepWithinLimits,
  pendingReads,
  readBytes,
  reading,
  redirectReads,
  stepEnded,
} from "../runtime/execute.ts";
export { type Operand, labels, record, recordUpload } from "../runtime/record.ts";
export { Storage } from "../runtime/storage.ts";

/**
 * A virtual storage for `meta`. @throws OutOfMemoryError, DTypeError when the device could never
 * hold it.
 */
export function allocate(op: string, { shape, dtype }: Meta, role: Role): Storage {
  const bytes = Math.max(4, Math.ceil((sizeOf(shape) * dtypeBytes(dtype)) / 4) * 4);
  const { device } = runtime;
  if (device !== null) {
    if (bytes > device.info.maxTensorBytes)
      throw new OutOfMemoryError(
        op,
        `expected a tensor of at most ${device.info.maxTensorBytes} bytes on ${device.info.name}, got ${formatShape(shape)} ${dtype} with ${bytes} bytes; split it along a dimension`,
      );
    if (dtype === "float16") requireHalf(op);
  }
  return new Storage(bytes, role);
}

/** @throws DTypeError when there is a device and it has no float16 */
export function requireHalf(op: string): void {
  const { device } = runtime;
  if (device !== null && !device.caps.f16)
    throw new DTypeError(
      op,
      "a device with shader-f16 for float16 tensors",
      `${device.info.name} without it`,
      'stay with float32, or choose another adapter with init({ device }); deviceInfo().features says "shader-f16" where it works',
    );
}

/** Called after an op was recorded: runs it when ops run one by one. */
export function opRecorded(): void {
  if (runtime.flushEachOp && runtime.device !== null) flush();
}

/**
 * Takes back what the host counts while it records (steps of optimizers, random streams) if that is
 * discarded: because a scheduler's step failed, or was only traced. Nothing else is ever discarded,
 * so everywhere else this costs nothing.
 * @param remember called at once where it matters; returns what restores the state of now
 */
export function whenDiscarded(remember: () => () => void): void {
  if (runtime.executor !== null || runtime.tracing) program.undo.push(remember());
}

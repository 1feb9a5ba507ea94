/**
 * Buffers of the program, beside those of the pool: bytes are copied from and to them on the
 * device, and nothing else is done with them. They stay the program's: nobody keeps, recycles or
 * destroys them here. Called by the runtime.
 */
import { ArgumentError, DeviceLostError, type TenureError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import type { Device } from "../device/device.ts";
import type { GPUBuffer } from "../device/webgpu.ts";

export type { GPUBuffer } from "../device/webgpu.ts";

/** A place in a buffer of the program. */
export interface Place {
  readonly buffer: GPUBuffer;
  /** In bytes. */
  readonly offset: number;
}

/** The device of the program's buffers. @throws DeviceLostError when it is lost, or not theirs */
export function deviceOfProgram(op: string, device: Device | null): Device {
  if (device?.isLent === true && device.lost === null) return device;
  throw (
    device?.lost ??
    new DeviceLostError(
      op,
      "expected the device that made the buffer, got " +
        (device === null ? "none" : `one that Tenure found (${device.info.name})`) +
        "; make a GPUDevice and hand it over with `await init({ gpuDevice })` first",
    )
  );
}

/**
 * Whether so many bytes can be copied from or to a place.
 * @throws ArgumentError for what is no buffer, one that is mapped or lacks the usage or the room,
 *   and an offset or a number of bytes that is no multiple of 4
 */
export function checkPlace(
  op: string,
  { buffer, offset }: Place,
  bytes: number,
  usage: "COPY_SRC" | "COPY_DST",
): void {
  const refuse = (expected: string, got: string, remedy: string): ArgumentError =>
    new ArgumentError(op, expected, got, remedy);
  const given: unknown = buffer;
  if (typeof given !== "object" || given === null || !("mapState" in given))
    throw refuse("a GPUBuffer", describeValue(given), "make one with gpuDevice.createBuffer(…)");
  if ((buffer.usage & GPUBufferUsage[usage]) === 0)
    throw refuse(
      `a buffer with GPUBufferUsage.${usage}`,
      `one with usage 0x${buffer.usage.toString(16)}`,
      "add the flag where it is made",
    );
  if (buffer.mapState !== "unmapped")
    throw refuse("an unmapped buffer", `a ${buffer.mapState} one`, "unmap() it first");
  if (offset % 4 !== 0)
    throw refuse(
      "an offset that is a multiple of 4",
      `${offset}`,
      "WebGPU copies words of 4 bytes",
    );
  if (bytes % 4 !== 0)
    throw refuse(
      "a multiple of 4 bytes",
      `${bytes}`,
      "pad it to an even number of float16 elements",
    );
  if (offset + bytes > buffer.size)
    throw refuse(
      `a buffer of at least ${offset + bytes} bytes`,
      `one of ${buffer.size}`,
      "check the shape, the dtype and the offset",
    );
}

/** Submits a copy by itself. @returns what the device refuses of it. @throws what WebGPU throws */
export function copyBetween(
  device: Device,
  op: string,
  from: Place,
  to: Place,
  bytes: number,
): Promise<TenureError | null> {
  let thrown: unknown = null;
  const verdict = device.watch(() => {
    try {
      device.queue.copyAlone(op, from.buffer, from.offset, to.buffer, to.offset, bytes);
    } catch (error) {
      thrown = error;
    }
  });
  if (thrown === null) return verdict;
  throw new ArgumentError(
    op,
    "a GPUBuffer of the device in use",
    `one it refuses (${thrown instanceof Error ? thrown.message : describeValue(thrown)})`,
    "make it with the gpuDevice that init() was given",
  );
}

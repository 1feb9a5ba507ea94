/**
 * What the runtime asks of buffers of the program, beside those of the pool, on a device of the
 * program. lent.ts does it, which comes with such a device. Types only; owns nothing.
 */
import type { TenureError } from "../base/errors.ts";
import type { CommandQueue } from "./queue.ts";
import type { GPUBuffer } from "./webgpu.ts";

/** A place in a buffer of the program. */
export interface Place {
  readonly buffer: GPUBuffer;
  /** In bytes. */
  readonly offset: number;
}

/** What copies need of a device. */
interface Watched {
  readonly queue: Pick<CommandQueue, "copyAlone">;
  watch(encode: () => void): Promise<TenureError | null>;
}

/** What only a device of the program can do. */
export interface Lending {
  /**
   * Whether so many bytes can be copied from or to a place.
   * @throws ArgumentError for what is no buffer, one that is mapped or lacks the usage or the room,
   *   and an offset or a number of bytes that is no multiple of 4
   */
  checkPlace(op: string, place: Place, bytes: number, usage: "COPY_SRC" | "COPY_DST"): void;
  /**
   * Submits a copy by itself.
   * @returns what the device refuses of it
   * @throws what WebGPU throws
   */
  copyBetween(
    device: Watched,
    op: string,
    from: Place,
    to: Place,
    bytes: number,
  ): Promise<TenureError | null>;
  /** Whether an error of the device names something that was made here. */
  isOurs(error: { readonly message: string }): boolean;
}

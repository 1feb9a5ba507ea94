/**
 * How many bytes of tensors a device holds, counted where buffers are made and destroyed, and
 * nowhere else: plans and the pool say what they think, this says what is. Written by the device,
 * read for reports. Nobody sets a peak back; who wants one of a while watches that while. Owns
 * nothing.
 */
import type { GPUBuffer, GPUBufferDescriptor } from "./webgpu.ts";

/** Most bytes held since the watch began, as long as it lasts. */
export interface PeakWatch {
  readonly peakBytes: number;
  /** Ends the watch; the peak stays as it is. */
  end(): void;
}

/** Counts the bytes of the buffers that tensors lie in. */
export class HeldBytes {
  /** Bytes by buffer that was made and not destroyed. */
  readonly #buffers = new Map<GPUBuffer, number>();
  readonly #watches = new Set<{ peakBytes: number }>();
  /** Bytes held now, and the most so far. */
  bytes = 0;
  peakBytes = 0;

  /** A buffer was made. Uniforms, staging and others that no tensor lies in don't count. */
  made(buffer: GPUBuffer, descriptor: GPUBufferDescriptor): void {
    const { size, usage } = descriptor;
    if ((usage & GPUBufferUsage.STORAGE) === 0) return;
    this.#buffers.set(buffer, size);
    this.bytes += size;
    this.peakBytes = Math.max(this.peakBytes, this.bytes);
    for (const watch of this.#watches) watch.peakBytes = Math.max(watch.peakBytes, this.bytes);
  }

  /** A buffer was destroyed. */
  destroyed(buffer: GPUBuffer): void {
    const size = this.#buffers.get(buffer);
    if (size === undefined) return;
    this.#buffers.delete(buffer);
    this.bytes -= size;
  }

  /** Begins a watch. */
  watch(): PeakWatch {
    const watches = this.#watches;
    const watch = {
      peakBytes: this.bytes,
      end(): void {
        watches.delete(watch);
      },
    };
    watches.add(watch);
    return watch;
  }
}

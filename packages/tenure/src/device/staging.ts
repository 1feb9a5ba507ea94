/**
 * Staging rings: persistent mappable buffers for upload and read-back. Fresh staging buffers cost
 * 10 to 100 times a reused one, so they are kept by size class. Used by the executor. The rings own
 * their buffers; a caller owns a mapped one only between `take` and `give`.
 */
import type { CounterSet } from "./counters.ts";
import { sizeClass } from "./buffer-pool.ts";

/** Uploads below this go through `queue.writeBuffer`, which is cheaper for small data. */
const ringThreshold = 64 * 1024;
/**
 * Whether an upload of so many bytes is a copy in the command buffer, rather than a write of the
 * queue.
 */
export function isStaged(bytes: number): boolean {
  return bytes >= ringThreshold;
}

/** Upload buffers kept mapped per size class. When all are in flight, `writeBuffer` takes over. */
const ringDepth = 3;

/** Mapped buffers on the way to the device. */
export class UploadRing {
  readonly #device: GPUDevice;
  readonly #counters: CounterSet;
  readonly #mapped = new Map<number, GPUBuffer[]>();
  readonly #made = new Map<number, number>();
  bytes = 0;

  constructor(device: GPUDevice, counters: CounterSet) {
    this.#device = device;
    this.#counters = counters;
  }

  /**
   * Writes `data` (a multiple of 4 bytes) to `offset` in `target` before anything encoded later
   * runs. `copy` encodes a buffer copy.
   * @returns a function to call after the submit that holds the copy, or undefined when nothing is
   *   left to do
   */
  write(
    target: GPUBuffer,
    offset: number,
    data: Uint8Array<ArrayBuffer>,
    copy: (source: GPUBuffer, bytes: number) => void,
  ): (() => void) | undefined {
    this.#counters.uploadBytes += data.byteLength;
    const buffer = !isStaged(data.byteLength) ? undefined : this.#take(sizeClass(data.byteLength));
    if (buffer === undefined) {
      this.#device.queue.writeBuffer(target, offset, data);
      return undefined;
    }
    new Uint8Array(buffer.getMappedRange(0, data.byteLength)).set(data);
    buffer.unmap();
    copy(buffer, data.byteLength);
    return () => {
      buffer.mapAsync(GPUMapMode.WRITE).then(
        () => {
          this.#mapped.get(buffer.size)!.push(buffer);
        },
        () => {
          this.#forget(buffer);
        }, // device lost or shut down
      );
    };
  }

  #take(size: number): GPUBuffer | undefined {
    let ready = this.#mapped.get(size);
    if (ready === undefined) this.#mapped.set(size, (ready = []));
    const buffer = ready.pop();
    if (buffer !== undefined) return buffer;
    const made = this.#made.get(size) ?? 0;
    if (made >= ringDepth) return undefined;
    this.#made.set(size, made + 1);
    this.bytes += size;
    this.#counters.buffers++;
    return this.#device.createBuffer({
      label: "tenure upload",
      size,
      usage: GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC,
      mappedAtCreation: true,
    });
  }

  #forget(buffer: GPUBuffer): void {
    this.#made.set(buffer.size, this.#made.get(buffer.size)! - 1);
    this.bytes -= buffer.size;
    buffer.destroy();
  }

  /** Destroys the buffers that are idle. @returns bytes given back */
  trim(): number {
    const before = this.bytes;
    for (const list of this.#mapped.values())
      for (let b = list.pop(); b !== undefined; b = list.pop()) this.#forget(b);
    return before - this.bytes;
  }
}

/** Buffers on the way back, mapped when their copies are done. */
export class ReadRing {
  readonly #device: GPUDevice;
  readonly #counters: CounterSet;
  readonly #idle = new Map<number, GPUBuffer[]>();
  bytes = 0;

  constructor(device: GPUDevice, counters: CounterSet) {
    this.#device = device;
    this.#counters = counters;
  }

  /** A buffer of at least `bytes` that commands may copy into. */
  take(bytes: number): GPUBuffer {
    const size = sizeClass(bytes);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) return idle;
    this.#counters.buffers++;
    this.bytes += size;
    return this.#device.createBuffer({
      label: "tenure read-back",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
  }

  /**
   * Maps a buffer whose copies were submitted, hands its bytes to `use`, and keeps the buffer for
   * the next read. `use` must copy what it wants.
   */
  async read(buffer: GPUBuffer, bytes: number, use: (data: ArrayBuffer) => void): Promise<void> {
    try {
      await buffer.mapAsync(GPUMapMode.READ, 0, bytes);
    } catch (error) {
      this.bytes -= buffer.size;
      buffer.destroy();
      throw error;
    }
    this.#counters.readBytes += bytes;
    try {
      use(buffer.getMappedRange(0, bytes));
    } finally {
      buffer.unmap();
      let idle = this.#idle.get(buffer.size);
      if (idle === undefined) this.#idle.set(buffer.size, (idle = []));
      idle.push(buffer);
    }
  }

  /** Destroys the buffers that are idle. @returns bytes given back */
  trim(): number {
    let freed = 0;
    for (const list of this.#idle.values())
      for (let b = list.pop(); b !== undefined; b = list.pop()) {
        freed += b.size;
        b.destroy();
      }
    this.bytes -= freed;
    return freed;
  }
}

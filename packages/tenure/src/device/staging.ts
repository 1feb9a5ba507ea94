/**
 * Staging rings: persistent mappable buffers for upload and read-back. Fresh staging buffers cost
 * 10 to 100 times a reused one, so they are kept by size class. Used by the executor. The rings own
 * their buffers; a caller owns a mapped one only between `take` and `give`.
 */
import type { Bytes } from "../base/bytes.ts";
import type { CounterSet } from "./counters.ts";
import { sizeClass } from "./buffer-pool.ts";
import type { GPUBuffer, GPUBufferDescriptor, GPUDevice } from "./webgpu.ts";

/** Makes a buffer, and calls `failed`, any time later, when the device could not. */
export type CreateBuffer = (descriptor: GPUBufferDescriptor, failed: () => void) => GPUBuffer;

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
  readonly #create: CreateBuffer;
  readonly #counters: CounterSet;
  readonly #mapped = new Map<number, GPUBuffer[]>();
  readonly #made = new Map<number, number>();
  /** Buffers made and not destroyed. */
  readonly #held = new Set<GPUBuffer>();
  bytes = 0;

  constructor(device: GPUDevice, create: CreateBuffer, counters: CounterSet) {
    this.#device = device;
    this.#create = create;
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
    data: Bytes,
    copy: (source: GPUBuffer, bytes: number) => void,
  ): (() => void) | undefined {
    this.#counters.uploadBytes += data.byteLength;
    const buffer = !isStaged(data.byteLength) ? undefined : this.#take(sizeClass(data.byteLength));
    if (buffer === undefined) {
      this.#device.queue.writeBuffer(target, offset, data);
      return undefined;
    }
    try {
      new Uint8Array(buffer.getMappedRange(0, data.byteLength)).set(data);
      buffer.unmap();
      copy(buffer, data.byteLength);
    } catch (error) {
      this.#forget(buffer);
      throw error;
    }
    return () => {
      buffer.mapAsync(GPUMapMode.WRITE).then(
        () => {
          if (this.#held.has(buffer)) this.#mapped.get(buffer.size)?.push(buffer);
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
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC;
    const created: GPUBuffer = this.#create(
      { label: "tenure upload", size, usage, mappedAtCreation: true },
      () => {
        this.#forget(created);
      },
    );
    this.#held.add(created);
    this.#made.set(size, made + 1);
    this.bytes += size;
    this.#counters.buffers++;
    return created;
  }

  #forget(buffer: GPUBuffer): void {
    if (!this.#held.delete(buffer)) return;
    const { size } = buffer;
    const mapped = this.#mapped.get(size);
    if (mapped?.includes(buffer) === true) mapped.splice(mapped.indexOf(buffer), 1);
    this.#made.set(size, (this.#made.get(size) ?? 1) - 1);
    this.bytes -= size;
    buffer.destroy();
  }

  /** Ends the waits for buffers to be mapped. */
  abandon(): void {
    endMapping(this.#held);
  }

  /** Destroys all buffers. */
  destroyAll(): void {
    for (const buffer of [...this.#held]) this.#forget(buffer);
  }

  /** Destroys the buffers that are idle. @returns bytes given back */
  trim(): number {
    const before = this.bytes;
    for (const list of this.#mapped.values())
      for (let b = list.pop(); b !== undefined; b = list.pop()) this.#forget(b);
    return before - this.bytes;
  }
}

/** Waits for what the device settles. */
type WaitFor = <T>(answer: Promise<T>) => Promise<T>;

/** Buffers on the way back, mapped when their copies are done. */
export class ReadRing {
  readonly #create: CreateBuffer;
  readonly #counters: CounterSet;
  readonly #waitFor: WaitFor;
  readonly #idle = new Map<number, GPUBuffer[]>();
  /** Buffers made and not destroyed. */
  readonly #held = new Set<GPUBuffer>();
  bytes = 0;

  constructor(create: CreateBuffer, counters: CounterSet, waitFor: WaitFor) {
    this.#create = create;
    this.#counters = counters;
    this.#waitFor = waitFor;
  }

  /** A buffer of at least `bytes` that commands may copy into. */
  take(bytes: number): GPUBuffer {
    const size = sizeClass(bytes);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) return idle;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const created: GPUBuffer = this.#create({ label: "tenure read-back", size, usage }, () => {
      this.#forget(created);
    });
    this.#held.add(created);
    this.#counters.buffers++;
    this.bytes += size;
    return created;
  }

  /** A buffer of at least `bytes` that `submit` has copied into; kept for others if that throws. */
  filled(bytes: number, submit: (target: GPUBuffer) => void): GPUBuffer {
    const buffer = this.take(bytes);
    try {
      submit(buffer);
    } catch (error) {
      this.give(buffer);
      throw error;
    }
    return buffer;
  }

  /** Takes back a buffer that was not mapped: its commands were never submitted. */
  give(buffer: GPUBuffer): void {
    if (!this.#held.has(buffer)) return;
    let idle = this.#idle.get(buffer.size);
    if (idle === undefined) this.#idle.set(buffer.size, (idle = []));
    idle.push(buffer);
  }

  #forget(buffer: GPUBuffer): void {
    if (!this.#held.delete(buffer)) return;
    const idle = this.#idle.get(buffer.size);
    if (idle?.includes(buffer) === true) idle.splice(idle.indexOf(buffer), 1);
    this.bytes -= buffer.size;
    buffer.destroy();
  }

  /**
   * Maps a buffer whose copies were submitted, hands its bytes to `use`, and keeps the buffer for
   * the next read. `use` must copy what it wants.
   */
  async read(buffer: GPUBuffer, bytes: number, use: (data: ArrayBuffer) => void): Promise<void> {
    try {
      await this.#waitFor(buffer.mapAsync(GPUMapMode.READ, 0, bytes));
    } catch (error) {
      this.#forget(buffer);
      throw error;
    }
    this.#counters.readBytes += bytes;
    try {
      use(buffer.getMappedRange(0, bytes));
    } finally {
      buffer.unmap();
      this.give(buffer);
    }
  }

  /** Ends the reads under way: they reject. */
  abandon(): void {
    endMapping(this.#held);
  }

  /** Destroys all buffers. */
  destroyAll(): void {
    for (const buffer of [...this.#held]) this.#forget(buffer);
  }

  /** Destroys the buffers that are idle. @returns bytes given back */
  trim(): number {
    let freed = 0;
    for (const list of this.#idle.values())
      for (let b = list.pop(); b !== undefined; b = list.pop()) {
        freed += b.size;
        this.#forget(b);
      }
    return freed;
  }
}

/**
 * Settles the promises of `mapAsync` at once. Where a worker thread ends before they settle, the
 * package `webgpu` aborts the process.
 */
function endMapping(buffers: Iterable<GPUBuffer>): void {
  for (const buffer of buffers) if (buffer.mapState === "pending") buffer.unmap();
}

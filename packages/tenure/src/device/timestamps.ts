/**
 * Timestamp queries: when passes begin and end, by the device's clock. Called by kernel-watch.ts
 * and by the clock of `tune`. Owns its query set and its buffers until it is disposed.
 */
import type {
  GPUBuffer,
  GPUBufferDescriptor,
  GPUCommandEncoder,
  GPUComputePassDescriptor,
  GPUDevice,
} from "./webgpu.ts";

/** What it is made on, which counts the bytes. */
export interface TimestampOwner {
  readonly gpu: GPUDevice;
  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer;
  destroyBuffer(buffer: GPUBuffer): void;
  waitFor<T>(answer: Promise<T>): Promise<T>;
}

/** Bytes of a begin and an end. */
const pairBytes = 16;

/** Times of so many passes of one submit. */
export class Timestamps {
  readonly #owner: TimestampOwner;
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;

  constructor(owner: TimestampOwner, passes: number) {
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const size = pairBytes * passes;
    this.#owner = owner;
    this.#queries = owner.gpu.createQuerySet({ type: "timestamp", count: 2 * passes });
    this.#resolved = owner.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
    this.#readable = owner.createBuffer({ size, usage: COPY_DST | MAP_READ });
  }

  /** How the pass with a number begins. */
  pass(index: number): GPUComputePassDescriptor {
    return {
      timestampWrites: {
        querySet: this.#queries,
        beginningOfPassWriteIndex: 2 * index,
        endOfPassWriteIndex: 2 * index + 1,
      },
    };
  }

  /** Encodes that the times of the first passes are to be read, behind these passes. */
  resolve(encoder: GPUCommandEncoder, passes: number): void {
    encoder.resolveQuerySet(this.#queries, 0, 2 * passes, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, pairBytes * passes);
  }

  /** Begins and ends of the first passes in nanoseconds, once they are submitted. */
  async read(passes: number): Promise<BigUint64Array> {
    const size = pairBytes * passes;
    await this.#owner.waitFor(this.#readable.mapAsync(GPUMapMode.READ, 0, size));
    const times = new BigUint64Array(this.#readable.getMappedRange(0, size).slice(0));
    this.#readable.unmap();
    return times;
  }

  dispose(): void {
    this.#queries.destroy();
    this.#owner.destroyBuffer(this.#resolved);
    this.#owner.destroyBuffer(this.#readable);
  }
}

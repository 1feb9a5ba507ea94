/**
 * Times kernels: by timestamp queries around each where the device has them, or by the host's
 * clock, for which every kernel is waited for. Asked by the queue and told by the segments while
 * `profile` is under way. A timer owns its query sets and buffers until it is disposed.
 */
import type { GPUCommandEncoder, GPUComputePassDescriptor, GPUDevice } from "./webgpu.ts";

/** What is known of a kernel before it runs. */
export interface KernelFacts {
  /** The op, or the fused ops: `matmul+add+relu`. */
  readonly name: string;
  readonly phase: string;
  /** Path of the module that called for it. */
  readonly layer: string;
  /** Floating-point operations, as its ops count them. */
  readonly flops: number;
  /** Bytes of the tensors it reads, and of those it writes. */
  readonly bytes: number;
  /** Whether it computes again what was there before. */
  readonly recomputed: boolean;
}

/** A kernel that ran. */
export interface TimedKernel extends KernelFacts {
  /** When it began, in ms, as `performance.now` counts: about so with timestamp queries. */
  readonly from: number;
  readonly seconds: number;
}

/** Sees every kernel. */
export interface KernelWatch {
  /** Whether the host has to wait for each kernel. */
  readonly waits: boolean;
  /** The kernel that is encoded next. */
  next(facts: KernelFacts): void;
  /** How its pass begins. */
  pass(): GPUComputePassDescriptor | undefined;
  /** What is encoded will be submitted. */
  submitting(encoder: GPUCommandEncoder): void;
  /** What is encoded will not be submitted. */
  abandoned(): void;
  /** The kernel that was encoded last was waited for. */
  clocked(from: number, seconds: number): void;
}

/** Kernels by the host's clock. */
export class HostTimer implements KernelWatch {
  readonly waits = true;
  readonly #kernels: TimedKernel[] = [];
  #next: KernelFacts | null = null;

  next(facts: KernelFacts): void {
    this.#next = facts;
  }
  pass(): undefined {
    return undefined;
  }
  submitting(): void {
    /* the host's clock needs nothing of it */
  }
  abandoned(): void {
    this.#next = null;
  }
  clocked(from: number, seconds: number): void {
    if (this.#next !== null) this.#kernels.push({ ...this.#next, from, seconds });
    this.#next = null;
  }
  /** All kernels so far, in order. */
  kernels(): Promise<readonly TimedKernel[]> {
    return Promise.resolve([...this.#kernels]);
  }
  dispose(): void {
    this.#kernels.length = 0;
  }
}

/** Kernels of one submit at most; the queue submits earlier. */
const perSubmit = 1024;

/** Kernels of one submit. */
interface Batch {
  readonly kernels: KernelFacts[];
  readonly queries: GPUQuerySet;
  readonly resolved: GPUBuffer;
  readonly staging: GPUBuffer;
  /** When it was submitted. */
  at: number;
}

/** Kernels by timestamp queries. */
export class TimestampTimer implements KernelWatch {
  readonly waits = false;
  readonly #device: GPUDevice;
  readonly #batches: Batch[] = [];
  #batch: Batch | null = null;
  #next: KernelFacts | null = null;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  next(facts: KernelFacts): void {
    this.#next = facts;
  }

  pass(): GPUComputePassDescriptor | undefined {
    const facts = this.#next;
    this.#next = null;
    if (facts === null) return undefined;
    const batch = (this.#batch ??= this.#open());
    const index = 2 * (batch.kernels.push(facts) - 1);
    return {
      timestampWrites: {
        querySet: batch.queries,
        beginningOfPassWriteIndex: index,
        endOfPassWriteIndex: index + 1,
      },
    };
  }

  #open(): Batch {
    const size = 16 * perSubmit;
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    return {
      kernels: [],
      queries: this.#device.createQuerySet({ type: "timestamp", count: 2 * perSubmit }),
      resolved: this.#device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC }),
      staging: this.#device.createBuffer({ size, usage: COPY_DST | MAP_READ }),
      at: 0,
    };
  }

  submitting(encoder: GPUCommandEncoder): void {
    const batch = this.#batch;
    if (batch === null) return;
    this.#batch = null;
    const count = batch.kernels.length;
    encoder.resolveQuerySet(batch.queries, 0, 2 * count, batch.resolved, 0);
    encoder.copyBufferToBuffer(batch.resolved, 0, batch.staging, 0, 16 * count);
    batch.at = performance.now();
    this.#batches.push(batch);
  }

  abandoned(): void {
    if (this.#batch !== null) free(this.#batch);
    this.#batch = this.#next = null;
  }

  clocked(): void {
    /* a scheduler that times its ops waits for them anyway */
  }

  /** All kernels that were submitted, in order. The device's clock begins with the first. */
  async kernels(): Promise<readonly TimedKernel[]> {
    const found: TimedKernel[] = [];
    let zero: { readonly ns: bigint; readonly ms: number } | null = null;
    for (const { kernels, staging, at } of this.#batches) {
      await staging.mapAsync(GPUMapMode.READ, 0, 16 * kernels.length);
      const times = new BigUint64Array(staging.getMappedRange(0, 16 * kernels.length));
      for (const [i, facts] of kernels.entries()) {
        const begin = times[2 * i] ?? 0n;
        const end = times[2 * i + 1] ?? begin;
        zero ??= { ns: begin, ms: at };
        const from = zero.ms + Number(begin - zero.ns) / 1e6;
        // clocks of drivers may step back
        found.push({ ...facts, from, seconds: Math.max(0, Number(end - begin) / 1e9) });
      }
      staging.unmap();
    }
    return found;
  }

  dispose(): void {
    this.abandoned();
    for (const batch of this.#batches.splice(0)) free(batch);
  }
}

function free({ queries, resolved, staging }: Batch): void {
  queries.destroy();
  resolved.destroy();
  staging.destroy();
}

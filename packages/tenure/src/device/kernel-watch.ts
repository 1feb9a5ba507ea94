/**
 * Times kernels: by timestamp queries around each where the device has them, or by the host's
 * clock, for which every kernel is waited for. Asked by the queue and told by the segments while
 * `profile` is under way. A timer owns its query sets and buffers until it is disposed.
 */
import { Timestamps, type TimestampOwner } from "./timestamps.ts";
import type { GPUCommandEncoder, GPUComputePassDescriptor } from "./webgpu.ts";

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
  readonly stamps: Timestamps;
  /** When it was submitted. */
  at: number;
}

/** Kernels by timestamp queries. */
export class TimestampTimer implements KernelWatch {
  readonly waits = false;
  readonly #device: TimestampOwner;
  readonly #batches: Batch[] = [];
  #batch: Batch | null = null;
  #next: KernelFacts | null = null;

  constructor(device: TimestampOwner) {
    this.#device = device;
  }

  next(facts: KernelFacts): void {
    this.#next = facts;
  }

  pass(): GPUComputePassDescriptor | undefined {
    const facts = this.#next;
    this.#next = null;
    if (facts === null) return undefined;
    const batch = (this.#batch ??= {
      kernels: [],
      stamps: new Timestamps(this.#device, perSubmit),
      at: 0,
    });
    return batch.stamps.pass(batch.kernels.push(facts) - 1);
  }

  submitting(encoder: GPUCommandEncoder): void {
    const batch = this.#batch;
    if (batch === null) return;
    this.#batch = null;
    batch.stamps.resolve(encoder, batch.kernels.length);
    batch.at = performance.now();
    this.#batches.push(batch);
  }

  abandoned(): void {
    this.#batch?.stamps.dispose();
    this.#batch = this.#next = null;
  }

  clocked(): void {
    /* a scheduler that times its ops waits for them anyway */
  }

  /** All kernels that were submitted, in order. The device's clock begins with the first. */
  async kernels(): Promise<readonly TimedKernel[]> {
    const found: TimedKernel[] = [];
    let zero: { readonly ns: bigint; readonly ms: number } | null = null;
    for (const { kernels, stamps, at } of this.#batches) {
      const times = await stamps.read(kernels.length);
      for (const [i, facts] of kernels.entries()) {
        const begin = times[2 * i] ?? 0n;
        const end = times[2 * i + 1] ?? begin;
        zero ??= { ns: begin, ms: at };
        const from = zero.ms + Number(begin - zero.ns) / 1e6;
        // clocks of drivers may step back
        found.push({ ...facts, from, seconds: Math.max(0, Number(end - begin) / 1e9) });
      }
    }
    return found;
  }

  dispose(): void {
    this.abandoned();
    for (const { stamps } of this.#batches.splice(0)) stamps.dispose();
  }
}

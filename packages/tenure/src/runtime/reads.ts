/**
 * Reads: bytes on their way from the device to the host. A read pins its storage when it is asked
 * for, its copy is encoded by the next flush, and it resolves once that has run. Asked for by the
 * tensor layer, served by the submission. Staging buffers come from the device's ring and go back
 * there.
 */
import { DeviceLostError, TenureError } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import { type Storage, contentsLost } from "./storage.ts";

interface PendingRead {
  storage: Storage;
  readonly offset: number;
  readonly bytes: number;
  readonly resolve: (data: ArrayBuffer) => void;
  readonly reject: (error: unknown) => void;
}

/** A read whose copy is encoded, and where in the staging buffer. */
interface PlacedRead extends PendingRead {
  readonly at: number;
}

/** Starts the settling of encoded reads once they are submitted. */
export type ReadsSubmitted = (verdict: Promise<TenureError | null>) => void;

/** Every read of a runtime that has not come back. */
export class Reads {
  #pending: PendingRead[] = [];
  /** Reads that were asked for and have not come back. */
  readonly #outstanding = new Set<Promise<ArrayBuffer>>();
  /** Promises of host data: what `data()` and its like return. */
  readonly #marked = new WeakSet<object>();

  /** Whether no read waits for a flush. */
  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** Pins a storage, and promises its bytes as they will be at the next flush. */
  ask(storage: Storage, offset: number, bytes: number): Promise<ArrayBuffer> {
    const read = new Promise<ArrayBuffer>((resolve, reject) => {
      this.#pending.push({ storage: storage.retain(), offset, bytes, resolve, reject });
    });
    const back = (): void => {
      this.#outstanding.delete(read);
    };
    this.#outstanding.add(read);
    read.then(back, back);
    return read;
  }

  /** Marks a promise as that of a read, which goes on without the code that asked for it. */
  mark(promise: object): void {
    this.#marked.add(promise);
  }

  /** Whether a promise was marked. */
  isMarked(promise: object): boolean {
    return this.#marked.has(promise);
  }

  /** Reads that pin a storage now; a read lets go once its copy is in the queue. */
  pinning(storage: Storage): number {
    return this.#pending.filter((read) => read.storage === storage).length;
  }

  /**
   * Before a storage is overwritten: lets its pending reads find what it holds now in `copy()`,
   * which is called only when there are any.
   */
  redirect(storage: Storage, copy: () => Storage): void {
    let fresh: Storage | null = null;
    for (const read of this.#pending) {
      if (read.storage !== storage) continue;
      fresh ??= copy();
      read.storage = fresh.retain();
      storage.release();
    }
  }

  /** Rejects all pending reads, or those of some storages. @returns how many */
  reject(reason: unknown, of?: ReadonlySet<Storage>): number {
    const all = this.#pending;
    this.#pending = of === undefined ? [] : all.filter(({ storage }) => !of.has(storage));
    for (const { storage, reject } of all) {
      if (of !== undefined && !of.has(storage)) continue;
      storage.release();
      reject(reason);
    }
    return all.length - this.#pending.length;
  }

  /** Resolves once every read has come back or failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#outstanding);
  }

  /**
   * Encodes all pending reads into one staging buffer. The returned function maps it, once
   * submitted.
   */
  encode(device: Device): ReadsSubmitted | null {
    if (this.isEmpty) return null;
    const placed: PlacedRead[] = [];
    let total = 0;
    for (const read of this.#pending.splice(0)) {
      const { storage } = read;
      const trouble = storage.trouble();
      if (trouble !== null || storage.buffer === null) {
        storage.release();
        if (trouble !== null) device.forget(trouble);
        read.reject(trouble ?? contentsLost());
      } else {
        placed.push({ ...read, at: total });
        total += Math.ceil(read.bytes / 8) * 8;
      }
    }
    if (placed.length === 0) return null;
    let staging: GPUBuffer | null = null;
    try {
      staging = device.reads.take(total);
      encodeCopies(device, staging, placed);
    } catch (error) {
      if (staging !== null) device.reads.give(staging);
      for (const { reject } of placed) reject(asReadError(device, error));
      throw error;
    } finally {
      // the copies are in the queue: whoever reuses a buffer comes after them
      for (const { storage } of placed) storage.release();
    }
    const taken = staging;
    return (verdict) => {
      void settle(device, taken, total, placed, verdict);
    };
  }
}

function encodeCopies(device: Device, staging: GPUBuffer, placed: readonly PlacedRead[]): void {
  for (const { storage, offset, bytes, at } of placed) {
    const { buffer } = storage;
    if (buffer === null) continue;
    const length = Math.min(Math.ceil(bytes / 4) * 4, buffer.bytes - offset);
    if (length > 0) device.queue.copy(buffer.gpu, offset, staging, at, length);
  }
}

async function settle(
  device: Device,
  staging: GPUBuffer,
  total: number,
  placed: readonly PlacedRead[],
  verdict: Promise<TenureError | null>,
): Promise<void> {
  try {
    const parts: { resolve: PendingRead["resolve"]; data: ArrayBuffer }[] = [];
    await device.reads.read(staging, total, (data) => {
      for (const { at, bytes, resolve } of placed)
        parts.push({ resolve, data: data.slice(at, at + bytes) });
    });
    const error = (await verdict) ?? device.takeErrors();
    if (error !== undefined) throw error;
    for (const { resolve, data } of parts) resolve(data);
  } catch (error) {
    const reason = device.takeErrors() ?? asReadError(device, error);
    for (const { reject } of placed) reject(reason);
  }
}

function asReadError(device: Device, error: unknown): TenureError {
  if (error instanceof TenureError) return error;
  if (device.lost !== null) return device.lost;
  return new DeviceLostError("data", `expected a working device, got ${String(error)}`, {
    cause: error,
  });
}

/**
 * Reads: bytes on their way from the device to the host, or to a buffer of the program. A read pins
 * its storage when it is asked for, its copy is encoded by the next flush, and it resolves once
 * that has run. Asked for by the tensor layer, served by the submission. Staging buffers come from
 * the device's ring and go back there.
 */
import { DeviceLostError, TenureError, internal } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import type { Place } from "../device/lending.ts";
import type { Lane } from "./open-program.ts";
import { type Storage, contentsLost } from "./storage.ts";

interface PendingRead {
  storage: Storage;
  /** The program after which it is served. */
  lane: Lane;
  readonly offset: number;
  readonly bytes: number;
  /** Where in a buffer of the program the bytes go; null for the host. */
  readonly target: Place | null;
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
  readonly #outstanding = new Map<Promise<ArrayBuffer>, PendingRead>();
  /** Promises of host data: what `data()` and its like return. */
  readonly #marked = new WeakSet<object>();

  /** Whether no read waits for a flush of the lane. */
  isEmpty(lane: Lane): boolean {
    return !this.#pending.some((read) => read.lane === lane);
  }

  /**
   * Pins a storage, and promises its bytes as they will be at the next flush of the lane. With a
   * target they go there, and none come back.
   */
  ask(
    storage: Storage,
    offset: number,
    bytes: number,
    lane: Lane,
    target: Place | null = null,
  ): Promise<ArrayBuffer> {
    let read: PendingRead | undefined;
    const promise = new Promise<ArrayBuffer>((resolve, reject) => {
      read = { storage: storage.retain(), lane, offset, bytes, target, resolve, reject };
      this.#pending.push(read);
    });
    const back = (): void => {
      this.#outstanding.delete(promise);
    };
    if (read !== undefined) this.#outstanding.set(promise, read);
    promise.then(back, back);
    return promise;
  }

  /** The step is over: reads that are left come with the next flush of main. */
  joinMain(): void {
    for (const read of this.#pending) read.lane = "main";
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
   * Before a storage is overwritten by an op of a lane: lets the lane's pending reads find what it
   * holds now in `copy()`, which is called only when there are any.
   */
  redirect(storage: Storage, lane: Lane, copy: () => Storage): void {
    let fresh: Storage | null = null;
    for (const read of this.#pending) {
      if (read.storage !== storage || read.lane !== lane) continue;
      fresh ??= copy();
      read.storage = fresh.retain();
      storage.release();
    }
  }

  /** Rejects one pending read. */
  refuse(promise: Promise<ArrayBuffer>, reason: unknown): void {
    const refused = this.#outstanding.get(promise);
    if (refused === undefined || !this.#pending.includes(refused)) return;
    this.#pending = this.#pending.filter((read) => read !== refused);
    refused.storage.release();
    refused.reject(reason);
  }

  /** Rejects all pending reads, or those of some storages or a lane. @returns how many */
  reject(reason: unknown, of?: ReadonlySet<Storage>, lane?: Lane): number {
    const concerned = (read: PendingRead): boolean =>
      (of === undefined || of.has(read.storage)) && (lane === undefined || read.lane === lane);
    const rejected = this.#pending.filter(concerned);
    this.#pending = this.#pending.filter((read) => !concerned(read));
    for (const { storage, reject } of rejected) {
      storage.release();
      reject(reason);
    }
    return rejected.length;
  }

  /** Resolves once every read that does not wait for the end of `but` has come back or failed. */
  async settled(but?: Lane): Promise<void> {
    const awaited = [...this.#outstanding].filter(([, { lane }]) => lane !== but);
    await Promise.allSettled(awaited.map(([promise]) => promise));
  }

  /**
   * Encodes the pending reads of a lane into one staging buffer. The returned function maps it,
   * once submitted.
   */
  encode(device: Device, lane: Lane): ReadsSubmitted | null {
    const placed: PlacedRead[] = [];
    let total = 0;
    for (const read of this.#taken(device, lane, false)) {
      placed.push({ ...read, at: total });
      total += Math.ceil(read.bytes / 8) * 8;
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

  /**
   * Copies into buffers of the program, each in a submit of its own: what the device refuses of it
   * concerns nobody else. `ran`: what it refuses of the submit before, which made the bytes.
   */
  copyOut(device: Device, lane: Lane, ran: Promise<TenureError | null>): void {
    const { lending } = device;
    for (const { storage, offset, bytes, target, resolve, reject } of this.#taken(
      device,
      lane,
      true,
    )) {
      const { buffer } = storage;
      if (buffer === null || target === null) continue;
      try {
        if (lending === null) throw internal("copyToBuffer without lending");
        const from = { buffer: buffer.gpu, offset };
        const copied = lending.copyBetween(device, "copyToBuffer", from, target, bytes);
        void Promise.all([ran, copied]).then(([unmade, refused]) => {
          const failure = unmade ?? refused;
          if (failure === null) resolve(new ArrayBuffer(0));
          else {
            device.forget(failure);
            reject(failure);
          }
        });
      } catch (error) {
        reject(asReadError(device, error));
      } finally {
        storage.release(); // whoever reuses the buffer comes after the copy
      }
    }
  }

  /** Takes the pending reads of a lane to the host, or out; those that cannot be served fail. */
  #taken(device: Device, lane: Lane, out: boolean): PendingRead[] {
    const concerned = (read: PendingRead): boolean =>
      read.lane === lane && (read.target !== null) === out;
    const reads = this.#pending.filter(concerned);
    if (reads.length > 0) this.#pending = this.#pending.filter((read) => !concerned(read));
    return reads.filter(({ storage, reject }) => {
      const trouble = storage.trouble();
      if (trouble === null && storage.buffer !== null) return true;
      storage.release();
      if (trouble !== null) device.forget(trouble);
      reject(trouble ?? contentsLost());
      return false;
    });
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

/**
 * The slots of a plan and the buffers in them: filled before a run, handed over after it. Called by
 * an execution, which owns the buffers in between.
 */
import { internal } from "../../base/errors.ts";
import type { Device } from "../../device/device.ts";
import type { PooledBuffer } from "../../device/buffer-pool.ts";
import type { Executable } from "../executable.ts";
import type { OpenProgram } from "../open-program.ts";
import type { Storage } from "../storage.ts";

/** Buffers by slot; none where a slot is not open. */
export type SlotBuffers = (PooledBuffer | undefined)[];

/** The buffer in an open slot. */
export function bufferIn(buffers: Readonly<SlotBuffers>, slot: number): PooledBuffer {
  const buffer = buffers[slot];
  if (buffer === undefined) throw internal(`slot ${slot} is used while it is not open`);
  return buffer;
}

function localOf({ locals }: OpenProgram, index: number): Storage {
  const storage = locals[index];
  if (storage === undefined)
    throw internal(`a plan names storage ${index}, which its program lacks`);
  return storage;
}

/**
 * Gives every slot that is not late the buffer its storage brings, or a free one that fits.
 * @returns the slots that need a new one
 */
export function reuseBuffers(
  { pool }: Device,
  { plan: { slots } }: Executable,
  work: OpenProgram,
  buffers: SlotBuffers,
): number[] {
  const missing: number[] = [];
  for (const [s, slot] of slots.entries()) {
    if (slot.late === true) continue;
    if (slot.entry === -1) {
      buffers[s] = pool.reuse(slot.bytes);
      if (buffers[s] === undefined) missing.push(s);
    } else buffers[s] = localOf(work, slot.entry).buffer ?? undefined;
  }
  return missing;
}

/** Sends what was taken from the pool home again. */
export function emptySlots(
  { pool }: Device,
  { plan: { slots } }: Executable,
  buffers: SlotBuffers,
): void {
  for (const [s, slot] of slots.entries()) {
    const buffer = buffers[s];
    if (buffer !== undefined && slot.entry === -1) pool.release(buffer);
  }
  buffers.length = 0;
}

/** Gives every storage its buffer back, and the pool its own: nothing was done with them. */
export function giveBack(
  { pool }: Device,
  { plan: { slots } }: Executable,
  work: OpenProgram,
  buffers: SlotBuffers,
): void {
  for (const [s, { entry }] of slots.entries()) {
    const buffer = buffers[s];
    if (buffer === undefined) continue;
    if (entry === -1) pool.release(buffer);
    else localOf(work, entry).buffer = buffer;
  }
  buffers.length = 0;
}

/** Takes the buffers from the storages that brought them: they are the run's until it ends. */
export function takeOver({ plan: { slots } }: Executable, work: OpenProgram): void {
  for (const { entry } of slots) if (entry !== -1) localOf(work, entry).buffer = null;
}

/**
 * The buffers that are written although the device may refuse the submit: by uploads, and, with
 * `poison`, those of the pool, which it overwrites.
 */
export function writtenAtOnce(
  device: Device,
  { plan: { entrySlot, slots } }: Executable,
  { uploads }: OpenProgram,
  buffers: Readonly<SlotBuffers>,
  poison: Poison | null,
): ReadonlySet<PooledBuffer> {
  if (uploads.length === 0 && poison === null) return noBuffers;
  const written = new Set<PooledBuffer>();
  for (const { local } of uploads) {
    const buffer = buffers[entrySlot[local] ?? -1];
    if (buffer !== undefined) written.add(buffer);
  }
  if (poison !== null)
    for (const [s, buffer] of buffers.entries()) {
      if (buffer === undefined || slots[s]?.entry !== -1) continue;
      poison.spread(device, buffer);
      written.add(buffer);
    }
  return written;
}

const noBuffers: ReadonlySet<PooledBuffer> = new Set();

/**
 * Every slot's buffer goes to the storage that keeps it, or home. Where the host was waited for, an
 * owner may have let go meanwhile; `mentioned` says whether another program still needs the
 * storage.
 */
export function handOver(
  { pool }: Device,
  { plan: { slots } }: Executable,
  work: OpenProgram,
  buffers: SlotBuffers,
  mentioned: (storage: Storage) => boolean,
): void {
  for (const [s, { exit }] of slots.entries()) {
    const buffer = buffers[s];
    if (buffer === undefined) continue; // closed on the way
    const keeper = exit === -1 ? null : localOf(work, exit);
    if (keeper === null || (keeper.refs === 0 && !mentioned(keeper))) pool.release(buffer);
    else keeper.buffer = buffer;
  }
  buffers.length = 0;
}

/** Overwrites buffers with NaN, for tests. */
export class Poison {
  #nans = new Uint32Array(0);

  /** Lands after all submitted work and before whatever is submitted next. */
  spread(
    device: Device,
    { gpu, bytes: size }: PooledBuffer,
    offset = 0,
    bytes: number = size,
  ): void {
    if (this.#nans.byteLength < bytes) this.#nans = new Uint32Array(bytes / 4).fill(0x7fc00000);
    device.gpu.queue.writeBuffer(gpu, offset, this.#nans, 0, bytes / 4);
  }
}

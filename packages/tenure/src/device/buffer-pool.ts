/**
 * The buffer pool: every storage buffer comes from here and comes back here. Free lists by size
 * class; the buffer with the lowest number is handed out first, so a repeated program gets the same
 * buffers and its cached bind groups keep hitting. Used by the runtime only. The pool owns every
 * GPUBuffer it made; borrowers hold a `PooledBuffer` between `acquire` and `release`.
 */
import type { CounterSet } from "./counters.ts";
import type { GPUBuffer, GPUBufferDescriptor } from "./webgpu.ts";

/** A buffer on loan or free. */
export interface PooledBuffer {
  /** Never reused, so it can stand for the buffer in cache keys. */
  readonly id: number;
  /** Where it came from and goes back to. */
  readonly pool: BufferPool;
  readonly gpu: GPUBuffer;
  /** Size class: what the device holds. */
  readonly bytes: number;
  /** Flush in which it was last handed out; decides what `trim` may take. */
  lastUse: number;
  /** How often it was handed out. */
  loans: number;
}

/**
 * Bytes a buffer for `bytes` really takes: eight classes per power of two, so at most 12.5 % more,
 * never less than 256.
 */
export function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const granule = 2 ** (Math.floor(Math.log2(bytes - 1)) - 3);
  return Math.max(256, Math.ceil(bytes / granule) * granule);
}

/** The largest size class within `bytes`; 0 where there is none. */
export function classWithin(bytes: number): number {
  if (bytes < 256) return 0;
  const granule = 2 ** (Math.floor(Math.log2(bytes)) - 3);
  return Math.floor(bytes / granule) * granule;
}

/** What a pool is made of. */
export interface PoolOptions {
  readonly counters: CounterSet;
  /** Makes a buffer and calls `failed`, any time later, when the device could not. */
  readonly create: (descriptor: GPUBufferDescriptor, failed: () => void) => GPUBuffer;
  readonly destroy: (buffer: GPUBuffer) => void;
  /** Asked before the pool makes a buffer: may trim the pool, or throw to refuse. */
  readonly allow?: (pool: BufferPool, bytes: number) => void;
}

/** The buffers of one device. */
export class BufferPool {
  readonly #counters: CounterSet;
  readonly #allow: PoolOptions["allow"];
  readonly #create: PoolOptions["create"];
  readonly #destroy: PoolOptions["destroy"];
  readonly #free = new Map<number, PooledBuffer[]>();
  /** The buffers the pool made and still holds, by id. */
  readonly #held = new Map<number, PooledBuffer>();
  #nextId = 1;
  /** Bytes of all buffers the pool made and still holds. */
  deviceBytes = 0;
  /** Bytes among them that nobody borrows. */
  freeBytes = 0;
  /** Bytes of buffers above which free ones are destroyed before new ones are made. */
  softLimit = Infinity;
  /** Buffers made so far. */
  made = 0;
  /** Counts flushes, for `lastUse`. */
  clock = 0;
  /** Rises when buffers are destroyed: caches of bind groups must drop those that refer to them. */
  generation = 0;
  /** Set when the device is gone, and all buffers with it. */
  closed = false;

  constructor({ counters, create, destroy, allow }: PoolOptions) {
    this.#counters = counters;
    this.#create = create;
    this.#destroy = destroy;
    this.#allow = allow;
  }

  /** Bytes on loan. */
  get usedBytes(): number {
    return this.deviceBytes - this.freeBytes;
  }

  /** Lends a buffer of at least `bytes`; its contents are garbage. */
  acquire(bytes: number): PooledBuffer {
    return this.reuse(bytes) ?? this.#make(sizeClass(bytes));
  }

  /** Lends a free buffer of the class of `bytes`; undefined when there is none. */
  reuse(bytes: number): PooledBuffer | undefined {
    const buffer = this.#free.get(sizeClass(bytes))?.pop();
    if (buffer === undefined) return undefined;
    this.freeBytes -= buffer.bytes;
    buffer.lastUse = this.clock;
    buffer.loans++;
    return buffer;
  }

  #make(size: number): PooledBuffer {
    // the free buffers are in no unsubmitted work: slots are filled before anything is encoded
    if (this.deviceBytes + size > this.softLimit) this.trim();
    this.#allow?.(this, size);
    this.#counters.buffers++;
    this.made++;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer: PooledBuffer = {
      id: this.#nextId++,
      pool: this,
      gpu: this.#create({ label: `tenure ${size}`, size, usage }, () => {
        this.#discard(buffer);
      }),
      bytes: size,
      lastUse: this.clock,
      loans: 1,
    };
    this.#held.set(buffer.id, buffer);
    this.deviceBytes += size;
    return buffer;
  }

  /** Whether a buffer for `bytes` can only be made after free ones were destroyed. */
  isFull(bytes: number): boolean {
    const size = sizeClass(bytes);
    return (
      this.freeBytes > 0 &&
      this.deviceBytes + size > this.softLimit &&
      (this.#free.get(size)?.length ?? 0) === 0
    );
  }

  /** Whether the buffer of this id has not been destroyed. */
  has(id: number): boolean {
    return this.#held.has(id);
  }

  /** Destroys a buffer, wherever it is now. */
  #discard(buffer: PooledBuffer): void {
    if (!this.#held.delete(buffer.id)) return;
    this.deviceBytes -= buffer.bytes;
    const free = this.#free.get(buffer.bytes),
      at = free?.indexOf(buffer) ?? -1;
    if (at !== -1) {
      free!.splice(at, 1);
      this.freeBytes -= buffer.bytes;
    }
    this.#destroy(buffer.gpu);
    this.generation++;
  }

  /**
   * Takes a buffer back. Work already recorded on the queue may still use it: the queue is in
   * order, so the next borrower's work comes after.
   */
  release(buffer: PooledBuffer): void {
    if (this.closed || !this.#held.has(buffer.id)) return; // gone meanwhile
    let free = this.#free.get(buffer.bytes);
    if (free === undefined) this.#free.set(buffer.bytes, (free = []));
    // Kept sorted by falling id: pop() hands out the lowest.
    let at = free.length;
    while (at > 0 && free[at - 1]!.id < buffer.id) at--;
    free.splice(at, 0, buffer);
    this.freeBytes += buffer.bytes;
  }

  /** Takes a free buffer back for whoever gave it away. @returns whether it is still free */
  reclaim(buffer: PooledBuffer): boolean {
    const free = this.#free.get(buffer.bytes);
    const at = free?.indexOf(buffer) ?? -1;
    if (this.closed || free === undefined || at === -1) return false;
    free.splice(at, 1);
    this.freeBytes -= buffer.bytes;
    return true;
  }

  /**
   * Destroys free buffers, those first that were handed out longest ago, until there are `bytes` of
   * buffers at most, or no free ones. Call after submitting, as `trim`.
   */
  shrinkTo(bytes: number): void {
    if (this.deviceBytes <= bytes) return;
    const oldestFirst = [...this.#free.values()].flat().sort((a, b) => a.lastUse - b.lastUse);
    for (const buffer of oldestFirst) {
      if (this.deviceBytes <= bytes) return;
      this.#discard(buffer);
    }
  }

  /**
   * Destroys free buffers that were not handed out in the last `idle` flushes. Call after
   * submitting: an unsubmitted encoder must not refer to them.
   * @returns bytes given back to the device
   */
  trim(idle = 0): number {
    let freed = 0;
    for (const [size, list] of this.#free) {
      const stay = list.filter((b) => {
        if (idle > 0 && b.lastUse >= this.clock - idle) return true;
        this.#destroy(b.gpu);
        this.#held.delete(b.id);
        freed += size;
        return false;
      });
      if (stay.length === 0) this.#free.delete(size);
      else this.#free.set(size, stay);
    }
    this.deviceBytes -= freed;
    this.freeBytes -= freed;
    if (freed > 0) this.generation++;
    return freed;
  }

  /** Destroys all buffers, those on loan too. Nothing is lent any more. */
  destroyAll(): void {
    this.closed = true;
    for (const buffer of this.#held.values()) this.#destroy(buffer.gpu);
    this.#held.clear();
    this.#free.clear();
    this.deviceBytes = this.freeBytes = 0;
    this.generation++;
  }
}

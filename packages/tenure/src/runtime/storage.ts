/**
 * Storage: reference-counted device bytes, perhaps not allocated yet. Virtual until the flush that
 * first needs it, resident while it has a buffer, freed when the last reference goes. References
 * come from tensor handles, autograd nodes, module slots and pending reads; the open program holds
 * none, which is how a flush knows what nobody owns any more. Made by the recorder; the buffer
 * belongs to the storage and goes back to the pool with it.
 */
import { internal } from "../base/errors.ts";
import { DeviceLostError, type TenureError } from "../base/errors.ts";
import { log } from "../ownership/log.ts";
import type { Role } from "../graph/program.ts";
import type { PooledBuffer } from "../device/buffer-pool.ts";

/** The error of a tensor whose device was shut down or lost. */
export function contentsLost(): DeviceLostError {
  return new DeviceLostError(
    "data",
    "expected a tensor with contents, got one whose device was shut down; " +
      "make it again after init()",
  );
}

/** What all storages of a runtime share: numbers, totals, and who hears of their end. */
export class StorageBooks {
  created = 0;
  freed = 0;
  liveBytes = 0;
  peakBytes = 0;
  /** Called with a storage whose last reference went: its buffer still needs care. */
  readonly unreferenced: (storage: Storage) => void;

  constructor(unreferenced: (storage: Storage) => void) {
    this.unreferenced = unreferenced;
  }

  /** Counts storages that came and went, and the bytes that were live at most meanwhile. */
  passed(count: number, mostBytes: number): void {
    this.created += count;
    this.freed += count;
    this.peakBytes = Math.max(this.peakBytes, this.liveBytes + mostBytes);
  }

  /** Bytes by which the live ones grow at most while `fn` runs. */
  growthWhile(fn: () => void): number {
    const { liveBytes, peakBytes } = this;
    this.peakBytes = liveBytes;
    try {
      fn();
      return this.peakBytes - liveBytes;
    } finally {
      this.peakBytes = Math.max(this.peakBytes, peakBytes);
    }
  }
}

/** Bytes on the device, or a promise of them. */
export class Storage {
  readonly id: number;
  /** Bytes of the elements, rounded up to 4. */
  readonly bytes: number;
  role: Role;
  /** References: handles, graph nodes, slots and pins. */
  refs = 0;
  /** The device bytes, once resident. */
  buffer: PooledBuffer | null = null;
  /** Counts in-place writes, so that autograd notices when a saved value was overwritten. */
  version = 0;
  /**
   * Version after the last in-place write that autograd recorded: an alias that is older stands for
   * a value nobody can differentiate any more.
   */
  tapedVersion = 0;
  /** A handle on it is in the log: so is its end. */
  logged = false;
  /** Holds a leaf that wants gradients: autograd cannot record in-place writes to it. */
  leaf = false;
  /** The open program that mentions this storage, by its serial number, and the index there. */
  programSerial = 0;
  programIndex = -1;
  /** Set when the flush that should have computed it failed: every later use reports this. */
  failure: TenureError | null = null;
  readonly #books: StorageBooks;

  constructor(books: StorageBooks, bytes: number, role: Role) {
    this.#books = books;
    this.id = ++books.created;
    this.bytes = bytes;
    this.role = role;
    books.liveBytes += bytes;
    if (books.liveBytes > books.peakBytes) books.peakBytes = books.liveBytes;
  }

  /**
   * Why the contents are gone, null when they are not: the flush that should have computed them
   * failed, or their device went away.
   */
  trouble(): TenureError | null {
    if (this.buffer?.pool.closed === true) {
      this.buffer = null;
      this.failure = contentsLost();
    }
    return this.failure;
  }

  /** Whether the device has its bytes: it may have refused the buffer meanwhile. */
  get isResident(): boolean {
    return this.buffer !== null && this.buffer.pool.has(this.buffer.id);
  }

  /** Its contents were never made, or are gone; so is a buffer that the device does not have. */
  lose(failure: TenureError): void {
    this.failure = failure;
    if (!this.isResident) this.buffer = null;
  }

  /** Whether it waits for its flush, has its bytes, or is gone. */
  get state(): "virtual" | "resident" | "freed" {
    if (this.refs === 0) return "freed";
    return this.buffer === null ? "virtual" : "resident";
  }

  /** Adds a reference. */
  retain(): this {
    this.refs++;
    return this;
  }

  /** Takes a reference again, perhaps after the last one went: what was dropped is taken back. */
  revive(): void {
    if (++this.refs > 1) return;
    this.#books.freed--;
    this.#books.liveBytes += this.bytes;
    if (this.logged) log("revive", 0, this.bytes, "", null, { storage: this.id });
  }

  /** Takes a reference back; with the last one the bytes are freed. */
  release(): void {
    if (this.refs <= 0) throw internal(`storage ${this.id} was released more often than retained`);
    if (--this.refs > 0) return;
    this.#books.freed++;
    this.#books.liveBytes -= this.bytes;
    if (this.logged) log("free", 0, this.bytes, "", null, { storage: this.id });
    this.#books.unreferenced(this);
  }

  /** Gives the buffer back to its pool; work already submitted may still use it. */
  freeBuffer(): void {
    if (this.buffer === null) return;
    this.buffer.pool.release(this.buffer);
    this.buffer = null;
  }
}

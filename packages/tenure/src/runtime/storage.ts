/**
 * Storage: reference-counted device bytes, perhaps not allocated yet. Virtual until the flush that
 * first needs it, resident while it has a buffer, freed when the last reference goes. References
 * come from tensor handles, autograd nodes, module slots and pending reads; the open program holds
 * none, which is how a flush knows what nobody owns any more. Made by the recorder's door; the
 * buffer belongs to the storage and goes back to the pool with it.
 */
import { internal } from "../base/errors.ts";
import { DeviceLostError, type TenureError } from "../base/errors.ts";
import type { Role } from "../graph/program.ts";
import type { PooledBuffer } from "../device/pool.ts";

let nextId = 1;

/** Live totals, for `memory.stats()`. */
export const storageTotals = { created: 0, freed: 0, liveBytes: 0, peakBytes: 0 };

/**
 * Called with a storage whose last reference went while a buffer or an open program still needs
 * care. Set by the recorder.
 */
let onUnreferenced: (storage: Storage) => void = () => {
  throw internal("no recorder");
};
export function setUnreferenced(fn: (storage: Storage) => void): void {
  onUnreferenced = fn;
}

/** The error of a tensor whose device was shut down or lost. */
export function contentsLost(): DeviceLostError {
  return new DeviceLostError(
    "data",
    "expected a tensor with contents, got one whose device was shut down; make it again after init()",
  );
}

export class Storage {
  readonly id: number = nextId++;
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
  /** Holds a leaf that wants gradients: autograd cannot record in-place writes to it. */
  leaf = false;
  /** The open program that mentions this storage, by its serial number, and the index there. */
  programSerial = 0;
  programIndex = -1;
  /** Set when the flush that should have computed it failed: every later use reports this. */
  failure: TenureError | null = null;

  constructor(bytes: number, role: Role) {
    this.bytes = bytes;
    this.role = role;
    storageTotals.created++;
    storageTotals.liveBytes += bytes;
    if (storageTotals.liveBytes > storageTotals.peakBytes)
      storageTotals.peakBytes = storageTotals.liveBytes;
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

  get state(): "virtual" | "resident" | "freed" {
    return this.refs === 0 ? "freed" : this.buffer === null ? "virtual" : "resident";
  }

  retain(): this {
    this.refs++;
    return this;
  }

  release(): void {
    if (this.refs <= 0) throw internal(`storage ${this.id} was released more often than retained`);
    if (--this.refs > 0) return;
    storageTotals.freed++;
    storageTotals.liveBytes -= this.bytes;
    onUnreferenced(this);
  }
}

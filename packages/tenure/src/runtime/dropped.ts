/**
 * What a program has dropped and would need again if it were discarded: gradients that a step sets
 * to null or replaces. Nobody owns these storages any more and no statistics count them, but their
 * buffers stay with them until the program's plan is looked up. From then on the pool may lend them
 * to whoever needs memory, the program itself first, so that a step that succeeds takes no byte
 * more, or destroy them where a budget leaves no room; as long as they are there and nobody has
 * written to them they can be taken back. Filled by the tensor
 * layer through the recorder, told by executions what happens. Owns nothing.
 */
import type { PooledBuffer } from "../device/buffer-pool.ts";
import type { Storage } from "./storage.ts";

/** A buffer that a dropped storage had when the program's plan was looked up. */
interface FormerBuffer {
  readonly storage: Storage;
  readonly buffer: PooledBuffer;
  /** How often it had been lent when the run began: once more, and its contents are another's. */
  loans: number | null;
}

/** Storages that a program has dropped. */
export class Dropped {
  readonly #storages = new Set<Storage>();
  #former: FormerBuffer[] = [];

  /** Whether the program has dropped the storage. */
  has(storage: Storage): boolean {
    return this.#storages.has(storage);
  }

  /** Adds a storage whose reference is about to go. */
  add(storage: Storage): void {
    this.#storages.add(storage);
  }

  /** Somebody owns it again, or nobody ever will. */
  delete(storage: Storage): void {
    this.#storages.delete(storage);
  }

  /**
   * Gives the pool the buffers of storages nobody owns, before the program's plan is looked up.
   * @param isNeeded whether the program uses the storage, or another one does
   */
  lend(isNeeded: (storage: Storage) => boolean): void {
    for (const storage of this.#storages) {
      const { buffer } = storage;
      if (storage.refs > 0 || buffer === null) continue;
      this.#former.push({ storage, buffer, loans: null });
      if (!isNeeded(storage)) storage.freeBuffer();
    }
  }

  /** The run begins, and writes to some buffers even if the device refuses its submit. */
  begin(written: ReadonlySet<PooledBuffer>): void {
    if (written.size > 0) this.#former = this.#former.filter(({ buffer }) => !written.has(buffer));
    for (const former of this.#former) former.loans = former.buffer.loans;
  }

  /**
   * The program was discarded, and what it dropped has owners again: takes back their buffers.
   * @returns storages whose owners get them without contents
   */
  restore(): Storage[] {
    for (const { storage, buffer, loans } of this.#former) {
      if (storage.refs === 0 || storage.buffer !== null) continue;
      const isIntact = loans === null || loans === buffer.loans;
      if (isIntact && buffer.pool.reclaim(buffer)) storage.buffer = buffer;
    }
    return [...this.#storages].filter(({ refs, buffer }) => refs > 0 && buffer === null);
  }

  /** All of them. */
  all(): Iterable<Storage> {
    return this.#storages;
  }

  /** Forgets all. */
  clear(): void {
    if (this.#storages.size > 0) this.#storages.clear();
    if (this.#former.length > 0) this.#former = [];
  }
}

/**
 * The list of what a scope owns, with its counts and bytes. Doubly linked through the handles, so
 * that leaving takes the same time wherever a handle stands. Used by scope.ts alone. Owns the
 * handles in it, for its scope.
 */
import { internal } from "../base/errors.ts";
import { suppressed } from "../base/polyfills.ts";
import type { Farewell, Handle, Owner } from "./handle.ts";
import { SiteTally, Tally } from "./report.ts";
import { sites } from "./site.ts";

/** What a scope owns now, oldest to newest, and what came and went. */
export class Entries {
  oldest: Handle | null = null;
  newest: Handle | null = null;
  count = 0;
  bytes = 0;
  peakBytes = 0;
  readonly tally: Tally = new Tally();
  /** What was made here, by line; only at the highest tracking level. */
  made: SiteTally | null = null;

  /** Appends a handle that is in no scope. `made`: it is new. */
  link(handle: Handle, owner: Owner, made: boolean): void {
    // oldest … newest <-> handle
    handle.scope = owner;
    handle.prev = this.newest;
    handle.next = null;
    if (this.newest === null) this.oldest = handle;
    else this.newest.next = handle;
    this.newest = handle;
    this.count++;
    const { bytes } = handle;
    this.bytes += bytes;
    if (this.bytes > this.peakBytes) this.peakBytes = this.bytes;
    if (!made) {
      this.tally.attached++;
      return;
    }
    this.tally.created++;
    if (handle.created !== null && sites().all)
      (this.made ??= new SiteTally()).add(handle.created, bytes);
  }

  /** Takes a handle of `owner` out of the list, and counts how it went. */
  unlink(handle: Handle, owner: Owner, how: Farewell): void {
    if (handle.scope !== owner) throw internal("a handle was unlinked from a scope it is not in");
    // prev <-> handle <-> next   becomes   prev <-> next
    if (handle.prev === null) this.oldest = handle.next;
    else handle.prev.next = handle.next;
    if (handle.next === null) this.newest = handle.prev;
    else handle.next.prev = handle.prev;
    handle.prev = handle.next = null;
    handle.scope = null;
    this.count--;
    this.bytes -= handle.bytes;
    this.tally[how]++;
  }

  /** The handles owned now, oldest first. */
  *[Symbol.iterator](): Generator<Handle> {
    for (let h = this.oldest; h !== null; h = h.next) yield h;
  }

  /** Ends everything but `keep`, newest first. All disposers run; their errors are chained. */
  sweep(owner: Owner, keep: ReadonlySet<Handle> | null): void {
    let failure: { error: unknown } | null = null,
      again = true;
    while (again) {
      again = false; // a disposer may add to a scope that stays open
      for (let handle = this.newest; handle !== null;) {
        if (keep?.has(handle) === true) {
          handle = handle.prev;
          continue;
        }
        const older: Handle | null = handle.prev;
        handle.disposedBy = owner;
        // A disposer that throws has still been unlinked and counted, so the loop always advances.
        try {
          handle.end("disposed");
        } catch (error) {
          failure = { error: failure === null ? error : suppressed(error, failure.error) };
        }
        again = true;
        // it may have disposed or moved its neighbour
        handle = older === null || older.scope === owner ? older : this.newest;
      }
    }
    if (failure !== null) throw failure.error;
  }
}

/**
 * Switches and limits of a runtime: for tests, for measuring, and for looking at one op at a time.
 * Read by the whole runtime, written by `init()` and by tests. Owns nothing.
 */

/** What may be set on a runtime; the values here are what users get. */
export class Settings {
  /** Runs every op at once: same engine, no batching. */
  flushEachOp = false;
  /** Fuses ops; without it every op is a kernel of its own. */
  fuse = true;
  /** Re-derives and checks every plan after it was made. */
  verifyPlans = false;
  /**
   * Fills buffers that come from the pool with NaN, so that nothing can rely on what a former owner
   * left there. Asks for the part of the engine that runs plans piece by piece.
   */
  poison = false;
  /** Ops of an open program; with one more it is flushed. */
  maxOps = 4096;
  /** Bytes an open program may allocate; with more it is flushed. */
  maxPendingBytes: number = 2 ** 31;
  /**
   * Bytes of plans kept in one cache; the least recently used goes first. A cycle of some thousand
   * small programs, as of sequences of every length, fits.
   */
  planCacheBytes: number = 2 ** 28;
  /**
   * Milliseconds that planning a program may take; one that takes longer runs unfused and in order.
   */
  planningMs = 2000;
  /** What they are measured with. */
  planningClock: () => number = () => performance.now();
  /** Milliseconds without work that make a moment idle. */
  idleAfterMs = 50;
  /** The check that `tenure/testing` runs after each test file, once it is installed. */
  fileCheck: (() => Promise<string[]>) | null = null;
}

/**
 * What the device layer and the runtime did, as plain counters: the evidence that a plan hit
 * creates nothing. Written by device/ and runtime/, read through `memory.debug()` and by tests. One
 * per runtime.
 */

/** Counts since the runtime was made, as users see them; they only rise. */
export class Counters {
  /** GPU buffers created, staging included. */
  buffers = 0;
  pipelines = 0;
  bindGroups = 0;
  shaderModules = 0;
  dispatches = 0;
  passes = 0;
  submits = 0;
  flushes = 0;
  planHits = 0;
  planMisses = 0;
  /** Plans, and the pipelines that no plan used any more, that made way for others. */
  plansDropped = 0;
  pipelinesDropped = 0;
  /** Ops recorded, and those among them that no one needed and that never ran. */
  recorded = 0;
  eliminated = 0;
  /** Calls of compiled functions that were repeated from their recording, and that were not. */
  replays = 0;
  fallbacks = 0;
  uploadBytes = 0;
  readBytes = 0;
}

/** The counts that the runtime keeps. */
export class CounterSet extends Counters {
  /** The counts as they are now. */
  now(): Readonly<Counters> {
    return Object.assign({}, this);
  }
}

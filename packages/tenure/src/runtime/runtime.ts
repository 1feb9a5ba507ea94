/**
 * The runtime: the device, what is recorded for it, and everything that runs it. One per instance
 * of the library, made by compose.ts and read through `runtime()`. Owns the device and the plans.
 */
import { current } from "../base/realm.ts";

/** Device, recorder, reads, plans and flags. */
export class Runtime {
  /** Resolves once reads under way and submitted work are done. */
  settled(): Promise<void> {
    return Promise.resolve();
  }
}

/** The runtime of the current instance. */
export function runtime(): Runtime {
  return current<{ readonly runtime: Runtime }>().runtime;
}

/**
 * What a run took: waits, host memory, and seconds by phase and op where they were asked for.
 * Written while a plan's segments run, read by whoever chose the plan. Owns nothing.
 */
import type { HeldBytes, PeakWatch } from "../../device/held-bytes.ts";

/**
 * How closely a run is timed: not at all, by phase, by op. Timing makes the device wait for the
 * host.
 */
export type Profile = "off" | "phases" | "ops";

/** How often something ran, and how long that took. */
export interface Timing {
  seconds: number;
  count: number;
}

/** What a run took. */
export class RunFigures {
  /** When the run began, in ms. */
  readonly startedAt: number = performance.now();
  #watch: PeakWatch | null = null;
  /** Waits for the host that really waited, and for how long, in seconds. */
  stalls = 0;
  stallSeconds = 0;
  /** Most bytes of host copies at one time. */
  hostBytes = 0;
  #phases: Map<string, Timing> | null = null;
  #ops: Map<string, Timing> | null = null;

  /** Seconds by phase, with how often it ran; empty unless profiled. */
  get phases(): Map<string, Timing> {
    return (this.#phases ??= new Map<string, Timing>());
  }

  /** Seconds by op, with how often it ran; empty unless profiled. */
  get ops(): Map<string, Timing> {
    return (this.#ops ??= new Map<string, Timing>());
  }

  /** Seconds by op as an object, for the log. */
  opSeconds(): Record<string, number> {
    const seconds: Record<string, number> = {};
    if (this.#ops !== null) for (const [op, timing] of this.#ops) seconds[op] = timing.seconds;
    return seconds;
  }

  /** Most bytes that the device held for tensors, from the first buffer of the run to its end. */
  get peakBytes(): number {
    return this.#watch?.peakBytes ?? 0;
  }

  /** Begins to watch what the device holds. What was watched before was of a plan that gave way. */
  watch(held: HeldBytes): void {
    this.end();
    this.#watch = held.watch();
  }

  /** The run is over. */
  end(): void {
    this.#watch?.end();
  }

  /** Waits, and counts the wait. */
  async stall(until: Promise<unknown>): Promise<void> {
    const before = performance.now();
    await until;
    this.stalls++;
    this.stallSeconds += (performance.now() - before) / 1000;
  }
}

/** Adds one run to a row. */
export function addTiming(rows: Map<string, Timing>, key: string, seconds: number): void {
  const row = rows.get(key);
  if (row === undefined) rows.set(key, { seconds, count: 1 });
  else {
    row.seconds += seconds;
    row.count++;
  }
}

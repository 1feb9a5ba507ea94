/**
 * `memory`: counters, live tensors, leak checks, tracking, trimming, under one name. Puts the ownership layer's evidence beside the device's bytes.
 */
import { type Counters, counters } from "../device/counters.ts";
import { type Delta, type LiveRow, type Mark, type MemoryStatistics, assertNoLeaks, liveRows, mark, since, stats, track } from "../ownership/evidence.ts";
import { type ReclaimedRow, reclaimedRows } from "../ownership/handle.ts";
import { byteSource } from "../ownership/statistics.ts";
import { runtime, trim } from "./execute.ts";
import { storageTotals } from "./storage.ts";

byteSource.read = () => {
  const device = runtime.device;
  return {
    liveBytes: storageTotals.liveBytes, peakBytes: storageTotals.peakBytes, storages: storageTotals.created - storageTotals.freed,
    poolBytes: device?.pool.freeBytes ?? 0,
    deviceBytes: device === null ? 0 : device.pool.deviceBytes + device.uploads.bytes + device.reads.bytes,
    devicePeakBytes: device?.pool.peakBytes ?? 0,
  };
};

export const memory: {
  /** TorchSharp's counters, ours, and bytes. */
  stats(): MemoryStatistics;
  /** What is alive, in groups. */
  live(options?: { readonly groupBy?: "site" | "scope" | "shape" }): LiveRow[];
  /** What the garbage collector had to reclaim, by line. */
  reclaimed(): ReclaimedRow[];
  /** A moment to compare with by `since`. */
  mark(): Mark;
  since(m: Mark): Delta;
  /** Throws when `fn` leaves tensors behind. */
  assertNoLeaks: typeof assertNoLeaks;
  /** How much evidence is kept: "off", "scope", "sampled" or "full". */
  track: typeof track;
  /** What device and runtime did so far: buffers, pipelines, bind groups, plan hits. */
  debug(): Counters;
  /** Gives free buffers back to the device; resolves to the number of bytes. */
  trim(): Promise<number>;
} = { stats, live: liveRows, reclaimed: reclaimedRows, mark, since, assertNoLeaks, track, debug: () => ({ ...counters }), trim };

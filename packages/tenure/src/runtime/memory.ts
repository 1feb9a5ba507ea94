/**
 * `memory`: counters, live tensors, leak checks, tracking, budgets, under one name. Puts the
 * ownership layer's evidence beside the device's bytes.
 */
import { warn } from "../base/env.ts";
import { ArgumentError, OutOfMemoryError, outOfMemoryReport } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type Counters, counters } from "../device/counters.ts";
import { type BufferPool, allowance } from "../device/pool.ts";
import {
  type Delta,
  type LiveRow,
  type Mark,
  type MemoryStatistics,
  type Reason,
  assertNoLeaks,
  liveRows,
  mark,
  reasons,
  since,
  stats,
  track,
  verify,
} from "../ownership/evidence.ts";
import { type ReclaimedRow, handleOf, reclaimedRows } from "../ownership/handle.ts";
import { log } from "../ownership/log.ts";
import { byteSource } from "../ownership/statistics.ts";
import { type ChromeTrace, chromeTrace, timelineHTML } from "../ownership/timeline.ts";
import { type Drift, watch } from "../ownership/watch.ts";
import { runtime, trim } from "./execute.ts";
import { storageTotals } from "./storage.ts";

byteSource.read = () => {
  const device = runtime.device;
  return {
    liveBytes: storageTotals.liveBytes,
    peakBytes: storageTotals.peakBytes,
    storages: storageTotals.created - storageTotals.freed,
    poolBytes: device?.pool.freeBytes ?? 0,
    deviceBytes:
      device === null ? 0 : device.pool.deviceBytes + device.uploads.bytes + device.reads.bytes,
    devicePeakBytes: device?.pool.peakBytes ?? 0,
  };
};

// === Out of memory ===

/** What holds memory now: the totals, and the largest groups of live tensors. */
function memoryReport(): string {
  const { liveBytes, storages, poolBytes, deviceBytes, devicePeakBytes } = byteSource.read();
  const rows = liveRows()
    .slice(0, 10)
    .map((r) => `  ${r.count} × ${r.example}, ${r.bytes} bytes, made at ${r.key}`);
  return [
    `${storages} storages own ${liveBytes} bytes; the device holds ${deviceBytes} bytes, ${poolBytes} of them free for reuse (peak in use ${devicePeakBytes})`,
    ...rows,
  ].join("\n");
}

outOfMemoryReport.make = () => {
  log("outOfMemory", 0, 0, "out of memory", null);
  return memoryReport();
};

// === Budget ===

/** What happens when the buffers of tensors would exceed the budget. */
export type BudgetAction = "report" | "throw" | "trim";

const actions: readonly unknown[] = ["report", "throw", "trim"];
let exceeded = false;

/**
 * Limits the bytes of tensor buffers on the device. A buffer that would exceed it first costs the
 * pool its free buffers ("trim", "throw"). What is still too much is reported once ("report",
 * "trim"), or refused with OutOfMemoryError ("throw"): the flush fails, and reads of what it should
 * have made reject with it.
 */
function setBudget(bytes: number, on: BudgetAction): void {
  if (!(bytes > 0))
    throw new ArgumentError(
      "setBudget",
      "a number of bytes above 0",
      String(bytes),
      "pass Infinity for no budget",
    );
  if (!actions.includes(on))
    throw new ArgumentError("setBudget", '"report", "throw" or "trim"', JSON.stringify(on));
  exceeded = false;
  allowance.ask =
    bytes === Infinity
      ? null
      : (pool, more) => {
          ask(pool, more, bytes, on);
        };
}

function ask(pool: BufferPool, more: number, budget: number, on: BudgetAction): void {
  const fits = (): boolean => pool.deviceBytes + more <= budget;
  if (fits()) {
    exceeded = false;
    return;
  }
  if (on !== "report") {
    // the free buffers are in no unsubmitted work: slots are filled before anything is encoded
    pool.trim();
    if (fits()) return;
  }
  const text = `expected tensors to fit into the budget of ${budget} bytes, got ${pool.deviceBytes} in use and ${more} more`;
  if (on === "throw")
    throw new OutOfMemoryError(
      "setBudget",
      `${text}; free tensors, use smaller batches, or raise the budget`,
    );
  if (!exceeded) warn(`${text}\n${memoryReport()}`);
  exceeded = true;
}

export const memory: {
  /** TorchSharp's counters, ours, and bytes. */
  stats(): MemoryStatistics;
  /** What is alive, in groups. */
  live(options?: { readonly groupBy?: "site" | "scope" | "shape" }): LiveRow[];
  /**
   * Why a tensor's bytes are alive: its owner, aliases, autograd, modules, pending reads. Empty
   * when they are not.
   */
  why(tensor: object): Reason[];
  /** What the garbage collector had to reclaim, by line and reason. */
  reclaimed(): ReclaimedRow[];
  /** A moment to compare with by `since`. */
  mark(): Mark;
  since(m: Mark): Delta;
  /** Throws when `fn` leaves tensors behind. */
  assertNoLeaks: typeof assertNoLeaks;
  /**
   * Calls back with every loop that leaves more tensors alive in each generation. Dispose the
   * result to stop.
   */
  watch(callback: (drift: Drift) => void): Disposable;
  /** How much evidence is kept: "off", "scope", "sampled" or "full". */
  track: typeof track;
  /**
   * Checks created = live + disposed + reclaimed, and every list against every counter. Throws when
   * the books are wrong, which is a bug in Tenure.
   */
  verify(): void;
  /** Everything logged so far as one HTML page that needs nothing else. */
  timelineHTML(): string;
  /** Everything logged so far in the Trace Event Format, for chrome://tracing or Perfetto. */
  chromeTrace(): ChromeTrace;
  /** Limits the bytes of tensor buffers on the device; `Infinity` lifts the limit. */
  setBudget(bytes: number, on: BudgetAction): void;
  /** What device and runtime did so far: buffers, pipelines, bind groups, plan hits. */
  debug(): Counters;
  /** Gives free buffers back to the device; resolves to the number of bytes. */
  trim(): Promise<number>;
} = {
  stats,
  live: liveRows,
  reclaimed: reclaimedRows,
  mark,
  since,
  assertNoLeaks,
  watch,
  track,
  verify,
  timelineHTML,
  chromeTrace,
  setBudget,
  trim,
  debug: () => ({ ...counters }),
  why(tensor) {
    const handle = handleOf(tensor);
    if (handle === undefined)
      throw new ArgumentError(
        "why",
        "a tensor, or something a scope owns",
        describeValue(tensor),
        "pass the tensor itself",
      );
    return reasons(handle);
  },
};

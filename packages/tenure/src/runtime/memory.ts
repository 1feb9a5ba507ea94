/**
 * `memory`: counters, live tensors, leak checks, tracking, budgets, under one name. Puts the
 * ownership layer's evidence beside the device's bytes.
 */
import "../compose.ts";
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import type { Counters } from "../device/counters.ts";
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
import { handleOf } from "../ownership/handle.ts";
import { type ReclaimedRow, reclaimedRows } from "../ownership/reclaimed.ts";
import { type ChromeTrace, chromeTrace } from "../ownership/chrome-trace.ts";
import { timelineHTML } from "../ownership/timeline-html.ts";
import type { TrackLevel } from "../ownership/site.ts";
import { type Drift, watch } from "../ownership/watch.ts";
import { type BudgetAction, MemoryBudget } from "./memory-budget.ts";
import { traceExtras } from "./plan-boxes.ts";
import { runtime } from "./runtime.ts";

/** What is alive, what it takes, who owns it, and how to limit it. */
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
  /** What was made and disposed since a moment, and what is left of it. */
  since(m: Mark): Delta;
  /** Throws when `fn` leaves tensors behind. */
  assertNoLeaks: typeof assertNoLeaks;
  /**
   * Calls back with every loop that leaves more tensors alive in each generation. Dispose the
   * result to stop.
   */
  watch(callback: (drift: Drift) => void): Disposable;
  /** How much evidence is kept: "off", "scope", "sampled" or "full". */
  track(level: TrackLevel): void;
  /**
   * Checks created = live + disposed + reclaimed, and every list against every counter. Throws when
   * the books are wrong, which is a bug in Tenure.
   */
  verify(): void;
  /** Everything logged so far as the inspector's page, which needs nothing else. */
  timelineHTML(): string;
  /** Everything logged so far in the Trace Event Format, for chrome://tracing or Perfetto. */
  chromeTrace(): ChromeTrace;
  /**
   * Limits the bytes of tensor buffers on the device; `Infinity` lifts the limit. A buffer that
   * would exceed it first costs the pool its free buffers ("trim", "throw"). What is still too much
   * is reported once ("report", "trim"), or refused with OutOfMemoryError ("throw"): the flush
   * fails, and reads of what it should have made reject with it.
   */
  setBudget(bytes: number, on: BudgetAction): void;
  /** What device and runtime did so far: buffers, pipelines, bind groups, plan hits. */
  debug(): Readonly<Counters>;
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
  timelineHTML: () => timelineHTML(traceExtras(runtime())),
  chromeTrace: () => chromeTrace(traceExtras(runtime())),
  setBudget(bytes, on) {
    const own = runtime();
    own.budget ??= new MemoryBudget(() => own.memoryReport());
    own.budget.set(bytes, on);
  },
  trim: () => runtime().trim(),
  debug: () => runtime().counters.now(),
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

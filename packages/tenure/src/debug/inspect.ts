/**
 * Looking inside: the last plan with its kernels and what was not fused, and the last time no plan
 * was known. What `TENURE_DEBUG` prints, as objects. Called by users; owns nothing.
 */
import "../compose.ts";
import type { FallbackRecord, KernelRecord, MissRecord, PlanRecord } from "../runtime/inspector.ts";
import { missRecord } from "../runtime/plan-miss.ts";
import { planRecord } from "../runtime/plan-record.ts";
import { runtime } from "../runtime/runtime.ts";

/** What the library did last. Nothing here runs or flushes anything. */
export const debug = {
  /**
   * The program that was planned and compiled last, or undefined before the first: recorded ops,
   * kernels, values that stayed unfused with the reason, and the planner's report. `String(plan)`
   * is what `TENURE_DEBUG=plan` prints. A program that hits the plan cache is not planned again.
   */
  lastPlan(): PlanRecord | undefined {
    const planned = runtime().inspector.lastPlanned;
    return planned === undefined ? undefined : planRecord(planned);
  },

  /** The kernels of the last plan with their WGSL, by name; all of them unless a name is given. */
  kernels(name?: string): readonly KernelRecord[] {
    const kernels = runtime().inspector.lastPlanned?.kernels ?? [];
    return name === undefined ? kernels : kernels.filter((k) => k.name === name);
  },

  /**
   * The last call of a function made by `compile` that ran the function instead of its recording,
   * and why, or undefined before the first.
   */
  lastFallback(): FallbackRecord | undefined {
    return runtime().inspector.lastFallback;
  },

  /** The last miss of the plan cache and the first thing no known plan had, or undefined. */
  lastMiss(): MissRecord | undefined {
    const missed = runtime().inspector.lastMissed;
    return missed === undefined ? undefined : missRecord(missed);
  },
};

/**
 * Who owns the GPU's bytes between two steps, from what the library counts. Runs in the worker.
 * Owns nothing.
 */
import { memory } from "tenure";
import type { Owners } from "./messages.ts";

/**
 * Asked when no scope is open. What has an owner by name is counted by it; bytes that are owned but
 * have no handle belong to gradients; buffers that nobody owns wait in the pool for the next step.
 */
export function bytesByOwner(): Owners {
  const sum = { model: 0, optimizer: 0, batch: 0, forgotten: 0 };
  for (const { key, bytes } of memory.live({ groupBy: "scope" })) {
    if (key.startsWith("kept by DataLoader")) sum.batch += bytes;
    else if (key.startsWith("kept by Adam")) sum.optimizer += bytes;
    else if (key.startsWith("kept by")) sum.model += bytes;
    else sum.forgotten += bytes;
  }
  const { liveBytes, poolBytes } = memory.stats(),
    known = sum.model + sum.optimizer + sum.batch + sum.forgotten;
  return { ...sum, gradients: Math.max(0, liveBytes - known), free: poolBytes };
}

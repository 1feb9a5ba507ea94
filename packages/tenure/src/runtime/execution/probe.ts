/**
 * Whether the device has room for all that a plan will hold at one time, where buffers come and go
 * on the way: nothing may be refused halfway. Asked by an execution once per plan, when the slots
 * that are there from the start are filled. Owns its buffers until it has the answer.
 */
import { OutOfMemoryError } from "../../base/errors.ts";
import { type PooledBuffer, classWithin, sizeClass } from "../../device/buffer-pool.ts";
import type { Device } from "../../device/device.ts";
import type { RunnablePlan } from "../../planner/runnable-plan.ts";

/** Borrows what the plan will need on top, and no byte more. @returns what was refused, or null */
export async function probeRoom(
  device: Device,
  { slots, plannedBytes }: RunnablePlan,
): Promise<OutOfMemoryError | null> {
  const { pool } = device;
  const late = slots.filter((slot) => slot.late === true);
  if (late.length === 0) return null;
  const probes: PooledBuffer[] = [];
  const most = Math.max(...late.map(({ bytes }) => bytes));
  const least = sizeClass(0);
  let left = slots.reduce((rest, s) => (s.late === true ? rest : rest - s.bytes), plannedBytes);
  let refused: OutOfMemoryError | null = null;
  try {
    while (left >= least) {
      const probe = pool.acquire(classWithin(Math.min(left, most)));
      probes.push(probe);
      left -= probe.bytes;
    }
  } catch (error) {
    if (!(error instanceof OutOfMemoryError)) throw error;
    refused = error;
  }
  refused ??= await device.allocated();
  for (const probe of probes) pool.release(probe);
  pool.trim();
  return refused;
}

/**
 * Measures how fast bytes go to the host and back, for the planner's choice between recomputing and
 * swapping. Called once per scheduler that may swap, after a step: it borrows from the pool what
 * that step needed and no longer does, so the device never holds more for it.
 */
import { type PooledBuffer, classWithin } from "../device/buffer-pool.ts";
import type { Device } from "../device/device.ts";
import type { Rates } from "../planner/cost.ts";

/** As many bytes say enough. */
const most = 2 ** 20;
/** Fewer say nothing of the rate. */
const least = 2 ** 10;
/** Copies in each direction; the first only warms up. */
const tries = 3;

/**
 * Bytes per second to the host and back, by copies; null when there is no room to measure in.
 * @param limitBytes what all buffers of tensors may take meanwhile, this one included
 */
export async function measureCopies(
  device: Device,
  limitBytes: number,
): Promise<Pick<Rates, "outBytesPerSecond" | "inBytesPerSecond"> | null> {
  const { pool } = device;
  const bytes = classWithin(Math.min(most, limitBytes - pool.usedBytes));
  if (bytes < least) return null;
  const before = pool.softLimit;
  let buffer: PooledBuffer | null = null;
  try {
    pool.softLimit = limitBytes;
    buffer = pool.acquire(bytes);
    const refused = await device.allocated();
    if (refused === null) return await measureWith(device, buffer.gpu, bytes);
    device.forget(refused);
    return null;
  } catch {
    device.queue.abandon(); // what is wrong with the device will be told by the next step
    return null;
  } finally {
    pool.softLimit = before;
    if (buffer !== null) pool.release(buffer);
  }
}

async function measureWith(
  device: Device,
  buffer: GPUBuffer,
  bytes: number,
): Promise<Pick<Rates, "outBytesPerSecond" | "inBytesPerSecond">> {
  const data = new Uint8Array(bytes);
  const out = await bestSeconds(device, async () => {
    const staging = device.reads.filled(bytes, (target) => {
      device.queue.copy(buffer, 0, target, 0, bytes);
      device.queue.submit();
    });
    await device.reads.read(staging, bytes, (mapped) => {
      data.set(new Uint8Array(mapped, 0, bytes));
    });
  });
  const back = await bestSeconds(device, () => {
    const done = device.uploads.write(buffer, 0, data, (source, size) => {
      device.queue.copy(source, 0, buffer, 0, size);
    });
    try {
      device.queue.submit();
    } finally {
      done?.(); // staging goes back, submitted or not
    }
  });
  return { outBytesPerSecond: bytes / out, inBytesPerSecond: bytes / back };
}

async function bestSeconds(device: Device, fn: () => void | Promise<void>): Promise<number> {
  let best = Infinity;
  for (let k = 0; k < tries; k++) {
    await device.idle();
    const start = performance.now();
    await fn();
    await device.idle();
    best = Math.min(best, (performance.now() - start) / 1000);
  }
  return Math.max(best, 1e-6);
}

/**
 * Measures how fast bytes go to the host and back, for the planner's choice between recomputing and
 * swapping. Called once per scheduler that may swap. The buffer is no tensor's, like staging:
 * budgets don't count it; it is destroyed at the end.
 */
import type { Device } from "../device/device.ts";
import type { Rates } from "../planner/cost.ts";

const bytes = 2 ** 20;
/** Copies in each direction; the first only warms up. */
const tries = 3;

/** Bytes per second to the host and back, by copies; null when there is no room to measure in. */
export async function measureCopies(
  device: Device,
): Promise<Pick<Rates, "outBytesPerSecond" | "inBytesPerSecond"> | null> {
  const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  device.gpu.pushErrorScope("validation");
  device.gpu.pushErrorScope("out-of-memory");
  let buffer: GPUBuffer | null = null;
  try {
    buffer = device.gpu.createBuffer({ label: "tenure rates", size: bytes, usage });
  } catch {
    // No room is an answer, too.
  }
  const refused = await Promise.all([device.gpu.popErrorScope(), device.gpu.popErrorScope()]);
  try {
    if (buffer === null || refused.some((error) => error !== null)) return null;
    return await measureWith(device, buffer);
  } catch {
    device.queue.abandon(); // what is wrong with the device will be told by the next step
    return null;
  } finally {
    buffer?.destroy();
  }
}

async function measureWith(
  device: Device,
  buffer: GPUBuffer,
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

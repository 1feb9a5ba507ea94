/**
 * What becomes of an error that WebGPU threw at somebody who measures: an error of ours. Called by
 * the clock of `tune` and by `profile`. Owns nothing.
 */
import { DeviceError, TenureError } from "../base/errors.ts";
import type { Device } from "./device.ts";

/** The error to throw in place of one that was caught while a device worked for `op`. */
export async function refusalOf(device: Device, op: string, error: unknown): Promise<TenureError> {
  // what waits for a device may hear of its end before the device does
  await device.judged();
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (device.lost !== null) return device.lost;
  if (error instanceof TenureError) return error;
  return new DeviceError(
    op,
    `expected a device that runs what it is given, got "${String(error)}"; ${op} again`,
    { cause: error },
  );
}

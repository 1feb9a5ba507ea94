/**
 * `init`, `shutdown`, `sync`, `deviceInfo` and `setWarnSink` as users call them. The runtime owns
 * the device.
 */
import "../compose.ts";
import { type WarnSink, warnings } from "../base/env.ts";
import type { DeviceInfo } from "../device/acquire.ts";
import { type InitOptions, runtime } from "./runtime.ts";

export type { InitOptions } from "./runtime.ts";

/**
 * Finds a device. Optional: the first read does it with the defaults. Calling it again returns the
 * same device.
 * @throws DeviceLostError when there is none, saying what was tried and what to install;
 *   ArgumentError for unknown options or a second, different device.
 */
export function init(options: InitOptions = {}): Promise<DeviceInfo> {
  const own = runtime();
  own.parts.want("main"); // what is recorded after this runs without waiting for it
  return own.init(options);
}

/**
 * Gives the device back. Tensors that still live lose their contents and say so when used. Never
 * needed before a process ends.
 */
export function shutdown(): Promise<void> {
  return runtime().shutdown();
}

/**
 * Runs everything recorded so far and waits until the device has finished it. @throws the first
 * device error since the last read or sync.
 */
export function sync(): Promise<void> {
  return runtime().sync();
}

/** Facts about the device; undefined before `init`. */
export function deviceInfo(): DeviceInfo | undefined {
  return runtime().device?.info;
}

/**
 * Replaces where warnings go; returns the previous sink. Used by tests and by hosts with their own
 * log.
 */
export function setWarnSink(next: WarnSink): WarnSink {
  const now = warnings();
  const previous = now.sink;
  now.sink = next;
  return previous;
}

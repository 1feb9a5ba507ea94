/**
 * `profile`: where the device's time goes, kernel by kernel, and how far each is from what the
 * device was seen to do at best. Called by users. Owns the timer while it runs; tensors that the
 * function makes belong to whom they belong without it.
 */
import "../compose.ts";
import { TenureError } from "../base/errors.ts";
import { checkFunction } from "../base/options.ts";
import { HostTimer, type TimedKernel, TimestampTimer } from "../device/kernel-watch.ts";
import type { Device } from "../device/device.ts";
import { refusalOf } from "../device/refusals.ts";
import { type ChromeTrace, chromeTrace } from "../ownership/chrome-trace.ts";
import { log } from "../ownership/log.ts";
import { traceExtras } from "../runtime/plan-boxes.ts";
import { runtime } from "../runtime/runtime.ts";
import { type DeviceRates, measureRates } from "./device-rates.ts";
import { type KernelRow, rowsOf, tableOf } from "./kernel-rows.ts";

/** What the kernels of a function took. */
export class KernelProfile<T = unknown> {
  /** What the function gave. */
  readonly value: T;
  /** Name of the device. */
  readonly device: string;
  /**
   * How kernels were timed: by timestamp queries, or, where the device has none, by the host, which
   * waited for each; then times hold what a submit and a wait take.
   */
  readonly clock: "timestamps" | "host";
  /** What this device did at best, measured now. */
  readonly rates: DeviceRates;
  /** Every kernel in the order of its run. */
  readonly kernels: readonly TimedKernel[];
  /** Kernels by name and phase, those that take longest first. */
  readonly rows: readonly KernelRow[];
  /** Seconds of all kernels together. */
  readonly seconds: number;
  /** Seconds from the call to the end of the device's work, with everything the host did. */
  readonly wallSeconds: number;
  readonly #trace: ChromeTrace;

  /** @internal */
  constructor(
    parts: Omit<KernelProfile<T>, "rows" | "seconds" | "chromeTrace" | "toString">,
    trace: ChromeTrace,
  ) {
    const { value, device, clock, rates, kernels, wallSeconds } = parts;
    this.value = value;
    this.device = device;
    this.clock = clock;
    this.rates = rates;
    this.kernels = kernels;
    this.rows = rowsOf(kernels, rates);
    this.seconds = kernels.reduce((sum, { seconds }) => sum + seconds, 0);
    this.wallSeconds = wallSeconds;
    this.#trace = trace;
  }

  /** A table for people: a row for each kernel and phase, and what the device does at best. */
  toString(): string {
    const { device, clock, rates, kernels, seconds, wallSeconds } = this;
    const ms = (s: number): string => `${(s * 1000).toFixed(3)} ms`;
    return [
      `${device}: ${kernels.length} kernels in ${ms(seconds)}, ${ms(wallSeconds)} with the host; ` +
        (clock === "timestamps"
          ? "timed by timestamp queries"
          : "timed by the host, which waits for each: the device has no timestamp queries"),
      `at best it copies ${(rates.copyBytesPerSecond / 1e9).toFixed(2)} GB/s (read and written) ` +
        `and computes ${(rates.flopsPerSecond / 1e9).toFixed(1)} GFLOP/s in float32, measured now`,
      tableOf(this.rows),
    ].join("\n");
  }

  /**
   * The kernels in the Trace Event Format, for chrome://tracing or Perfetto, beside scopes, phases,
   * programs and bytes, as far as they are tracked: write it to a file as JSON.
   */
  chromeTrace(): ChromeTrace {
    return this.#trace;
  }
}

/**
 * Runs `fn` and times every kernel that the device runs for it, and for whoever else computes
 * meanwhile. What was recorded before runs before; what `fn` recorded has run when this resolves,
 * also where nobody reads it. Kernels run one by one, so the whole takes longer than without. Run
 * the same once before: a first run plans and compiles.
 * @example
 * ```ts
 * using x = ones([64, 64]);
 * const steps = await profile(() => {
 *   using _scope = newDisposeScope();
 *   return x.matmul(x).relu().sum().item();
 * });
 * console.log(steps.rows.length, steps.value); // → 2 262144
 * ```
 * @throws ArgumentError for anything but a function; TenureError inside a scheduler's step, inside
 *   `trace`, and while another profile is under way; DeviceLostError where the device is lost
 *   meanwhile; whatever `fn` throws
 */
export async function profile<T>(fn: () => T | Promise<T>): Promise<KernelProfile<Awaited<T>>> {
  checkFunction("profile", fn, "pass () => { …a step… }");
  const own = runtime();
  checkFree();
  await own.sync();
  const { device } = own;
  if (device !== null) await own.parts.load(["budgets"]);
  if (device === null || device.queue.watch !== null) throw busy();
  const timed = device.gpu.features.has("timestamp-query");
  const timer = timed ? new TimestampTimer(device) : new HostTimer();
  device.queue.watch = timer;
  try {
    const start = performance.now();
    const value = await fn();
    const measured = await measure(device, timer, start);
    logKernels(measured.kernels);
    const parts = {
      value,
      device: device.info.name,
      clock: timed ? ("timestamps" as const) : ("host" as const),
      ...measured,
    };
    return new KernelProfile<Awaited<T>>(parts, chromeTrace(traceExtras(own)));
  } finally {
    if (isWatchedBy(device, timer)) device.queue.watch = null;
    timer.dispose();
  }
}

/** Ends the measurement that began at `start`. @throws DeviceLostError, DeviceError */
async function measure(
  device: Device,
  timer: TimestampTimer | HostTimer,
  start: number,
): Promise<Pick<KernelProfile, "kernels" | "rates" | "wallSeconds">> {
  try {
    await runtime().sync();
    const wallSeconds = (performance.now() - start) / 1000;
    device.queue.watch = null;
    const kernels = await timer.kernels();
    if (device.lost !== null) throw device.lost;
    return { kernels, rates: await measureRates(device), wallSeconds };
  } catch (error) {
    throw await refusalOf(device, "profile", error);
  }
}

function isWatchedBy({ queue }: Device, timer: unknown): boolean {
  return queue.watch === timer;
}

/** @throws TenureError where nothing can be waited for, or somebody else times kernels */
function checkFree(): void {
  const { recorder, device } = runtime();
  if (recorder.tracing || recorder.lanes.inStep)
    throw new TenureError(
      "profile",
      "expected to be called outside trace() and a scheduler's step, got a call inside; " +
        "profile the whole step: await profile(() => scheduler.step(fn))",
    );
  if (device !== null && device.queue.watch !== null) throw busy();
}

function busy(): TenureError {
  return new TenureError(
    "profile",
    "expected one profile at a time, got another under way; await it first",
  );
}

/** Kernels as timed ops of the event log, where traces and the inspector find them. */
function logKernels(kernels: readonly TimedKernel[]): void {
  for (const { name, phase, layer, from, seconds, bytes, flops } of kernels) {
    const to = from + seconds * 1000;
    log("op", 0, 0, name, null, { figures: { from, to, seconds, phase, layer, bytes, flops } });
  }
}

/**
 * Times the ways in which one kernel could be written. The search is bounded: a way that is three
 * times slower than the best on its first run is not run again, and with the time used up the rest
 * stays as it is. Called by `tune` and in idle moments. Owns the buffers it measures with, until it
 * returns.
 */
import type { Question } from "../device/choices.ts";
import type { Device } from "../device/device.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { Candidate } from "./candidates.ts";
import { KernelClock } from "./kernel-clock.ts";

/** One kernel that was measured. */
export interface TunedKernel {
  readonly kernel: string;
  /** Class of sizes, and what else tells cases apart. */
  readonly shape: string;
  /** The way it was written before, and the one it is written now. */
  readonly before: string;
  readonly after: string;
  /** Milliseconds of one dispatch. */
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** What was measured, by `tune` or in idle moments. */
export interface TuneReport {
  /** Kernels that could be written in several ways, each with the fastest of them. */
  readonly kernels: readonly TunedKernel[];
  /** Kernels for which there was no time, or no memory. */
  readonly skipped: number;
  /** Seconds it took to measure. */
  readonly seconds: number;
}

/** What must be gained before a way is preferred to the one in use: less may be noise. */
const least = 0.97;
const rounds = 5;
/** Milliseconds that one measurement should last at least. */
const sampleMs = 2;

/** One way, with what it took so far. */
interface Entry {
  readonly name: string;
  readonly kernel: Kernel;
  readonly samples: number[];
}

const median = (samples: readonly number[]): number =>
  [...samples].sort((a, b) => a - b)[samples.length >> 1] ?? Infinity;

/** Times dispatches of a kernel, now or when there is a moment. @returns milliseconds of one */
export type TimeKernel = (clock: KernelClock, kernel: Kernel, times: number) => Promise<number>;

/**
 * Times every way of writing one kernel. @param left milliseconds that may still be taken
 * @returns the fastest; nothing is chosen yet
 * @throws OutOfMemoryError where there is no room to measure, DeviceLostError, DeviceError
 */
export async function measureWays(
  device: Device,
  { question, kernels, sizes }: Candidate,
  left: () => number,
  time: TimeKernel = (clock, kernel, times) => clock.time(kernel, times),
): Promise<TunedKernel> {
  using clock = new KernelClock(device, sizes);
  const current = inUse(device, question);
  const entries: Entry[] = [];
  let best = Infinity;
  for (const [name, kernel] of kernels) {
    if (left() <= 0 && name !== current) continue;
    const first = await time(clock, kernel, 1); // compiled on the way, or refused
    if (first === Infinity || (name !== current && first > 10 * best && first > 50)) continue;
    const once = await time(clock, kernel, 1);
    best = Math.min(best, once);
    entries.push({ name, kernel, samples: [once] });
  }
  const contenders = entries.filter(
    (e) => e.name === current || (e.samples[0] ?? Infinity) <= 3 * best,
  );
  const times = Math.max(1, Math.min(200, Math.ceil(sampleMs / Math.max(best, 0.001))));
  for (let r = 0; r < rounds && contenders.length > 1 && left() > 0; r++)
    for (const entry of contenders) entry.samples.push(await time(clock, entry.kernel, times));
  // the first sample was of a single dispatch
  const msOf = (e: Entry): number => median(e.samples.length > 1 ? e.samples.slice(1) : e.samples);
  const before = contenders.find((e) => e.name === current);
  const fastest = contenders.reduce<Entry | undefined>(
    (a, b) => (a === undefined || msOf(b) < msOf(a) ? b : a),
    undefined,
  );
  const beforeMs = before === undefined ? Infinity : msOf(before);
  const better = before !== undefined && fastest !== undefined && msOf(fastest) < least * beforeMs;
  return {
    kernel: question.kernel,
    shape: question.shape,
    before: current,
    after: better ? fastest.name : current,
    beforeMs,
    afterMs: better ? msOf(fastest) : beforeMs,
  };
}

/** The way that is taken now. */
function inUse(device: Device, { kernel, shape, space, standard }: Question): string {
  return device.choices.choose(kernel, shape, space, standard);
}

/**
 * `tune`: runs a function once, measures the ways in which the kernels it used could be written,
 * and keeps the fastest for this adapter. Nothing is measured unless asked for, so no first result
 * waits for it. The search is bounded: a way that is three times slower than the best on its first
 * run is not run again, and with the time used up the rest stays as it is.
 */
import "../compose.ts";
import { ArgumentError } from "../base/errors.ts";
import { type OptionTable, checkFunction, readOptions } from "../base/options.ts";
import { type Question, questionKey } from "../device/choices.ts";
import type { Device } from "../device/device.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { Candidate } from "./candidates.ts";
import { noDevice } from "./device-life.ts";
import { KernelClock } from "./kernel-clock.ts";
import { runtime } from "./runtime.ts";
import { adapterKey } from "./tuned-store.ts";

/** Options of `tune`. */
export interface TuneOptions {
  /** How long may be measured, in seconds; 60 by default. */
  readonly seconds?: number;
}

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

/** What `tune` did. */
export interface TuneReport {
  /** Kernels that could be written in several ways, each with the fastest of them. */
  readonly kernels: readonly TunedKernel[];
  /** Kernels for which there was no time. */
  readonly skipped: number;
  /** Seconds it took to measure. */
  readonly seconds: number;
}

const tuneOptions = {
  seconds: { type: "number", range: "(0, Infinity)", what: "a time in seconds", default: 60 },
} satisfies OptionTable<TuneOptions>;

/** What must be gained before a way is preferred to the one in use: less may be noise. */
const least = 0.97;
const rounds = 5;
/** Milliseconds that one measurement should last at least. */
const sampleMs = 2;

/**
 * Runs `fn`, then times each way of writing the kernels that it used (products, convolutions and
 * their gradients, attention, reductions, softmax) and keeps the fastest: for this runtime at once,
 * for later processes in a cache of the adapter. Results keep their bits as long as the same way is
 * used; between ways they differ by rounding.
 * @param fn one step of what is to become faster; its tensors are its own. It is run once
 * @throws ArgumentError after `init({ deterministic: true })`; whatever `fn` throws
 * @example
 * ```ts
 * using a = randn([64, 64]);
 * const { kernels } = await tune(async () => {
 *   using b = a.matmul(a);
 *   await b.data();
 * });
 * console.log(kernels.map((k) => k.kernel).join()); // → matmul
 * ```
 */
export async function tune(fn: () => unknown, options?: TuneOptions): Promise<TuneReport> {
  const { seconds } = readOptions("tune", options, tuneOptions);
  checkFunction("tune", fn, "pass the step to tune");
  const { caches } = runtime();
  await runtime().sync();
  const { device } = runtime();
  if (device === null) throw noDevice("tune");
  if (device.choices.pinned)
    throw new ArgumentError(
      "tune",
      "kernels that may change",
      "init({ deterministic: true })",
      "leave deterministic out",
    );
  const candidates = await candidatesIn(fn);
  const started = performance.now();
  const left = (): number => 1000 * seconds - (performance.now() - started);
  const kernels: TunedKernel[] = [];
  for (const candidate of candidates) {
    if (left() <= 0) break;
    kernels.push(await measure(device, candidate, left));
  }
  for (const { kernel, shape, after } of kernels)
    device.choices.set(questionKey({ kernel, shape }), after);
  caches.clear();
  await runtime().engine.tuned?.save(adapterKey(device.info), device.choices.entries());
  return {
    kernels,
    skipped: candidates.length - kernels.length,
    seconds: (performance.now() - started) / 1000,
  };
}

/** Runs `fn` with all plans made anew. @returns every question once, in the order of their use */
async function candidatesIn(fn: () => unknown): Promise<Candidate[]> {
  const {
    caches,
    engine: { compiler },
  } = runtime();
  const found = new Map<string, Candidate>();
  caches.clear();
  compiler.watcher = (candidates) => {
    for (const candidate of candidates) {
      const key = questionKey(candidate.question);
      if (!found.has(key)) found.set(key, candidate);
    }
  };
  try {
    await fn();
    await runtime().sync();
  } finally {
    compiler.watcher = null;
  }
  return [...found.values()];
}

/** One way, with what it took so far. */
interface Entry {
  readonly name: string;
  readonly kernel: Kernel;
  readonly samples: number[];
}

const median = (samples: readonly number[]): number =>
  [...samples].sort((a, b) => a - b)[samples.length >> 1] ?? Infinity;

async function measure(
  device: Device,
  { question, kernels, sizes }: Candidate,
  left: () => number,
): Promise<TunedKernel> {
  using clock = new KernelClock(device, sizes);
  const current = inUse(device, question);
  const entries: Entry[] = [];
  let best = Infinity;
  for (const [name, kernel] of kernels) {
    if (left() <= 0 && name !== current) continue;
    const first = await clock.time(kernel, 1); // compiled on the way, or refused
    if (first === Infinity || (name !== current && first > 10 * best && first > 50)) continue;
    const once = await clock.time(kernel, 1);
    best = Math.min(best, once);
    entries.push({ name, kernel, samples: [once] });
  }
  const contenders = entries.filter(
    (e) => e.name === current || (e.samples[0] ?? Infinity) <= 3 * best,
  );
  const times = Math.max(1, Math.min(200, Math.ceil(sampleMs / Math.max(best, 0.001))));
  for (let r = 0; r < rounds && contenders.length > 1 && left() > 0; r++)
    for (const entry of contenders) entry.samples.push(await clock.time(entry.kernel, times));
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

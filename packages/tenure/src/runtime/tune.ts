/**
 * `tune`: runs a function once, measures the ways in which the kernels it used could be written,
 * and keeps the fastest for this adapter. `tuneWhenIdle`: the same, whenever nothing runs. Nothing
 * is measured unless asked for, so no first result waits for it.
 */
import "../compose.ts";
import { afterMilliseconds } from "../base/env.ts";
import { ArgumentError, OutOfMemoryError } from "../base/errors.ts";
import { type OptionTable, checkFunction, readOptions } from "../base/options.ts";
import { questionKey } from "../device/choices.ts";
import type { Device } from "../device/device.ts";
import type { Candidate, Watcher } from "./candidates.ts";
import { noDevice } from "./device-life.ts";
import { otherWays } from "./engine-parts.ts";
import { IdleTuner } from "./idle-tuner.ts";
import { type TuneReport, type TunedKernel, measureWays } from "./measure-ways.ts";
import { runtime } from "./runtime.ts";
import { adapterKey } from "./tuned-store.ts";

/** Options of `tune` and `tuneWhenIdle`. */
export interface TuneOptions {
  /** How long may be measured, in seconds; 60 by default, 20 in idle moments. */
  readonly seconds?: number;
}

export type { TuneReport, TunedKernel } from "./measure-ways.ts";

const tuneOptions = {
  seconds: { type: "number", range: "(0, Infinity)", what: "a time in seconds", default: 60 },
} satisfies OptionTable<TuneOptions>;

/**
 * Runs `fn`, then times each way of writing the kernels that it used (products, convolutions and
 * their gradients, attention, reductions, softmax) and keeps the fastest: for this runtime at once,
 * for later processes in a cache of the adapter. Results keep their bits as long as the same way is
 * used; between ways they differ by rounding.
 * @param fn one step of what is to become faster; its tensors are its own. It is run once
 * @throws ArgumentError after `init({ deterministic: true })`; whatever `fn` throws;
 *   DeviceLostError when the device is lost meanwhile: then nothing is kept
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
  const { caches, parts } = runtime();
  await runtime().sync();
  await parts.load(otherWays);
  const device = tunable("tune");
  const candidates = await candidatesIn(fn);
  const started = performance.now();
  const left = (): number => 1000 * seconds - (performance.now() - started);
  const kernels: TunedKernel[] = [];
  for (const candidate of candidates) {
    if (left() <= 0) break;
    try {
      kernels.push(await measureWays(device, candidate, left));
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error; // no room to measure this one
    }
  }
  if (runtime().device !== device) throw noDevice("tune");
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

/** Measuring in idle moments: see `tuneWhenIdle`. */
export interface IdleTuning {
  /** What was measured so far. */
  report(): TuneReport;
  /**
   * Resolves once all that was used so far has been measured. Keeps no process alive. Rejects when
   * measuring failed, or keeping what it found: then no more is measured, and all else goes on.
   */
  done(): Promise<void>;
  /** Measures no more. What was found holds. */
  stop(): void;
}

/**
 * Does what `tune` does without being told of a step: from now on, notes the kernels that are
 * compiled and, whenever nothing has run for a moment, measures one dispatch of one of them. No
 * first result waits for it. At most 64 kernels are measured, none that was measured before, in
 * this process or an earlier one. Finds a device if there is none; ends with it.
 * @param options `seconds`: how long may be measured in all; 20 by default
 * @throws ArgumentError after `init({ deterministic: true })`; DeviceLostError without a device
 * @example
 * ```ts
 * const idle = await tuneWhenIdle({ seconds: 5 });
 * console.log(idle.report().kernels.length); // → 0
 * idle.stop();
 * ```
 */
export async function tuneWhenIdle(options?: TuneOptions): Promise<IdleTuning> {
  const { seconds } = readOptions("tuneWhenIdle", options, {
    seconds: { ...tuneOptions.seconds, default: 20 },
  });
  await runtime().init();
  await runtime().parts.load(otherWays);
  const { caches, counters, engine, settings, submission } = runtime();
  const device = tunable("tuneWhenIdle");
  const rest = async (): Promise<void> => {
    for (let before = -1; before !== counters.submits || submission.isBusy;) {
      before = counters.submits;
      await pause(settings.idleAfterMs);
    }
  };
  const tuner = new IdleTuner({
    device,
    rest,
    current: () => runtime().device === device,
    budgetMs: 1000 * seconds,
    now: () => performance.now(),
    changed: (choices, faster) => {
      if (faster) caches.clear();
      return engine.tuned?.save(adapterKey(device.info), choices);
    },
  });
  const watcher: Watcher = (find) => {
    tuner.hear(find);
  };
  const { watchers } = engine.compiler;
  watchers.add(watcher);
  return {
    report: () => tuner.report(),
    done: () => tuner.done(),
    stop: () => {
      tuner.stop();
      watchers.delete(watcher);
    },
  };
}

/** The device, whose kernels may change. @throws DeviceLostError, ArgumentError */
function tunable(op: string): Device {
  const { device } = runtime();
  if (device === null) throw noDevice(op);
  if (device.choices.pinned)
    throw new ArgumentError(
      op,
      "kernels that may change",
      "init({ deterministic: true })",
      "leave deterministic out",
    );
  return device;
}

/** Some time, for which no process stays alive. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    afterMilliseconds(milliseconds, resolve);
  });
}

/** Runs `fn` with all plans made anew. @returns every question once, in the order of their use */
async function candidatesIn(fn: () => unknown): Promise<Candidate[]> {
  const {
    caches,
    engine: { compiler },
  } = runtime();
  const found = new Map<string, Candidate>();
  caches.clear();
  const watcher: Watcher = (find) => {
    for (const candidate of find()) {
      const key = questionKey(candidate.question);
      if (!found.has(key)) found.set(key, candidate);
    }
  };
  compiler.watchers.add(watcher);
  try {
    await fn();
    await runtime().sync();
  } finally {
    compiler.watchers.delete(watcher);
  }
  return [...found.values()];
}

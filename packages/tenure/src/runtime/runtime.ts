/**
 * The runtime: the device, what is recorded for it, and everything that runs it, each in a class of
 * its own and wired here. One per instance of the library, made by compose.ts and read through
 * `runtime()`. Owns the device and the plans.
 *
 *     tensor layer ─► Recorder ─► Submission ─► Execution ─► Device
 *                        Reads ───────┘   ▲
 *                                ExecutionPolicy: DirectPolicy, or a scheduler's
 */
import { ArgumentError, DeviceLostError, TenureError } from "../base/errors.ts";
import { type OptionTable, readOptions } from "../base/options.ts";
import { current } from "../base/realm.ts";
import type { DeviceInfo } from "../device/acquire.ts";
import { CounterSet } from "../device/counters.ts";
import { checkGiven, deviceChoice } from "../device/device-choice.ts";
import type { Device } from "../device/device.ts";
import type { Lending, Place } from "../device/lending.ts";
import type { GPUDevice, GPUPowerPreference } from "../device/webgpu.ts";
import { liveRows } from "../ownership/evidence.ts";
import { log } from "../ownership/log.ts";
import type { ByteStatistics } from "../ownership/statistics.ts";
import { DeviceLife, type EngineClass, type EngineLoader, noDevice } from "./device-life.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { EngineParts, type Parts } from "./engine-parts.ts";
import { Inspector } from "./inspector.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { PlanCaches } from "./plan-cache.ts";
import { Reads } from "./reads.ts";
import { Recorder } from "./recorder.ts";
import { Settings } from "./settings.ts";
import { type Storage, contentsLost } from "./storage.ts";
import { Steps } from "./step-turns.ts";
import { Submission } from "./submission.ts";

export type { Place } from "../device/lending.ts";
export type { GPUBuffer } from "../device/webgpu.ts";

/** What `init` takes. */
export interface InitOptions {
  /**
   * `auto` (default; also the environment variable TENURE_DEVICE): the best device that works.
   * `gpu`: refuse software. `software`: the packaged one. `null`: count, don't compute.
   */
  readonly device?: "auto" | "gpu" | "software" | "null";
  readonly powerPreference?: GPUPowerPreference;
  /**
   * A device of your own, to share its buffers: see `tensorFromBuffer` and `copyToBuffer`. It stays
   * yours: `shutdown()` destroys what Tenure made on it, and not the device. Goes with neither
   * `device` nor `powerPreference`.
   */
  readonly gpuDevice?: GPUDevice;
  /** `eachOp` runs every op at once, for debugging: same engine, no batching. */
  readonly flush?: "auto" | "eachOp";
  /**
   * Takes the standard way of writing every kernel, whatever `tune` found faster here before: the
   * same bits on the same adapter, always.
   */
  readonly deterministic?: boolean;
}

/** Device, recorder, reads, plans and flags. */
export class Runtime {
  readonly settings: Settings = new Settings();
  readonly counters: CounterSet = new CounterSet();
  /** What was planned, compiled and missed last, for whoever wants to look. */
  readonly inspector: Inspector;
  /** The steps of schedulers. */
  readonly steps: Steps = new Steps();
  /** What is loaded besides the engine where it is needed. */
  readonly parts: EngineParts;
  readonly recorder: Recorder;
  readonly caches: PlanCaches;
  readonly reads: Reads = new Reads();
  /** Made by whoever sets one; none until then. */
  budget: MemoryBudget | null = null;
  readonly submission: Submission;
  readonly #life: DeviceLife;
  readonly #unsettled: EngineOptions["tools"]["unsettled"] = new Set();
  /** The shutdown under way. */
  #ending: Promise<void> | null = null;

  /** @param load how the engine is loaded, and its parts; tests give their own */
  constructor(load?: EngineLoader, parts: EngineParts = new EngineParts()) {
    const { settings, counters, steps } = this;
    this.parts = parts;
    const inspector = (this.inspector = new Inspector(parts));
    const caches = (this.caches = new PlanCaches(settings, counters, inspector));
    const recorder = (this.recorder = new Recorder(counters, inspector, parts, steps));
    const tools: EngineOptions["tools"] = {
      recorder,
      caches,
      settings,
      counters,
      unsettled: this.#unsettled,
      rejectReads: (of, reason, lane) => this.reads.reject(reason, of, lane),
    };
    const allow: EngineOptions["device"]["allow"] = (pool, more) => {
      this.budget?.allow(pool, more);
    };
    this.#life = new DeviceLife({ device: { counters, allow }, tools, parts, inspector }, load);
    this.submission = new Submission({
      tools,
      parts,
      reads: this.reads,
      engine: () => this.engine,
      device: () => this.#life.device,
      connect: () => this.init(),
      missing: () => noDevice("flush"),
    });
  }

  /** The device; null before one was found. */
  get device(): Device | null {
    return this.#life.device;
  }

  /** What runs programs. There is one where there is a device. */
  get engine(): Engine {
    return this.#life.engine;
  }

  /** Takes the engine from a program that brings it: what `tenure/engine` does. */
  bring(engine: EngineClass, parts: Parts): void {
    this.#life.bring(engine);
    this.parts.bring(parts);
  }

  // === The device's life ===

  /**
   * Finds a device. Optional: the first read does it with the defaults. Calling it again returns
   * the same device.
   * @throws DeviceLostError when there is none, saying what was tried and what to install;
   *   ArgumentError for unknown options or a second, different device.
   */
  async init(options?: InitOptions): Promise<DeviceInfo> {
    const { device, powerPreference, gpuDevice, flush, deterministic } = readOptions(
      "init",
      options,
      initOptions,
    );
    if (gpuDevice !== undefined && (device ?? powerPreference) !== undefined)
      throw new ArgumentError(
        "init",
        "gpuDevice alone",
        "it beside device or powerPreference",
        "leave those out: the device is found already",
      );
    const choice = gpuDevice ?? deviceChoice(device);
    while (this.#ending !== null) await this.#ending.catch(heardElsewhere);
    // a lost device is replaced
    if (this.device !== null && this.device.lost !== null) await this.shutdown();
    if (flush !== undefined) this.settings.flushEachOp = flush === "eachOp";
    const before = this.device;
    const info = await this.#life.find(choice, device !== undefined, powerPreference);
    await this.#useTuned(deterministic, before);
    // each op runs where it is called, which cannot wait
    if (this.settings.flushEachOp) await this.parts.loadAll();
    return info;
  }

  /** What was tuned for the device before, unless everything is to stay as it is. */
  async #useTuned(deterministic: boolean | undefined, before: Device | null): Promise<void> {
    const { device } = this;
    if (device === null) return;
    const { choices, info } = device;
    if (deterministic !== undefined && deterministic !== choices.pinned) {
      choices.pinned = deterministic;
      this.caches.clear();
    }
    if (device === before || choices.pinned || info.kind === "null") return;
    await this.engine.useTuned(device);
  }

  /**
   * Gives the device back. Tensors that still live lose their contents and say so when used. Never
   * needed before a process ends.
   */
  async shutdown(): Promise<void> {
    while (this.#ending !== null) await this.#ending.catch(heardElsewhere);
    if (!this.#life.hasBegun) return;
    this.#ending = this.#end();
    try {
      await this.#ending;
    } finally {
      this.#ending = null;
    }
  }

  async #end(): Promise<void> {
    await this.#life.found();
    await this.submission.quiet();
    const device = this.#life.end();
    if (device === null) return;
    this.reads.reject(
      new DeviceLostError(
        "shutdown",
        "expected a device to read from, got none, since it was shut down; " +
          "await your reads before shutdown()",
      ),
    );
    for (const lane of ["main", "step", "after"] as const) {
      if (this.recorder.lanes.of(lane) === null) continue;
      const work = this.recorder.take(lane);
      work.takeBack();
      for (const storage of work.locals)
        if (storage.buffer === null) storage.failure = contentsLost();
      this.recorder.recycle(work);
    }
    this.caches.clear();
    await device.destroy();
  }

  /**
   * Runs everything recorded so far and waits until the device has finished it. @throws the first
   * device error since the last read or sync.
   */
  async sync(): Promise<void> {
    if (this.device === null) await this.init();
    const { lanes } = this.recorder;
    await this.#flushed();
    while (this.submission.isBusy || (lanes.after !== null && !lanes.inStep)) {
      if (this.submission.isBusy) await this.submission.quiet();
      else await this.steps.ended("sync() of another task");
      await this.#flushed();
    }
    const device = this.#life.require("sync");
    await device.idle();
    await device.judged();
    const error = device.takeErrors();
    if (error !== undefined) throw error;
  }

  /** Flushes, once parts of the engine have come that this takes. */
  async #flushed(): Promise<void> {
    const parts = this.submission.partsFor();
    if (parts !== null) await parts;
    this.submission.flush();
  }

  /** Destroys free buffers and idle staging. @returns bytes given back to the device */
  async trim(): Promise<number> {
    const { device } = this;
    if (device === null) return 0;
    await this.sync();
    return device.pool.trim() + device.uploads.trim() + device.reads.trim();
  }

  /**
   * Resolves once reads under way, each of which reports its own errors, and submitted work are
   * done: what `await using` waits for.
   */
  async settled(): Promise<void> {
    // a step does not wait for what waits for the step
    await this.reads.settled(this.recorder.lanes.inStep ? "after" : undefined);
    if (this.device !== null) await this.sync();
  }

  // === Recording and reading ===

  /**
   * Takes back what the host counts while it records (steps of optimizers, random streams) if that
   * is discarded: because a scheduler's step failed, a program could not run, or a function was
   * only traced.
   * @param remember called at once where it matters; returns what restores the state of now
   */
  whenDiscarded(remember: () => () => void): void {
    this.recorder.program.undo.push(remember());
  }

  /**
   * Bytes of a storage as they will be once everything recorded so far has run, or none where they
   * go to a buffer of the program. Pins the storage at once; flushes at the end of this job.
   */
  readBytes(
    storage: Storage,
    offset: number,
    bytes: number,
    target: Place | null = null,
  ): Promise<ArrayBuffer> {
    const op = target === null ? "data" : "copyToBuffer";
    if (this.recorder.tracing)
      throw new TenureError(
        op,
        "expected to be called outside trace(), got a read inside: " +
          "a traced program has shapes, but no values; read in the real step",
      );
    const { lanes, watcher } = this.recorder;
    watcher?.refuse("it reads a value; return the tensor, and read it outside");
    lanes.checkUse(op, storage);
    const program = lanes.forRead(storage);
    if (lanes.loose.size > 0) this.recorder.bringAlong(storage, program);
    program.awaited.add(storage);
    const read = this.reads.ask(storage, offset, bytes, program.lane, target);
    if (program.lane === "after")
      this.steps.wait(`${op}() of another task`, (error) => {
        this.reads.refuse(read, error);
      });
    this.submission.flushSoon(program.lane);
    return read;
  }

  /**
   * The device of the program's buffers. @throws DeviceLostError when it is lost, or not theirs
   */
  lent(op: string): { readonly device: Device; readonly lending: Lending } {
    const { device } = this;
    if (device !== null && device.lending !== null && device.lost === null)
      return { device, lending: device.lending };
    throw (
      device?.lost ??
      new DeviceLostError(
        op,
        "expected the device that made the buffer, got " +
          (device === null ? "none" : `one that Tenure found (${device.info.name})`) +
          "; make a GPUDevice and hand it over with `await init({ gpuDevice })` first",
      )
    );
  }

  /**
   * A storage with a copy of what lies in a buffer of the program. The copy is submitted at once,
   * in front of whatever is recorded and has not run.
   * @throws DeviceLostError where that is no buffer of the device in use, ArgumentError as
   *   `checkPlace`, OutOfMemoryError, TenureError inside `trace()`
   */
  copyIn(op: string, from: Place, bytes: number): Storage {
    const { recorder } = this;
    const { device, lending } = this.lent(op);
    lending.checkPlace(op, from, bytes, "COPY_SRC");
    if (recorder.tracing)
      throw new TenureError(
        op,
        "expected to be called outside trace(), got a copy inside; pass the tensor to the function",
      );
    recorder.watcher?.refuse("it copies a buffer; do that outside, and pass the tensor");
    const buffer = device.pool.acquire(bytes);
    let copied: Promise<TenureError | null>;
    try {
      copied = lending.copyBetween(device, op, from, { buffer: buffer.gpu, offset: 0 }, bytes);
    } catch (error) {
      device.pool.release(buffer);
      throw error;
    }
    const storage = recorder.storage(bytes, "input");
    storage.buffer = buffer;
    void copied.then((refused) => {
      if (refused === null) return;
      storage.lose(refused);
      const lost = new Set([storage]);
      for (const later of this.#unsettled) later.runOn(lost, refused);
    });
    return storage;
  }

  /**
   * Marks a promise as that of a read, which goes on without the code that asked for it. A step
   * that fails says so itself: its reads need nobody to hear them.
   */
  reading<T>(promise: Promise<T>): Promise<T> {
    this.reads.mark(promise);
    if (this.recorder.lanes.inStep) promise.catch(() => undefined);
    return promise;
  }

  // === Telling ===

  /** Bytes and storages, for `memory.stats()`. */
  bytesInUse(): ByteStatistics {
    const { created, freed, liveBytes, peakBytes } = this.recorder.storages;
    const { device } = this;
    const storages = created - freed;
    if (device === null)
      return { liveBytes, peakBytes, storages, poolBytes: 0, deviceBytes: 0, devicePeakBytes: 0 };
    const { pool, uploads, reads, held } = device;
    return {
      liveBytes,
      peakBytes,
      storages,
      poolBytes: pool.freeBytes,
      deviceBytes: pool.deviceBytes + uploads.bytes + reads.bytes,
      devicePeakBytes: held.peakBytes,
    };
  }

  /** What holds memory now: the totals, and the largest groups of live tensors. */
  memoryReport(): string {
    const { liveBytes, storages, poolBytes, deviceBytes, devicePeakBytes } = this.bytesInUse();
    const rows = liveRows()
      .slice(0, 10)
      .map((r) => `  ${r.count} × ${r.example}, ${r.bytes} bytes, made at ${r.key}`);
    return [
      `${storages} storages own ${liveBytes} bytes; the device holds ${deviceBytes} bytes, ` +
        `${poolBytes} of them free for reuse (peak ${devicePeakBytes})`,
      ...rows,
    ].join("\n");
  }

  /** The report that an OutOfMemoryError carries; also an event in the log. */
  outOfMemory(): string {
    log("outOfMemory", 0, 0, "out of memory", null);
    return this.memoryReport();
  }
}

/** Whoever waits for a shutdown is not the one who hears how it went. */
const heardElsewhere = (): undefined => undefined;

const initOptions = {
  // deviceChoice in device-choice.ts looks at it, and at the environment
  device: { type: "any" },
  gpuDevice: { type: "any", check: checkGiven },
  powerPreference: {
    type: "choice",
    of: ["low-power", "high-performance"],
    remedy: "leave it out to let the system choose",
  },
  deterministic: { type: "flag", remedy: "leave it out to use what tune() found" },
  flush: { type: "choice", of: ["auto", "eachOp"], remedy: '"eachOp" is for debugging' },
} satisfies OptionTable<InitOptions>;

/** The runtime of the current instance. */
export function runtime(): Runtime {
  return current<{ readonly runtime: Runtime }>().runtime;
}

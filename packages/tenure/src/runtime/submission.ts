/**
 * Submission: when recorded programs run, and with which reads. A flush takes the open program, has
 * it executed, and submits it together with the copies of pending reads. Called by the tensor layer
 * through the runtime, by schedulers, and at the end of jobs. Owns nothing but the order of things.
 */
import { afterJob, warn } from "../base/env.ts";
import type { DeviceLostError } from "../base/errors.ts";
import { asTenureError } from "./execution/failure.ts";
import type { Device } from "../device/device.ts";
import { currentScope } from "../ownership/open.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import type { EngineParts, PartName } from "./engine-parts.ts";
import type { Execution } from "./execution/execution.ts";
import type { ExecutionPolicy } from "./execution/policy.ts";
import type { Lane } from "./open-program.ts";
import type { Reads, ReadsSubmitted } from "./reads.ts";
import type { Storage } from "./storage.ts";

/** Flushes after which a free buffer counts as unused. */
const trimEvery = 256;

/** What a submission works with. */
export interface SubmissionOptions {
  readonly tools: EngineOptions["tools"];
  readonly parts: EngineParts;
  readonly reads: Reads;
  /** What runs programs; there where there is a device. */
  readonly engine: () => Engine;
  /** The device; null before it was found. */
  readonly device: () => Device | null;
  /** Finds a device. */
  readonly connect: () => Promise<unknown>;
  /** Why there is none to run on. */
  readonly missing: () => DeviceLostError;
}

/** Runs what was recorded, in order. */
export class Submission {
  /** While a scheduler's step is recorded: how programs run in it. */
  policy: ExecutionPolicy | null = null;
  readonly #options: SubmissionOptions;
  /** A program whose plan waits for the host in between. Later flushes wait for its end. */
  #running: Promise<void> | null = null;
  /** Lanes that are flushed at the end of this job, and after the program that runs. */
  readonly #soon = new Set<Lane>();
  readonly #afterwards = new Set<Lane>();
  #warnedUnflushed = false;

  constructor(options: SubmissionOptions) {
    this.#options = options;
  }

  /** Whether a program waits for the host. */
  get isBusy(): boolean {
    return this.#running !== null;
  }

  /** Resolves once no program waits for the host. */
  async quiet(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Whether a lane's program can run without waiting for another, or for parts of the engine. */
  isReady(lane: Lane): boolean {
    return !this.isBusy && this.#missing(lane).length === 0;
  }

  /** Resolves once `isReady`. @throws DeviceLostError when a part of the engine does not come */
  async ready(lane: Lane): Promise<void> {
    while (!this.isReady(lane)) {
      await this.quiet();
      await this.partsFor(lane);
    }
  }

  /**
   * Runs what was recorded before, so that steps have equal structure, and opens the lane of a
   * step. Uploads stay: they are somebody's inputs.
   */
  openStep(policy: ExecutionPolicy): void {
    const { recorder } = this.#options.tools;
    if (recorder.lanes.main.opCount > 0) this.#flush("main");
    recorder.openStep();
    this.policy = policy;
  }

  /** Runs what a step recorded, whatever code asks for it. */
  flushStep(): void {
    this.#flush("step");
  }

  /** Closes the lane of a step, which ran or was discarded. What waited for it follows. */
  closeStep(): void {
    const { tools, reads, device } = this.#options;
    this.policy = null;
    this.#soon.delete("step");
    this.#afterwards.delete("step");
    const waited = tools.recorder.lanes.after !== null;
    const failure = tools.recorder.closeStep();
    if (failure !== null) device()?.report(failure);
    reads.joinMain();
    if (waited || !reads.isEmpty("main")) this.flushSoon("main");
  }

  /**
   * Flushes a lane at the end of the current job, finding a device first when there is none. What
   * comes after a step is flushed when that has ended.
   */
  flushSoon(lane: Lane = this.#options.tools.recorder.program.lane): void {
    const { tools, reads, device, connect } = this.#options;
    if (this.#soon.has(lane) || lane === "after" || tools.recorder.tracing) return;
    this.#soon.add(lane);
    afterJob(() => {
      if (!this.#soon.delete(lane)) return; // its step is over
      // Somebody waits for bytes anyway.
      const mayWait = !reads.isEmpty(lane);
      if (device() !== null) {
        this.#flush(lane, mayWait);
        return;
      }
      connect().then(
        () => {
          this.#flush(lane, mayWait);
        },
        (error: unknown) => {
          reads.reject(error);
        },
      );
    });
  }

  /**
   * Marks the end of a training step: the program is flushed when the current scope ends, or with
   * this job. Steps then are programs of equal structure, whether or not anybody reads, and the
   * intermediates are already unowned when they are planned.
   */
  stepEnded(): void {
    if (this.#options.tools.recorder.lanes.inStep) return; // its step ends later
    currentScope()?.afterEnd(() => {
      if (this.#options.device() !== null) this.#flush("main");
    });
    this.flushSoon("main");
  }

  /**
   * Called before an op is recorded: keeps the open program within its limits. @throws TenureError
   * where a step would use what others can only make after it
   */
  beforeOp(op: string, inputs: readonly { readonly storage: Storage }[]): void {
    const { recorder, settings } = this.#options.tools;
    const { lanes } = recorder;
    if (lanes.after !== null) for (const { storage } of inputs) lanes.checkUse(op, storage);
    const { opCount, pendingBytes } = lanes.main;
    if (opCount < settings.maxOps && pendingBytes < settings.maxPendingBytes) return;
    if (lanes.inStep) return;
    if (this.#options.device() !== null) {
      this.#flush("main");
      return;
    }
    if (!this.#warnedUnflushed)
      warn(
        `${opCount} ops are recorded and cannot run, because there is no device yet; ` +
          "call `await init()` before a loop that never awaits",
      );
    this.#warnedUnflushed = true;
  }

  /**
   * Runs everything recorded so far by the code that runs now, or by its step, and starts the
   * pending reads. Errors reach the reads and the next `sync()`; this never throws.
   */
  flush(): void {
    this.#flush(this.#options.tools.recorder.program.lane);
  }

  /**
   * Loads the parts of the engine that a lane's program needs, and with them what runs before it.
   * Null when all are there. @throws DeviceLostError, in the promise, when one does not come
   */
  partsFor(lane: Lane = this.#options.tools.recorder.program.lane): Promise<void> | null {
    const missing = this.#missing(lane);
    return missing.length === 0 ? null : this.#options.parts.load(missing);
  }

  #missing(lane: Lane): PartName[] {
    const { parts, tools } = this.#options;
    if (!parts.lacks) return [];
    const { lanes } = tools.recorder;
    const needed = new Set<PartName>();
    const before: Lane[] = lane === "step" && lanes.mainComesFirst ? ["main"] : [];
    for (const one of [...before, lane])
      for (const { op } of lanes.of(one)?.ops ?? [])
        if (op.family !== undefined) for (const name of parts.needs(op.family)) needed.add(name);
    if (lane === "step" && !tools.settings.flushEachOp)
      for (const name of this.policy?.parts ?? []) needed.add(name);
    return [...needed].filter((name) => !parts.has(name));
  }

  /** @param mayWait whether a new plan may wait for its pipelines */
  #flush(lane: Lane, mayWait = false): void {
    const { tools, reads } = this.#options;
    const { recorder, counters } = tools;
    const program = recorder.lanes.of(lane);
    if (recorder.tracing || program === null) return;
    if (program.isEmpty && reads.isEmpty(lane)) {
      if (lane === "main") recorder.forgetDropped();
      return;
    }
    if (this.#running !== null) {
      this.#flushAfterwards(this.#running, lane);
      return;
    }
    const device = this.#options.device();
    if (device === null || device.lost !== null) {
      reads.reject(device?.lost ?? this.#options.missing());
      return;
    }
    const parts = this.partsFor(lane);
    if (parts !== null) {
      this.#flushOnceLoaded(parts, lane, mayWait);
      return;
    }
    if (lane === "step" && recorder.lanes.mainComesFirst) this.#flush("main");
    counters.flushes++;
    device.pool.clock++;
    const execution = program.isEmpty ? null : this.#prepared(device, lane, mayWait);
    if (program.awaited.size > 0) program.awaited.clear();
    if (this.isBusy) return;
    this.#submit(device, execution, lane);
    if (device.pool.clock % trimEvery === 0) device.pool.trim(trimEvery);
  }

  /** Encodes and submits a program and, unless they follow later, the pending reads. */
  #submit(device: Device, execution: Execution | null, lane: Lane, readsToo = true): void {
    const { reads } = this.#options;
    // What encoding threw, and what is to be told of the reads that it had encoded.
    const outcome: { error?: unknown; reads: ReadsSubmitted | null } = { reads: null };
    const verdict = device.watch(() => {
      try {
        execution?.encode();
        if (readsToo) outcome.reads = reads.encode(device, lane);
        device.queue.submit();
      } catch (error) {
        device.queue.abandon();
        outcome.error = error;
      }
    });
    if (!("error" in outcome)) {
      execution?.settle(verdict);
      outcome.reads?.(verdict);
      if (readsToo) reads.copyOut(device, lane, verdict);
      return;
    }
    const failure = execution?.fail(outcome.error) ?? asTenureError("data", outcome.error);
    outcome.reads?.(Promise.resolve(failure));
    if (!reads.isEmpty(lane)) this.flushSoon(lane); // those that have nothing to do with it
  }

  /** A lane's program, ready to run at once; null when it cannot run, or runs with waits. */
  #prepared(device: Device, lane: Lane, mayWait: boolean): Execution | null {
    const { tools } = this.#options;
    const engine = this.#options.engine();
    const ofStep = lane === "step" && !tools.settings.flushEachOp ? this.policy : null;
    const work = tools.recorder.take(lane);
    const execution = engine.execution(device, ofStep ?? engine.direct, work);
    const how = execution.prepare();
    if (how === "at once") {
      const ahead = mayWait ? execution.pipelinesAhead() : null;
      if (ahead === null) return execution;
      const submit = (): void => {
        this.#submit(device, execution, lane, false);
      };
      this.#wait(ahead.then(submit), lane);
    } else if (how === "with waits") this.#wait(execution.run(), lane);
    return null;
  }

  /**
   * Flushes a lane once parts of the engine have come. Where one does not, the lane's reads fail,
   * and what was recorded stays for the next flush, which asks again.
   */
  #flushOnceLoaded(parts: Promise<void>, lane: Lane, mayWait: boolean): void {
    this.#running = parts.then(
      () => {
        this.#running = null;
        this.#flush(lane, mayWait);
      },
      (error: unknown) => {
        this.#running = null;
        this.#afterwards.delete(lane);
        this.#options.reads.reject(error, undefined, lane);
      },
    );
  }

  /** Until a program has run, flushes wait; then its reads follow, and what was recorded since. */
  #wait(run: Promise<void>, lane: Lane): void {
    this.#running = run.then(() => {
      this.#running = null;
    });
    this.#flushAfterwards(this.#running, lane);
  }

  #flushAfterwards(running: Promise<void>, lane: Lane): void {
    if (this.#afterwards.size === 0)
      void running.then(() => {
        const lanes = [...this.#afterwards];
        this.#afterwards.clear();
        for (const waiting of lanes) this.#flush(waiting);
      });
    this.#afterwards.add(lane);
  }
}

/**
 * Submission: when recorded programs run, and with which reads. A flush takes the open program, has
 * it executed, and submits it together with the copies of pending reads. Called by the tensor layer
 * through the runtime, by schedulers, and at the end of jobs. Owns nothing but the order of things.
 */
import { warn } from "../base/env.ts";
import type { DeviceLostError } from "../base/errors.ts";
import { asTenureError } from "./execution/failure.ts";
import type { Device } from "../device/device.ts";
import { currentScope } from "../ownership/open.ts";
import { Execution, type ExecutionTools } from "./execution/execution.ts";
import type { ExecutionPolicy } from "./execution/policy.ts";
import type { Reads, ReadsSubmitted } from "./reads.ts";

/** Flushes after which a free buffer counts as unused. */
const trimEvery = 256;

/** What a submission works with. */
export interface SubmissionOptions {
  readonly tools: ExecutionTools;
  readonly reads: Reads;
  /** How programs run outside schedulers. */
  readonly direct: ExecutionPolicy;
  /** The device; null before it was found. */
  readonly device: () => Device | null;
  /** Finds a device. */
  readonly connect: () => Promise<unknown>;
  /** Why there is none to run on. */
  readonly missing: () => DeviceLostError;
}

/** Runs what was recorded, in order. */
export class Submission {
  /** While a scheduler's step is under way: how programs run in it. */
  policy: ExecutionPolicy | null = null;
  readonly #options: SubmissionOptions;
  /** A program whose plan waits for the host in between. Later flushes wait for its end. */
  #running: Promise<void> | null = null;
  #flushQueued = false;
  #flushingAfterwards = false;
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

  /** Flushes at the end of the current job, finding a device first when there is none. */
  flushSoon(): void {
    const { tools, reads, device, connect } = this.#options;
    if (this.#flushQueued || tools.recorder.tracing) return;
    this.#flushQueued = true;
    queueMicrotask(() => {
      this.#flushQueued = false;
      if (device() !== null) {
        this.flush();
        return;
      }
      connect().then(
        () => {
          this.flush();
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
    if (this.policy !== null) return; // its step ends later
    currentScope()?.afterEnd(() => {
      if (this.#options.device() !== null) this.flush();
    });
    this.flushSoon();
  }

  /** Called before an op is recorded: keeps the open program within its limits. */
  keepWithinLimits(): void {
    const { recorder, settings } = this.#options.tools;
    const { ops, pendingBytes } = recorder.program;
    if (
      (ops.length < settings.maxOps && pendingBytes < settings.maxPendingBytes) ||
      this.policy !== null
    )
      return;
    if (this.#options.device() !== null) {
      this.flush();
      return;
    }
    if (!this.#warnedUnflushed)
      warn(
        `${ops.length} ops are recorded and cannot run, because there is no device yet; ` +
          "call `await init()` before a loop that never awaits",
      );
    this.#warnedUnflushed = true;
  }

  /**
   * Runs everything recorded so far and starts the pending reads. Errors reach the reads and the
   * next `sync()`; this never throws.
   */
  flush(): void {
    const { tools, reads } = this.#options;
    const { recorder, counters } = tools;
    if (recorder.tracing || (recorder.program.isEmpty && reads.isEmpty)) return;
    if (this.#running !== null) {
      this.#flushAfterwards(this.#running);
      return;
    }
    const device = this.#options.device();
    if (device === null || device.lost !== null) {
      reads.reject(device?.lost ?? this.#options.missing());
      return;
    }
    counters.flushes++;
    device.pool.clock++;
    const execution = recorder.program.isEmpty ? null : this.#prepared(device);
    if (this.isBusy) return;
    this.#submit(device, execution);
    if (device.pool.clock % trimEvery === 0) device.pool.trim(trimEvery);
  }

  /** Encodes and submits a program and the pending reads. */
  #submit(device: Device, execution: Execution | null): void {
    const { reads } = this.#options;
    // What encoding threw, and what is to be told of the reads that it had encoded.
    const outcome: { error?: unknown; reads: ReadsSubmitted | null } = { reads: null };
    const verdict = device.watch(() => {
      try {
        execution?.encode();
        outcome.reads = reads.encode(device);
        device.queue.submit();
      } catch (error) {
        device.queue.abandon();
        outcome.error = error;
      }
    });
    if (!("error" in outcome)) {
      execution?.settle(verdict);
      outcome.reads?.(verdict);
      return;
    }
    const failure = execution?.fail(outcome.error) ?? asTenureError("data", outcome.error);
    outcome.reads?.(Promise.resolve(failure));
    if (!reads.isEmpty) this.flushSoon(); // those that have nothing to do with it
  }

  /** The open program, ready to run at once; null when it cannot run, or runs with waits. */
  #prepared(device: Device): Execution | null {
    const { tools, direct } = this.#options;
    const policy = tools.settings.flushEachOp ? direct : (this.policy ?? direct);
    const execution = new Execution(tools, device, policy, tools.recorder.take());
    const how = execution.prepare();
    if (how === "at once") return execution;
    if (how === "with waits") {
      this.#running = execution.run().then(() => {
        this.#running = null;
      });
      this.#flushAfterwards(this.#running);
    }
    return null;
  }

  #flushAfterwards(running: Promise<void>): void {
    if (this.#flushingAfterwards) return;
    this.#flushingAfterwards = true;
    void running.then(() => {
      this.#flushingAfterwards = false;
      this.flush();
    });
  }
}

/**
 * The scheduler that users hold: a byte budget and policies for the programs recorded inside
 * `step(fn)`. The first step of some structure is recorded and planned, later ones find their plan;
 * whatever differs is planned anew, so results never depend on what a step did before. It chooses
 * and learns; the runtime runs. A scheduler owns its plans and its host copies; tensors belong to
 * whom they belonged before, and slots come from the device's pool and go back after each step.
 *
 *     step(fn)   record fn ─► end its scope ─► choose a plan ─► execute it
 *                                              results to the caller's scope ◄─┘
 */
import "../base/polyfills.ts";
import "../compose.ts";
import { DisposedError, TenureError } from "../base/errors.ts";
import { type OptionTable, checkFunction, readOptions } from "../base/options.ts";
import type { Device } from "../device/device.ts";
import type { Handle } from "../ownership/handle.ts";
import { band } from "../ownership/log.ts";
import { isThenable } from "../ownership/owned.ts";
import { scopedEither } from "../ownership/scoped.ts";
import { type PlanOptions, planOptions, resolveOptions } from "../planner/plan-options.ts";
import type { PlanReport } from "../planner/plan-report.ts";
import type { Planner } from "../planner/planner.ts";
import type { Compiler } from "../runtime/compile.ts";
import type { Profile } from "../runtime/execution/figures.ts";
import { type Runtime, runtime } from "../runtime/runtime.ts";
import { contentsLost } from "../runtime/storage.ts";
import { measureCopies } from "./calibrate.ts";
import {
  type Run,
  type SchedulerReport,
  explainRun,
  largestRun,
  predictedPeak,
  secondsOf,
} from "./step-report.ts";
import { StepPolicy } from "./step-policy.ts";

/** What a scheduler takes: how to plan, and what to measure. */
export interface SchedulerOptions extends PlanOptions {
  /**
   * Times each op, or each phase of the step, for `explain()`. The device waits for the host then,
   * so steps are slower.
   */
  readonly profile?: Profile;
}

const schedulerOptions = {
  ...planOptions,
  profile: { type: "choice", of: ["off", "phases", "ops"], default: "off" },
} satisfies OptionTable<SchedulerOptions>;

/**
 * Runs training steps under a byte budget.
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using scheduler = new Scheduler({ budgetBytes: 64e6 });
 * await scheduler.step(() => {
 *   model.call(x).square().mean().backward();
 *   optimizer.step();
 *   optimizer.zeroGrad();
 * });
 * ```
 */
export class Scheduler implements Disposable {
  readonly #runtime: Runtime;
  readonly #policy: StepPolicy;
  /** Whether the rates of copies are known, or not needed. */
  #calibrated: boolean;
  #disposed = false;
  #steps = 0;
  #splits = 0;

  /** @throws ArgumentError for unknown options and values that make no sense */
  constructor(options?: SchedulerOptions) {
    const { profile, ...plan } = readOptions("Scheduler", options, schedulerOptions);
    const { budgetBytes, swap, saveHostMemory } = resolveOptions("Scheduler", plan);
    this.#runtime = runtime();
    const { caches, inspector, parts } = this.#runtime;
    parts.want("budgets");
    const compiler = (): Compiler => this.#runtime.engine.compiler;
    const planner = (): Planner => parts.get("budgets").budgetPlanner;
    const plans = caches.open();
    const found = { plan, budgetBytes, profile, saveHostMemory };
    this.#policy = new StepPolicy({ plans, compiler, planner, inspector, ...found });
    this.#calibrated = swap === "off" || budgetBytes === Infinity || plan.rates !== undefined;
  }

  /**
   * Runs `fn` in a dispose scope of its own, records its ops, plans them under the budget, and
   * executes the plan. Tensors in the result (also in arrays, plain objects, Map and Set) move to
   * the caller's scope. A read that `fn` awaits works, but splits the program in two, with
   * everything its scope owns kept. When `fn` throws, or no plan fits, nothing has run: parameters,
   * their gradients, the counts of optimizers, schedules and scalers and the random streams of `fn`
   * are what they were, what `fn` made is released. Only where the device itself ran out of memory,
   * gradients that `fn` dropped may be lost, and say so.
   * @throws BudgetError naming the op that needs most and the least budget that works;
   *   OutOfMemoryError when the device has no room for any plan tried, ArgumentError for what is no
   *   function
   */
  async step<T>(fn: () => T | Promise<T>): Promise<T> {
    checkFunction("step", fn, "pass () => { …forward, backward, optimizer.step()… }");
    const { steps } = this.#runtime;
    this.#checkFree();
    while (steps.isUnderWay) {
      await steps.ended("another step");
      this.#checkFree();
    }
    const policy = this.#policy;
    let former: Run[] = [];
    let result: readonly [T | Promise<T>];
    steps.begin();
    const ended = band(`step ${this.#steps + 1}`);
    try {
      // nothing may come between a call of `step` and its recording, unless it must be waited for
      const { submission } = this.#runtime;
      if (this.#runtime.device === null) await this.#runtime.init();
      if (!submission.isReady("main")) await submission.ready("main");
      submission.openStep(policy);
      former = policy.begin(this.#runtime.device);
      result = await this.#recordAndRun(fn);
      await this.#calibrate();
    } finally {
      this.#runtime.submission.closeStep();
      steps.end();
      ended();
      // nothing ran: reports are of the last step that did
      if (policy.runs.length === 0) policy.runs = former;
    }
    return await result[0];
  }

  /** Records the step, and runs it. @returns the result, in an array: it may be a read */
  async #recordAndRun<T>(fn: () => T | Promise<T>): Promise<readonly [T | Promise<T>]> {
    const { submission, reads, steps, device } = this.#runtime;
    const isRead = (promise: PromiseLike<unknown>): boolean => reads.isMarked(promise);
    let moved: readonly Handle[] = [];
    let result: T | Promise<T>;
    try {
      result = steps.inside(() =>
        scopedEither("step", fn, isRead, (handles) => {
          moved = handles;
        }),
      );
      if (isThenable(result) && !isRead(result)) result = await result;
      if (!submission.isReady("step")) await submission.ready("step");
    } catch (error) {
      if (submission.isBusy) await submission.quiet();
      this.#giveUp(error);
      throw error;
    }
    if (isThenable(result)) result.then(undefined, () => undefined); // heard below
    submission.flushStep();
    if (submission.isBusy) await submission.quiet();
    const failure = this.#policy.failure ?? this.#lostMeanwhile(device);
    if (failure !== null) {
      for (const handle of moved) if (handle.isLive) handle.dispose(); // nobody gets them
      device?.takeErrors(); // what else the driver said of it is no error of a later read
      throw failure;
    }
    this.#steps++;
    if (this.#policy.runs.length > 1) this.#splits += this.#policy.runs.length - 1;
    return [result];
  }

  #checkFree(): void {
    if (this.#disposed)
      throw new DisposedError(
        "step",
        "expected a live scheduler, got one that was disposed; make a new one",
        { created: undefined, disposed: undefined },
        { tensor: "scheduler", scope: undefined },
      );
    const { steps, recorder } = this.#runtime;
    if (steps.isInside)
      throw new TenureError(
        "step",
        "expected no step inside another, got one called by the function of the step under way; " +
          "call the inner function directly",
      );
    if (recorder.tracing)
      throw new TenureError(
        "step",
        "expected no step inside trace(), got one; trace the function itself",
      );
  }

  /** Gives up what a function recorded that threw. */
  #giveUp(cause: unknown): void {
    const { recorder } = this.#runtime;
    const message =
      "expected a tensor with contents, got one made in a step that threw before it ran; " +
      "make it again";
    recorder.discard(recorder.take("step"), new TenureError("step", message, { cause }));
  }

  /** What to say when the device of the step is not there any more, which gives the step up. */
  #lostMeanwhile(device: Device | null): TenureError | null {
    const { recorder } = this.#runtime;
    if (device === null || (device.lost === null && device === this.#runtime.device)) return null;
    const failure = device.lost ?? contentsLost();
    recorder.discard(recorder.take("step"), failure);
    return failure;
  }

  /** Measures the rates of copies, once. */
  async #calibrate(): Promise<void> {
    const { device } = this.#runtime;
    const run = largestRun(this.#policy.runs);
    if (this.#calibrated || device === null || run === undefined) return;
    this.#calibrated = true;
    const { learning } = this.#policy;
    const measured = await measureCopies(device, run.figures.peakBytes);
    if (measured !== null) learning.rates = { ...learning.rates, ...measured };
  }

  // === Telling ===

  /** Figures of the last step. @throws TenureError before the first */
  report(): SchedulerReport {
    const run = this.#largest("report");
    const { figures } = run;
    const { budgetBytes, plans, offSchedule, replanned, outOfMemory } = this.#policy;
    const { device } = this.#runtime;
    return {
      ...this.#planReport(run),
      predictedPeakBytes: predictedPeak(run),
      measuredPeakBytes: figures.peakBytes,
      budgetBytes,
      stalls: figures.stalls,
      stallSeconds: figures.stallSeconds,
      stagingBytes: device === null ? 0 : device.uploads.bytes + device.reads.bytes,
      hostBytes: figures.hostBytes,
      planCache: { hits: plans.hits, misses: plans.misses },
      steps: this.#steps,
      splits: this.#splits,
      offSchedule,
      replans: replanned,
      outOfMemory,
      phaseSeconds: secondsOf(figures.phases),
      opSeconds: secondsOf(figures.ops),
    };
  }

  /**
   * The report as an engineer would paste it into a pull request. @throws TenureError before the
   * first step
   */
  explain(): string {
    const run = this.#largest("explain");
    return explainRun(run, this.report(), this.#planReport(run));
  }

  /** What has run was planned, so that the planner is there. */
  #planReport({ exe }: Run): PlanReport {
    return this.#runtime.parts.get("budgets").figuresOf(exe.plan);
  }

  #largest(op: string): Run {
    const largest = largestRun(this.#policy.runs);
    if (largest === undefined)
      throw new TenureError(
        op,
        "expected a step that has run, got none; await scheduler.step(fn) first",
      );
    return largest;
  }

  /** Frees plans and host copies. A second call does nothing. */
  dispose(): void {
    this.#disposed = true;
    this.#policy.dispose();
  }

  /** Frees plans and host copies, at the end of a `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

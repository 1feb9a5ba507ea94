/**
 * How programs run in a scheduler's step: a plan per structure under the budget, made again when
 * measurements or the device say so. Asked and told by executions; it runs nothing. Owns the
 * scheduler's plans and its arrays for host copies.
 */
import { OutOfMemoryError, type TenureError } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import { BudgetError } from "../planner/budget-error.ts";
import type { PlanOptions } from "../planner/plan-options.ts";
import type { Planner } from "../planner/planner.ts";
import type { Compiler, Planning } from "../runtime/compile.ts";
import type { PartName } from "../runtime/engine-parts.ts";
import type { Executable } from "../runtime/executable.ts";
import type { Profile, RunFigures } from "../runtime/execution/figures.ts";
import { logRun } from "../runtime/execution/run-log.ts";
import { HostArrays } from "../runtime/execution/host-arrays.ts";
import type { ExecutionPolicy } from "../runtime/execution/policy.ts";
import type { Inspector } from "../runtime/inspector.ts";
import { nextStep } from "../runtime/next-step.ts";
import type { OpenProgram } from "../runtime/open-program.ts";
import type { PlanCache } from "../runtime/plan-cache.ts";
import { type Experience, Learning } from "./experience.ts";
import type { Run } from "./step-report.ts";

/** Times the budget is lowered for one program when the device has no room. */
const retries = 4;

/** Steps under a lowered budget before the full one is tried again; doubled at each refusal. */
const patience = 8;

/** What a policy is made of. */
export interface StepPolicyOptions {
  readonly plans: PlanCache;
  /** Asked once there is a device, and the part with budgets. */
  readonly compiler: () => Compiler;
  readonly planner: () => Planner;
  readonly inspector: Inspector;
  readonly plan: PlanOptions;
  readonly budgetBytes: number;
  readonly profile: Profile;
  readonly saveHostMemory: boolean;
}

/** A scheduler's choices. */
export class StepPolicy implements ExecutionPolicy {
  readonly op = "step";
  readonly replans = true;
  readonly parts: readonly PartName[] = ["budgets"];
  readonly profile: Profile;
  readonly saveHostMemory: boolean;
  readonly host: HostArrays = new HostArrays();
  readonly plans: PlanCache;
  readonly learning: Learning;
  budgetBytes: number;
  /** Programs of the step under way that ran, and what became of the first that did not. */
  runs: Run[] = [];
  failure: TenureError | null = null;
  offSchedule = 0;
  replanned = 0;
  outOfMemory = 0;
  readonly #compiler: () => Compiler;
  readonly #planner: () => Planner;
  readonly #inspector: Inspector;
  readonly #options: PlanOptions;
  /** What the user gave; `budgetBytes` is less while the device has no room for it. */
  readonly #givenBytes: number;
  #patience = patience;
  #stepsUnderLess = 0;
  /** Of the program under way: bytes of other tensors, and how often memory was refused. */
  #others = 0;
  #refusals = 0;
  /** Most bytes that the device may hold in this step, as far as its plans are known. */
  #limit = 0;

  constructor(options: StepPolicyOptions) {
    const { plans, compiler, planner, inspector } = options;
    const { plan, budgetBytes, profile, saveHostMemory } = options;
    this.plans = plans;
    this.profile = profile;
    this.saveHostMemory = saveHostMemory;
    this.budgetBytes = budgetBytes;
    this.learning = new Learning(plan);
    this.#compiler = compiler;
    this.#planner = planner;
    this.#inspector = inspector;
    this.#options = plan;
    this.#givenBytes = budgetBytes;
  }

  /** Begins a step. @returns the runs of the one before */
  begin(device: Device | null): Run[] {
    device?.pool.shrinkTo(this.#limit); // what others left free is not the step's
    const former = this.runs;
    this.runs = [];
    if (former.length < 2) this.#limit = 0;
    this.failure = null;
    if (this.budgetBytes < this.#givenBytes && ++this.#stepsUnderLess > this.#patience) {
      this.budgetBytes = this.#givenBytes;
      this.#patience *= 2;
    }
    return former;
  }

  /** The plan for a program, from the cache or made under what the budget leaves. */
  choose(device: Device, work: OpenProgram): Executable {
    const brought = work.locals.reduce((sum, { buffer }) => sum + (buffer?.bytes ?? 0), 0);
    this.#others = device.pool.usedBytes - brought;
    this.#refusals = 0;
    const exe = this.#find(device, work);
    this.#limitPool(device, exe);
    return exe;
  }

  /** Lowers the budget and plans again. */
  replan(device: Device, work: OpenProgram, exe: Executable): Executable {
    if (++this.#refusals > retries) {
      this.#recover();
      throw noRoom(`any of ${retries} smaller plans`);
    }
    this.#stepsUnderLess = 0;
    this.outOfMemory++;
    this.#limit = 0;
    const needed = exe.plan.plannedBytes + this.#others;
    this.budgetBytes = Math.floor(0.875 * Math.min(this.budgetBytes, needed));
    const next = this.#find(device, work);
    this.#limitPool(device, next);
    return next;
  }

  /** Whether there is something to learn from a run. */
  isTimed(exe: Executable): boolean {
    return this.#givenBytes !== Infinity && this.learning.wantsTiming(exe);
  }

  /** Whether the plan has never run. */
  isNew(exe: Executable): boolean {
    return this.learning.of(exe).runs === 0;
  }

  /** Learns from a run, and keeps it for the report. */
  ran({ pool }: Device, exe: Executable, figures: RunFigures, seconds: number | null): void {
    this.learning.ran(exe, figures, seconds);
    this.runs.push({ exe, others: this.#others, figures });
    this.#inspector.ran(exe.plan);
    const { budgetBytes } = this;
    logRun(exe.plan, figures, { others: this.#others, budgetBytes }, seconds);
    pool.softLimit = Infinity;
  }

  /** Keeps the first failure of the step, which rejects with it. */
  failed({ pool }: Device, failure: TenureError): void {
    this.failure ??= failure;
    pool.softLimit = Infinity;
  }

  /** Frees plans and host copies. */
  dispose(): void {
    this.plans.dispose();
    this.host.clear();
  }

  /** No plan is small enough: the next step tries everything again. */
  #recover(): void {
    this.budgetBytes = this.#givenBytes;
  }

  /**
   * The device shall hold what the plan says, and no free buffers beyond it; where reads split
   * steps, what the largest of their plans says.
   */
  #limitPool({ pool }: Device, { plan }: Executable): void {
    const bytes = Math.max(plan.plannedBytes + this.#others, this.#limit);
    this.#limit = Math.min(bytes, this.budgetBytes);
    pool.softLimit = this.#limit;
  }

  #find(device: Device, work: OpenProgram): Executable {
    const available = this.budgetBytes - this.#others;
    const { misses } = this.plans;
    let again = false;
    const exe = this.plans.find(
      device,
      work,
      (former) => {
        again = former !== undefined;
        if (former === undefined) return this.#plan(device, work, available);
        try {
          return this.#plan(device, work, available, this.learning.of(former));
        } catch (error) {
          if (!(error instanceof BudgetError) || former.plan.plannedBytes > available) throw error;
          this.learning.keep(former);
          again = false;
          return former;
        }
      },
      (known) => this.#isGood(known, available),
    );
    if (again) this.replanned++;
    else if (this.plans.misses > misses && this.plans.hits > 0) this.offSchedule++;
    return exe;
  }

  /** Whether a plan fits into what is available, and nothing better is to be expected. */
  #isGood(exe: Executable, available: number): boolean {
    const { plannedBytes, extra } = exe.plan;
    if (plannedBytes > available || this.learning.wantsAnother(exe)) return false;
    return this.learning.of(exe).available >= available * 0.9 || extra.seconds === 0;
  }

  #plan(device: Device, work: OpenProgram, available: number, former?: Experience): Executable {
    const { maxStorageBufferBindingSize, maxBufferSize } = device.gpu.limits;
    const room = Math.max(1, available);
    const prefetchBytes = (this.#options.prefetchBytes ?? 1.5 * room) * (former?.window ?? 1);
    const options: PlanOptions = {
      ...this.#options,
      rates: this.learning.rates,
      maxStorageBytes: Math.min(
        this.#options.maxStorageBytes ?? Infinity,
        maxStorageBufferBindingSize,
        maxBufferSize,
      ),
      ...(this.budgetBytes === Infinity ? {} : { budgetBytes: room, prefetchBytes }),
    };
    const exe = this.#compile(device, work, options);
    this.learning.begin(exe, available, former);
    return exe;
  }

  /**
   * Compiles, unless the step after this one would not fit into the budget. @throws BudgetError
   * about the whole budget
   */
  #compile(device: Device, work: OpenProgram, options: PlanOptions): Executable {
    const planning: Planning = { planner: this.#planner(), options };
    const looksAhead = options.budgetBytes !== undefined && this.budgetBytes === this.#givenBytes;
    const step = looksAhead ? nextStep(work) : null;
    const next = step === null ? null : this.#compiler().refusal(step, device, planning);
    if (next === null) {
      try {
        return this.#compiler().compile(work, device, planning);
      } catch (error) {
        throw error instanceof BudgetError ? this.#refusal(error, "") : error;
      }
    }
    const now = this.#compiler().refusal(work, device, planning);
    if (now !== null && now.leastBytes >= next.leastBytes) throw this.#refusal(now, "");
    throw this.#refusal(next, " from the second step on, with what optimizers keep");
  }

  /** The error about the program alone as one about the whole budget. */
  #refusal({ op, leastBytes }: BudgetError, when: string): TenureError {
    const others = this.#others;
    const least = leastBytes + others;
    if (this.budgetBytes < this.#givenBytes) {
      this.#recover();
      return noRoom(`less than the ${least} bytes the step needs at ${op}`);
    }
    const outside = others === 0 ? "" : `, ${others} of them for tensors the step does not touch`;
    return new BudgetError(
      op,
      `expected the step to fit into the budget of ${this.budgetBytes} bytes, ` +
        `got one that needs at least ${least}${when}${outside}: at ${op} most is needed; ` +
        `pass budgetBytes of ${least} or more, allow both recompute and swap, ` +
        "or make the batch smaller",
      this.budgetBytes,
      least,
    );
  }
}

function noRoom(got: string): OutOfMemoryError {
  return new OutOfMemoryError(
    "step",
    `expected the device to have room for the step, got none for ${got}; ` +
      "free tensors, or make the batch smaller",
  );
}

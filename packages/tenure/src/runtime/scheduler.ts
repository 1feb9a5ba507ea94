/**
 * The scheduler: a byte budget and policies for the programs recorded inside `step(fn)`. Users call
 * `step`, `report`, `explain`. The first step of some structure is recorded and planned, later ones
 * find their plan; whatever differs is planned anew, so results never depend on what a step did
 * before. A scheduler owns its plans and its host copies; tensors belong to whom they belonged
 * before, and slots come from the device's pool and go back after each step.
 *
 *     step(fn)   record fn ─► end its scope ─► plan under the budget ─► give slots buffers ─► run, swap, recompute ─► results to the caller's scope
 */
import { ArgumentError, DisposedError, OutOfMemoryError, TenureError } from "../base/errors.ts";
import { checkFunction, checkOptions } from "../base/options.ts";
import { counters } from "../device/counters.ts";
import type { Device } from "../device/device.ts";
import type { PooledBuffer } from "../device/pool.ts";
import type { Handle } from "../ownership/handle.ts";
import { isThenable } from "../ownership/scope.ts";
import { scopedEither } from "../ownership/scoped.ts";
import { type Rates, defaultRates } from "../planner/cost.ts";
import { BudgetError } from "../planner/budget-error.ts";
import { type PlanOptions, resolveOptions } from "../planner/plan-options.ts";
import { type PlanReport, explainReport, formatBytes } from "../planner/plan.ts";
import { type Executable, compile } from "./compile.ts";
import {
  type SlotBuffers,
  bindGroup,
  fillSlots,
  flush,
  handOver,
  init,
  isReading,
  runtime,
  spoil,
  upload,
  writeParams,
  writtenBy,
} from "./execute.ts";
import { PlanCache, seal } from "./plans.ts";
import { type OpenProgram, discardProgram, program, takeProgram } from "./record.ts";
import { HostArrays, type Profile, type RunFigures, runStretches } from "./stretch.ts";

export interface SchedulerOptions extends PlanOptions {
  /**
   * Times each op, or each phase of the step, for `explain()`. The device waits for the host then,
   * so steps are slower.
   */
  readonly profile?: Profile;
}

/**
 * What the last step that ran amounted to: the plan, and what was measured. Of a step that reads
 * split, the program with the highest peak.
 */
export interface SchedulerReport extends PlanReport {
  /** Everything resident: the plan's slots, and tensors that the step did not touch. */
  readonly predictedPeakBytes: number;
  /** Most bytes of the pool that were on loan during the step. */
  readonly measuredPeakBytes: number;
  readonly budgetBytes: number;
  /** Waits for the host that really waited, and the time they took. */
  readonly stalls: number;
  readonly stallSeconds: number;
  /** Of the staging rings, and of copies in host memory. Not part of the peak. */
  readonly stagingBytes: number;
  readonly hostBytes: number;
  readonly planCache: { readonly hits: number; readonly misses: number };
  /**
   * Steps so far; programs they were split into by reads, beyond one each; steps that, after some
   * had found their plan, had a structure of their own.
   */
  readonly steps: number;
  readonly splits: number;
  readonly offSchedule: number;
  /**
   * Plans made again because measured rates or stalls said so, and because the device had less
   * memory than the budget.
   */
  readonly replans: number;
  readonly outOfMemory: number;
  /** Seconds by phase and by op in the last step; empty unless `profile` asks for them. */
  readonly phaseSeconds: Readonly<Record<string, number>>;
  readonly opSeconds: Readonly<Record<string, number>>;
}

/** What is known of a plan from running it. */
interface Experience {
  /** The budget it was made for, in bytes for the program alone. */
  readonly available: number;
  readonly flopsPerSecond: number;
  runs: number;
  /** How far ahead it fetches, as a multiple of what was asked for, and how far it should. */
  readonly planned: number;
  window: number;
  best: { window: number; seconds: number } | null;
  settled: boolean;
}

/** One program that ran. */
interface Run {
  readonly exe: Executable;
  readonly others: number;
  readonly figures: RunFigures;
  measured: number;
}

/** Times the budget is lowered when the device has no room. */
const retries = 4;
/** Runs of a plan that are timed. */
const timedRuns = 6;

export class Scheduler implements Disposable {
  readonly #options: PlanOptions;
  readonly #profile: Profile;
  readonly #saveHostMemory: boolean;
  readonly #limited: boolean;
  #budgetBytes: number;
  readonly #plans = new PlanCache();
  readonly #experience = new WeakMap<Executable, Experience>();
  readonly #host = new HostArrays();
  #rates: Partial<Rates>;
  #calibrated: boolean;
  #disposed = false;
  /** Of the step under way, or the last one. */
  #runs: Run[] = [];
  #failure: TenureError | null = null;
  #steps = 0;
  #splits = 0;
  #offSchedule = 0;
  #replans = 0;
  #outOfMemory = 0;

  /** @throws ArgumentError for unknown options and values that make no sense */
  constructor(options: SchedulerOptions = {}) {
    checkOptions("Scheduler", options, [
      "budgetBytes",
      "prefetchBytes",
      "recompute",
      "swap",
      "placement",
      "saveHostMemory",
      "fuse",
      "maxStorageBytes",
      "rates",
      "profile",
    ]);
    const { profile = "off", ...rest } = options;
    if (!["off", "phases", "ops"].includes(profile))
      throw new ArgumentError(
        "Scheduler",
        'profile to be "off", "phases" or "ops"',
        JSON.stringify(profile),
      );
    const { budgetBytes, swap, saveHostMemory } = resolveOptions("Scheduler", rest);
    this.#options = rest;
    this.#profile = profile;
    this.#saveHostMemory = saveHostMemory;
    this.#budgetBytes = budgetBytes;
    this.#limited = budgetBytes !== Infinity;
    this.#rates = rest.rates ?? {};
    this.#calibrated = swap === "off" || !this.#limited || rest.rates !== undefined;
  }

  /**
   * Runs `fn` in a dispose scope of its own, records its ops, plans them under the budget, and
   * executes the plan. Tensors in the result (also in arrays, plain objects, Map and Set) move to
   * the caller's scope. A read that `fn` awaits works, but splits the program in two, with
   * everything its scope owns kept. When `fn` throws, or no plan fits, nothing has run: parameters,
   * step counts of optimizers and the random generator are what they were, what `fn` made is
   * released.
   * @throws BudgetError naming the op that needs most and the least budget that works;
   *   OutOfMemoryError when the device has no room for any plan tried
   */
  async step<T>(fn: () => T | Promise<T>): Promise<T> {
    checkFunction("step", fn, "pass () => { …forward, backward, optimizer.step()… }");
    if (this.#disposed)
      throw new DisposedError(
        "step",
        "expected a live scheduler, got one that was disposed; make a new one",
        { created: undefined, disposed: undefined },
        { tensor: "scheduler", scope: undefined },
      );
    if (runtime.executor !== null)
      throw new TenureError(
        "step",
        "expected no step inside another, or beside it, got one while another is under way; await the first, or call the inner function directly",
      );
    if (runtime.tracing)
      throw new TenureError(
        "step",
        "expected no step inside trace(), got one; trace the function itself",
      );
    runtime.executor = {
      flush: (device) => {
        this.#flush(device);
      },
    };
    const former = this.#runs;
    try {
      if (runtime.device === null) await init();
      if (isBusy()) await quiet();
      this.#before();
      this.#runs = [];
      this.#failure = null;
      let result: T | Promise<T>,
        moved: readonly Handle[] = [];
      try {
        result = scopedEither("step", fn, isReading, (handles) => {
          moved = handles;
        });
        if (isThenable(result) && !isReading(result)) result = await result;
      } catch (error) {
        discardProgram(
          takeProgram(),
          new TenureError(
            "step",
            "expected a tensor with contents, got one made in a step that threw before it ran; make it again",
            { cause: error },
          ),
        );
        throw error;
      }
      if (isThenable(result)) result.then(undefined, () => undefined); // heard below
      if (isBusy()) await quiet();
      if (program.ops.length > 0 || program.uploads.length > 0) flush();
      if (isBusy()) await quiet();
      this.#steps++;
      if (this.#runs.length > 1) this.#splits += this.#runs.length - 1;
      const failure = this.#failed();
      if (failure !== null) {
        for (const handle of moved) if (handle.isLive) handle.dispose(); // nobody gets them
        throw failure;
      }
      // after the step: nothing may come between its call and its recording
      if (!this.#calibrated) await this.#calibrate(runtime.device!);
      runtime.executor = null;
      return await result;
    } finally {
      runtime.executor = null;
      // nothing ran: reports are of the last step that did
      if (this.#runs.length === 0) this.#runs = former;
    }
  }

  /**
   * What was recorded before the step has a program of its own, so that steps have equal structure.
   * Uploads go along: they are the step's inputs.
   */
  #before(): void {
    program.undo.length = 0; // of an earlier step that recorded nothing
    if (program.ops.length === 0) return;
    const { executor } = runtime;
    runtime.executor = null;
    flush();
    runtime.executor = executor;
  }

  /** Takes the open program and runs it: at once when nothing has to be waited for. */
  #flush(device: Device): void {
    const work = takeProgram();
    counters.flushes++;
    device.pool.clock++;
    try {
      for (const storage of work.locals) if (storage.failure !== null) throw storage.failure;
      seal(work);
      const others =
        device.pool.usedBytes - work.locals.reduce((sum, s) => sum + (s.buffer?.bytes ?? 0), 0);
      const exe = this.#find(device, work, others),
        buffers: SlotBuffers = [],
        { made } = device.pool;
      this.#watchPool(device);
      void device.allocated(); // what failed before is not this step's
      const filled = this.#fill(device, exe, work, buffers);
      const experience = this.#experience.get(exe)!,
        timed =
          this.#limited &&
          (exe.inStretches || exe.plan.extra.recomputedOps > 0) &&
          experience.runs < timedRuns;
      if (
        filled === null &&
        device.pool.made === made &&
        !exe.inStretches &&
        !timed &&
        this.#profile === "off"
      ) {
        this.#runNow(device, work, exe, buffers, others);
        return;
      }
      runtime.running = this.#runLater(device, work, exe, buffers, others, filled, timed)
        .catch((error: unknown) => {
          this.#fail(work, error);
        })
        .then(() => {
          runtime.running = null;
        });
    } catch (error) {
      this.#fail(work, error);
    }
  }

  #failed(): TenureError | null {
    return this.#failure;
  }

  #fail(work: OpenProgram, error: unknown): void {
    const failure =
      error instanceof TenureError
        ? error
        : new TenureError("step", `expected the recorded program to run, got ${String(error)}`, {
            cause: error,
          });
    this.#failure ??= failure;
    discardProgram(work, failure);
  }

  // === Plans ===

  /** The plan for a program, from the cache or made under what the budget leaves. */
  #find(device: Device, work: OpenProgram, others: number): Executable {
    const available = this.#budgetBytes - others,
      { misses } = this.#plans;
    let again = false;
    const exe = this.#plans.find(
      device,
      work,
      (former) => {
        const known = former === undefined ? undefined : this.#experience.get(former);
        again = known !== undefined;
        try {
          return this.#plan(device, work, available, others, known);
        } catch (error) {
          if (
            former === undefined ||
            known === undefined ||
            !(error instanceof BudgetError) ||
            former.plan.plannedBytes > available
          )
            throw error;
          this.#experience.set(former, {
            ...known,
            flopsPerSecond: this.#flopsPerSecond,
            window: known.planned,
            settled: true,
          }); // measurements ask for another plan, but none fits
          again = false;
          return former;
        }
      },
      (known) => {
        const experience = this.#experience.get(known)!;
        return (
          known.plan.plannedBytes <= available &&
          !this.#wantsAnother(known, experience) &&
          (experience.available >= available * 0.9 || known.plan.extra.seconds === 0)
        );
      },
    );
    if (again) this.#replans++;
    else if (this.#plans.misses > misses && this.#plans.hits > 0) this.#offSchedule++;
    return exe;
  }

  #plan(
    device: Device,
    work: OpenProgram,
    available: number,
    others: number,
    known?: Experience,
  ): Executable {
    const window = known?.window ?? 1,
      { prefetchBytes } = this.#options;
    const options: PlanOptions = {
      ...this.#options,
      rates: this.#rates,
      maxStorageBytes: Math.min(
        this.#options.maxStorageBytes ?? Infinity,
        device.gpu.limits.maxStorageBufferBindingSize,
        device.gpu.limits.maxBufferSize,
      ),
      ...(this.#budgetBytes === Infinity
        ? {}
        : {
            budgetBytes: Math.max(1, available),
            prefetchBytes: (prefetchBytes ?? 1.5 * Math.max(1, available)) * window,
          }),
    };
    let exe: Executable;
    try {
      exe = compile(work, device, options);
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error;
      const least = error.leastBytes + others,
        outside = others === 0 ? "" : `, ${others} of them for tensors the step does not touch`;
      throw new BudgetError(
        error.op,
        `expected the step to fit into the budget of ${this.#budgetBytes} bytes, got one that needs at least ${least}${outside}: at ${error.op} most is needed; pass budgetBytes of ${least} or more, allow both recompute and swap, or make the batch smaller`,
        this.#budgetBytes,
        least,
      );
    }
    this.#experience.set(exe, {
      available,
      flopsPerSecond: this.#flopsPerSecond,
      runs: 0,
      planned: window,
      window,
      best: known?.best ?? null,
      settled: known?.settled ?? false,
    });
    return exe;
  }

  get #flopsPerSecond(): number {
    return this.#rates.flopsPerSecond ?? defaultRates.flopsPerSecond;
  }

  /**
   * Whether measurements say that another plan would do better: the device computes much faster or
   * slower than was thought, or another window is to be tried.
   */
  #wantsAnother(exe: Executable, experience: Experience): boolean {
    const { flopsPerSecond } = experience,
      now = this.#flopsPerSecond,
      matters =
        exe.plan.extra.seconds > 0 &&
        this.#options.recompute !== "off" &&
        this.#options.swap !== "off";
    if (matters && (now > 8 * flopsPerSecond || now < flopsPerSecond / 8)) return true;
    return experience.window !== experience.planned;
  }

  // === Running ===

  #watchPool({ pool }: Device): void {
    pool.highWater = pool.usedBytes;
    pool.softLimit = this.#budgetBytes;
  }

  /** Fills the slots. @returns what the pool refused; then no slot is filled */
  #fill(
    device: Device,
    exe: Executable,
    work: OpenProgram,
    buffers: SlotBuffers,
  ): OutOfMemoryError | null {
    try {
      fillSlots(device, exe, work, buffers);
      // free buffers count for the device
      if (device.pool.deviceBytes > this.#budgetBytes) device.pool.trim();
      return null;
    } catch (error) {
      this.#empty(device, exe, buffers);
      if (error instanceof OutOfMemoryError) return error;
      throw error;
    }
  }

  /**
   * Where buffers come and go, whether the device has room for all that will be there at one time:
   * nothing may be refused halfway. Asked once per plan.
   */
  async #probe(device: Device, exe: Executable): Promise<OutOfMemoryError | null> {
    const {
        plan: { slots, plannedBytes },
      } = exe,
      { pool } = device,
      late = slots.filter((s) => s.late === true),
      probes: PooledBuffer[] = [];
    if (late.length === 0 || this.#experience.get(exe)!.runs > 0) return null;
    const most = Math.max(...late.map((s) => s.bytes));
    let left = slots.reduce((rest, s) => (s.late === true ? rest : rest - s.bytes), plannedBytes),
      refused: OutOfMemoryError | null = null;
    try {
      for (; left > 0; left -= most) probes.push(pool.acquire(Math.min(left, most)));
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      refused = error;
    }
    refused ??= await device.allocated();
    for (const probe of probes) pool.release(probe);
    pool.trim();
    this.#watchPool(device);
    return refused;
  }

  #empty({ pool }: Device, { plan: { slots } }: Executable, buffers: SlotBuffers): void {
    buffers.forEach((buffer, s) => {
      if (buffer !== undefined && slots[s]!.entry === -1) pool.release(buffer);
    });
    buffers.length = 0;
  }

  #runNow(
    device: Device,
    work: OpenProgram,
    exe: Executable,
    buffers: SlotBuffers,
    others: number,
  ): void {
    const submitted: (() => void)[] = [],
      written = writtenBy(work);
    const verdict = device.watch(() => {
      upload(device, exe, work, buffers, submitted);
      writeParams(device, exe, work.words);
      for (const d of exe.dispatches)
        device.queue.dispatch(
          d.pipeline.gpu,
          bindGroup(device, exe, d, buffers),
          d.workgroups[0],
          d.workgroups[1],
          d.workgroups[2],
        );
      device.queue.submit();
    });
    for (const done of submitted) done();
    handOver(device, exe, work, buffers);
    this.#note(device, exe, others, noFigures());
    void verdict.then((refused) => {
      if (refused !== null) spoil(written, refused);
    });
  }

  /** Runs a program that waits: for the verdict on new buffers, for copies, for its own times. */
  async #runLater(
    device: Device,
    work: OpenProgram,
    first: Executable,
    buffers: SlotBuffers,
    others: number,
    filled: OutOfMemoryError | null,
    timed: boolean,
  ): Promise<void> {
    const written = writtenBy(work);
    let exe = first,
      refused = filled ?? (await device.allocated()) ?? (await this.#probe(device, exe));
    for (let attempt = 1; refused !== null; attempt++) {
      this.#empty(device, exe, buffers);
      device.forget(refused);
      device.pool.trim();
      if (attempt > retries)
        throw new OutOfMemoryError(
          "step",
          `expected the device to have room for a budget of ${this.#budgetBytes} bytes, got none after ${retries} lower ones; free tensors, or make the batch smaller`,
        );
      this.#outOfMemory++;
      this.#budgetBytes = Math.floor(
        0.875 * Math.min(this.#budgetBytes, exe.plan.plannedBytes + others),
      );
      exe = work.reindexed(() => this.#find(device, work, others));
      this.#watchPool(device);
      refused =
        this.#fill(device, exe, work, buffers) ??
        (await device.allocated()) ??
        (await this.#probe(device, exe));
    }
    const start = timed ? (await device.idle(), performance.now()) : 0;
    const figures = noFigures(),
      submitted: (() => void)[] = [];
    // The buffers are the run's until it ends, whoever lets go of a tensor meanwhile.
    for (const { entry } of exe.plan.slots) if (entry !== -1) work.locals[entry]!.buffer = null;
    let failure: TenureError | null;
    try {
      const uploading = device.watch(() => {
        work.reindexed(() => {
          upload(device, exe, work, buffers, submitted);
        });
        writeParams(device, exe, work.words);
        device.queue.submit();
      });
      for (const done of submitted) done();
      failure =
        (await runStretches(
          device,
          exe,
          buffers,
          this.#host,
          this.#profile,
          this.#saveHostMemory,
          figures,
        )) ?? (await uploading);
      if (timed) {
        await device.idle();
        this.#learn(exe, (performance.now() - start) / 1000, figures);
      }
    } finally {
      this.#note(device, exe, others, figures);
      handOver(device, exe, work, buffers);
    }
    if (failure !== null) {
      spoil(written, failure);
      this.#failure ??= failure;
    }
  }

  #note({ pool }: Device, exe: Executable, others: number, figures: RunFigures): void {
    this.#runs.push({ exe, others, figures, measured: pool.highWater });
    pool.softLimit = Infinity;
    this.#experience.get(exe)!.runs++;
  }

  // === Measuring ===

  /**
   * Bytes per second to the host and back, by a copy each; the first of each only warms up. The
   * buffer is no tensor's, like staging: budgets don't count it.
   */
  async #calibrate(device: Device): Promise<void> {
    this.#calibrated = true;
    const bytes = 2 ** 20,
      data = new Uint8Array(bytes);
    device.gpu.pushErrorScope("out-of-memory");
    const buffer = device.gpu.createBuffer({
      label: "tenure rates",
      size: bytes,
      usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    if ((await device.gpu.popErrorScope()) !== null) return; // no room to measure in
    const seconds = async (fn: () => void | Promise<void>): Promise<number> => {
      let best = Infinity;
      for (let k = 0; k < 3; k++) {
        await device.idle();
        const start = performance.now();
        await fn();
        await device.idle();
        best = Math.min(best, (performance.now() - start) / 1000);
      }
      return Math.max(best, 1e-6);
    };
    const out = await seconds(async () => {
      const staging = device.reads.take(bytes);
      device.queue.copy(buffer, 0, staging, 0, bytes);
      device.queue.submit();
      await device.reads.read(staging, bytes, (mapped) => {
        data.set(new Uint8Array(mapped, 0, bytes));
      });
    });
    const back = await seconds(() => {
      const done = device.uploads.write(buffer, 0, data, (source, size) => {
        device.queue.copy(source, 0, buffer, 0, size);
      });
      device.queue.submit();
      done?.();
    });
    buffer.destroy();
    this.#rates = {
      ...this.#rates,
      outBytesPerSecond: bytes / out,
      inBytesPerSecond: bytes / back,
    };
  }

  /**
   * What a timed run says of the device's speed and of the window. The first run of a plan also
   * compiles and is left out.
   */
  #learn(exe: Executable, seconds: number, figures: RunFigures): void {
    const experience = this.#experience.get(exe)!;
    if (experience.runs === 0) return;
    const {
        flops,
        extra: { recomputeFlops, swapInBytes, swapOutBytes },
      } = exe.plan,
      { inBytesPerSecond = Infinity, outBytesPerSecond = Infinity } = this.#rates;
    const computing = Math.max(
      seconds / 4,
      seconds -
        figures.stallSeconds -
        swapInBytes / inBytesPerSecond -
        swapOutBytes / outBytesPerSecond,
    );
    if (this.#options.rates === undefined && flops > 0)
      this.#rates = { ...this.#rates, flopsPerSecond: (flops + recomputeFlops) / computing };
    if (!exe.inStretches || experience.settled) return;
    const { best } = experience,
      better = best === null || seconds < 0.97 * best.seconds;
    if (better) experience.best = { window: experience.window, seconds };
    // Stalls cost: fetch earlier, as long as that helps; else go back to what was best.
    const next =
      better && figures.stallSeconds > 0.05 * seconds && experience.window < 8
        ? 2 * experience.window
        : experience.best!.window;
    if (next === experience.best!.window) experience.settled = true;
    experience.window = next;
  }

  // === Telling ===

  /** Figures of the last step. @throws TenureError before the first */
  report(): SchedulerReport {
    const run = this.#largest("report"),
      { exe, others, figures, measured } = run,
      sum = (rows: RunFigures["ops"]): Record<string, number> =>
        Object.fromEntries([...rows].map(([name, { seconds }]) => [name, seconds]));
    const { device } = runtime;
    return {
      ...exe.plan.report(),
      predictedPeakBytes: exe.plan.plannedBytes + others,
      measuredPeakBytes: measured,
      budgetBytes: this.#budgetBytes,
      stalls: figures.stalls,
      stallSeconds: figures.stallSeconds,
      stagingBytes: device === null ? 0 : device.uploads.bytes + device.reads.bytes,
      hostBytes: figures.hostBytes,
      planCache: { hits: this.#plans.hits, misses: this.#plans.misses },
      steps: this.#steps,
      splits: this.#splits,
      offSchedule: this.#offSchedule,
      replans: this.#replans,
      outOfMemory: this.#outOfMemory,
      phaseSeconds: sum(figures.phases),
      opSeconds: sum(figures.ops),
    };
  }

  /**
   * The report as an engineer would paste it into a pull request. @throws TenureError before the
   * first step
   */
  explain(): string {
    const { exe, others, figures } = this.#largest("explain"),
      r = this.report();
    const lines = [
      `step     ${r.steps} so far, ${r.planCache.hits} found their plan, ${r.planCache.misses} planned (${r.replans} again by what was measured), ${r.offSchedule} off schedule, ${r.splits} splits by reads${r.outOfMemory > 0 ? `, budget lowered ${r.outOfMemory} times` : ""}`,
      `peak     predicted ${formatBytes(r.predictedPeakBytes)}, measured ${formatBytes(r.measuredPeakBytes)}${r.budgetBytes === Infinity ? "" : ` of ${formatBytes(r.budgetBytes)}`}${others > 0 ? `, ${formatBytes(others)} of it outside the step` : ""}; staging ${formatBytes(r.stagingBytes)}${r.hostBytes > 0 ? `, host copies ${formatBytes(r.hostBytes)}` : ""}`,
    ];
    if (exe.inStretches)
      lines.push(`stalls   ${r.stalls}, ${(1000 * r.stallSeconds).toFixed(1)} ms`);
    const table = (title: string, rows: RunFigures["ops"]): void => {
      if (rows.size === 0) return;
      const width = Math.max(title.length, ...[...rows.keys()].map((k) => k.length));
      lines.push("", `${title.padEnd(width)}  count  milliseconds`);
      for (const [name, { count, seconds }] of [...rows].sort(
        (a, b) => b[1].seconds - a[1].seconds,
      ))
        lines.push(
          `${name.padEnd(width)}  ${String(count).padStart(5)}  ${(1000 * seconds).toFixed(2).padStart(12)}`,
        );
    };
    table("phase", figures.phases);
    table("op", figures.ops);
    return `${lines.slice(0, 2).join("\n")}\n${explainReport(exe.plan.report(), exe.plan.program, exe.plan.slots.length, exe.plan.budgetBytes)}${lines
      .slice(2)
      .map((l) => `\n${l}`)
      .join("")}`;
  }

  #largest(op: string): Run {
    if (this.#runs.length === 0)
      throw new TenureError(
        op,
        "expected a step that has run, got none; await scheduler.step(fn) first",
      );
    return this.#runs.reduce((a, b) =>
      b.exe.plan.plannedBytes + b.others > a.exe.plan.plannedBytes + a.others ? b : a,
    );
  }

  /** Frees plans and host copies. A second call does nothing. */
  dispose(): void {
    this.#disposed = true;
    this.#plans.dispose();
    this.#host.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function isBusy(): boolean {
  return runtime.running !== null;
}

/** Resolves once no program waits for the host. */
async function quiet(): Promise<void> {
  for (let running = runtime.running; running !== null; running = runtime.running) await running;
}

function noFigures(): RunFigures {
  return { stalls: 0, stallSeconds: 0, hostBytes: 0, phases: new Map(), ops: new Map() };
}

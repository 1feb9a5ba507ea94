/**
 * One run of one program: the only way a plan is executed.
 *
 *     prepare   find the plan ─► fill the slots          nothing has changed when this fails
 *     encode    upload ─► uniforms ─► one segment        once, if nothing waits; else until the end
 *     settle    hand over ─► what the device refused is spoiled
 *
 * Two rules say what a failure leaves. A program that did not run leaves everything it would have
 * updated as it was; what it would have made says why, and uploads are recorded again. A program
 * that ran, if only in part, spoils what it writes, and nothing else. Called by the submission.
 * Owns the buffers in the plan's slots while it runs.
 */
import { at } from "../../base/access.ts";
import { OutOfMemoryError, type TenureError, internal } from "../../base/errors.ts";
import type { CounterSet } from "../../device/counters.ts";
import type { Device } from "../../device/device.ts";
import { isStaged } from "../../device/staging.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { Executable } from "../executable.ts";
import type { Lane, OpenProgram } from "../open-program.ts";
import type { PlanCaches } from "../plan-cache.ts";
import type { Recorder } from "../recorder.ts";
import type { Settings } from "../settings.ts";
import type { Storage } from "../storage.ts";
import { type Affected, affectedBy, nothing } from "./affected.ts";
import {
  encodeStraight,
  encodeUploads,
  forgetGroups,
  updateParams,
  writeUniforms,
} from "./encode.ts";
import { asTenureError } from "./failure.ts";
import { type Profile, RunFigures } from "./figures.ts";
import type { ExecutionPolicy } from "./policy.ts";
import type { Segments, Wait } from "./segments.ts";
import {
  type Poison,
  type SlotBuffers,
  emptySlots,
  giveBack,
  handOver,
  reuseBuffers,
  takeOver,
  writtenAtOnce,
} from "./slot-buffers.ts";

/** What all executions of a runtime share. */
export interface ExecutionTools {
  readonly recorder: Recorder;
  readonly caches: PlanCaches;
  readonly settings: Settings;
  readonly counters: CounterSet;
  readonly poison: Poison;
  /** Brings what runs plans piece by piece. */
  readonly parts: EngineParts;
  /** Programs that are submitted, and of which the device has not said that it took them. */
  readonly unsettled: Set<Execution>;
  /** Rejects the pending reads of storages whose program did not run. */
  readonly rejectReads: (of: ReadonlySet<Storage>, reason: TenureError, lane: Lane) => number;
}

/** Runs one program. */
export class Execution {
  readonly #tools: ExecutionTools;
  readonly #device: Device;
  readonly #policy: ExecutionPolicy;
  readonly #work: OpenProgram;
  readonly #buffers: SlotBuffers = [];
  readonly #figures = new RunFigures();
  readonly #submitted: (() => void)[] = [];
  #plan: Executable | null = null;
  #segments: Segments | null = null;
  #refused: OutOfMemoryError | null = null;
  #affected: Affected = nothing;
  /** Submits that the queue had made when the run began, and when it was settled. */
  #firstSubmit = 0;
  #lastSubmit = 0;
  /** Why contents that it ran on were never made; null when they were. */
  #taint: TenureError | null = null;
  /** What the device refused of uploads and uniforms, while the program ran all the same. */
  #unwritten: Promise<TenureError | null> | null = null;
  #ranUnwritten = false;

  constructor(tools: ExecutionTools, device: Device, policy: ExecutionPolicy, work: OpenProgram) {
    this.#tools = tools;
    this.#device = device;
    this.#policy = policy;
    this.#work = work;
  }

  get #exe(): Executable {
    if (this.#plan === null) throw internal("a program runs before it was prepared");
    return this.#plan;
  }

  /** How closely it is timed. */
  get #profile(): Profile {
    return this.#device.queue.watch?.waits === true ? "ops" : this.#policy.profile;
  }

  /**
   * Finds the plan and fills its slots. @returns whether it runs at once, runs with waits, or was
   * given up because it cannot run
   */
  prepare(): "at once" | "with waits" | "failed" {
    const device = this.#device;
    const policy = this.#policy;
    try {
      for (const { failure } of this.#work.locals) if (failure !== null) throw failure;
      this.#work.seal();
      this.#lendDropped();
      const exe = (this.#plan = policy.choose(device, this.#work));
      const { made } = device.pool;
      if (policy.replans) void device.allocated(); // what failed before is not this program's
      this.#refused = this.#fill();
      if (this.#refused !== null && !policy.replans) throw this.#refused;
      const asks = policy.replans && (this.#refused !== null || device.pool.made !== made);
      const waits = exe.inSegments || this.#profile !== "off" || policy.isTimed(exe);
      return asks || waits ? "with waits" : "at once";
    } catch (error) {
      this.#giveUp(asTenureError(this.#policy.op, error));
      return "failed";
    }
  }

  /** Begins to make its pipelines. Resolves once they are there; null when they are. */
  pipelinesAhead(): Promise<void> | null {
    const { proven, dispatches } = this.#exe;
    if (proven) return null;
    return this.#device.pipelines.ahead(dispatches.map(({ pipeline }) => pipeline));
  }

  /**
   * Encodes a program that runs at once. Call inside `device.watch`.
   *
   * @throws what encoding throws
   */
  encode(): void {
    if (this.#begin() !== null) throw internal("a program waits that was to run at once");
    this.#handOver();
  }

  /** To be called once what `encode` encoded is submitted. */
  settle(verdict: Promise<TenureError | null>): void {
    const { unsettled, recorder } = this.#tools;
    for (const done of this.#submitted.splice(0)) done();
    this.#lastSubmit = this.#device.queue.submits;
    this.#figures.end();
    this.#policy.ran(this.#device, this.#exe, this.#figures, null);
    unsettled.add(this);
    recorder.submitted(this.#work);
    void verdict.then(async (refused) => {
      this.#judged(refused, this.#unwritten === null ? null : await this.#unwritten);
    });
  }

  /** The device has said what it refused of the submit, and of uploads and uniforms. */
  #judged(refused: TenureError | null, unwritten: TenureError | null): void {
    const { unsettled, recorder } = this.#tools;
    const isClean = refused === null && unwritten === null;
    const isLatest =
      !isClean && [...unsettled].at(-1) === this && !recorder.isRecording(this.#work.lane);
    unsettled.delete(this);
    if (refused !== null) this.#refuse(refused, isLatest);
    else if (unwritten !== null) this.#lack(unwritten, isLatest);
    else if (this.#taint !== null) this.#spoil(this.#taint);
    else this.#prove();
    recorder.recycle(this.#work);
  }

  /** To be called when encoding or submitting threw. @returns the error to tell */
  fail(error: unknown): TenureError {
    const failure = asTenureError(this.#policy.op, error);
    this.#figures.end();
    for (const done of this.#submitted.splice(0)) done();
    if (this.#device.queue.submits !== this.#firstSubmit) this.#break(failure);
    else {
      this.#policy.failed(this.#device, failure);
      this.#undo(failure, true);
    }
    return failure;
  }

  /** Runs a program that waits: for the verdict on new buffers, for copies, for times. */
  async run(): Promise<void> {
    try {
      await this.#allocate();
      await this.pipelinesAhead();
    } catch (error) {
      this.#giveUp(asTenureError(this.#policy.op, error));
      return;
    }
    this.#firstSubmit = this.#device.queue.submits;
    try {
      const failure = await this.#runSegments();
      if (failure === null) {
        this.#prove();
        return;
      }
      this.#lastSubmit = this.#device.queue.submits;
      this.#refuse(failure, true);
      this.#policy.failed(this.#device, failure);
    } catch (error) {
      this.#device.queue.abandon();
      await this.#segments?.end().catch(() => undefined);
      this.fail(error);
    }
  }

  // === Memory ===

  /** Fills the slots. @returns what the pool refused; then no slot is filled */
  #fill(): OutOfMemoryError | null {
    const device = this.#device;
    const { pool, held } = device;
    const { slots } = this.#exe.plan;
    try {
      const missing = reuseBuffers(device, this.#exe, this.#work, this.#buffers);
      pool.shrinkTo(pool.softLimit); // free buffers count for the device
      this.#figures.watch(held);
      for (const s of missing) this.#buffers[s] = pool.acquire(at(slots, s).bytes);
      return null;
    } catch (error) {
      emptySlots(device, this.#exe, this.#buffers);
      if (error instanceof OutOfMemoryError) return error;
      throw error;
    }
  }

  /** Buffers of what the program has dropped serve whoever needs them, itself first. */
  #lendDropped(): void {
    const { lanes } = this.#tools.recorder;
    const work = this.#work;
    work.dropped.lend((storage) => work.uses(storage) || lanes.mention(storage, work));
  }

  /** Makes sure that the device has all buffers, with other plans as long as there are some. */
  async #allocate(): Promise<void> {
    const [device, policy] = [this.#device, this.#policy];
    if (!policy.replans) return;
    let refused = this.#refused ?? (await device.allocated()) ?? (await this.#probe());
    while (refused !== null) {
      emptySlots(device, this.#exe, this.#buffers);
      device.forget(refused);
      device.pool.trim();
      const [exe, why] = [this.#exe, refused];
      this.#plan = this.#work.reindexed(() => policy.replan(device, this.#work, exe, why));
      refused = this.#fill() ?? (await device.allocated()) ?? (await this.#probe());
    }
  }

  /** Whether the device has room for buffers that come on the way. Asked once per plan. */
  async #probe(): Promise<OutOfMemoryError | null> {
    if (!this.#policy.isNew(this.#exe)) return null;
    return this.#tools.parts.get("budgets").probeRoom(this.#device, this.#exe.plan);
  }

  // === Running ===

  /** Takes the buffers over and encodes everything up to the first wait. */
  #begin(): Wait | null {
    const { settings, counters, parts } = this.#tools;
    const poison = settings.poison ? this.#tools.poison : null;
    const { host, saveHostMemory } = this.#policy;
    const device = this.#device;
    const exe = this.#exe;
    this.#affected = affectedBy(this.#work);
    this.#firstSubmit = device.queue.submits;
    takeOver(exe, this.#work);
    this.#work.dropped.begin(writtenAtOnce(device, exe, this.#work, this.#buffers, poison));
    const isWatched = device.queue.watch !== null || this.#policy.profile !== "off";
    if (exe.straight !== null && !isWatched && poison === null) {
      this.#write();
      encodeStraight(device, counters, exe, exe.straight, this.#buffers);
      return null;
    }
    this.#segments = new (parts.get("budgets").Segments)({
      device,
      counters,
      exe,
      buffers: this.#buffers,
      figures: this.#figures,
      profile: this.#profile,
      host,
      saveHostMemory,
      poison,
    });
    this.#write();
    return this.#segments.encode();
  }

  /** Uploads and uniforms. */
  #write(): void {
    const device = this.#device;
    const exe = this.#exe;
    const work = this.#work;
    const changed = updateParams(exe, work.scalars);
    forgetGroups(device, exe);
    if (changed === null && work.uploads.length === 0) return;
    this.#unwritten = device.writes(() => {
      encodeUploads(device, exe, work, this.#buffers, this.#submitted);
      if (changed !== null) writeUniforms(device, exe, changed);
    });
  }

  /** @returns what the device refused, or null */
  async #runSegments(): Promise<TenureError | null> {
    const device = this.#device;
    const timed = this.#policy.isTimed(this.#exe);
    if (timed) await device.idle();
    const start = performance.now();
    const verdicts: Promise<TenureError | null>[] = [];
    const encode = (segment: () => Wait | null): Wait | null => {
      let wait: Wait | null = null;
      verdicts.push(
        device.watch(() => {
          wait = segment();
          device.queue.submit();
        }),
      );
      return wait;
    };
    let wait = encode(() => this.#begin());
    for (const done of this.#submitted.splice(0)) done();
    while (wait !== null) {
      await wait();
      wait = encode(() => this.#segments?.encode() ?? null);
    }
    await this.#segments?.end();
    let refused: TenureError | null = null;
    for (const verdict of verdicts) refused ??= await verdict;
    const unwritten = await this.#unwritten;
    const ran = refused === null || device.queue.submits - this.#firstSubmit > 1;
    this.#ranUnwritten = ran && unwritten !== null;
    refused ??= unwritten;
    if (timed) await device.idle();
    const seconds = timed ? (performance.now() - start) / 1000 : null;
    this.#figures.end();
    this.#policy.ran(device, this.#exe, this.#figures, seconds);
    this.#handOver();
    return refused;
  }

  #handOver(): void {
    const { recorder } = this.#tools;
    const mentioned = (storage: Storage): boolean => recorder.lanes.mention(storage, this.#work);
    handOver(this.#device, this.#exe, this.#work, this.#buffers, mentioned);
    recorder.ended(this.#work);
  }

  // === Failures ===

  /** The device took it: what was made for it works. */
  #prove(): void {
    const exe = this.#exe;
    if (exe.proven) return;
    exe.proven = true;
    this.#device.pipelines.prove(exe.dispatches.map(({ pipeline }) => pipeline));
  }

  /** Ends a program whose run did not begin. */
  #giveUp(failure: TenureError): void {
    this.#figures.end();
    this.#policy.failed(this.#device, failure);
    this.#discard(failure, true);
  }

  /** It did not run, and leaves everything it would have updated as it was. */
  #discard(failure: TenureError, isLatest: boolean): void {
    const { recorder, rejectReads } = this.#tools;
    const writes = new Set(this.#work.written());
    for (const { storage } of this.#work.uploads) writes.add(storage);
    if (rejectReads(writes, failure, this.#work.lane) > 0) this.#device.forget(failure);
    recorder.discard(this.#work, failure, isLatest);
  }

  /** Ends a program of which nothing was submitted, or whose one submit the device refused. */
  #undo(failure: TenureError, isLatest: boolean): void {
    this.#dropPlan();
    giveBack(this.#device, this.#exe, this.#work, this.#buffers);
    for (const storage of this.#affected.made) storage.freeBuffer();
    this.#discard(failure, isLatest);
  }

  /**
   * The device refused a submit, which then did nothing at all. A program of a single submit has
   * not run. What ran after it on contents that it should have made has run on garbage.
   */
  #refuse(refused: TenureError, isLatest: boolean): void {
    const { made, written } = this.#affected;
    const lost = new Set(this.#ranUnwritten ? [...made, ...written] : made);
    for (const later of this.#tools.unsettled) later.runOn(lost, refused);
    const inPart = this.#lastSubmit - this.#firstSubmit > 1 || this.#ranUnwritten;
    if (inPart || this.#taint !== null || this.#device.lost !== null) {
      this.#handOver();
      this.#spoil(refused);
    } else this.#undo(refused, isLatest);
  }

  /**
   * The device refused uploads or uniforms. Ops ran all the same, on what was there before, and
   * made nothing of worth; without ops, nothing happened.
   */
  #lack(refused: TenureError, isLatest: boolean): void {
    this.#ranUnwritten = this.#work.opCount > 0;
    this.#refuse(refused, isLatest);
  }

  /** Notes that some contents were never made. What this program made of them is none, either. */
  runOn(lost: Set<Storage>, why: TenureError): void {
    if (!this.#affected.found.some((storage) => lost.has(storage))) return;
    this.#taint = why;
    for (const storage of this.#affected.written) lost.add(storage);
  }

  /** Ends a program that ran in part. */
  #break(failure: TenureError): void {
    this.#handOver();
    this.#spoil(failure);
    this.#policy.failed(this.#device, failure);
  }

  /**
   * What a program should have written is not there: every later use says why, until it is
   * overwritten whole. Uploads that went through the queue's own writes are there, unless their
   * buffer never was.
   */
  #spoil(failure: TenureError): void {
    const { written, uploaded } = this.#affected;
    for (const storage of written) storage.lose(failure);
    for (const storage of uploaded)
      if (isStaged(storage.bytes) || !storage.isResident || this.#ranUnwritten)
        storage.lose(failure);
    for (const storage of this.#work.locals)
      if (storage.buffer !== null && !storage.isResident) storage.lose(failure);
    this.#dropPlan();
  }

  /** What failed once is made anew: the plan with its uniforms, its kernels, all bind groups. */
  #dropPlan(): void {
    const { caches } = this.#tools;
    const exe = this.#exe;
    exe.stale = true; // the device may not have the uniforms that the host remembers
    caches.dropBindGroups();
    if (exe.proven) return;
    this.#device.pipelines.dropUnproven(exe.dispatches.map(({ pipeline }) => pipeline));
    caches.discard(exe);
  }
}

/**
 * Flushing: the open program meets the plan cache, slots are filled with buffers, dispatches and
 * copies are encoded and submitted, reads come back. Also the life of the device: `init`,
 * `shutdown`, `sync`. Called by the tensor layer and by users. On a plan hit nothing is created: no
 * WGSL, pipeline, bind group or buffer. The runtime owns the device and the cached plans; storages
 * own their buffers as soon as a flush has given them one.
 */
import { ArgumentError, DeviceLostError, TenureError } from "../base/errors.ts";
import { isNode, warn } from "../base/env.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { currentScope } from "../ownership/current.ts";
import { setSettled } from "../ownership/scope.ts";
import { type DeviceInfo, acquire, deviceChoice } from "../device/acquire.ts";
import { counters } from "../device/counters.ts";
import { Device } from "../device/device.ts";
import { isStaged } from "../device/staging.ts";
import type { PooledBuffer } from "../device/pool.ts";
import { type Dispatch, type Executable, compile } from "./compile.ts";
import { PlanCache, clearPlans, dropBindGroups, seal } from "./plans.ts";
import { type OpenProgram, freeing, program } from "./record.ts";
import { type Storage, contentsLost } from "./storage.ts";

/**
 * Switches for tests. `poison` fills buffers that come from the pool with NaN, so that nothing can
 * rely on what a former owner left there.
 */
export const debugging = { poison: false };
/** Limits of an open program; it is flushed when it exceeds one. */
export const limits = { ops: 4096, pendingBytes: 2 ** 31 };
/** Flushes after which a free buffer counts as unused. */
const trimEvery = 256;

interface Runtime {
  device: Device | null;
  flushEachOp: boolean;
  /** While set, what is recorded is only looked at: nothing is flushed. */
  tracing: boolean;
  /** While a scheduler's step is under way: runs what is recorded in it. */
  executor: Executor | null;
  /** A program whose plan waits for the host in between. Later flushes wait for its end. */
  running: Promise<void> | null;
}
export const runtime: Runtime = {
  device: null,
  flushEachOp: false,
  tracing: false,
  executor: null,
  running: null,
};

/** Takes programs out of the executor's hands: a scheduler. */
export interface Executor {
  /**
   * Takes the open program and runs it, now or, with `runtime.running` set, later. Never throws.
   */
  flush(device: Device): void;
}

const plans = new PlanCache();

// === The device's life ===

export interface InitOptions {
  /**
   * `auto` (default; also the environment variable TENURE_DEVICE): the best device that works.
   * `gpu`: refuse software. `software`: the packaged one. `null`: count, don't compute.
   */
  readonly device?: "auto" | "gpu" | "software" | "null";
  readonly powerPreference?: "low-power" | "high-performance";
  /** `eachOp` runs every op at once, for debugging: same engine, no batching. */
  readonly flush?: "auto" | "eachOp";
}

let initializing: Promise<DeviceInfo> | null = null;
const announced = new Set<string>();

/**
 * Finds a device. Optional: the first read does it with the defaults. Calling it again returns the
 * same device.
 * @throws DeviceLostError when there is none, saying what was tried and what to install;
 *   ArgumentError for unknown options or a second, different device.
 */
export async function init(options: InitOptions = {}): Promise<DeviceInfo> {
  checkOptions("init", options, ["device", "powerPreference", "flush"]);
  if (options.flush !== undefined && options.flush !== "auto" && options.flush !== "eachOp")
    throw new ArgumentError(
      "init",
      'flush to be "auto" or "eachOp"',
      describeValue(options.flush),
      '"eachOp" is for debugging',
    );
  if (
    options.powerPreference !== undefined &&
    options.powerPreference !== "low-power" &&
    options.powerPreference !== "high-performance"
  )
    throw new ArgumentError(
      "init",
      'powerPreference to be "low-power" or "high-performance"',
      describeValue(options.powerPreference),
      "leave it out to let the system choose",
    );
  const choice = deviceChoice(options.device);
  // a lost device is replaced
  if (runtime.device !== null && runtime.device.lost !== null) await shutdown();
  if (options.flush !== undefined) runtime.flushEachOp = options.flush === "eachOp";
  if (initializing === null) {
    initializing = acquire(choice, options.powerPreference).then((acquired) => {
      runtime.device = new Device(acquired);
      announce(acquired.info);
      return acquired.info;
    });
    initializing.catch(() => {
      initializing = null;
    });
    return initializing;
  }
  const info = await initializing;
  if (options.device !== undefined && choice !== "auto" && choice !== info.kind)
    throw new ArgumentError(
      "init",
      `the device that is in use (${info.kind}: ${info.name})`,
      `device "${choice}"`,
      "call shutdown() first",
    );
  return info;
}

function announce(info: DeviceInfo): void {
  const text = `tenure: running on ${info.name} (${info.kind}, ${info.source})`;
  if (announced.has(text)) return;
  announced.add(text);
  if (isNode) console.error(text);
  else console.info(text); // eslint-disable-line no-console -- said once, on request of whoever called init()
}

/**
 * Gives the device back. Tensors that still live lose their contents and say so when used. Never
 * needed before a process ends.
 */
export async function shutdown(): Promise<void> {
  if (initializing === null) return;
  await initializing.catch(() => undefined);
  while (runtime.running !== null) await runtime.running;
  const device = runtime.device;
  initializing = null;
  if (device === null) return;
  rejectReads(
    new DeviceLostError(
      "shutdown",
      "expected a device to read from, got none, since it was shut down; await your reads before shutdown()",
    ),
  );
  for (const storage of program.locals)
    if (storage.buffer === null) storage.failure = contentsLost();
  program.clear();
  clearPlans();
  runtime.device = null;
  device.destroy();
}

/** @throws DeviceLostError before `init` has found a device, or after it was lost. */
function requireDevice(op: string): Device {
  const { device } = runtime;
  if (device === null)
    throw new DeviceLostError(op, "expected a device, got none; call `await init()` first");
  if (device.lost !== null) throw device.lost;
  return device;
}

/** Facts about the device; undefined before `init`. */
export function deviceInfo(): DeviceInfo | undefined {
  return runtime.device?.info;
}

freeing.buffer = (buffer) => {
  if (!buffer.pool.closed) buffer.pool.release(buffer);
};

// === Reads ===

interface PendingRead {
  storage: Storage;
  readonly offset: number;
  readonly bytes: number;
  readonly resolve: (data: ArrayBuffer) => void;
  readonly reject: (error: unknown) => void;
}

const reads: PendingRead[] = [];

/**
 * Bytes of a storage as they will be once everything recorded so far has run. Pins the storage at
 * once; flushes at the end of this job.
 */
export function readBytes(storage: Storage, offset: number, bytes: number): Promise<ArrayBuffer> {
  if (runtime.tracing)
    throw new TenureError(
      "data",
      "expected to be called outside trace(), got a read inside: a traced program has shapes, but no values; read in the real step",
    );
  const read = new Promise<ArrayBuffer>((resolve, reject) => {
    reads.push({ storage: storage.retain(), offset, bytes, resolve, reject });
    flushSoon();
  });
  const back = (): void => {
    outstanding.delete(read);
  };
  outstanding.add(read);
  read.then(back, back);
  return read;
}

/** Promises of host data: what `data()` and its like return. */
const readings = new WeakSet<object>();
/**
 * Marks a promise as that of a read, which goes on without the code that asked for it. A step that
 * fails says so itself: its reads need nobody to hear them.
 */
export function reading<T>(promise: Promise<T>): Promise<T> {
  readings.add(promise);
  if (runtime.executor !== null) promise.catch(() => undefined);
  return promise;
}
export function isReading(promise: PromiseLike<unknown>): boolean {
  return readings.has(promise);
}

/** Reads that were asked for and have not come back. */
const outstanding = new Set<Promise<ArrayBuffer>>();

/** Reads that pin a storage now; a read lets go once its copy is in the queue. */
export function pendingReads(storage: Storage): number {
  return reads.filter((read) => read.storage === storage).length;
}

/**
 * Before a storage is overwritten: lets its pending reads find what it holds now in `copy()`, which
 * is called only when there are any.
 */
export function redirectReads(storage: Storage, copy: () => Storage): void {
  let fresh: Storage | null = null;
  for (const read of reads) {
    if (read.storage !== storage) continue;
    fresh ??= copy();
    read.storage = fresh.retain();
    storage.release();
  }
}

function rejectReads(error: unknown): void {
  for (const read of reads.splice(0)) {
    read.storage.release();
    read.reject(error);
  }
}

// === Flushing ===

let flushQueued = false;

/** Flushes at the end of the current job, finding a device first when there is none. */
export function flushSoon(): void {
  if (flushQueued || runtime.tracing) return;
  flushQueued = true;
  queueMicrotask(() => {
    flushQueued = false;
    if (runtime.device !== null) {
      flush();
      return;
    }
    init().then(flush, rejectReads);
  });
}

/**
 * Marks the end of a training step: the program is flushed when the current scope ends, or with
 * this job. Steps then are programs of equal structure, whether or not anybody reads, and the
 * intermediates are already unowned when they are planned.
 */
export function stepEnded(): void {
  if (runtime.executor !== null) return; // its step ends later
  currentScope()?.afterEnd(flushIfDevice);
  flushSoon();
}

function flushIfDevice(): void {
  if (runtime.device !== null) flush();
}

let warnedUnflushed = false;

/** Called before an op is recorded: keeps the open program within its limits. */
export function keepWithinLimits(): void {
  if (
    (program.ops.length < limits.ops && program.pendingBytes < limits.pendingBytes) ||
    runtime.executor !== null
  )
    return;
  if (runtime.device !== null) {
    flush();
    return;
  }
  if (!warnedUnflushed)
    warn(
      `${program.ops.length} ops are recorded and cannot run, because there is no device yet; call \`await init()\` before a loop that never awaits`,
    );
  warnedUnflushed = true;
}

/**
 * Runs everything recorded so far and starts the pending reads. Errors reach the reads and the next
 * `sync()`; this never throws.
 */
export function flush(): void {
  if (runtime.tracing || (program.isEmpty && reads.length === 0)) return;
  if (runtime.running !== null) {
    flushAfterwards(runtime.running);
    return;
  }
  let device: Device;
  try {
    device = requireDevice("flush");
  } catch (error) {
    rejectReads(error);
    return;
  }
  const scheduled = runtime.executor !== null && !runtime.flushEachOp;
  if (scheduled && !program.isEmpty) {
    runtime.executor!.flush(device);
    if (runtime.running !== null) {
      flushAfterwards(runtime.running);
      return;
    } // the reads
  }
  counters.flushes++;
  device.pool.clock++;
  const submitted: (() => void)[] = [];
  let written: readonly Storage[] = [],
    uploaded: readonly Storage[] = [],
    finish: ((verdict: Promise<TenureError | null>) => void) | undefined;
  const verdict = device.watch(() => {
    if (!scheduled && !program.isEmpty) {
      try {
        runProgram(device, program, submitted);
        written = writtenBy(program);
        uploaded = program.uploads.map(({ storage }) => storage);
      } catch (error) {
        abandon(device, program, error);
      }
      program.clear();
    }
    finish = encodeReads(device);
    device.queue.submit();
  });
  for (const done of submitted) done();
  finish?.(verdict);
  void verdict.then((failure) => {
    if (failure === null) return;
    spoil(written, failure);
    // Uploads that went through the queue's own writes are there, unless their buffer never was.
    spoil(
      uploaded.filter(
        ({ bytes, buffer }) => isStaged(bytes) || buffer === null || !device.pool.has(buffer.id),
      ),
      failure,
    );
  });
  if (device.pool.clock % trimEvery === 0) device.pool.trim(trimEvery);
}

let flushingAfterwards = false;

function flushAfterwards(running: Promise<void>): void {
  if (flushingAfterwards) return;
  flushingAfterwards = true;
  void running.then(() => {
    flushingAfterwards = false;
    flush();
  });
}

/** Storages somebody owns that the program writes. */
export function writtenBy(open: OpenProgram): Storage[] {
  const written: Storage[] = [];
  for (const { outputs } of open.ops)
    for (const { storage } of outputs) if (storage.refs > 0) written.push(storage);
  return written;
}

/**
 * What a refused program should have written is not there: every later use says why, until it is
 * overwritten whole.
 */
export function spoil(written: readonly Storage[], failure: TenureError): void {
  for (const storage of written) storage.failure = failure;
  dropBindGroups();
}

/** Buffers by slot; none where a slot is not open. */
export type SlotBuffers = (PooledBuffer | undefined)[];

const slotBuffers: SlotBuffers = [];

function runProgram(device: Device, open: OpenProgram, submitted: (() => void)[]): void {
  for (const storage of open.locals) if (storage.failure !== null) throw storage.failure;
  seal(open);
  const exe = plans.find(device, open, () => compile(open, device));
  fillSlots(device, exe, open, slotBuffers);
  upload(device, exe, open, slotBuffers, submitted);
  writeParams(device, exe, open.words);
  for (const d of exe.dispatches)
    device.queue.dispatch(
      d.pipeline.gpu,
      bindGroup(device, exe, d, slotBuffers),
      d.workgroups[0],
      d.workgroups[1],
      d.workgroups[2],
    );
  handOver(device, exe, open, slotBuffers);
}

/**
 * Gives every slot that is not late a buffer: the one its storage brings, or one from the pool. On
 * return `buffers` holds them by slot, also those acquired before an error.
 */
export function fillSlots(
  device: Device,
  { plan: { slots } }: Executable,
  { locals }: OpenProgram,
  buffers: SlotBuffers,
): void {
  for (let s = 0; s < slots.length; s++) {
    const slot = slots[s]!;
    if (slot.late === true) continue;
    buffers[s] = slot.entry === -1 ? device.pool.acquire(slot.bytes) : locals[slot.entry]!.buffer!;
    if (debugging.poison && slot.entry === -1) poison(device, buffers[s]!);
  }
}

/** Encodes the program's uploads, and makes the caches of bind groups fit the buffers there are. */
export function upload(
  device: Device,
  exe: Executable,
  { uploads }: OpenProgram,
  buffers: Readonly<SlotBuffers>,
  submitted: (() => void)[],
): void {
  const { pool, queue } = device,
    { entrySlot } = exe.plan;
  for (const { storage, data } of uploads) {
    const slot = entrySlot[storage.programIndex]!;
    if (slot === -1) continue;
    const target = buffers[slot]!.gpu;
    const done = device.uploads.write(target, 0, data, (source, bytes) => {
      queue.copy(source, 0, target, 0, bytes);
    });
    if (done !== undefined) submitted.push(done);
  }
  if (exe.poolGeneration === pool.generation) return;
  // Buffers were destroyed since: groups that refer to them would keep them from being collected.
  for (const { groups } of exe.dispatches)
    groups.splice(0, groups.length, ...groups.filter(({ ids }) => ids.every((id) => pool.has(id))));
  exe.poolGeneration = pool.generation;
}

/** Every slot's buffer goes to the storage that keeps it, or home. Leaves `buffers` empty. */
export function handOver(
  { pool }: Device,
  { plan: { slots } }: Executable,
  { locals }: OpenProgram,
  buffers: SlotBuffers,
): void {
  for (const { entry } of slots) if (entry !== -1) locals[entry]!.buffer = null;
  for (let s = 0; s < slots.length; s++) {
    const { exit } = slots[s]!,
      buffer = buffers[s];
    if (buffer === undefined) continue; // closed on the way
    // Where the host was waited for, an owner may have let go meanwhile.
    if (exit === -1 || (locals[exit]!.refs === 0 && !program.mentions(locals[exit]!)))
      pool.release(buffer);
    else locals[exit]!.buffer = buffer;
  }
  buffers.length = 0;
}

let nans = new Uint32Array(0);

/** Lands after all submitted work and before whatever is submitted next. */
export function poison(
  device: Device,
  { gpu, bytes: size }: PooledBuffer,
  offset = 0,
  bytes = size,
): void {
  if (nans.byteLength < bytes) nans = new Uint32Array(bytes / 4).fill(0x7fc00000);
  device.gpu.queue.writeBuffer(gpu, offset, nans, 0, bytes / 4);
}

/**
 * Brings the uniform buffer up to date with this call's scalars, writing only the range that
 * changed.
 */
export function writeParams(device: Device, exe: Executable, words: readonly number[]): void {
  const { params, dynamic, uniforms } = exe;
  if (uniforms === null) return;
  let from = params.length,
    to = 0;
  for (let i = 0; i < dynamic.length; i += 2) {
    const at = dynamic[i]!,
      word = words[dynamic[i + 1]!]!;
    if (params[at] === word >>> 0) continue;
    params[at] = word;
    if (at < from) from = at;
    if (at >= to) to = at + 1;
  }
  if (exe.stale) {
    from = 0;
    to = params.length;
    exe.stale = false;
  }
  if (from < to) device.gpu.queue.writeBuffer(uniforms, from * 4, params, from, to - from);
}

/**
 * Bind groups remembered per dispatch: a repeated program alternates between a few sets of buffers
 * at most.
 */
const groupsPerDispatch = 4;

export function bindGroup(
  device: Device,
  exe: Executable,
  d: Dispatch,
  buffers: Readonly<SlotBuffers>,
): GPUBindGroup {
  const { slots, groups } = d;
  search: for (let g = groups.length - 1; g >= 0; g--) {
    const { ids, group } = groups[g]!;
    for (let i = 0; i < slots.length; i++) if (buffers[slots[i]!]!.id !== ids[i]) continue search;
    return group;
  }
  counters.bindGroups++;
  const entries: GPUBindGroupEntry[] = slots.map((slot, binding) => ({
    binding,
    resource: { buffer: buffers[slot]!.gpu, offset: d.offsets[binding]!, size: d.sizes[binding]! },
  }));
  if (d.uniformBytes > 0)
    entries.push({
      binding: slots.length,
      resource: { buffer: exe.uniforms!, offset: d.uniformOffset, size: d.uniformBytes },
    });
  const group = device.gpu.createBindGroup({ label: d.name, layout: d.pipeline.layout, entries });
  if (groups.length === groupsPerDispatch) groups.shift();
  groups.push({ ids: slots.map((slot) => buffers[slot]!.id), group });
  return group;
}

/**
 * A program that could not run: what it should have written says so when used, buffers nobody owns
 * go home, nothing else changes.
 */
function abandon(device: Device, open: OpenProgram, cause: unknown): void {
  const failure =
    cause instanceof TenureError
      ? cause
      : new TenureError("flush", `expected the recorded program to run, got ${String(cause)}`, {
          cause,
        });
  for (const buffer of slotBuffers)
    if (buffer !== undefined && !open.locals.some((s) => s.buffer === buffer))
      device.pool.release(buffer);
  slotBuffers.length = 0;
  for (const storage of open.locals) {
    if (storage.buffer === null) storage.failure ??= failure;
    else if (storage.refs === 0) {
      device.pool.release(storage.buffer);
      storage.buffer = null;
    }
  }
  spoil(writtenBy(open), failure);
  spoil(
    open.uploads.map(({ storage }) => storage),
    failure,
  );
  device.report(failure);
}

/**
 * Encodes all pending reads into one staging buffer. The returned function maps it, once submitted.
 */
function encodeReads(device: Device): ((verdict: Promise<TenureError | null>) => void) | undefined {
  const pending: (PendingRead & { at: number })[] = [];
  let total = 0;
  for (const read of reads.splice(0)) {
    const { storage } = read;
    const trouble = storage.trouble();
    if (trouble !== null || storage.buffer === null) {
      storage.release();
      if (trouble !== null) device.forget(trouble);
      read.reject(trouble ?? contentsLost());
    } else {
      pending.push({ ...read, at: total });
      total += Math.ceil(read.bytes / 8) * 8;
    }
  }
  if (pending.length === 0) return undefined;
  const staging = device.reads.take(total);
  for (const { storage, offset, bytes, at } of pending) {
    const length = Math.min(Math.ceil(bytes / 4) * 4, storage.buffer!.bytes - offset);
    if (length > 0) device.queue.copy(storage.buffer!.gpu, offset, staging, at, length);
    storage.release(); // the copy is in the queue: whoever reuses the buffer comes after it
  }
  return (verdict) => {
    void settleReads(device, staging, total, pending, verdict);
  };
}

async function settleReads(
  device: Device,
  staging: GPUBuffer,
  total: number,
  pending: readonly (PendingRead & { at: number })[],
  verdict: Promise<TenureError | null>,
): Promise<void> {
  try {
    let parts: ArrayBuffer[] = [];
    await device.reads.read(staging, total, (data) => {
      parts = pending.map(({ at, bytes }) => data.slice(at, at + bytes));
    });
    const error = (await verdict) ?? device.takeErrors();
    if (error !== undefined) throw error;
    pending.forEach(({ resolve }, i) => {
      resolve(parts[i]!);
    });
  } catch (error) {
    const reason =
      device.takeErrors() ??
      (error instanceof TenureError
        ? error
        : (device.lost ??
          new DeviceLostError("data", `expected a working device, got ${String(error)}`, {
            cause: error,
          })));
    for (const { reject } of pending) reject(reason);
  }
}

/**
 * Runs everything recorded so far and waits until the device has finished it. @throws the first
 * device error since the last read or sync.
 */
export async function sync(): Promise<void> {
  if (runtime.device === null) await init();
  flush();
  while (runtime.running !== null) {
    await runtime.running;
    flush();
  }
  const device = requireDevice("sync");
  await device.idle();
  const error = device.takeErrors();
  if (error !== undefined) throw error;
}

// `await using` waits for reads under way, each of which reports its own errors, and for submitted
// work, if a device is there.
setSettled(async () => {
  await Promise.allSettled(outstanding);
  if (runtime.device !== null) await sync();
});

/** Destroys free buffers and idle staging. @returns bytes given back to the device */
export async function trim(): Promise<number> {
  const { device } = runtime;
  if (device === null) return 0;
  await sync();
  return device.pool.trim() + device.uploads.trim() + device.reads.trim();
}

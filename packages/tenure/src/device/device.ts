/**
 * The device as the runtime sees it: buffers, pipelines, queue, staging, errors, capabilities, in
 * one object per `init()`. Owns all of them and the GPUDevice, unless the program lent that.
 */
import { whenExiting } from "../base/env.ts";
import {
  DeviceError,
  DeviceLostError,
  OutOfMemoryError,
  type TenureError,
} from "../base/errors.ts";
import type { DeviceCaps } from "../kernels/kernel.ts";
import { type Acquired, type DeviceInfo, isSwiftShader } from "./acquire.ts";
import type { CounterSet } from "./counters.ts";
import { KernelChoices } from "./choices.ts";
import { BufferPool, type PoolOptions } from "./buffer-pool.ts";
import { HeldBytes } from "./held-bytes.ts";
import type { Lending } from "./lending.ts";
import { PipelineCache } from "./pipelines.ts";
import { CommandQueue } from "./queue.ts";
import type { Patience } from "./patience.ts";
import { ReadRing, UploadRing } from "./staging.ts";
import type { GPUBuffer, GPUBufferDescriptor, GPUDevice } from "./webgpu.ts";

/** What a device shares with its runtime. */
export interface DeviceOptions extends Pick<PoolOptions, "allow"> {
  readonly counters: CounterSet;
}

/** A device and everything made on it. */
export class Device {
  readonly gpu: GPUDevice;
  readonly info: DeviceInfo;
  readonly caps: DeviceCaps;
  readonly choices: KernelChoices = new KernelChoices();
  readonly pool: BufferPool;
  readonly held: HeldBytes = new HeldBytes();
  readonly pipelines: PipelineCache;
  readonly queue: CommandQueue;
  readonly uploads: UploadRing;
  readonly reads: ReadRing;
  /** Errors the driver reported since the last `takeErrors`, oldest first. */
  readonly #errors: TenureError[] = [];
  /** Every error of this device's life, for tests that must see none. */
  readonly errorLog: TenureError[] = [];
  lost: DeviceLostError | null = null;
  /** Of a GPUDevice that is the program's: it is never destroyed here. Null for others. */
  readonly lending: Lending | null;
  readonly #exiting: () => void;
  readonly #patience: Patience | undefined;

  constructor({ device, info, lending, patience }: Acquired, options: DeviceOptions) {
    const { counters } = options;
    this.gpu = device;
    this.info = info;
    this.lending = lending ?? null;
    const { limits, features } = device;
    this.caps = {
      software: info.kind === "software",
      contracts: !isSwiftShader(info),
      f16: features.has("shader-f16"),
      subgroups: features.has("subgroups"),
      subgroupLanes: features.has("subgroups") ? (device.adapterInfo?.subgroupMinSize ?? 4) : 1,
      maxInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      maxWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
      maxWorkgroupStorageBytes: limits.maxComputeWorkgroupStorageSize,
      maxWorkgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
      maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
      choices: this.choices,
    };
    const create = (descriptor: GPUBufferDescriptor, failed: () => void): GPUBuffer =>
      this.createBuffer(descriptor, failed);
    const destroy = (buffer: GPUBuffer): void => {
      this.destroyBuffer(buffer);
    };
    this.pool = new BufferPool({ ...options, create, destroy });
    this.pipelines = new PipelineCache(device, counters);
    this.pipelines.makesAhead = info.kind === "gpu";
    this.queue = new CommandQueue(device, counters);
    this.uploads = new UploadRing(device, create, counters);
    this.#patience = patience;
    this.reads = new ReadRing(create, counters, (answer) => this.waitFor(answer));
    device.addEventListener("uncapturederror", this.#uncaptured);
    const heard = this.#heard; // a lent device may outlive this object, and must not keep it
    void device.lost.then((why) => heard.lost?.(why));
    this.#exiting = whenExiting(() => {
      this.#exit();
    });
  }

  readonly #uncaptured = (event: GPUUncapturedErrorEvent): void => {
    if (this.lending?.isOurs(event.error) === false) return; // the program's own
    event.preventDefault();
    this.report(toTenureError(event.error));
  };
  readonly #heard: { lost: ((why: GPUDeviceLostInfo) => void) | null } = {
    lost: ({ reason, message }) => {
      this.pool.closed = true;
      this.lost ??= new DeviceLostError(
        "device",
        `expected a working device, got a lost one (${reason}: ${message}); ` +
          "call init() again and rebuild your tensors",
      );
      if (reason !== "destroyed") this.report(this.lost);
    },
  };

  report(error: TenureError): void {
    this.#errors.push(error);
    this.errorLog.push(error);
  }

  /** Takes one error off the list, because somebody has been told. */
  forget(error: TenureError): void {
    const at = this.#errors.indexOf(error);
    if (at !== -1) this.#errors.splice(at, 1);
  }

  /**
   * The first error the driver reported since the last call, with the others as its `errors` field;
   * undefined when there is none.
   */
  takeErrors(): TenureError | undefined {
    if (this.#errors.length === 0) return undefined;
    const [first, ...others] = this.#errors.splice(0);
    return others.length === 0 ? first : Object.assign(first!, { errors: others });
  }

  /**
   * Runs `encode`, which records and submits work, and watches it: the promise resolves to what the
   * device refused, or null. A refused submit does nothing at all, so whatever it should have
   * written is not there.
   */
  watch(encode: () => void): Promise<TenureError | null> {
    this.#allocationFailure = null;
    this.gpu.pushErrorScope("validation");
    let verdict: Promise<TenureError | null>;
    try {
      encode();
    } finally {
      verdict = this.gpu.popErrorScope().then(
        async (error) => {
          if (error === null) return null;
          await Promise.resolve(); // allocation failures are told first
          // the reason behind the validation error, reported already
          if (this.#allocationFailure !== null) return this.#allocationFailure;
          const refused = toTenureError(error);
          this.report(refused);
          return refused;
        },
        () => this.lost,
      );
    }
    this.#verdict = verdict;
    return verdict;
  }
  #verdict: Promise<TenureError | null> = Promise.resolve(null);

  /**
   * Runs `write`, which writes to buffers through the queue: the promise resolves to what the
   * device refused of that, or null. Work that is submitted behind a refused write runs all the
   * same, on what was there before.
   */
  writes(write: () => void): Promise<TenureError | null> {
    this.gpu.pushErrorScope("validation");
    try {
      write();
    } finally {
      this.#written = this.gpu.popErrorScope().then(
        (error) => {
          if (error === null) return null;
          const refused = toTenureError(error);
          this.report(refused);
          return refused;
        },
        () => this.lost,
      );
    }
    return this.#written;
  }
  #written: Promise<TenureError | null> = Promise.resolve(null);
  #allocationFailure: OutOfMemoryError | null = null;

  /**
   * Makes a buffer. A failed allocation becomes an OutOfMemoryError at the next read or sync,
   * instead of a validation mystery; then `failed` is called, too.
   * @throws OutOfMemoryError where the host knows at once that there is no room
   */
  createBuffer(descriptor: GPUBufferDescriptor, failed: () => void = () => undefined): GPUBuffer {
    const { buffer, scopes } = this.#made(descriptor);
    this.held.made(buffer, descriptor);
    this.#await(descriptor.size, ...scopes, failed);
    return buffer;
  }

  /**
   * Makes a buffer that no tensor lies in and no result depends on. Its caller alone hears of a
   * failed allocation, and destroys it.
   * @throws OutOfMemoryError where the host knows at once that there is no room
   */
  spareBuffer(descriptor: GPUBufferDescriptor): {
    readonly buffer: GPUBuffer;
    readonly refused: Promise<OutOfMemoryError | null>;
  } {
    const { buffer, scopes } = this.#made(descriptor);
    const refused = Promise.all(scopes).then(
      ([first, second]) => {
        const error = first ?? second;
        return error === null ? null : this.#noRoom(descriptor.size, 0, error.message);
      },
      () => null,
    );
    return { buffer, refused };
  }

  /** A buffer, and what the device will say of it: of its memory, and of all else. */
  #made(descriptor: GPUBufferDescriptor): {
    readonly buffer: GPUBuffer;
    readonly scopes: readonly [Promise<GPUError | null>, Promise<GPUError | null>];
  } {
    const { gpu } = this;
    gpu.pushErrorScope("validation");
    gpu.pushErrorScope("out-of-memory");
    try {
      const buffer = gpu.createBuffer(descriptor);
      return { buffer, scopes: [gpu.popErrorScope(), gpu.popErrorScope()] };
    } catch (error) {
      for (const scope of [gpu.popErrorScope(), gpu.popErrorScope()]) scope.catch(() => undefined);
      throw this.#noRoom(descriptor.size, 0, error instanceof Error ? error.message : "no buffer");
    }
  }

  /** Destroys a buffer that `createBuffer` made. */
  destroyBuffer(buffer: GPUBuffer): void {
    buffer.destroy();
    this.held.destroyed(buffer);
  }

  /** Hears what became of an allocation. */
  #await(
    bytes: number,
    outOfMemory: Promise<GPUError | null>,
    invalid: Promise<GPUError | null>,
    failed: () => void,
  ): void {
    this.#allocating = Promise.all([this.#allocating, outOfMemory, invalid]).then(
      ([before, ...errors]) => {
        const error = errors[0] ?? errors[1];
        if (error === null) return before;
        this.#allocationFailure = this.#noRoom(bytes, bytes, error.message);
        this.report(this.#allocationFailure);
        failed();
        return before ?? this.#allocationFailure;
      },
      () => null,
    );
  }

  #noRoom(bytes: number, counted: number, said: string): OutOfMemoryError {
    return new OutOfMemoryError(
      "allocate",
      `expected the device to have ${bytes} bytes more than the ` +
        `${this.pool.deviceBytes - counted} it holds, got "${said}"; ` +
        "free tensors or use smaller batches",
    );
  }

  #allocating: Promise<OutOfMemoryError | null> = Promise.resolve(null);

  /**
   * What became of the buffers made since the last call: the first failure, or null when the device
   * has them all.
   */
  async allocated(): Promise<OutOfMemoryError | null> {
    const result = this.#allocating;
    this.#allocating = Promise.resolve(null);
    return result;
  }

  /** Resolves once the device has said what it refused of all that it was asked for so far. */
  async judged(): Promise<void> {
    await this.#allocating;
    await this.#written;
    await this.#verdict;
  }

  /** Resolves once all work submitted so far has run. */
  async idle(): Promise<void> {
    await this.waitFor(this.gpu.queue.onSubmittedWorkDone());
  }

  /** The same promise, which the device settles: meanwhile the host leaves its cores alone. */
  waitFor<T>(answer: Promise<T>): Promise<T> {
    return this.#patience?.during(answer) ?? answer;
  }

  /**
   * Gives the device back, with everything made on it. Reads under way reject at once. Waits for
   * what the device has still to answer: a worker thread that is terminated before aborts the
   * process.
   */
  async destroy(): Promise<void> {
    this.pool.closed = true;
    this.lost ??= new DeviceLostError(
      "device",
      "expected a working device, got one that was shut down; " +
        "call init() again and rebuild your tensors",
    );
    this.uploads.abandon();
    this.reads.abandon();
    await this.judged();
    if (this.lending === null) this.gpu.destroy();
    else this.#returnLent();
    this.#exiting();
  }

  /** Leaves a lent device as it was: without our buffers, and with nobody listening. */
  #returnLent(): void {
    this.pool.destroyAll();
    this.uploads.destroyAll();
    this.reads.destroyAll();
    this.gpu.removeEventListener("uncapturederror", this.#uncaptured);
    this.#heard.lost = null;
  }

  /**
   * The process or the worker thread ends. A software driver computes in threads of this process,
   * which must have ended before the C library takes down what they use: otherwise the process dies
   * of SIGSEGV. A GPU is not waited for.
   */
  #exit(): void {
    this.uploads.abandon();
    this.reads.abandon();
    if (this.info.kind === "software" && this.lending === null) this.gpu.destroy();
  }
}

/** `op [kernel key]`, fused ops as `add×2+relu`. */
export const labelled = /"([A-Za-z_][\w+×]*) \[[^\]]*\]"/;

/**
 * Labels are `op [kernel key]`, so the driver's text names the op; the first label found becomes
 * the error's op.
 */
function toTenureError(error: GPUError): TenureError {
  const op = labelled.exec(error.message)?.[1] ?? "device";
  const kind = error.constructor.name;
  if (kind === "GPUOutOfMemoryError")
    return new OutOfMemoryError(
      op,
      `expected the device to have room, got "${error.message}"; ` +
        "free tensors or use smaller batches",
    );
  return new DeviceError(op, `expected a valid command, got a ${kind}: ${error.message}`);
}

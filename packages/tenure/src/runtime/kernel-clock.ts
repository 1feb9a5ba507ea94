/**
 * Times kernels on buffers of their own: by the device's timestamps where it has them, else by the
 * host's clock. Nobody's results depend on it: what the device refuses is told to its caller alone.
 * Called by tune.ts and in idle moments. Owns its buffers until `release`.
 */
import "../base/polyfills.ts";
import type { OutOfMemoryError } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import type { GPUBindGroup, GPUBuffer, GPUBufferDescriptor } from "../device/webgpu.ts";
import type { CachedPipeline } from "../device/pipelines.ts";
import { refusalOf } from "../device/refusals.ts";
import { Timestamps } from "../device/timestamps.ts";
import type { Kernel } from "../kernels/kernel.ts";

/** A kernel with its pipeline and its buffers. */
interface Ready {
  readonly kernel: Kernel;
  readonly pipeline: CachedPipeline;
  readonly group: GPUBindGroup;
}

/** A clock for kernels that bind buffers of the same sizes. */
export class KernelClock implements Disposable {
  readonly #device: Device;
  readonly #sizes: readonly number[];
  #bound: readonly GPUBuffer[] | null = null;
  /** Everything made, and what became of it. */
  readonly #buffers: GPUBuffer[] = [];
  #refused: Promise<OutOfMemoryError | null>[] = [];
  readonly #ready = new Map<Kernel, Ready>();
  #stamps: Timestamps | null = null;

  /** @param sizes bytes of each binding */
  constructor(device: Device, sizes: readonly number[]) {
    this.#device = device;
    this.#sizes = sizes;
  }

  /**
   * Milliseconds of one dispatch, measured over `times` of them.
   * @returns Infinity for a kernel that the device refuses
   * @throws OutOfMemoryError where there is no room to measure, DeviceLostError, DeviceError
   */
  async time(kernel: Kernel, times: number): Promise<number> {
    try {
      return await this.#time(kernel, times);
    } catch (error) {
      throw await refusalOf(this.#device, "tune", error);
    }
  }

  async #time(kernel: Kernel, times: number): Promise<number> {
    const device = this.#device;
    const { gpu } = device;
    let ready: Ready | undefined;
    let start = 0;
    gpu.pushErrorScope("validation");
    let verdict: Promise<GPUError | null>;
    try {
      ready = this.#prepare(kernel);
      const encoder = gpu.createCommandEncoder({ label: "tune" });
      const pass = encoder.beginComputePass(this.#stamps?.pass(0));
      pass.setPipeline(ready.pipeline.gpu);
      pass.setBindGroup(0, ready.group);
      for (let i = 0; i < times; i++) pass.dispatchWorkgroups(...kernel.workgroups);
      pass.end();
      this.#stamps?.resolve(encoder, 1);
      start = performance.now();
      gpu.queue.submit([encoder.finish()]);
    } finally {
      verdict = gpu.popErrorScope();
      verdict.catch(() => undefined);
    }
    const refused = await verdict;
    const noRoom = (await Promise.all(this.#refused)).find((error) => error !== null);
    if (noRoom !== undefined) throw noRoom;
    if (refused !== null) {
      device.pipelines.dropUnproven([ready.pipeline]);
      return Infinity;
    }
    await device.idle();
    const host = performance.now() - start;
    const [begin = 0n, end = 0n] = (await this.#stamps?.read(1)) ?? [];
    if (device.lost !== null) throw device.lost;
    const stamped = Number(end - begin) / 1e6;
    return (stamped > 0 ? stamped : host) / times;
  }

  #prepare(kernel: Kernel): Ready {
    const known = this.#ready.get(kernel);
    if (known !== undefined) return known;
    const { gpu, pipelines } = this.#device;
    const bound = (this.#bound ??= this.#begin());
    const pipeline = pipelines.get(kernel, "tune");
    const entries = bound.map((buffer, binding): GPUBindGroupEntry => ({
      binding,
      resource: { buffer },
    }));
    if (kernel.params.length > 0) {
      const buffer = this.#make({
        label: "tune params",
        size: kernel.params.length * 4,
        usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      });
      gpu.queue.writeBuffer(buffer, 0, Uint32Array.from(kernel.params));
      entries.push({ binding: entries.length, resource: { buffer } });
    }
    const group = gpu.createBindGroup({ label: "tune", layout: pipeline.layout, entries });
    const ready = { kernel, pipeline, group };
    this.#ready.set(kernel, ready);
    return ready;
  }

  /** Makes what all kernels bind. */
  #begin(): readonly GPUBuffer[] {
    const { gpu } = this.#device;
    const bound = this.#sizes.map((size) =>
      this.#make({ label: "tune", size, usage: GPUBufferUsage.STORAGE }),
    );
    if (gpu.features.has("timestamp-query"))
      this.#stamps = new Timestamps(
        {
          gpu,
          createBuffer: (descriptor) => this.#make(descriptor),
          destroyBuffer: () => undefined, // with all others
          waitFor: (answer) => this.#device.waitFor(answer),
        },
        1,
      );
    return bound;
  }

  #make(descriptor: GPUBufferDescriptor): GPUBuffer {
    const { buffer, refused } = this.#device.spareBuffer(descriptor);
    this.#buffers.push(buffer);
    this.#refused.push(refused);
    return buffer;
  }

  /** Gives the buffers back; the next measurement makes its own. */
  release(): void {
    this.#stamps?.dispose();
    for (const buffer of this.#buffers.splice(0)) buffer.destroy();
    this.#stamps = null;
    this.#bound = null;
    this.#refused = [];
    this.#ready.clear();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

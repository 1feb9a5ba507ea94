/**
 * Times kernels on buffers of their own: by the device's timestamps where it has them, else by the
 * host's clock. Called by tune.ts. Owns its buffers until `dispose`.
 */
import "../base/polyfills.ts";
import type { Device } from "../device/device.ts";
import type { GPUBindGroup, GPUBuffer } from "../device/webgpu.ts";
import type { CachedPipeline } from "../device/pipelines.ts";
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
  readonly #buffers: readonly GPUBuffer[];
  readonly #uniforms: GPUBuffer[] = [];
  readonly #ready = new Map<Kernel, Ready>();
  readonly #stamps: Timestamps | null;

  /** @param sizes bytes of each binding */
  constructor(device: Device, sizes: readonly number[]) {
    this.#device = device;
    this.#buffers = sizes.map((size) =>
      device.createBuffer({ label: "tune", size, usage: GPUBufferUsage.STORAGE }),
    );
    this.#stamps = device.gpu.features.has("timestamp-query") ? new Timestamps(device, 1) : null;
  }

  /**
   * Milliseconds of one dispatch, measured over `times` of them.
   * @returns Infinity for a kernel that the device refuses
   */
  async time(kernel: Kernel, times: number): Promise<number> {
    const { gpu } = this.#device;
    gpu.pushErrorScope("validation");
    const ready = this.#prepare(kernel);
    const encoder = gpu.createCommandEncoder({ label: "tune" });
    const pass = encoder.beginComputePass(this.#stamps?.pass(0));
    pass.setPipeline(ready.pipeline.gpu);
    pass.setBindGroup(0, ready.group);
    for (let i = 0; i < times; i++) pass.dispatchWorkgroups(...kernel.workgroups);
    pass.end();
    this.#stamps?.resolve(encoder, 1);
    const start = performance.now();
    gpu.queue.submit([encoder.finish()]);
    const refused = await gpu.popErrorScope();
    if (refused !== null) {
      this.#device.pipelines.dropUnproven([ready.pipeline]);
      return Infinity;
    }
    await this.#device.idle();
    const host = performance.now() - start;
    const [begin = 0n, end = 0n] = (await this.#stamps?.read(1)) ?? [];
    const stamped = Number(end - begin) / 1e6;
    return (stamped > 0 ? stamped : host) / times;
  }

  #prepare(kernel: Kernel): Ready {
    const known = this.#ready.get(kernel);
    if (known !== undefined) return known;
    const { gpu, pipelines } = this.#device;
    const pipeline = pipelines.get(kernel, "tune");
    const entries = this.#buffers.map((buffer, binding): GPUBindGroupEntry => ({
      binding,
      resource: { buffer },
    }));
    if (kernel.params.length > 0) {
      const buffer = this.#device.createBuffer({
        label: "tune params",
        size: kernel.params.length * 4,
        usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      });
      gpu.queue.writeBuffer(buffer, 0, Uint32Array.from(kernel.params));
      this.#uniforms.push(buffer);
      entries.push({ binding: entries.length, resource: { buffer } });
    }
    const group = gpu.createBindGroup({ label: "tune", layout: pipeline.layout, entries });
    const ready = { kernel, pipeline, group };
    this.#ready.set(kernel, ready);
    return ready;
  }

  [Symbol.dispose](): void {
    for (const buffer of [...this.#buffers, ...this.#uniforms]) this.#device.destroyBuffer(buffer);
    this.#stamps?.dispose();
  }
}

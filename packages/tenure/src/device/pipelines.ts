/**
 * Compiled shaders, keyed by kernel key; bind group layouts, keyed by the access pattern. Filled on
 * plan-cache misses, only read on hits. Owns the pipelines; they live as long as the device.
 */
import { internal } from "../base/errors.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { CounterSet } from "./counters.ts";

/** A compiled kernel. */
export interface CachedPipeline {
  /** Stands for the pipeline in cache keys. */
  readonly id: number;
  readonly gpu: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** The pipelines of one device. */
export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #counters: CounterSet;
  readonly #pipelines = new Map<string, CachedPipeline & { wgsl: string }>();
  readonly #layouts = new Map<string, { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout }>();

  constructor(device: GPUDevice, counters: CounterSet) {
    this.#device = device;
    this.#counters = counters;
  }

  /** The pipeline of a kernel; `label` names the op in device errors. */
  get(kernel: Kernel, label: string): CachedPipeline {
    const known = this.#pipelines.get(kernel.key);
    if (known !== undefined) {
      if (known.wgsl !== kernel.wgsl)
        throw internal(`two different shaders have the kernel key ${kernel.key}`);
      return known;
    }
    const layout = this.#layout(kernel);
    this.#counters.shaderModules++;
    this.#counters.pipelines++;
    const module = this.#device.createShaderModule({
      label: `${label} [${kernel.key}]`,
      code: kernel.wgsl,
    });
    const gpu = this.#device.createComputePipeline({
      label: `${label} [${kernel.key}]`,
      layout: layout.pipeline,
      compute: { module, entryPoint: "main" },
    });
    const made = { id: this.#pipelines.size + 1, gpu, layout: layout.group, wgsl: kernel.wgsl };
    this.#pipelines.set(kernel.key, made);
    return made;
  }

  #layout(kernel: Kernel): { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout } {
    const key = `${kernel.bindings.join()}${kernel.params.length > 0 ? "+" : ""}`;
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    const entries: GPUBindGroupLayoutEntry[] = kernel.bindings.map((access, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: access === "read" ? "read-only-storage" : "storage" },
    }));
    if (kernel.params.length > 0)
      entries.push({
        binding: entries.length,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "uniform" },
      });
    const group = this.#device.createBindGroupLayout({ label: key, entries });
    const made = {
      group,
      pipeline: this.#device.createPipelineLayout({ label: key, bindGroupLayouts: [group] }),
    };
    this.#layouts.set(key, made);
    return made;
  }
}

/**
 * Compiled shaders, keyed by kernel key; bind group layouts, keyed by the access pattern. Filled on
 * plan-cache misses, only read on hits. Whether a device could make a pipeline shows later: until a
 * submit with it was accepted, it may be dropped, to be made anew. Owns the pipelines; they live as
 * long as the device.
 */
import { internal } from "../base/errors.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { CounterSet } from "./counters.ts";

/** A compiled kernel. */
export interface CachedPipeline {
  /** Stands for the pipeline in cache keys. */
  readonly id: number;
  /** The kernel's. */
  readonly key: string;
  readonly gpu: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  /** Whether the device accepted a submit with it. */
  proven: boolean;
}

interface Layout {
  readonly key: string;
  readonly group: GPUBindGroupLayout;
  readonly pipeline: GPUPipelineLayout;
  proven: boolean;
}

interface Entry extends CachedPipeline {
  readonly wgsl: string;
  readonly from: Layout;
}

/** The pipelines of one device. */
export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #counters: CounterSet;
  readonly #pipelines = new Map<string, Entry>();
  readonly #layouts = new Map<string, Layout>();
  #made = 0;

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
    const made: Entry = {
      id: ++this.#made,
      gpu,
      layout: layout.group,
      proven: false,
      key: kernel.key,
      wgsl: kernel.wgsl,
      from: layout,
    };
    this.#pipelines.set(kernel.key, made);
    return made;
  }

  /** The device accepted a submit with these. */
  prove(pipelines: Iterable<CachedPipeline>): void {
    for (const pipeline of pipelines) {
      pipeline.proven = true;
      const entry = this.#pipelines.get(pipeline.key);
      if (entry !== undefined) entry.from.proven = true;
    }
  }

  /** The device refused a submit with these: those never accepted before are made anew. */
  dropUnproven(pipelines: Iterable<CachedPipeline>): void {
    for (const pipeline of pipelines) {
      const entry = this.#pipelines.get(pipeline.key);
      if (entry === undefined || entry.proven) continue;
      this.#pipelines.delete(entry.key);
      if (!entry.from.proven) this.#layouts.delete(entry.from.key);
    }
  }

  #layout(kernel: Kernel): Layout {
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
    const made: Layout = {
      key,
      group,
      pipeline: this.#device.createPipelineLayout({ label: key, bindGroupLayouts: [group] }),
      proven: false,
    };
    this.#layouts.set(key, made);
    return made;
  }
}

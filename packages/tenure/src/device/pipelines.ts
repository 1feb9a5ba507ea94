/**
 * Compiled shaders, keyed by kernel key; bind group layouts, keyed by the access pattern
 * and the size of the uniforms: wgpu (Deno, Firefox) takes a size once checked for that of every
 * kernel with the layout. Filled on plan-cache misses, only read on hits. Whether a device could
 * make a pipeline shows later: until a submit with it was accepted, it may be dropped, to be made
 * anew. Owns the pipelines. They live as long as a plan uses them, and beyond that until there are
 * too many.
 */
import { internal } from "../base/errors.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { CounterSet } from "./counters.ts";
import type { GPUBindGroupLayout, GPUComputePipeline, GPUDevice } from "./webgpu.ts";

/** Pipelines above which the one that no plan has used for longest is dropped. */
const mostPipelines = 1024;

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
  /** Pipelines of this layout. */
  pipelines: number;
}

interface Entry extends CachedPipeline {
  readonly wgsl: string;
  readonly from: Layout;
  /** Uses by plans that are kept. */
  uses: number;
}

/** The pipelines of one device. */
export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #counters: CounterSet;
  readonly #pipelines = new Map<string, Entry>();
  readonly #layouts = new Map<string, Layout>();
  /** Pipelines that no plan uses, those longest out of use first. */
  readonly #unused = new Set<Entry>();
  readonly #most: number;
  #made = 0;

  constructor(device: GPUDevice, counters: CounterSet, most: number = mostPipelines) {
    this.#device = device;
    this.#counters = counters;
    this.#most = most;
  }

  /** Pipelines held now. */
  get size(): number {
    return this.#pipelines.size;
  }

  /** A plan that is kept uses these, until `unuse`. */
  use(pipelines: Iterable<CachedPipeline>): void {
    for (const pipeline of pipelines) {
      const entry = this.#entry(pipeline);
      if (entry === undefined) continue;
      entry.uses++;
      this.#unused.delete(entry);
    }
    this.#dropUnused();
  }

  /** A plan that used these is gone. */
  unuse(pipelines: Iterable<CachedPipeline>): void {
    for (const pipeline of pipelines) {
      const entry = this.#entry(pipeline);
      if (entry !== undefined && --entry.uses === 0) this.#unused.add(entry);
    }
    this.#dropUnused();
  }

  /** What is known of a pipeline, unless it was made anew since. */
  #entry(pipeline: CachedPipeline): Entry | undefined {
    const entry = this.#pipelines.get(pipeline.key);
    return entry === pipeline ? entry : undefined;
  }

  #dropUnused(): void {
    for (const entry of this.#unused) {
      if (this.#pipelines.size <= this.#most) return;
      this.#counters.pipelinesDropped++;
      this.#drop(entry);
    }
  }

  #drop(entry: Entry): void {
    this.#unused.delete(entry);
    this.#pipelines.delete(entry.key);
    if (--entry.from.pipelines === 0) this.#layouts.delete(entry.from.key);
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
      uses: 0,
    };
    layout.pipelines++;
    this.#pipelines.set(kernel.key, made);
    this.#unused.add(made);
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
      this.#drop(entry);
      if (!entry.from.proven) this.#layouts.delete(entry.from.key);
    }
  }

  #layout(kernel: Kernel): Layout {
    const uniformBytes = kernel.params.length * 4;
    const key = `${kernel.bindings.join()}+${uniformBytes}`;
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    const entries: GPUBindGroupLayoutEntry[] = kernel.bindings.map((access, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: access === "read" ? "read-only-storage" : "storage" },
    }));
    if (uniformBytes > 0)
      entries.push({
        binding: entries.length,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "uniform", minBindingSize: uniformBytes },
      });
    const group = this.#device.createBindGroupLayout({ label: key, entries });
    const made: Layout = {
      key,
      group,
      pipeline: this.#device.createPipelineLayout({ label: key, bindGroupLayouts: [group] }),
      proven: false,
      pipelines: 0,
    };
    this.#layouts.set(key, made);
    return made;
  }
}

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
  /** Made now, if it was not before. */
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

/** A pipeline that is made when it is first used, or ahead of that. */
class Entry implements CachedPipeline {
  readonly id: number;
  readonly key: string;
  readonly wgsl: string;
  readonly from: Layout;
  readonly #device: GPUDevice;
  readonly #descriptor: GPUComputePipelineDescriptor;
  #gpu: GPUComputePipeline | null = null;
  #coming: Promise<void> | null = null;
  proven = false;
  /** Uses by plans that are kept. */
  uses = 0;

  constructor(
    { key, wgsl }: Kernel,
    id: number,
    from: Layout,
    device: GPUDevice,
    descriptor: GPUComputePipelineDescriptor,
  ) {
    this.id = id;
    this.key = key;
    this.wgsl = wgsl;
    this.from = from;
    this.#device = device;
    this.#descriptor = descriptor;
  }

  get layout(): GPUBindGroupLayout {
    return this.from.group;
  }

  get gpu(): GPUComputePipeline {
    return this.#gpu ?? this.make();
  }

  /** Makes it at once, unless it is there. @throws what the device throws */
  make(): GPUComputePipeline {
    return (this.#gpu ??= this.#device.createComputePipeline(this.#descriptor));
  }

  /** Resolves when it is there, or cannot be made: its first use then says why. Null: it is. */
  ahead(): Promise<void> | null {
    if (this.#gpu !== null) return null;
    this.#coming ??= this.#device.createComputePipelineAsync(this.#descriptor).then(
      (gpu) => {
        this.#gpu ??= gpu;
      },
      () => undefined,
    );
    return this.#coming;
  }
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
  /**
   * Whether pipelines are made while the host goes on, all of a plan at once, where its first run
   * can wait for them: for drivers that compile on several threads. SwiftShader compiles one shader
   * after the other, whoever asks, and Dawn in Node keeps a core busy while it is waited for.
   */
  makesAhead = false;

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
    const made = new Entry(kernel, ++this.#made, layout, this.#device, {
      label: `${label} [${kernel.key}]`,
      layout: layout.pipeline,
      compute: { module, entryPoint: "main" },
    });
    if (!this.makesAhead) made.make();
    layout.pipelines++;
    this.#pipelines.set(kernel.key, made);
    this.#unused.add(made);
    return made;
  }

  /**
   * Begins to make these, all at once. Resolves when all are made, cannot be, or the device is
   * lost. Null: there is nothing to wait for.
   */
  ahead(pipelines: Iterable<CachedPipeline>): Promise<void> | null {
    if (!this.makesAhead) return null;
    const coming = new Set<Promise<void>>();
    for (const pipeline of pipelines) {
      const made = this.#entry(pipeline)?.ahead() ?? null;
      if (made !== null) coming.add(made);
    }
    if (coming.size === 0) return null;
    return Promise.race([Promise.all(coming), this.#device.lost]).then(() => undefined);
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

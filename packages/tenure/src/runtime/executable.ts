/**
 * A plan with its kernels, as compile.ts makes it and executions run it again and again. Types
 * only. An `Executable` owns its uniform buffer; its slots are filled with pooled buffers at each
 * execution.
 */
import type { Uint32s } from "../base/bytes.ts";
import type { PooledBuffer } from "../device/buffer-pool.ts";
import type { CachedPipeline } from "../device/pipelines.ts";
import type { GPUBindGroup, GPUBuffer, GPUComputePipeline } from "../device/webgpu.ts";
import type { RunnablePlan } from "../planner/runnable-plan.ts";

/** One dispatch of an executable. */
export interface Dispatch {
  readonly name: string;
  readonly pipeline: CachedPipeline;
  /** Slot, offset in it and bytes of each storage binding. */
  readonly slots: readonly number[];
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
  /** Of its ops; those of several one after the other. */
  readonly layer: string;
  readonly flops: number;
  /** Bytes of the tensors it reads, and of those it writes. */
  readonly bytes: number;
  /** Place of its params in the uniform buffer, in bytes; size 0 when it has none. */
  readonly uniformOffset: number;
  readonly uniformBytes: number;
  readonly workgroups: readonly [number, number, number];
  /**
   * Bind groups made so far, by the ids of the buffers in the slots; a handful at most, newest
   * last.
   */
  readonly groups: { ids: readonly number[]; group: GPUBindGroup }[];
}

/** All dispatches of a plan that runs straight, on the buffers of one run. */
export interface Frame {
  /** By slot. */
  readonly buffers: readonly (PooledBuffer | undefined)[];
  readonly pipelines: readonly GPUComputePipeline[];
  readonly groups: readonly GPUBindGroup[];
  /** Three numbers per dispatch. */
  readonly workgroups: readonly number[];
}

/** A plan with its kernels. */
export interface Executable {
  /** What the program must look like to be run by this plan. */
  readonly words: Int32Array;
  readonly plan: RunnablePlan;
  readonly dispatches: readonly Dispatch[];
  /** For each step of the plan, its dispatch; -1 for steps that are none. */
  readonly dispatchOf: readonly number[];
  /**
   * Whether values go to the host and back, or buffers come and go: then it cannot run in one go.
   */
  readonly inSegments: boolean;
  /** The dispatches of its steps in order, where it has no other steps; else null. */
  readonly straight: readonly Dispatch[] | null;
  /** Frames of the last runs, the latest first. */
  frames: readonly Frame[];
  /** Params of all dispatches as they were last written to `uniforms`. */
  readonly params: Uint32s;
  readonly uniforms: GPUBuffer | null;
  /**
   * Words of `params` that come from per-call scalars: (word, index among the program's scalars),
   * pairwise.
   */
  readonly dynamic: readonly number[];
  /** Set while `params` is newer than `uniforms`. */
  stale: boolean;
  /** Whether the device accepted a run of it. */
  proven: boolean;
  poolGeneration: number;
}

/**
 * The contract between ops and the device: a kernel generator is a pure function from views to one
 * compute shader and its launch. Generators are called when a plan is compiled, never on a plan
 * hit. They own no memory: bindings are filled by the executor.
 */
import type { DType } from "../base/dtype.ts";
import type { Layout } from "../base/layout.ts";

/** What was chosen, and who listens to what is asked. */
export interface Choices {
  /**
   * @param kernel the generator's name
   * @param shape class of sizes: what was measured for one holds for the others
   * @param space the ways that are possible here
   * @param standard the one to take as long as nothing was measured
   */
  choose(kernel: string, shape: string, space: readonly string[], standard: string): string;
}

/**
 * What a generator may adapt to. Part of a plan's identity, so the same program on another adapter
 * is compiled anew.
 */
export interface DeviceCaps {
  /**
   * Runs on the CPU (SwiftShader, lavapipe): workgroup memory and barriers are slow, big register
   * tiles good.
   */
  readonly software: boolean;
  /** The compiler may round a product and the sum it goes into only once. */
  readonly contracts: boolean;
  /** `shader-f16` was granted. */
  readonly f16: boolean;
  /** `subgroups` was granted. Their size is never assumed. */
  readonly subgroups: boolean;
  /**
   * The fewest invocations that a subgroup has: a power of two; 4 where the adapter does not say,
   * and 1 without subgroups.
   */
  readonly subgroupLanes: number;
  readonly maxInvocationsPerWorkgroup: number;
  readonly maxWorkgroupSizeX: number;
  readonly maxWorkgroupStorageBytes: number;
  /** Per dimension; 65535 everywhere so far. */
  readonly maxWorkgroupsPerDimension: number;
  readonly maxStorageBuffers: number;
  /** What was measured best; nothing was where it is missing. */
  readonly choices?: Choices;
}

/** A typed view as kernels see it. */
export interface View {
  readonly layout: Layout;
  readonly dtype: DType;
}

/**
 * One compute shader and its launch. Entry point `main`; storage buffers are `@group(0)
 * @binding(0…)`, params come last as a uniform struct.
 */
export interface Kernel {
  /**
   * Equal keys mean equal `wgsl`: the pipeline cache is keyed by it. Holds structure only, never
   * sizes that live in `params`.
   */
  readonly key: string;
  readonly wgsl: string;
  /** Access of each storage binding, in order. */
  readonly bindings: readonly ("read" | "read_write")[];
  /**
   * 32-bit words of the uniform struct at binding `bindings.length`; empty when there is none. f32
   * fields hold their bits.
   */
  readonly params: readonly number[];
  /**
   * Words of `params` that are filled at each execution: `scalar` indexes the op's per-call scalars
   * (already as 32-bit words).
   */
  readonly dynamic?: readonly { readonly word: number; readonly scalar: number }[];
  /**
   * Workgroups, each at most `maxWorkgroupsPerDimension`. `[0,0,0]` means there is nothing to do.
   */
  readonly workgroups: readonly [number, number, number];
}

export { f32Bits, i32Bits } from "../base/bits.ts";

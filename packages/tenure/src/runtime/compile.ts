/**
 * From an open program to something the executor can run again and again: the IR is built and
 * planned by the scheduler, kernels are generated, pipelines compiled, and the sizes of every
 * dispatch written into one uniform buffer. Called on a plan-cache miss only. An `Executable` owns
 * its uniform buffer; its slots are filled with pooled buffers at each execution.
 */
import { internal } from "../base/errors.ts";
import { Program, type ProgramOp, type ProgramStorage } from "../graph/program.ts";
import { withPhases } from "../graph/phases.ts";
import { counters } from "../device/counters.ts";
import type { Device } from "../device/device.ts";
import type { CachedPipeline } from "../device/pipelines.ts";
import { sizeClass } from "../device/pool.ts";
import { planJoined } from "../planner/pipeline.ts";
import type { PlanOptions } from "../planner/plan-options.ts";
import type { Plan, Step } from "../planner/plan.ts";
import { fused, fuseFacts, isFused } from "./fusion.ts";
import { lower } from "./lower.ts";
import type { OpenProgram } from "./record.ts";

/** One dispatch of an executable. */
export interface Dispatch {
  readonly name: string;
  readonly pipeline: CachedPipeline;
  /** Slot, offset in it and bytes of each storage binding. */
  readonly slots: readonly number[];
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
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

export interface Executable {
  /** What the program must look like to be run by this plan. */
  readonly words: Int32Array;
  readonly plan: Plan;
  readonly dispatches: readonly Dispatch[];
  /** For each step of the plan, its dispatch; -1 for steps that are none. */
  readonly dispatchOf: readonly number[];
  /**
   * Whether values go to the host and back, or buffers come and go: then it cannot run in one go.
   */
  readonly inStretches: boolean;
  /** Params of all dispatches as they were last written to `uniforms`. */
  readonly params: Uint32Array<ArrayBuffer>;
  readonly uniforms: GPUBuffer | null;
  /**
   * Words of `params` that come from per-call scalars: (word, index into the program's words),
   * pairwise.
   */
  readonly dynamic: readonly number[];
  /** Set while `params` is newer than `uniforms`. */
  stale: boolean;
  poolGeneration: number;
  lastUse: number;
}

/** Whether plans are re-derived and checked after every compilation; tests switch it on. */
export const checking = { plans: false };

/**
 * The IR of what was recorded. `granule`: bytes a buffer really takes for a request. A storage's
 * index in the program is its local index.
 */
export function buildProgram(
  open: Pick<OpenProgram, "locals" | "ops">,
  granule: (bytes: number) => number,
): Program {
  const storages = open.locals.map((s): ProgramStorage => ({
    id: `s${s.programIndex}`,
    bytes: granule(Math.max(s.bytes, 4)),
    role: s.role,
    pinned: s.refs > 0,
  }));
  const ops = open.ops.map(({ op, inputs, outputs, attrs, phase, layer }): ProgramOp => {
    const inplace = op.facts.inplaceOf ?? [],
      facts = fuseFacts({ op, inputs, outputs });
    const reads = unique(inputs.map((o) => o.storage.programIndex));
    // An in-place op reads its target too, even one that overwrites all of it: a view may cover
    // only a part of the storage.
    const writes = unique(
      outputs.map((o, k) => {
        if ((inplace[k] ?? -1) === -1 && reads.includes(o.storage.programIndex))
          throw internal(`${op.name} writes an input it does not declare`);
        return o.storage.programIndex;
      }),
    );
    return {
      name: op.name,
      reads,
      writes,
      phase,
      layer,
      flops: op.flops?.(inputs, outputs, attrs) ?? outputs[0]!.layout.size,
      recomputable: op.facts.recomputable ?? true,
      ...(facts === undefined ? {} : { fuse: facts }),
    };
  });
  return new Program(
    storages,
    withPhases(ops, (s) => storages[s]!.role),
  );
}

function unique(list: readonly number[]): number[] {
  return [...new Set(list)];
}

/**
 * Plans and compiles a sealed program. @throws BudgetError when `options` ask for what no plan can
 * do
 */
export function compile(open: OpenProgram, device: Device, options: PlanOptions = {}): Executable {
  // before anything can throw: it is what the cache will compare
  const words = open.signature.snapshot();
  const issued = buildProgram(open, sizeClass),
    apart = { program: issued, ops: open.ops },
    joined = options.fuse === false ? apart : fused(open.ops, issued, device.caps);
  const plan = planJoined(joined.program, issued, options, {
      atEntry: (s) => open.locals[s]!.buffer !== null,
    }),
    { program, ops } = plan.program === issued ? apart : joined;
  // wrong numbers would be worse than no plan, and the check takes less time than the planning
  if (checking.plans || plan.extra.recomputedOps > 0 || plan.extra.swapIns > 0) plan.verify();

  const dispatches: Dispatch[] = [],
    dispatchOf: number[] = [],
    params: number[] = [],
    dynamic: number[] = [];
  let ran = 0;
  for (const step of plan.steps) {
    const at = dispatchOf.push(-1) - 1;
    if (step.kind !== "dispatch" && step.kind !== "recompute") continue;
    const recorded = ops[step.op!]!,
      places = placesOf(program.ops[step.op!]!, step);
    if (step.kind === "dispatch") ran += isFused(recorded) ? recorded.members.length : 1;
    const { kernel, operands } = lower(recorded, device.caps);
    if (kernel.workgroups.some((n) => n > device.caps.maxWorkgroupsPerDimension))
      throw internal(`${recorded.op.name} launches ${kernel.workgroups.join("×")} workgroups`);
    if (kernel.workgroups.includes(0)) continue;
    const uniformOffset = params.length * 4;
    kernel.dynamic?.forEach(({ word, scalar }) =>
      dynamic.push(params.length + word, recorded.wordStart + scalar),
    );
    params.push(...kernel.params);
    while (params.length % 64 !== 0) params.push(0); // 256-byte offsets
    dispatchOf[at] = dispatches.length;
    dispatches.push({
      name: recorded.op.name,
      pipeline: device.pipelines.get(kernel, recorded.op.name),
      slots: operands.map((s) => places.get(s)!.slot),
      offsets: operands.map((s) => places.get(s)!.offset),
      sizes: operands.map((s) => bindingBytes(open.locals[s]!.bytes)),
      uniformOffset,
      uniformBytes: kernel.params.length * 4,
      workgroups: kernel.workgroups,
      groups: [],
    });
  }
  counters.eliminated += open.ops.length - ran;
  let uniforms: GPUBuffer | null = null;
  if (params.length > 0) {
    counters.buffers++;
    uniforms = device.gpu.createBuffer({
      label: "tenure params",
      size: params.length * 4,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
  }
  return {
    words,
    plan,
    dispatches,
    dispatchOf,
    inStretches: plan.steps.some(
      (step) => step.kind !== "dispatch" && step.kind !== "recompute" && step.kind !== "release",
    ),
    params: Uint32Array.from(params),
    uniforms,
    dynamic,
    stale: true,
    poolGeneration: device.pool.generation,
    lastUse: 0,
  };
}

/** Where each storage of an op is during one step. */
function placesOf(
  op: ProgramOp,
  { reads, writes, readOffsets, writeOffsets }: Step,
): Map<number, { slot: number; offset: number }> {
  const places = new Map<number, { slot: number; offset: number }>();
  op.reads.forEach((s, k) => {
    places.set(s, { slot: reads![k]!, offset: readOffsets?.[k] ?? 0 });
  });
  op.writes.forEach((s, k) => {
    places.set(s, { slot: writes![k]!, offset: writeOffsets?.[k] ?? 0 });
  });
  return places;
}

/**
 * Bytes a storage is bound with: vectors of four elements may reach past its end, and every buffer
 * is a multiple of 16 long.
 */
function bindingBytes(bytes: number): number {
  return Math.ceil(Math.max(bytes, 4) / 16) * 16;
}

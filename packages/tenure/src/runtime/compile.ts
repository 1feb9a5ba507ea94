/**
 * From an open program to something the executor can run again and again: the IR is built and
 * planned by the scheduler, kernels are generated, pipelines compiled, and the sizes of every
 * dispatch written into one uniform buffer. Called on a plan-cache miss only. What it
 * makes owns its uniform buffer.
 */
import { at, defined, lookup } from "../base/access.ts";
import { warn } from "../base/env.ts";
import { internal } from "../base/errors.ts";
import type { GPUBuffer } from "../device/webgpu.ts";
import type { Program, ProgramOp } from "../graph/program.ts";
import type { CounterSet } from "../device/counters.ts";
import type { Device } from "../device/device.ts";
import { sizeClass } from "../device/buffer-pool.ts";
import { Deadline, PlanningTooLong } from "../planner/deadline.ts";
import { BudgetError } from "../planner/budget-error.ts";
import type { Kernels } from "../kernels/families.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { Unfused } from "../planner/fuse/group.ts";
import type { PlanOptions } from "../planner/plan-options.ts";
import type { RunnablePlan } from "../planner/runnable-plan.ts";
import { plainPlanner } from "../planner/plain-planner.ts";
import type { Planner } from "../planner/planner.ts";
import type { Step } from "../planner/steps.ts";
import { buildProgram } from "./build-program.ts";
import { fused, isFused } from "./fusion.ts";
import { type Watcher, candidatesOf, placed } from "./candidates.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Dispatch, Executable } from "./executable.ts";
import type { Inspector, KernelRecord, UnfusedRecord } from "./inspector.ts";
import { lower } from "./lower.ts";
import { type NextStep, nextStep } from "./next-step.ts";
import { passWatcher } from "./pass-watcher.ts";
import type { OpenProgram } from "./open-program.ts";
import type { RecordedOp } from "./recorded-op.ts";
import type { Settings } from "./settings.ts";

/** A plan, and the recorded or fused op behind each op of its program. */
interface Planned {
  readonly plan: RunnablePlan;
  readonly ops: readonly RecordedOp[];
  readonly issued: Program;
  readonly unfused: () => readonly Unfused[];
}

/** What a plan has to keep to, and who makes it. */
export interface Planning {
  readonly planner: Planner;
  readonly options: PlanOptions;
}

/** Planning outside schedulers. */
const plain: Planning = { planner: plainPlanner, options: {} };

/** What is planned: a recorded program, or one like it. */
interface Source extends NextStep {
  readonly locals: OpenProgram["locals"];
}

function sourceOf({ ops, locals }: OpenProgram): Source {
  return { ops, locals, atEntry: (s) => at(locals, s).buffer !== null };
}

/** Compiles for one runtime. */
export class Compiler {
  readonly #settings: Settings;
  readonly #counters: CounterSet;
  readonly #inspector: Inspector;
  readonly #parts: EngineParts;
  #warned = false;
  /** Hear in which ways each dispatch could be written; for tuning. */
  readonly watchers: Set<Watcher> = new Set<Watcher>();

  constructor(settings: Settings, counters: CounterSet, inspector: Inspector, parts: EngineParts) {
    this.#parts = parts;
    this.#settings = settings;
    this.#counters = counters;
    this.#inspector = inspector;
  }

  /**
   * Plans and compiles a sealed program, whose families of kernels must be there. @throws
   * BudgetError when `planning` asks for what no plan can do
   */
  compile(open: OpenProgram, device: Device, planning: Planning = plain): Executable {
    // before anything can throw: it is what the cache will compare
    const words = open.signature.snapshot();
    const { plan, ops, issued, unfused, tookTooLong } = this.#plan(
      sourceOf(open),
      device,
      planning,
    );
    const { dispatches, dispatchOf, params, dynamic, ran, kernels } = emitDispatches(
      open,
      device,
      plan,
      ops,
      this.#parts.kernels,
      this.watchers,
    );
    this.#counters.eliminated += open.ops.length - ran;
    const planned = {
      ops: issued.ops.map((op) => op.name),
      kernels,
      unfused: () => unfused().map((pair) => namedPair(issued, pair)),
      plan,
      tookTooLong,
    };
    this.#inspector.planned(planned);
    const isStraight = plan.steps.every(({ kind }) => kind === "dispatch" || kind === "release");
    return {
      words,
      plan,
      dispatches,
      dispatchOf,
      straight: isStraight ? dispatches : null,
      frames: [],
      inSegments: plan.steps.some(
        ({ kind }) => kind !== "dispatch" && kind !== "recompute" && kind !== "release",
      ),
      params: Uint32Array.from(params),
      uniforms: params.length === 0 ? null : this.#uniforms(device, params.length * 4),
      dynamic,
      stale: true,
      proven: false,
      poolGeneration: device.pool.generation,
    };
  }

  /**
   * Why the step after this one will not fit into a budget, though this one may: then optimizers
   * have their state. Null when it will, or is the same.
   */
  refusalOfNext(open: OpenProgram, device: Device, planning: Planning): BudgetError | null {
    const next = nextStep(open);
    return next === null ? null : this.#refusal({ ...next, locals: open.locals }, device, planning);
  }

  /** Why a program does not fit into a budget; null when it does. */
  refusal(open: OpenProgram, device: Device, planning: Planning): BudgetError | null {
    return this.#refusal(sourceOf(open), device, planning);
  }

  #refusal(source: Source, device: Device, planning: Planning): BudgetError | null {
    try {
      this.#plan(source, device, planning);
      return null;
    } catch (error) {
      if (error instanceof BudgetError) return error;
      throw error;
    }
  }

  /** The plan, or a quicker one when it takes too long. */
  #plan(
    source: Source,
    device: Device,
    { planner, options }: Planning,
  ): Planned & { readonly tookTooLong: boolean } {
    const { planningClock, planningMs, verifyPlans } = this.#settings;
    const issued = buildProgram(source, sizeClass);
    const inputs = { atEntry: source.atEntry, ...passWatcher(this.#parts.inspection?.formatState) };
    const issuedAlone = { program: issued, ops: source.ops, unfused: () => [] };
    let kernels: ReturnType<typeof fused> = issuedAlone;
    const search = (milliseconds: number): RunnablePlan => {
      const deadline = new Deadline(planningClock, milliseconds);
      if (this.#settings.fuse && options.fuse !== false)
        kernels = fused(source.ops, issued, device.caps, deadline);
      return planner.plan(kernels.program, issued, options, { ...inputs, deadline });
    };
    let plan: RunnablePlan;
    let tookTooLong = false;
    try {
      plan = search(planningMs);
    } catch (error) {
      if (!(error instanceof PlanningTooLong)) throw error;
      tookTooLong = true;
      this.#warnTooLong(issued.ops.length);
      // Fused where that was done in time, and the budget asks for it.
      const inHaste = (): RunnablePlan =>
        planner.planInHaste([issued, kernels.program], options, inputs);
      // what no search can find is refused at once
      plan = planner.mayFit(issued, options)
        ? unlessRefused(inHaste, () => search(longestSearchMs))
        : inHaste();
    }
    if (verifyPlans) this.#parts.get("inspection").verifyPlan(plan);
    const { ops, unfused } = plan.program === issued ? issuedAlone : kernels;
    return { plan, ops, issued, unfused, tookTooLong };
  }

  /** Says once that programs are too long to be planned well. */
  #warnTooLong(ops: number): void {
    if (this.#warned) return;
    this.#warned = true;
    warn(
      `planning a program of ${ops} ops took more than ${this.#settings.planningMs} ms, ` +
        "so its ops run unfused and in order; read values more often, so that programs are shorter",
    );
  }

  #uniforms(device: Device, size: number): GPUBuffer {
    this.#counters.buffers++;
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    return device.createBuffer({ label: "tenure params", size, usage });
  }
}

/**
 * How long is searched before a step is refused, where plans in haste need too much memory and
 * others may not.
 */
const longestSearchMs = 20_000;

/** Takes the first plan; where its budget refuses it, the second, if that is found in time. */
function unlessRefused(first: () => RunnablePlan, second: () => RunnablePlan): RunnablePlan {
  try {
    return first();
  } catch (refused) {
    if (!(refused instanceof BudgetError)) throw refused;
    try {
      return second();
    } catch (error) {
      throw error instanceof PlanningTooLong ? refused : error;
    }
  }
}

/** The dispatches of a plan, with their params one after the other. */
interface Emitted {
  readonly dispatches: Dispatch[];
  readonly dispatchOf: number[];
  readonly params: number[];
  readonly dynamic: number[];
  /** Recorded ops that run. */
  readonly ran: number;
  readonly kernels: readonly KernelRecord[];
}

function emitDispatches(
  open: OpenProgram,
  device: Device,
  { steps, program }: RunnablePlan,
  ops: readonly RecordedOp[],
  generators: Kernels,
  watchers: ReadonlySet<Watcher>,
): Emitted {
  const dispatches: Dispatch[] = [];
  const params: number[] = [];
  const dynamic: number[] = [];
  const kernels: KernelRecord[] = [];
  let ran = 0;
  const dispatchOf = steps.map((step) => {
    if (step.op === undefined || (step.kind !== "dispatch" && step.kind !== "recompute")) return -1;
    const recorded = at(ops, step.op);
    if (step.kind === "dispatch") ran += isFused(recorded) ? recorded.members.length : 1;
    const { kernel, operands } = lower(recorded, device.caps, generators);
    if (kernel.workgroups.some((n) => n > device.caps.maxWorkgroupsPerDimension))
      throw internal(`${recorded.op.name} launches ${kernel.workgroups.join("×")} workgroups`);
    if (kernel.workgroups.includes(0)) return -1;
    kernels.push(kernelRecord(recorded, kernel));
    const sizes = operands.map((s) => bindingBytes(at(open.locals, s).bytes));
    if (watchers.size > 0) {
      const kept = placed(recorded);
      for (const watcher of watchers) watcher(() => candidatesOf(kept, device, generators, sizes));
    }
    const places = placesOf(at(program.ops, step.op), step);
    const uniformOffset = params.length * 4;
    for (const { word, scalar } of kernel.dynamic ?? [])
      dynamic.push(params.length + word, recorded.scalarStart + scalar);
    params.push(...kernel.params);
    while (params.length % 64 !== 0) params.push(0); // 256-byte offsets
    return (
      dispatches.push({
        name: recorded.op.name,
        pipeline: device.pipelines.get(kernel, recorded.op.name),
        slots: operands.map((s) => lookup(places, s).slot),
        offsets: operands.map((s) => lookup(places, s).offset),
        sizes,
        bytes: movedBytes(at(program.ops, step.op), open.locals),
        uniformOffset,
        uniformBytes: kernel.params.length * 4,
        workgroups: kernel.workgroups,
        groups: [],
      }) - 1
    );
  });
  return { dispatches, dispatchOf, params, dynamic, ran, kernels };
}

/** What people see of a kernel. */
function kernelRecord(recorded: RecordedOp, { key, wgsl, workgroups }: Kernel): KernelRecord {
  const { name } = recorded.op;
  const ops = isFused(recorded) ? recorded.members.map((m) => m.op.name) : [name];
  return { name, ops, key, wgsl, workgroups };
}

/** Two unfused ops with their names. */
function namedPair({ ops }: Program, { maker, reader, reason }: Unfused): UnfusedRecord {
  const named = (op: number): { op: number; name: string } => ({ op, name: at(ops, op).name });
  return { maker: named(maker), reader: named(reader), reason };
}

/** Bytes that an op reads and writes, where it looks at the whole of each storage. */
function movedBytes({ reads, writes }: ProgramOp, locals: OpenProgram["locals"]): number {
  return [...reads, ...writes].reduce((sum, s) => sum + at(locals, s).bytes, 0);
}

/** Where each storage of an op is during one step. */
function placesOf(
  op: ProgramOp,
  { reads, writes, readOffsets, writeOffsets }: Step,
): Map<number, { slot: number; offset: number }> {
  const places = new Map<number, { slot: number; offset: number }>();
  for (const [k, s] of op.reads.entries())
    places.set(s, { slot: at(defined(reads), k), offset: readOffsets?.[k] ?? 0 });
  for (const [k, s] of op.writes.entries())
    places.set(s, { slot: at(defined(writes), k), offset: writeOffsets?.[k] ?? 0 });
  return places;
}

/**
 * Bytes a storage is bound with: vectors of four elements may reach past its end, and every buffer
 * is a multiple of 16 long.
 */
function bindingBytes(bytes: number): number {
  return Math.ceil(Math.max(bytes, 4) / 16) * 16;
}

/**
 * From an open program to something the executor can run again and again: the IR is built and
 * planned by the scheduler, kernels are generated, pipelines compiled, and the sizes of every
 * dispatch written into one uniform buffer. Called on a plan-cache miss only. What it
 * makes owns its uniform buffer.
 */
import { at } from "../base/access.ts";
import { warn } from "../base/env.ts";
import type { GPUBuffer } from "../device/webgpu.ts";
import type { Program } from "../graph/program.ts";
import type { CounterSet } from "../device/counters.ts";
import type { Device } from "../device/device.ts";
import { sizeClass } from "../device/buffer-pool.ts";
import { Deadline, PlanningTooLong } from "../planner/deadline.ts";
import { BudgetError } from "../planner/budget-error.ts";
import type { Unfused } from "../planner/fuse/group.ts";
import type { PlanOptions } from "../planner/plan-options.ts";
import type { RunnablePlan } from "../planner/runnable-plan.ts";
import { plainPlanner } from "../planner/plain-planner.ts";
import type { Planner } from "../planner/planner.ts";
import { buildProgram } from "./build-program.ts";
import { fused } from "./fusion.ts";
import type { Watcher } from "./candidates.ts";
import { emitDispatches } from "./dispatches.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Executable } from "./executable.ts";
import type { Inspector, UnfusedRecord } from "./inspector.ts";
import type { NextStep } from "./next-step.ts";
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

function sourceOf({ ops, locals }: OpenProgram): NextStep {
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
      this.#parts,
      {
        watchers: this.watchers,
        sideBySide: this.#settings.fuse && planning.options.fuse !== false,
      },
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

  /** Why a program, or the step after it, does not fit into a budget; null when it does. */
  refusal(open: OpenProgram | NextStep, device: Device, planning: Planning): BudgetError | null {
    try {
      this.#plan("atEntry" in open ? open : sourceOf(open), device, planning);
      return null;
    } catch (error) {
      if (error instanceof BudgetError) return error;
      throw error;
    }
  }

  /** The plan, or a quicker one when it takes too long. */
  #plan(
    source: NextStep,
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

/** Two unfused ops with their names. */
function namedPair({ ops }: Program, { maker, reader, reason }: Unfused): UnfusedRecord {
  const named = (op: number): { op: number; name: string } => ({ op, name: at(ops, op).name });
  return { maker: named(maker), reader: named(reader), reason };
}

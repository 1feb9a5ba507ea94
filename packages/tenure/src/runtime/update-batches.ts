/**
 * Updates that run as one dispatch: those of a step whose kernels are the same and that do not
 * touch each other's memory, as many as one kernel binds. Nothing moves in the plan: an update only
 * waits for the last one that it runs with, so memory is as planned. Called by dispatches.ts on a
 * plan-cache miss; on a page it comes with the main family of kernels. Owns nothing.
 *
 *     dW2  W2 -= dW2  dX1  dW1  W1 -= dW1     becomes     dW2  dX1  dW1  (W2 -= dW2, W1 -= dW1)
 */
import { at, defined, last } from "../base/access.ts";
import type { ElementwiseSpec } from "../kernels/elementwise.ts";
import type { DeviceCaps, Kernel } from "../kernels/kernel.ts";
import { isFlat, sideBySide } from "../kernels/several.ts";
import type { ProgramOp } from "../graph/program.ts";
import type { Step } from "../planner/steps.ts";
import type { Lowered } from "./lower.ts";
import type { RecordedOp } from "./recorded-op.ts";

/** What a step dispatches. */
export interface Launch {
  readonly step: Step;
  readonly op: ProgramOp;
  readonly recorded: RecordedOp;
  readonly lowered: Lowered;
}

/** Updates that may get more. */
interface Batch {
  /** The steps that they are. */
  readonly steps: number[];
  bindings: number;
  readonly reads: Set<number>;
  readonly writes: Set<number>;
}

/**
 * The steps that are dispatched as one, at the last of them and in the order of these; every step
 * that dispatches anything is in one of the lists.
 */
export function batchesOf(
  steps: readonly Step[],
  launches: readonly (Launch | null)[],
  maxBindings: number,
): number[][] {
  const batches: number[][] = [];
  const open = new Map<string, Batch>();
  for (const [t, step] of steps.entries()) {
    for (const [key, batch] of open) if (touches(step, batch)) open.delete(key);
    const launch = launches[t];
    if (launch === null || launch === undefined) continue;
    const { key, bindings } = launch.lowered.kernel;
    const known = open.get(key);
    if (known !== undefined && known.bindings + bindings.length <= maxBindings) {
      add(known, t, step, bindings.length);
      continue;
    }
    const batch = { steps: [], bindings: 0, reads: new Set<number>(), writes: new Set<number>() };
    add(batch, t, step, bindings.length);
    batches.push(batch.steps);
    if (mayJoin(launch)) open.set(key, batch);
  }
  return batches.sort((a, b) => last(a) - last(b));
}

/** Whether a step has to come after all of a batch. */
function touches(step: Step, { reads, writes }: Batch): boolean {
  switch (step.kind) {
    case "dispatch":
    case "recompute":
      return (
        step.reads?.some((slot) => writes.has(slot)) === true ||
        step.writes?.some((slot) => writes.has(slot) || reads.has(slot)) === true
      );
    case "release":
      return step.slot !== undefined && (reads.has(step.slot) || writes.has(step.slot));
    default:
      return true; // buffers or values come and go
  }
}

function add(batch: Batch, t: number, { reads = [], writes = [] }: Step, bindings: number): void {
  batch.steps.push(t);
  batch.bindings += bindings;
  for (const slot of reads) batch.reads.add(slot);
  for (const slot of writes) batch.writes.add(slot);
}

function mayJoin({ recorded, lowered: { elementwise } }: Launch): boolean {
  return recorded.phase === "apply" && elementwise !== undefined && isFlat(elementwise);
}

/** The kernel of a batch. Its scalars are counted from those of the first. */
export function kernelOf(batch: readonly Launch[], caps: DeviceCaps): Kernel {
  const first = at(batch, 0);
  if (batch.length === 1) return first.lowered.kernel;
  const specs = batch.map(({ recorded, lowered }): ElementwiseSpec => {
    const spec = defined(lowered.elementwise);
    const from = recorded.scalarStart - first.recorded.scalarStart;
    const scalars = spec.scalars?.map((s, k) => ({ ...s, index: from + (s.index ?? k) }));
    return { ...spec, ...(scalars === undefined ? {} : { scalars }) };
  });
  return sideBySide(specs, caps);
}

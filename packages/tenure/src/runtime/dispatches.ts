/**
 * The dispatches of a plan: each step's op is lowered to a kernel, updates that may run side by
 * side become one, pipelines are asked for, and params are laid out one after the other. Called by
 * compile.ts on a plan-cache miss. Owns nothing.
 */
import { at, defined, last, lookup } from "../base/access.ts";
import { internal } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import type { ProgramOp } from "../graph/program.ts";
import type { Kernel } from "../kernels/kernel.ts";
import type { RunnablePlan } from "../planner/runnable-plan.ts";
import type { Step } from "../planner/steps.ts";
import type { Watcher } from "./candidates.ts";
import type { Dispatch } from "./executable.ts";
import { isFused } from "./fusion.ts";
import type { KernelRecord } from "./inspector.ts";
import { lower } from "./lower.ts";
import type { OpenProgram } from "./open-program.ts";
import type { RecordedOp } from "./recorded-op.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Launch } from "./update-batches.ts";

/** The dispatches of a plan, with their params one after the other. */
export interface Dispatches {
  readonly dispatches: readonly Dispatch[];
  /** For each step, its dispatch; -1 for none. */
  readonly dispatchOf: readonly number[];
  readonly params: readonly number[];
  readonly dynamic: readonly number[];
  /** Recorded ops that run. */
  readonly ran: number;
  readonly kernels: readonly KernelRecord[];
}

/** How dispatches are made. */
export interface DispatchOptions {
  /** Hear in which ways each could be written. */
  readonly watchers: ReadonlySet<Watcher>;
  /** Makes one of updates that may run side by side. */
  readonly sideBySide: boolean;
}

/** Makes the dispatches of a plan, whose families of kernels must be there. */
export function emitDispatches(
  open: OpenProgram,
  device: Device,
  { steps, program }: RunnablePlan,
  ops: readonly RecordedOp[],
  parts: EngineParts,
  { watchers, sideBySide }: DispatchOptions,
): Dispatches {
  const { caps } = device;
  const { locals } = open;
  const { kernels: generators } = parts;
  let ran = 0;
  const launches = steps.map((step): Launch | null => {
    if (step.op === undefined || (step.kind !== "dispatch" && step.kind !== "recompute"))
      return null;
    const recorded = at(ops, step.op);
    if (step.kind === "dispatch") ran += isFused(recorded) ? recorded.members.length : 1;
    const lowered = lower(recorded, caps, generators);
    if (lowered.kernel.workgroups.includes(0)) return null;
    if (watchers.size > 0) {
      const { candidatesOf, placed } = parts.get("products");
      const kept = placed(recorded);
      const sizes = lowered.operands.map((s) => bindingBytes(at(locals, s).bytes));
      for (const watcher of watchers) watcher(() => candidatesOf(kept, device, generators, sizes));
    }
    return { recorded, op: at(program.ops, step.op), step, lowered };
  });
  const beside = sideBySide && parts.has("main") ? parts.get("main") : null;
  const batches =
    beside?.batchesOf(steps, launches, caps.maxStorageBuffers) ??
    launches.flatMap((launch, t) => (launch === null ? [] : [[t]]));
  const made: Made = { dispatches: [], params: [], dynamic: [], kernels: [] };
  const dispatchOf = steps.map(() => -1);
  for (const batch of batches) {
    const own = batch.flatMap((t) => launches[t] ?? []);
    const kernel = beside?.kernelOf(own, caps) ?? at(own, 0).lowered.kernel;
    dispatchOf[last(batch)] = made.dispatches.length;
    addDispatch(made, device, locals, own, kernel);
  }
  return { ...made, dispatchOf, ran };
}

/** Dispatches one after the other. */
interface Made {
  readonly dispatches: Dispatch[];
  readonly params: number[];
  readonly dynamic: number[];
  readonly kernels: KernelRecord[];
}

function addDispatch(
  { dispatches, params, dynamic, kernels }: Made,
  { caps, pipelines }: Device,
  locals: OpenProgram["locals"],
  batch: readonly Launch[],
  kernel: Kernel,
): void {
  const record = kernelRecord(batch, kernel);
  const { name, workgroups } = record;
  if (workgroups.some((n) => n > caps.maxWorkgroupsPerDimension))
    throw internal(`${name} launches ${workgroups.join("×")} workgroups`);
  kernels.push(record);
  const bound = batch.flatMap(({ op, step, lowered }) => {
    const places = placesOf(op, step);
    return lowered.operands.map((s) => ({
      ...lookup(places, s),
      size: bindingBytes(at(locals, s).bytes),
    }));
  });
  const from = params.length;
  const { scalarStart } = at(batch, 0).recorded;
  for (const { word, scalar } of kernel.dynamic ?? [])
    dynamic.push(from + word, scalarStart + scalar);
  params.push(...kernel.params);
  while (params.length % 64 !== 0) params.push(0); // 256-byte offsets
  dispatches.push({
    name,
    pipeline: pipelines.get(kernel, name),
    slots: bound.map(({ slot }) => slot),
    offsets: bound.map(({ offset }) => offset),
    sizes: bound.map(({ size }) => size),
    layer: [...new Set(batch.map(({ op }) => op.layer))].join(", "),
    flops: batch.reduce((sum, { op }) => sum + op.flops, 0),
    bytes: batch.reduce((sum, { op }) => sum + movedBytes(op, locals), 0),
    uniformOffset: from * 4,
    uniformBytes: kernel.params.length * 4,
    workgroups,
    groups: [],
  });
}

/** What people see of a kernel. */
function kernelRecord(batch: readonly Launch[], { key, wgsl, workgroups }: Kernel): KernelRecord {
  const { op } = at(batch, 0).recorded;
  const name = batch.length === 1 ? op.name : `${op.name}×${batch.length}`;
  const ops = batch.flatMap(({ recorded }) =>
    (isFused(recorded) ? recorded.members : [recorded]).map((m) => m.op.name),
  );
  return { name, ops, key, wgsl, workgroups };
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

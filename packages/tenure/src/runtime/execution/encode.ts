/**
 * Encoding: uploads, uniforms and dispatches of a plan onto the device's queue. On a plan hit
 * nothing is created: a bind group is made only for buffers that a dispatch has not met lately.
 * Called by executions. Bind groups belong to the plan's dispatches.
 */
import { at } from "../../base/access.ts";
import { internal } from "../../base/errors.ts";
import type { CounterSet } from "../../device/counters.ts";
import type { Device } from "../../device/device.ts";
import type { Dispatch, Executable, Frame } from "../executable.ts";
import type { OpenProgram } from "../open-program.ts";
import { type SlotBuffers, bufferIn } from "./slot-buffers.ts";

/**
 * Bind groups remembered per dispatch, and frames per plan: a repeated program alternates between a
 * few sets of buffers at most.
 */
const groupsPerDispatch = 4;
const framesPerPlan = 4;

/**
 * Encodes the program's uploads.
 * @param submitted gets what is to be called after the next submit
 */
export function encodeUploads(
  device: Device,
  exe: Executable,
  { uploads }: OpenProgram,
  buffers: Readonly<SlotBuffers>,
  submitted: (() => void)[],
): void {
  const { queue } = device;
  for (const { local, data } of uploads) {
    const slot = exe.plan.entrySlot[local] ?? -1;
    if (slot === -1) continue;
    const target = bufferIn(buffers, slot).gpu;
    const done = device.uploads.write(target, 0, data, (source, bytes) => {
      queue.copy(source, 0, target, 0, bytes);
    });
    if (done !== undefined) submitted.push(done);
  }
}

/** Makes a plan's caches of bind groups fit the buffers there are. */
export function forgetGroups({ pool }: Device, exe: Executable): void {
  if (exe.poolGeneration === pool.generation) return;
  // Buffers were destroyed since: groups that refer to them would keep them from being collected.
  for (const { groups } of exe.dispatches)
    groups.splice(0, groups.length, ...groups.filter(({ ids }) => ids.every((id) => pool.has(id))));
  exe.frames = exe.frames.filter(({ buffers }) =>
    buffers.every((b) => b === undefined || pool.has(b.id)),
  );
  exe.poolGeneration = pool.generation;
}

/** Words of a plan's uniforms: `from` inclusive, `to` exclusive. */
export interface Words {
  readonly from: number;
  readonly to: number;
}

/** Takes this call's scalars over into a plan's params. @returns what changed; null for nothing */
export function updateParams(exe: Executable, scalars: readonly number[]): Words | null {
  const { params, dynamic } = exe;
  if (exe.uniforms === null) return null;
  let from = params.length;
  let to = 0;
  for (let i = 0; i < dynamic.length; i += 2) {
    const at = dynamic[i]!;
    const scalar = scalars[dynamic[i + 1]!]!;
    if (params[at] === scalar >>> 0) continue;
    params[at] = scalar;
    if (at < from) from = at;
    if (at >= to) to = at + 1;
  }
  if (exe.stale) {
    from = 0;
    to = params.length;
    exe.stale = false;
  }
  return from < to ? { from, to } : null;
}

/** Brings the uniform buffer up to date with the params. */
export function writeUniforms(
  { gpu }: Device,
  { uniforms, params }: Executable,
  { from, to }: Words,
): void {
  if (uniforms !== null) gpu.queue.writeBuffer(uniforms, from * 4, params, from, to - from);
}

/**
 * Encodes all dispatches of a plan that consists of nothing else. On buffers that they ran on
 * lately, no dispatch looks for its bind group.
 */
export function encodeStraight(
  device: Device,
  counters: CounterSet,
  exe: Executable,
  dispatches: readonly Dispatch[],
  buffers: Readonly<SlotBuffers>,
): void {
  const { pipelines, groups, workgroups } =
    knownFrame(exe, buffers) ?? newFrame(device, counters, exe, dispatches, buffers);
  const { queue } = device;
  for (let i = 0; i < groups.length; i++)
    queue.dispatch(
      pipelines[i]!,
      groups[i]!,
      workgroups[3 * i]!,
      workgroups[3 * i + 1]!,
      workgroups[3 * i + 2]!,
    );
}

function knownFrame(exe: Executable, buffers: Readonly<SlotBuffers>): Frame | undefined {
  const { frames } = exe;
  search: for (const frame of frames) {
    const known = frame.buffers;
    if (known.length !== buffers.length) continue;
    for (let i = 0; i < known.length; i++) if (known[i] !== buffers[i]) continue search;
    if (frame !== frames[0]) exe.frames = [frame, ...frames.filter((other) => other !== frame)];
    return frame;
  }
  return undefined;
}

function newFrame(
  device: Device,
  counters: CounterSet,
  exe: Executable,
  dispatches: readonly Dispatch[],
  buffers: Readonly<SlotBuffers>,
): Frame {
  const frame: Frame = {
    buffers: [...buffers],
    pipelines: dispatches.map(({ pipeline }) => pipeline.gpu),
    groups: dispatches.map((dispatch) => bindGroup(device, counters, exe, dispatch, buffers)),
    workgroups: dispatches.flatMap(({ workgroups }) => [...workgroups]),
  };
  exe.frames = [frame, ...exe.frames.slice(0, framesPerPlan - 1)];
  return frame;
}

/** Encodes one dispatch of a plan. */
export function encodeDispatch(
  device: Device,
  counters: CounterSet,
  exe: Executable,
  dispatch: Dispatch,
  buffers: Readonly<SlotBuffers>,
): void {
  const [x, y, z] = dispatch.workgroups;
  const group = bindGroup(device, counters, exe, dispatch, buffers);
  device.queue.dispatch(dispatch.pipeline.gpu, group, x, y, z);
}

function bindGroup(
  device: Device,
  counters: CounterSet,
  exe: Executable,
  dispatch: Dispatch,
  buffers: Readonly<SlotBuffers>,
): GPUBindGroup {
  const { slots, groups } = dispatch;
  search: for (let g = groups.length - 1; g >= 0; g--) {
    const { ids, group } = groups[g]!;
    for (let i = 0; i < slots.length; i++) if (buffers[slots[i]!]?.id !== ids[i]) continue search;
    return group;
  }
  counters.bindGroups++;
  const { offsets, sizes, uniformOffset, uniformBytes } = dispatch;
  const entries = slots.map((slot, binding): GPUBindGroupEntry => ({
    binding,
    resource: {
      buffer: bufferIn(buffers, slot).gpu,
      offset: at(offsets, binding),
      size: at(sizes, binding),
    },
  }));
  if (uniformBytes > 0) {
    if (exe.uniforms === null)
      throw internal(`${dispatch.name} has uniforms, but its plan has none`);
    entries.push({
      binding: slots.length,
      resource: { buffer: exe.uniforms, offset: uniformOffset, size: uniformBytes },
    });
  }
  const { layout } = dispatch.pipeline;
  const group = device.gpu.createBindGroup({ label: dispatch.name, layout, entries });
  if (groups.length === groupsPerDispatch) groups.shift();
  groups.push({ ids: slots.map((slot) => bufferIn(buffers, slot).id), group });
  return group;
}

/**
 * Between the recorder and the planner's `fuse`: puts the recorded ops of a group in the place of
 * one. Called by compile.ts on a plan-cache miss. Owns nothing.
 */
import type { Program } from "../graph/program.ts";
import type { DeviceCaps } from "../kernels/kernel.ts";
import type { AnyOp } from "../ops/op.ts";
import type { Deadline } from "../planner/deadline.ts";
import type { Group, Unfused } from "../planner/fuse/group.ts";
import { fuse } from "../planner/passes/fuse.ts";
import type { RecordedOp } from "./recorded-op.ts";

/** Several recorded ops that run as one kernel. */
export interface FusedOp extends RecordedOp {
  readonly group: Group;
  /** In the order of the group's members. */
  readonly members: readonly RecordedOp[];
}

/** Whether an op stands for several. */
export function isFused(recorded: RecordedOp): recorded is FusedOp {
  return "group" in recorded;
}

/**
 * The ops and the program to plan: as recorded, or with ops fused. `ops[i]` is what op `i` of the
 * program does.
 */
export function fused(
  ops: readonly RecordedOp[],
  program: Program,
  caps: DeviceCaps,
  deadline?: Deadline,
): { ops: readonly RecordedOp[]; program: Program; unfused: () => readonly Unfused[] } {
  const {
    program: planned,
    groups,
    unfused,
  } = fuse(program, {
    maxStorageBuffers: caps.maxStorageBuffers,
    ...(deadline === undefined ? {} : { deadline }),
  });
  return {
    program: planned,
    unfused,
    ops: groups.map((group, i) =>
      group.members.length === 1
        ? ops[group.members[0]!.op]!
        : standIn(
            group,
            group.members.map((m) => ops[m.op]!),
            planned.ops[i]!.name,
          ),
    ),
  };
}

/**
 * A recorded op that stands for a group. Its scalars are counted from those of the main op, whose
 * kernel numbers its own from 0.
 */
function standIn(group: Group, members: readonly RecordedOp[], name: string): FusedOp {
  const main = members[group.members.findIndex((m) => m.section === "main")] ?? members.at(-1)!;
  const op: AnyOp = { name, facts: {}, infer: () => [] };
  const own = new Set(members.flatMap((m) => m.outputs.map((o) => o.storage)));
  return {
    op,
    group,
    members,
    inputs: members.flatMap((m) => m.inputs).filter((o) => !own.has(o.storage)),
    outputs: members
      .flatMap((m) => m.outputs)
      .filter((o) => group.stored.includes(o.storage.programIndex)),
    attrs: undefined,
    scalarStart: main.scalarStart,
    scalarCount: main.scalarCount,
    signatureStart: main.signatureStart,
    phase: main.phase,
    layer: main.layer,
  };
}

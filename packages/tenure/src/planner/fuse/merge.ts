/**
 * The op that stands for a group in the fused program. Called by the fuse pass. Pure.
 */
import { last } from "../../base/access.ts";
import type { ProgramOp } from "../../graph/program.ts";
import type { KernelOutline } from "./group.ts";

/** Its layer and phase are those of the main op, or of the last. */
export function mergedOp(ops: readonly ProgramOp[], { reads, writes }: KernelOutline): ProgramOp {
  const main = ops.find((o) => o.fuse?.map === false) ?? last(ops);
  const { phase, layer, stage } = main;
  return {
    name: fusedName(ops.map((o) => o.name)),
    reads,
    writes,
    phase,
    layer,
    flops: ops.reduce((sum, o) => sum + o.flops, 0),
    recomputable: ops.every((o) => o.recomputable),
    ...(stage === undefined ? {} : { stage }),
  };
}

/** Names with `+` between, repetitions counted: `matmul+add+relu`, `mul×20`. */
export function fusedName(names: readonly string[]): string {
  const runs: { name: string; count: number }[] = [];
  for (const name of names) {
    const run = runs.at(-1);
    if (run?.name === name) run.count++;
    else runs.push({ name, count: 1 });
  }
  return runs.map(({ name, count }) => (count === 1 ? name : `${name}×${count}`)).join("+");
}

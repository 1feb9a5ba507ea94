/**
 * Phases and layers as NNTrainer names them, from what ops read and write. The tape knows in which layer's backward step an op was recorded, but not what for:
 * an op whose results reach no other layer's backward step computes a gradient of parameters, the others derive. An update belongs to the layer whose forward
 * pass first reads the parameter. Pure.
 */
import type { ProgramOp } from "./program.ts";

/** Ops with phases and layers made precise; ops without a layer stay as they are. */
export function withPhases(ops: readonly ProgramOp[]): ProgramOp[] {
  const owner = new Map<number, string>();
  for (const op of ops) if (op.phase === "forward") for (const r of op.reads) if (!owner.has(r)) owner.set(r, op.layer);
  /** Per storage: what later ops of the backward pass read it for; null for several layers, or a layer that goes on to others. */
  const readers = new Map<number, string | null>();
  const result = [...ops];
  for (let i = ops.length - 1; i >= 0; i--) {
    const op = ops[i]!;
    if (op.phase === "apply") {
      const layer = op.writes.map((w) => owner.get(w)).find((l) => l !== undefined);
      if (layer !== undefined) result[i] = { ...op, layer };
      continue;
    }
    if (op.phase === "forward" || op.layer === "") continue;
    const derives = op.writes.some((w) => { const layer = readers.get(w); return layer === null || layer !== undefined && layer !== op.layer; });
    result[i] = { ...op, phase: derives ? "calcDerivative" : "calcGradient" };
    for (const r of op.reads) readers.set(r, readers.has(r) && readers.get(r) !== op.layer || derives ? null : op.layer);
  }
  return result;
}

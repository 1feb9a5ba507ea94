/**
 * Phases and layers as NNTrainer names them, from what ops read and write. The tape knows in which
 * layer's backward step an op was recorded, but not what for: an op that makes a parameter's
 * gradient, or whose results reach no other layer's backward step, computes gradients; the others
 * derive. An update belongs to the layer whose forward pass first reads the parameter, and what was
 * recorded for its gradient outside any layer goes with it. Pure.
 */
import type { ProgramOp, Role } from "./program.ts";

/** Ops with phases and layers made precise; `roles` are those of the storages. */
export function withPhases(
  ops: readonly ProgramOp[],
  roles: (storage: number) => Role,
): ProgramOp[] {
  const owner = new Map<number, string>();
  for (const op of ops)
    if (op.phase === "forward") for (const r of op.reads) if (!owner.has(r)) owner.set(r, op.layer);
  /**
   * Per storage: what later ops of the backward pass read it for; null for several layers, or a
   * layer that goes on to others.
   */
  const readers = new Map<number, string | null>();
  /** Gradients, and the layers of the updates that read them. */
  const gradients = new Map<number, string>();
  const result = [...ops];
  for (let i = ops.length - 1; i >= 0; i--) {
    const op = ops[i]!;
    if (op.phase === "forward") continue;
    if (op.phase === "apply") {
      const layer = op.writes.map((w) => owner.get(w)).find((l) => l !== undefined) ?? op.layer;
      result[i] = { ...op, layer };
      for (const r of op.reads)
        if (!gradients.has(r) && !op.writes.includes(r)) gradients.set(r, layer);
      continue;
    }
    const applied = op.writes.map((w) => gradients.get(w)).find((l) => l !== undefined);
    const made = applied !== undefined || op.writes.some((w) => roles(w) === "grad");
    const layer = op.layer === "" ? (applied ?? "") : op.layer;
    const others = op.writes.some((w) => {
      const reader = readers.get(w);
      return reader === null || (reader !== undefined && reader !== layer);
    });
    const derives = others || (layer === "" && !made && op.phase === "calcDerivative");
    result[i] = { ...op, layer, phase: derives && !made ? "calcDerivative" : "calcGradient" };
    for (const r of op.reads)
      readers.set(r, derives || (readers.has(r) && readers.get(r) !== layer) ? null : layer);
  }
  return result;
}

/**
 * What layers above tensors may say to the recorder: which part of a training step ops belong to,
 * that a step has ended, and how to take back one that never ran. Called by nn, optim and autograd.
 */
import type { Phase } from "../graph/program.ts";
import { runtime } from "../runtime/execute.ts";
import { labels, program } from "../runtime/record.ts";

export { stepEnded } from "../runtime/execute.ts";

/**
 * Takes back what the host counts while it records (steps of optimizers, random streams) if that is
 * discarded: because a scheduler's step failed, or was only traced. Nothing else is ever discarded,
 * so everywhere else this costs nothing.
 * @param remember called at once where it matters; returns what restores the state of now
 */
export function whenDiscarded(remember: () => () => void): void {
  if (runtime.executor !== null || runtime.tracing) program.undo.push(remember());
}

/** The label ops get now. */
export function currentLayer(): string {
  return labels.layer;
}

/** Runs `fn` with recorded ops labelled; null leaves a label as it is. */
export function labelled<T>(phase: Phase | null, layer: string | null, fn: () => T): T {
  const before = { ...labels };
  if (phase !== null) labels.phase = phase;
  if (layer !== null) labels.layer = layer;
  try {
    return fn();
  } finally {
    labels.phase = before.phase;
    labels.layer = before.layer;
  }
}

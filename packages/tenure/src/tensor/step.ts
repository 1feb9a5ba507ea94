/**
 * What layers above tensors may say to the recorder: which part of a training step ops belong to,
 * that a step has ended, and how to take back one that never ran. Called by nn, optim and autograd.
 */
import type { Phase } from "../graph/program.ts";
import { labels } from "./dispatch.ts";

export { inStep, stepEnded, whenDiscarded, whenStepDiscarded } from "./dispatch.ts";

/** The label ops get now. */
export function currentLayer(): string {
  return labels().layer;
}

/** Runs `fn` with recorded ops labelled; null leaves a label as it is. */
export function labelled<T>(phase: Phase | null, layer: string | null, fn: () => T): T {
  const now = labels();
  const before = { ...now };
  if (phase !== null) now.phase = phase;
  if (layer !== null) now.layer = layer;
  try {
    return fn();
  } finally {
    now.phase = before.phase;
    now.layer = before.layer;
  }
}

/**
 * What layers above tensors may say to the recorder: which part of a training step ops belong to,
 * that a step has ended, and how to take back one that never ran. Called by nn, optim and autograd.
 */
import type { Phase } from "../graph/program.ts";
import { labels } from "./dispatch.ts";
import { tape } from "./tape.ts";

export { inStep, stepEnded, whenDiscarded, whenStepDiscarded } from "./dispatch.ts";

/** The label ops get now. */
export function currentLayer(): string {
  return labels().layer;
}

/**
 * Does `act`, which belongs to `who` and depends on nothing else: a compiled function that is
 * repeated does it again, instead of what it recorded.
 */
export function again(who: object, act: () => void): void {
  const { watcher } = tape();
  if (watcher === null) act();
  else watcher.again(who, act);
}

/** Says that somebody looks at, or sets, a number of the host's that changes from call to call. */
export function hostNumber(what: string): void {
  tape().watcher?.refuse(`it uses ${what}, which may change; do that outside`);
}

/** Says that functions may record other ops than before, though nothing they are given differs. */
export function recordingChanged(): void {
  tape().changes++;
}

/** Runs `fn` with recorded ops labelled; null leaves a label as it is. */
export function labelled<T>(phase: Phase | null, layer: string | null, fn: () => T): T {
  const now = labels();
  const { phase: phaseBefore, layer: layerBefore } = now;
  if (phase !== null) now.phase = phase;
  if (layer !== null) now.layer = layer;
  try {
    return fn();
  } finally {
    now.phase = phaseBefore;
    now.layer = layerBefore;
  }
}

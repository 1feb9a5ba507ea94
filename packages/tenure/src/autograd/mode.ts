/**
 * Switching the tape off and on. The mode is a fact of the running job: functions passed here must be synchronous. Called by users and by optimizers.
 */
import { AsyncScopeError } from "../base/errors.ts";
import { checkFunction } from "../base/options.ts";
import { gradMode } from "../tensor/tape.ts";

function withMode<T>(op: string, enabled: boolean, fn: () => T): T {
  if (typeof fn !== "function") checkFunction(op, fn);
  // A promise of a read may come out; an async function may not go in: what follows its first await would run in the caller's mode.
  if (fn.constructor.name === "AsyncFunction") throw new AsyncScopeError(op, `expected a synchronous function, got an async one: after its first await it would run outside ${op}; wrap each synchronous part, and await the reads outside`);
  const before = gradMode.enabled;
  gradMode.enabled = enabled;
  try {
    return fn();
  } finally {
    gradMode.enabled = before;
  }
}

/** Runs `fn` without recording gradients. `fn` may return a pending read. @throws AsyncScopeError for an async function */
export function noGrad<T>(fn: () => T): T { return withMode("noGrad", false, fn); }

/** Runs `fn` with gradients recorded, inside a `noGrad`. @throws AsyncScopeError for an async function */
export function enableGrad<T>(fn: () => T): T { return withMode("enableGrad", true, fn); }

/** Whether ops record gradients now. */
export function isGradEnabled(): boolean { return gradMode.enabled; }

/**
 * Switching the tape off and on. The mode is a fact of the running job: functions passed here must be synchronous. Called by users and by optimizers.
 */
import { AsyncScopeError } from "../base/errors.ts";
import { gradMode } from "../tensor/tape.ts";

function withMode<T>(op: string, enabled: boolean, fn: () => T): T {
  const before = gradMode.enabled;
  gradMode.enabled = enabled;
  try {
    const result = fn();
    if (typeof (result as { then?: unknown } | null | undefined)?.then === "function") {
      Promise.resolve(result).catch(() => undefined);
      throw new AsyncScopeError(op, `expected a synchronous function, got one that returns a promise: its continuations would run outside ${op}; wrap each synchronous part on its own`);
    }
    return result;
  } finally {
    gradMode.enabled = before;
  }
}

/** Runs `fn` without recording gradients. @throws AsyncScopeError when `fn` returns a promise */
export function noGrad<T>(fn: () => T): T { return withMode("noGrad", false, fn); }

/** Runs `fn` with gradients recorded, inside a `noGrad`. @throws AsyncScopeError when `fn` returns a promise */
export function enableGrad<T>(fn: () => T): T { return withMode("enableGrad", true, fn); }

/** Whether ops record gradients now. */
export function isGradEnabled(): boolean { return gradMode.enabled; }

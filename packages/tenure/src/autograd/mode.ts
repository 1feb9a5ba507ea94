/**
 * Switching the tape off and on, and mixed precision on and off. A mode is a fact of the running
 * job: functions passed here must be synchronous. Called by users and by optimizers.
 */
import "../compose.ts";
import { AsyncScopeError } from "../base/errors.ts";
import { type OptionTable, checkFunction, on, readOptions } from "../base/options.ts";
import { precisionOf } from "../ops/precision.ts";
import { requireHalf } from "../tensor/dispatch.ts";
import { type Mode, tape } from "../tensor/tape.ts";

function withMode<T>(op: string, mode: Mode, enabled: boolean, fn: () => T): T {
  if (typeof fn !== "function") checkFunction(op, fn);
  // A promise of a read may come out; an async function may not go in: what follows its first await
  // would run in the caller's mode.
  if (fn.constructor.name === "AsyncFunction")
    throw new AsyncScopeError(
      op,
      "expected a synchronous function, got an async one: after its first await it would " +
        `run outside ${op}; wrap each synchronous part, and await the reads outside`,
    );
  const before = mode.enabled;
  mode.enabled = enabled;
  try {
    return fn();
  } finally {
    mode.enabled = before;
  }
}

/**
 * Runs `fn` without recording gradients. `fn` may return a pending read. @throws AsyncScopeError
 * for an async function
 * @example
 * ```ts
 * using w = ones([2], { requiresGrad: true });
 * using y = noGrad(() => w.mul(2));
 * console.log(y.requiresGrad); // → false
 * ```
 */
export function noGrad<T>(fn: () => T): T {
  return withMode("noGrad", tape().gradMode, false, fn);
}

/**
 * Runs `fn` with gradients recorded, inside a `noGrad`. @throws AsyncScopeError for an async
 * function
 */
export function enableGrad<T>(fn: () => T): T {
  return withMode("enableGrad", tape().gradMode, true, fn);
}

/** Whether ops record gradients now. */
export function isGradEnabled(): boolean {
  return tape().gradMode.enabled;
}

/** Options of `autocast`. */
export interface AutocastOptions {
  /** False switches it off, also inside another autocast. */
  readonly enabled?: boolean;
}
const autocastOptions = { enabled: on } satisfies OptionTable<AutocastOptions>;

/**
 * Mixed precision, as torch.autocast: inside `fn`, matrix products, convolutions and attention take
 * and give float16, while sums, losses, norms and exponentials stay in float32. Parameters stay
 * float32 and so do their gradients; train with a `GradScaler`, because small gradients vanish in
 * float16 on the way. Call it around the forward pass and the loss; `backward()` computes each op
 * as it was recorded.
 * @param options `enabled: false` switches it off, also inside another autocast
 * @throws DTypeError on a device without shader-f16, AsyncScopeError for an async function,
 *   ArgumentError for what is no function
 */
export function autocast<T>(fn: () => T, options?: AutocastOptions): T {
  checkFunction("autocast", fn, "pass () => model.call(x)");
  const { enabled } = readOptions("autocast", options, autocastOptions);
  if (enabled) requireHalf("autocast");
  const { castMode } = tape();
  castMode.precisionOf = precisionOf;
  return withMode("autocast", castMode, enabled, fn);
}

/** Whether autocast chooses dtypes now. */
export function isAutocastEnabled(): boolean {
  return tape().castMode.enabled;
}

/**
 * Scopes across `await` on hosts without an async context: waiting in brackets of microtasks, and
 * driving generators. Called by the methods of scopes of the same names. Owns nothing.
 */
import { afterJob } from "../base/env.ts";
import { ArgumentError, AsyncScopeError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type Frame, type FrameScope, frames } from "./current.ts";
import { isThenable } from "./owned.ts";

/** What messages say of a scope. */
interface Described {
  readonly site: string | undefined;
  describe(): string;
}

/** Waits for `promise` with `scope` exact on both sides; the result is for one `await` only. */
export function waitIn<S extends FrameScope<S>, T>(
  scope: S,
  promise: PromiseLike<T>,
  about: { opened: string | undefined; scope: string },
): PromiseLike<T> {
  const own = frames<S>(),
    taken = own.take(scope);
  let used = false;
  const enter = (): void => {
    own.enter(taken);
  };
  const leave = (): void => {
    own.leave();
  };
  return {
    then<R1, R2>(
      resolve?: ((value: T) => R1 | PromiseLike<R1>) | null,
      reject?: ((reason: unknown) => R2 | PromiseLike<R2>) | null,
    ): PromiseLike<R1 | R2> {
      if (used)
        throw new AsyncScopeError(
          "wait",
          "expected one await per wait(), got a second; call scope.wait(…) again, " +
            "and wrap Promise.all(…) as a whole",
          about,
        );
      used = true;
      // Resolving the awaiting function with a value that is no thenable queues its continuation
      // at once: nothing can run between these three microtasks.
      return Promise.resolve(promise).then(
        (value) => {
          afterJob(enter);
          const r = resolve?.(value);
          afterJob(leave);
          return r as R1;
        },
        (reason: unknown) => {
          afterJob(enter);
          const r = reject?.(reason);
          afterJob(leave);
          return r as R2;
        },
      );
    },
  };
}

/**
 * Runs a generator to its end, each segment with `scope` current. `ended` gives the error that the
 * generator meets at its next `yield` when the scope has ended meanwhile.
 */
export async function driveIn<S extends FrameScope<S>, T>(
  scope: S,
  start: () => Generator<unknown, T>,
  ended: () => Error,
): Promise<T> {
  const own = frames<S>(),
    kept: { frames: Frame<S> | null } = { frames: null },
    generator = own.within(scope, start);
  checkGenerator(generator);
  let step = own.segment(scope, kept, () => generator.next());
  while (step.done !== true) {
    let resume: () => IteratorResult<unknown, T>;
    try {
      const value = await (step.value as Promise<unknown>);
      resume = () => generator.next(value);
    } catch (error) {
      resume = () => generator.throw(error);
    }
    if (scope.disposed) resume = () => generator.throw(ended());
    step = own.segment(scope, kept, resume);
  }
  own.segment(scope, kept, () => undefined); // what it left open has crossed its end
  return step.value;
}

/**
 * @throws ArgumentError for what is no generator; one that is asynchronous would never end here
 */
function checkGenerator(value: unknown): void {
  const given = value as Partial<Generator> | null | undefined;
  if (
    typeof given?.next === "function" &&
    typeof given.throw === "function" &&
    typeof given[Symbol.iterator] === "function"
  )
    return;
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined);
  throw new ArgumentError(
    "go",
    "a function that returns a generator",
    describeValue(value),
    "pass function* () { … }, with yield in place of await",
  );
}

/** What hosts without an async context say. */
export function noAsyncContext(op: string, scope?: Described): AsyncScopeError {
  return new AsyncScopeError(
    op,
    "expected a host with an async context (AsyncContext, or Node's AsyncLocalStorage), " +
      "got none; use `await scope.wait(promise)`, `scope.go(function* …)`, " +
      "or close the scope before each await",
    scope === undefined ? undefined : { opened: scope.site, scope: scope.describe() },
  );
}

/** The rejection for work that turned out to be asynchronous on a host without an async context. */
export function refuseAsync<T>(op: string, result: T, scope: Described): T {
  if (!isThenable(result)) return result;
  // its own failure is hidden by ours, which is thrown first
  Promise.resolve(result).catch(() => undefined);
  return Promise.reject(noAsyncContext(op, scope)) as T;
}

/**
 * `scoped` and `scopedAsync`: a scope around a function, from which the result moves out. Called by
 * library code; what users call is in `tensor/dispose-scope.ts`.
 */
import { AsyncScopeError, renamed } from "../base/errors.ts";
import { checkArgument, checkFunction } from "../base/options.ts";
import { suppressed } from "../base/polyfills.ts";
import { noAsyncContext } from "./crossing.ts";
import { frames } from "./current.ts";
import { type Handle, handleOf } from "./handle.ts";
import { ignoreRejection, isThenable } from "./owned.ts";
import { DisposeScope } from "./scope.ts";
import { currentScope, newDisposeScope } from "./open.ts";

/**
 * Property under which an object lists the tensors it owns, so that `scoped` can move them out with
 * it.
 */
export const tensors: unique symbol = Symbol.for("tenure.tensors");

/**
 * Runs `fn` in a scope of its own; tensors in its result (also in arrays, plain objects, Map, Set,
 * and objects with `[tensors]()`) move to the caller's scope. When `fn` throws, nothing escapes.
 * @throws AsyncScopeError when `fn` returns a promise: use `scopedAsync`.
 */
export function scoped<R, T extends object = object>(
  fn: (scope: DisposeScope<T>) => R,
  name?: string,
): R {
  if (typeof fn !== "function") checkFunction("scoped", fn);
  if (name !== undefined) checkArgument("scoped", "name", name, { type: "text" });
  const scope = newDisposeScope<T>(name);
  let result: R;
  try {
    result = fn(scope);
    if (isThenable(result)) {
      ignoreRejection(result);
      throw new AsyncScopeError(
        "scoped",
        "expected a function that returns a value, got one that returns a promise; " +
          "use scopedAsync(async () => …)",
        { opened: scope.site, scope: scope.describe() },
      );
    }
    escape(result, scope);
  } catch (error) {
    try {
      endAfterFailure(scope);
    } catch (later) {
      throw suppressed(later, error);
    }
    throw error;
  }
  scope.dispose();
  return result;
}

/**
 * `scoped` for a function of the library that is made of others: what one of those refuses is told
 * under the name that the user called. `fn` calls nothing of the user's.
 */
export function composed<R>(fn: () => R, op: string): R {
  try {
    return scoped(fn, op);
  } catch (error) {
    throw renamed(error, op);
  }
}

/**
 * `scoped` for async functions, exact across every `await` inside, whatever else runs meanwhile.
 * @throws AsyncScopeError (as a rejection) on hosts without an async context (browsers today): use
 *   `scope.wait(p)`, `scope.go(function* …)` or synchronous scopes.
 */
export async function scopedAsync<R, T extends object = object>(
  fn: (scope: DisposeScope<T>) => Promise<R>,
  name?: string,
): Promise<R> {
  checkFunction("scopedAsync", fn, "pass async () => …");
  const own = frames<DisposeScope<T>>();
  const context = own.asyncContext();
  if (context === null) throw noAsyncContext("scopedAsync");
  if (name !== undefined) checkArgument("scopedAsync", "name", name, { type: "text" });
  const scope = new DisposeScope<T>(name === undefined ? {} : { name }, currentScope<T>());
  let result: R;
  try {
    result = await own.withinAsync(context, scope, () => fn(scope));
    escape(result, scope);
  } catch (error) {
    try {
      endAfterFailure(scope);
    } catch (later) {
      throw suppressed(later, error);
    }
    throw error;
  }
  scope.dispose();
  return result;
}

/**
 * Runs `fn`, synchronous or not, in a scope of its own, from which the result moves out. A
 * synchronous `fn` has ended when this returns; a promise that `isValue` calls a value (a pending
 * read) is handed on at once. `moved` hears what moved out.
 * @throws AsyncScopeError for an asynchronous `fn` on hosts without an async context
 */
export function scopedEither<T>(
  op: string,
  fn: () => T,
  isValue: (result: PromiseLike<unknown>) => boolean,
  moved: (handles: readonly Handle[]) => void,
): T {
  const own = frames<DisposeScope>(),
    context = own.asyncContext(),
    scope = new DisposeScope({ name: op }, currentScope());
  const end = <R>(result: R): R => {
    moved(escape(result, scope));
    scope.dispose();
    return result;
  };
  const fail = (error: unknown): never => {
    try {
      endAfterFailure(scope);
    } catch (later) {
      throw suppressed(later, error);
    }
    throw error;
  };
  let result: T;
  try {
    result = context === null ? own.within(scope, fn) : own.withinAsync(context, scope, fn);
    if (!isThenable(result) || isValue(result)) return end(result);
    if (context === null) {
      ignoreRejection(result);
      throw noAsyncContext(op, scope);
    }
  } catch (error) {
    return fail(error);
  }
  return Promise.resolve(result).then(end, fail) as T;
}

/** The function may have ended its scope itself. */
function endAfterFailure(scope: DisposeScope): void {
  if (!scope.disposed) scope.dispose();
}

/**
 * Moves the tensors reachable in `result` that belong to `scope`, or to a scope inside it, to the
 * scope around it.
 */
function escape(result: unknown, scope: DisposeScope): readonly Handle[] {
  const found: Handle[] = [];
  walk(result, (handle) => {
    if (
      handle.isLive &&
      handle.scope !== null &&
      (handle.scope === scope || handle.scope.isInside(scope))
    )
      found.push(handle);
  });
  // Only now: had the walk thrown, nothing would have moved.
  for (const handle of found) scope.moveHandleOut(handle);
  return found;
}

/** Visits the handles reachable from `root`, whatever its depth: what is left to see is a list. */
function walk(root: unknown, visit: (handle: Handle) => void): void {
  const seen = new Set<object>();
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    const handle = handleOf(value);
    if (handle !== undefined) visit(handle);
    const inner = [...insideOf(value, handle !== undefined)].reverse(); // the first is seen next
    for (const item of inner) left.push(item);
  }
}

/** What an object holds that would move with it: what it lists, or the items of a container. */
function insideOf(value: object, isHandle: boolean): Iterable<unknown> {
  const listed = (value as { [tensors]?: () => Iterable<unknown> })[tensors];
  if (typeof listed === "function") return listed.call(value);
  if (isHandle) return [];
  if (Array.isArray(value) || value instanceof Set) return value as Iterable<unknown>;
  if (value instanceof Map) return [...(value as Map<unknown, unknown>)].flat();
  const proto: unknown = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null ? (Object.values(value) as unknown[]) : [];
}

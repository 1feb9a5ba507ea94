/**
 * What scopes say when something is wrong: their errors, and the warnings of development builds.
 * Called by scope.ts; owns nothing.
 */
import { warn } from "../base/env.ts";
import { ArgumentError, ScopeDisposedError, TenureError } from "../base/errors.ts";

/** Anything with a name for messages: a scope or a handle. */
interface Described {
  describe(): string;
}

/** A scope that may have ended, with the places known of it. */
interface Ended extends Described {
  readonly site: string | undefined;
  readonly endSite: string | undefined;
}

/** A method other than `contains` and `dispose` was called on a scope that has ended. */
export function ended(op: string, scope: Ended, title: string): ScopeDisposedError {
  return new ScopeDisposedError(
    op,
    `expected an open scope, got ${scope.describe()}, which has ended; open a new one`,
    { opened: scope.site, disposed: scope.endSite },
    title,
  );
}

/** A strict scope was disposed twice. */
export function endedAlready(scope: Ended, title: string): ScopeDisposedError {
  return new ScopeDisposedError(
    "dispose",
    `expected an open scope, got ${scope.describe()}, which has ended already; dispose it once`,
    { opened: scope.site, disposed: scope.endSite },
    title,
  );
}

/** `outer.moveToOuter(t)` for a tensor of a scope inside `outer`. */
export function wouldDieInside(scope: Described, handle: Described, owner: Described): TenureError {
  return new TenureError(
    "moveToOuter",
    `expected a tensor of ${scope.describe()}, got ${handle.describe()} of ` +
      `${owner.describe()} nested inside it, where it would die; ` +
      "call moveToOuter on the inner scope first",
  );
}

/** `carry` was given something that has no handle. */
export function notTwoTensors(): ArgumentError {
  return new ArgumentError(
    "carry",
    "two tensors",
    "something else",
    "pass the old and the new value",
  );
}

/** `disposeEverythingBut` was given something that lives elsewhere. */
export function warnNothingToKeep(scope: Described, kept: Described | undefined): void {
  warn(
    `disposeEverythingBut: ${kept?.describe() ?? "a value"} is not owned by ` +
      `${scope.describe()}, so there is nothing to keep`,
  );
}

/** A scope ended while one that was opened inside it is open. */
export function warnOutOfOrder(scope: Described, inner: Described): void {
  warn(
    `${scope.describe()} was disposed before ${inner.describe()}, ` +
      "which was opened inside it; end scopes in reverse order, with `using`. " +
      "A generator that yields while its scope is open does this: " +
      "end the scope before each yield",
  );
}

/** Asynchronous work ran on after its scope had ended. */
export function warnOutlived(scope: Described): void {
  warn(
    `work outlived ${scope.describe()}: what it makes belongs to the nearest scope still open; ` +
      "await the work inside the scope",
  );
}

/** An `await` that Tenure was not told of, inside an open scope. */
export function warnSuspended(scope: Described): void {
  warn(
    `an await was reached while ${scope.describe()} was open, so it is suspended: ` +
      "it still owns its tensors, but what is made after the await is not in it. " +
      "Write `await scopedAsync(async () => …)`, or `await scope.wait(promise)`, " +
      "or close the scope before the await",
  );
}

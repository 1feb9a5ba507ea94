/**
 * What scopes can be asked to own, and the checks on it. Called by scope.ts; owns nothing.
 */
import { isForeign, joinCopies } from "../base/copies.ts";
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type Handle, handleOf } from "./handle.ts";

/** What a scope can own: tensors, modules, anything with `[Symbol.dispose]()`. */
export type Owned = Disposable;
/** One argument comes back as itself, several as a tuple, none as undefined. */
export type Returned<A extends readonly unknown[]> = A extends readonly []
  ? undefined
  : A extends readonly [infer X]
    ? X
    : { [K in keyof A]: A[K] };

/**
 * The handles behind things, all checked before any is returned. Things without one are left out.
 */
export function liveHandles(op: string, things: readonly unknown[]): Handle[] {
  const handles: Handle[] = [];
  for (const thing of things) {
    const handle = handleOf(thing);
    if (handle === undefined) {
      if (isForeign(thing))
        throw new ArgumentError(
          op,
          "a tensor of this copy of tenure",
          "one that another copy made",
          joinCopies,
        );
      if ((typeof thing !== "object" && typeof thing !== "function") || thing === null)
        throw new ArgumentError(
          op,
          "tensors or other things a scope can own",
          describeValue(thing),
          "pass the tensor itself",
        );
      continue;
    }
    handle.assertLive(op);
    handles.push(handle);
  }
  return handles;
}

/** Whether `await` would wait for it. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** The result of a function that should not have been async: how it ends is of no interest. */
export function ignoreRejection(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined);
}

/** The error of a function that was given anything else than a scope. */
export function noScope(op: string, value: unknown): ArgumentError {
  return new ArgumentError(
    op,
    "a scope, or null for none",
    describeValue(value),
    "pass for example currentDisposeScope()",
  );
}

/** @throws ArgumentError for anything without `[Symbol.dispose]` */
export function disposable(op: string, value: unknown): Disposable {
  if (typeof (value as Partial<Disposable> | null | undefined)?.[Symbol.dispose] === "function")
    return value as Disposable;
  throw new ArgumentError(
    op,
    "a tensor or an object with [Symbol.dispose]()",
    describeValue(value),
    "use adopt(value, free) for anything else",
  );
}

/** What a method that takes things gives back: the things. */
export function returned<A extends readonly unknown[]>(things: A): Returned<A> {
  return (
    things.length === 1 ? things[0] : things.length === 0 ? undefined : things
  ) as Returned<A>;
}

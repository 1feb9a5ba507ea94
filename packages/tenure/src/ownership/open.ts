/**
 * Opening a scope, and asking which one is open: how the library enters ownership. What users
 * call is in `tensor/dispose-scope.ts`. Owns nothing.
 */
import { type OptionTable, off, readOptions } from "../base/options.ts";
import { frames } from "./current.ts";
import { DisposeScope, type ScopeOptions } from "./scope.ts";

const scopeOptions = {
  name: { type: "text" },
  root: off,
  strict: off,
} satisfies OptionTable<ScopeOptions>;

/**
 * Opens a scope and makes it current until it ends. Use it with `using`. `T` is what its tensors
 * are wrapped in, which only the tensor layer knows.
 */
export function newDisposeScope<T extends object = object>(
  options?: string | ScopeOptions,
): DisposeScope<T> {
  const o: ScopeOptions =
    typeof options === "string"
      ? { name: options }
      : options === undefined
        ? {}
        : readOptions("newDisposeScope", options, scopeOptions);
  const scope = new DisposeScope<T>(o, currentScope<T>());
  if (o.root === true) frames<DisposeScope<T>>().addRoot(scope);
  else frames<DisposeScope<T>>().push(scope);
  return scope;
}

/** The scope that owns whatever is made now, or null. */
export function currentScope<T extends object = object>(): DisposeScope<T> | null {
  return frames<DisposeScope<T>>().current();
}

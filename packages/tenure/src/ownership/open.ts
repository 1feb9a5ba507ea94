/**
 * Opening a scope, and asking which one is open: the two doors to ownership for users and for the
 * rest of the library. Owns nothing.
 */
import { checkFlag, checkOptions } from "../base/options.ts";
import { frames } from "./current.ts";
import { DisposeScope, type ScopeOptions } from "./scope.ts";

function checkScopeOptions(options: ScopeOptions): void {
  checkOptions("newDisposeScope", options, ["name", "root", "strict"]);
  checkFlag("newDisposeScope", "root", options.root);
  checkFlag("newDisposeScope", "strict", options.strict);
}

/** Opens a scope and makes it current until it ends. Use it with `using`. */
export function newDisposeScope(options?: string | ScopeOptions): DisposeScope {
  const o = typeof options === "string" ? { name: options } : (options ?? {});
  if (options !== undefined && typeof options !== "string") checkScopeOptions(options);
  const scope = new DisposeScope(o, currentScope());
  if (o.root === true) frames<DisposeScope>().addRoot(scope);
  else frames<DisposeScope>().push(scope);
  return scope;
}

/** The scope that owns whatever is made now, or null. */
export function currentDisposeScope(): DisposeScope | null {
  return currentScope();
}

/** `currentDisposeScope`, as the library calls it. */
export function currentScope(): DisposeScope | null {
  return frames<DisposeScope>().current();
}

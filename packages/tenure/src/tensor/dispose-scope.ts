/**
 * Dispose scopes as users see them: those of the ownership layer, whose `tensors()` are of class
 * `Tensor`. Exported by `tenure`; the library itself calls ownership. Owns nothing.
 */
import "../compose.ts";
import * as own from "../ownership/open.ts";
import { DisposeScope as OwnershipScope, type ScopeOptions } from "../ownership/scope.ts";
import * as around from "../ownership/scoped.ts";
import type { Tensor } from "./tensor.ts";

/** Owns what is made while it is current. Open one with `using s = newDisposeScope()`. */
export type DisposeScope = OwnershipScope<Tensor>;

/** The class of dispose scopes, for `instanceof`. Use `newDisposeScope()` to open one. */
export interface DisposeScopeClass {
  readonly prototype: DisposeScope;
  new (options: ScopeOptions, outer: DisposeScope | null): DisposeScope;
}

/** The class of dispose scopes, for `instanceof`. Use `newDisposeScope()` to open one. */
export const DisposeScope: DisposeScopeClass = OwnershipScope;

/**
 * Opens a scope and makes it current until it ends. Use it with `using`.
 * @example
 * ```ts
 * {
 *   using _scope = newDisposeScope();
 *   const y = ones([2]).add(1); // both are freed here
 * }
 * ```
 */
export function newDisposeScope(options?: string | ScopeOptions): DisposeScope {
  return own.newDisposeScope<Tensor>(options);
}

/** The scope that owns whatever is made now, or null. */
export function currentDisposeScope(): DisposeScope | null {
  return own.currentScope<Tensor>();
}

/**
 * Runs `fn` in a scope of its own; tensors in its result (also in arrays, plain objects, Map, Set,
 * and objects with `[tensors]()`) move to the caller's scope. When `fn` throws, nothing escapes.
 * @throws AsyncScopeError when `fn` returns a promise: use `scopedAsync`.
 */
export function scoped<T>(fn: (scope: DisposeScope) => T, name?: string): T {
  return around.scoped<T, Tensor>(fn, name);
}

/**
 * `scoped` for async functions, exact across every `await` inside, whatever else runs meanwhile.
 * @throws AsyncScopeError (as a rejection) on hosts without an async context (browsers today): use
 *   `scope.wait(p)`, `scope.go(function* …)` or synchronous scopes.
 */
export function scopedAsync<T>(fn: (scope: DisposeScope) => Promise<T>, name?: string): Promise<T> {
  return around.scopedAsync<T, Tensor>(fn, name);
}

/**
 * The few facts about the host that Tenure reads: environment variables, development mode, built-in
 * modules. Bundlers see no import. Called by ownership (async context, development checks) and
 * device (choice of adapter). Owns nothing.
 */
import { current } from "./realm.ts";

interface ProcessLike {
  readonly env?: Record<string, string | undefined>;
  readonly versions?: { readonly node?: string };
  getBuiltinModule?(name: string): unknown;
  emitWarning?(message: string, options: { type: string }): void;
  on?(event: "beforeExit" | "exit", listener: () => void): void;
  off?(event: "beforeExit" | "exit", listener: () => void): void;
  [atExit]?: Set<() => void>;
}

/** Where all copies of the library in a process find what its end must call. */
const atExit = Symbol.for("tenure.atExit");
const host = (globalThis as { process?: ProcessLike }).process;

/** The value of an environment variable; `undefined` in browsers. */
export function env(name: string): string | undefined {
  return host?.env?.[name];
}

/** True in Node, Bun and Deno's Node mode. */
export const isNode: boolean = host?.versions?.node !== undefined;

/** A Node built-in module without an import that bundlers would follow. */
export function builtin<T>(name: string): T | undefined {
  return host?.getBuiltinModule?.(name) as T | undefined;
}

/**
 * Calls `fn` each time the host has nothing left to run, and the process is about to end; never in
 * browsers. @returns what stops that
 */
export function whenDrained(fn: () => void): () => void {
  host?.on?.("beforeExit", fn);
  return () => {
    host?.off?.("beforeExit", fn);
  };
}

/**
 * Calls `fn` when the process or worker thread ends by itself, by `process.exit` or by an uncaught
 * error, whose code it does not change; never in browsers, and not when a signal ends the process.
 * All functions share one listener, those of other copies of the library, too. @returns what stops
 * that
 */
export function whenExiting(fn: () => void): () => void {
  if (host?.on === undefined) return () => undefined;
  let hooks = host[atExit];
  if (hooks === undefined) {
    const all = (hooks = host[atExit] = new Set());
    host.on("exit", () => {
      for (const hook of all) hook();
    });
  }
  const own = hooks;
  const hook = (): void => {
    fn();
  };
  own.add(hook);
  return () => {
    own.delete(hook);
  };
}

/**
 * Calls `fn` when the current job is over. By a promise: the fake clocks of test runners stop
 * `queueMicrotask`.
 */
export function afterJob(fn: () => void): void {
  void Promise.resolve().then(fn);
}

/**
 * The host's `setImmediate`, before any fake clock takes its place; undefined in browsers.
 */
export const hostImmediate: ((fn: () => void) => unknown) | undefined = (
  globalThis as { setImmediate?: (fn: () => void) => unknown }
).setImmediate;

/** Calls `fn` once after some time; does not keep the process. @returns what stops that */
export function afterMilliseconds(ms: number, fn: () => void): () => void {
  const timer = setTimeout(fn, ms) as unknown as { unref?(): void };
  timer.unref?.();
  return () => {
    clearTimeout(timer as unknown as number);
  };
}

/** Development checks are on unless `NODE_ENV` is `production`. */
export const isDev: boolean = env("NODE_ENV") !== "production";

/** Where warnings go. */
export type WarnSink = (message: string) => void;

/** Where warnings go. One per instance of the library. */
export class Warnings {
  sink: WarnSink = (message) => {
    console.warn(`tenure: ${message}`);
  };
}

/** The warnings of the current instance. */
export function warnings(): Warnings {
  return current<{ readonly warnings: Warnings }>().warnings;
}

/** Tells the developer something that is legal but surely not meant. */
export function warn(message: string): void {
  warnings().sink(message);
}

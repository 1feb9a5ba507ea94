/**
 * Keeps the package `webgpu` from the fake clocks of test runners. Its promises settle in turns of
 * the event loop that it asks for by whatever `setImmediate` is global at that moment; a fake one
 * never comes, and what waits for the device hangs. Its classes are changed so that it finds the
 * host's own. Called by host-devices.ts when the package has loaded; owns nothing.
 */
import { hostImmediate } from "../base/env.ts";

/** Methods that begin to wait, by class. */
const waiting = {
  GPU: ["requestAdapter"],
  GPUAdapter: ["requestDevice"],
  GPUBuffer: ["mapAsync"],
  GPUDevice: ["popErrorScope", "createComputePipelineAsync", "createRenderPipelineAsync"],
  GPUQueue: ["onSubmittedWorkDone"],
} as const;

/** Marks methods that are changed already, by another copy of the library too. */
const kept: unique symbol = Symbol.for("tenure.hostTurns");

type Method = ((this: unknown, ...args: unknown[]) => unknown) & { [kept]?: true };
type Immediate = (fn: (...args: unknown[]) => void, ...args: unknown[]) => unknown;

/** @param globals the package's classes by name */
export function keepHostTurns(globals: Readonly<Record<string, unknown>>): void {
  const host = hostImmediate as Immediate | undefined;
  if (host === undefined) return;
  const scope = globalThis as unknown as { setImmediate: Immediate };
  // the package asks for its next turn while it has one
  const turn: Immediate = (fn, ...args) =>
    host(() => {
      withHost(() => {
        fn(...args);
      });
    });
  const withHost = <T>(fn: () => T): T => {
    const { setImmediate } = scope;
    if (setImmediate === host || setImmediate === turn) return fn();
    scope.setImmediate = turn;
    try {
      return fn();
    } finally {
      scope.setImmediate = setImmediate;
    }
  };
  for (const [name, methods] of Object.entries(waiting)) {
    const type = globals[name] as { readonly prototype: Record<string, Method> } | undefined;
    for (const method of methods) {
      const own = type?.prototype[method];
      if (type === undefined || own === undefined || own[kept] === true) continue;
      const changed: Method = function (...args) {
        return withHost(() => own.apply(this, args));
      };
      changed[kept] = true;
      type.prototype[method] = changed;
    }
  }
}

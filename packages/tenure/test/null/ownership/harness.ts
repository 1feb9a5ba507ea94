/**
 * What the ownership tests share: the null device, captured warnings, time and the garbage
 * collector. Tests only.
 */
import { type DisposeScope, init, memory, setWarnSink } from "tenure";
import { installTestHooks } from "tenure/testing";
import { runtime } from "../../../src/runtime/runtime.ts";

/** Warnings since the last `takeWarnings`. */
let warnings: string[] = [];

/** The null device, with plans verified, warnings captured and leak checks after the file. */
export async function setup(): Promise<void> {
  runtime().settings.verifyPlans = true;
  runtime().settings.poison = true;
  runtime().settings.planningMs = 60_000; // tests must not depend on how busy the machine is
  setWarnSink((message) => {
    warnings.push(message);
  });
  await init({ device: "null" });
  await runtime().parts.load(["budgets"]); // which runs programs whose buffers are poisoned
  installTestHooks();
}

/** The warnings so far; there are none afterwards. */
export function takeWarnings(): string[] {
  const taken = warnings;
  warnings = [];
  return taken;
}

/** Waits that many milliseconds. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** The next microtask. */
export function tick(): Promise<void> {
  return Promise.resolve();
}

/** Lets the garbage collector take what it can, and its callbacks run. */
export async function collect(): Promise<void> {
  const gc = (globalThis as { gc?: () => void }).gc;
  if (gc === undefined) throw new Error("run with --expose-gc");
  for (let i = 0; i < 5; i++) {
    await sleep(1);
    gc();
  }
  await sleep(5);
}

/** What `fn` throws. */
export function thrownBy(fn: () => unknown): Error & Record<string, unknown> {
  try {
    fn();
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error("expected an error, got none");
}

/** What a promise is rejected with. */
export async function rejectionOf(
  promise: PromiseLike<unknown>,
): Promise<Error & Record<string, unknown>> {
  try {
    await promise;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error("expected a rejection, got none");
}

/**
 * How TorchSharp's counters change while `fn` runs: createdOut, disposedOut, createdIn, disposedIn,
 * attached, detached, live.
 */
export function counted(fn: () => void): number[] {
  const vector = (): number[] => {
    const s = memory.stats().tensor;
    return [
      s.createdOutsideScopeCount,
      s.disposedOutsideScopeCount,
      s.createdInScopeCount,
      s.disposedInScopeCount,
      s.attachedToScopeCount,
      s.detachedFromScopeCount,
      s.threadTotalLiveCount,
    ];
  };
  const before = vector();
  fn();
  memory.verify();
  return vector().map((n, i) => n - before[i]!);
}

/** A scope that is open but not current, as `move()` leaves it. */
export function aside(make: () => DisposeScope): DisposeScope {
  using scope = make();
  return scope.move();
}

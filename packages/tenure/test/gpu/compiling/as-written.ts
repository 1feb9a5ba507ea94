/**
 * Runs something once as it is written and once compiled, for tests that compare the two. Owns
 * what it makes.
 */
import * as assert from "uvu/assert";
import { type CompileReport, compile, manualSeed, newDisposeScope, scoped } from "tenure";

type Fn = (...args: never[]) => unknown;

/** Gives a function back as it is to be called. */
export type Way = <F extends Fn>(fn: F) => F;

/**
 * `make` says what it saw when it calls the function that it passes through `way`: the same both
 * times. @returns what the compiled one did
 */
export async function asWritten(make: (way: Way) => Promise<unknown>): Promise<CompileReport> {
  const run = async (way: Way): Promise<unknown> => {
    manualSeed(1);
    using _scope = newDisposeScope({ root: true });
    return await make(way);
  };
  let report: CompileReport | undefined;
  const written = await run((fn) => ((...args) => scoped(() => fn(...args))) as typeof fn);
  const compiled = await run((fn) => {
    const fast = compile<never[], unknown>(fn);
    return ((...args) => {
      try {
        return fast(...args);
      } finally {
        report = fast.report();
      }
    }) as typeof fn;
  });
  assert.equal(compiled, written);
  if (report === undefined) throw new Error("it called nothing");
  return report;
}

/** What a call gives, or the class of what it throws. */
export async function outcome(fn: () => unknown): Promise<unknown> {
  try {
    return await fn();
  } catch (error) {
    return error instanceof Error ? error.name : error;
  }
}

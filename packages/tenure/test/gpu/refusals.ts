/**
 * A table of wrong calls, each with the error it must end in: nothing is made, leaked or changed.
 */
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import { TenureError, currentDisposeScope, memory, newDisposeScope } from "tenure";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";

type Kind = new (...args: never[]) => TenureError;
/** What is wrong, the call, the class of its error, and what the error says. */
export type Refusal = readonly [what: string, run: () => unknown, kind: Kind, text: RegExp];

/** Passes a value of any type where another is asked for. */
export const bad = (value: unknown): never => value as never;

/** Makes a test of each row. */
export function refuse(test: Test, cases: readonly Refusal[]): void {
  for (const [what, run, kind, text] of cases) {
    test(what, async () => {
      const before = memory.stats(),
        scope = currentDisposeScope();
      let thrown: unknown;
      try {
        await run();
      } catch (error) {
        thrown = error;
      }
      if (!(thrown instanceof kind))
        throw new Error(`expected a ${kind.name}, got ${String(thrown)}`);
      assert.match(thrown.message, text);
      assert.match(thrown.message, /; /, "says what to do");
      const after = memory.stats();
      assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
      assert.is(after.storages, before.storages);
      assert.is(currentDisposeScope(), scope);
    });
  }
}

/** What `fn` throws or rejects with; whatever it makes is freed. */
export async function thrownBy(fn: () => unknown): Promise<unknown> {
  using scope = newDisposeScope();
  try {
    const result = fn();
    if (result instanceof Promise)
      return await scope.wait(
        result.then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
    if (result instanceof nn.Module || result instanceof optim.Optimizer) result.dispose();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Fails unless `error` is typed, reads as errors do, and begins with `name`. */
export function expectRefusal(what: string, name: string | null, error: unknown): void {
  if (!(error instanceof TenureError))
    throw new Error(
      `${what}: expected a typed error, got ${error instanceof Error ? error.stack : "no error"}`,
    );
  assert.match(error.message, /^[^:]+: expected .+, got .+; .+/s, `${what}: ${error.message}`);
  if (name !== null) assert.ok(error.message.startsWith(`${name}: `), `${what}: ${error.message}`);
}

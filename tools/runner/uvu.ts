/**
 * Stands in for `uvu` inside test processes: the same `suite` and `test`, which also count what a
 * file registered and say which test is running. Test files import "uvu" as ever; `child.ts`
 * redirects the name to this file. The counters belong to the file that is being loaded and run.
 */
import { type Callback, suite as uvuSuite, type Test, test as uvuTest } from "uvu";
import { describe, report } from "./protocol.ts";

type Context = Record<string, unknown>;

/** What the current file registered so far. */
export interface Registered {
  /** Tests given to a suite, with those of suites that are not yet run. */
  tests: number;
  /** How many of them came through `.only`, and through `.skip`. */
  only: number;
  skipped: number;
  /** Suites with tests for which `run()` was not called, by name. */
  waiting: Map<object, { name: string; tests: number; drain: () => void }>;
  /** Failures of `before`, `after` and of their `each` forms, which uvu does not always report. */
  hookFailures: string[];
}

let registered: Registered = fresh();

/**
 * Forgets the previous file. Tests that it never ran are thrown away, so that they cannot appear
 * under the next one.
 */
export function beginFile(): Registered {
  for (const { drain } of registered.waiting.values()) drain();
  registered = fresh();
  return registered;
}

export function suite<T = Context>(title = "", context?: T): Test<T> {
  return counted(context === undefined ? uvuSuite<T>(title) : uvuSuite<T>(title, context), title);
}

export const test: Test = counted(uvuTest, "");

export { exec } from "uvu";

function fresh(): Registered {
  return { tests: 0, only: 0, skipped: 0, waiting: new Map(), hookFailures: [] };
}

/** Wraps one suite of uvu. */
function counted<T>(inner: Test<T>, title: string): Test<T> {
  const label = (name: string): string => (title === "" ? name : `${title} › ${name}`);
  const note = (kind: "tests" | "only"): void => {
    registered.tests++;
    if (kind === "only") registered.only++;
    const before = registered.waiting.get(inner)?.tests ?? 0;
    registered.waiting.set(inner, {
      name: title === "" ? "test" : title,
      tests: before + 1,
      drain: () => {
        inner.run();
      },
    });
  };
  const watched =
    (name: string, handler: Callback<T>): Callback<T> =>
    async (state) => {
      report({ kind: "start", name: label(name) });
      try {
        await handler(state);
      } catch (error) {
        // uvu reads `stack` of whatever was thrown and gives up when there is none.
        throw error instanceof Error && typeof error.stack === "string"
          ? error
          : new Error(describe(error), { cause: error });
      }
      report({ kind: "pass" });
    };
  const hook =
    (name: string, add: (callback: Callback<T>) => void) =>
    (handler: Callback<T>): void => {
      add(async (state) => {
        report({ kind: "start", name: label(name) });
        try {
          await handler(state);
        } catch (error) {
          registered.hookFailures.push(`${label(name)}: ${describe(error)}`);
          throw error;
        }
      });
    };

  const wrapped = (name: string, handler: Callback<T>): void => {
    note("tests");
    inner(name, watched(name, handler));
  };
  const only = (name: string, handler: Callback<T>): void => {
    note("only");
    inner.only(name, watched(name, handler));
  };
  const skip = (): void => {
    registered.skipped++;
    inner.skip();
  };
  const run = (): void => {
    registered.waiting.delete(inner);
    inner.run();
  };
  const before = Object.assign(hook("before", inner.before), {
    each: hook("before.each", (callback) => {
      inner.before.each(callback);
    }),
  });
  const after = Object.assign(hook("after", inner.after), {
    each: hook("after.each", (callback) => {
      inner.after.each(callback);
    }),
  });
  return Object.assign(wrapped, { only, skip, run, before, after });
}

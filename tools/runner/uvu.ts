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
  /** Tests left out because no wanted name is part of theirs. They are in no other count. */
  unnamed: number;
  /** Suites with tests for which `run()` was not called, by name. */
  waiting: Map<object, { name: string; tests: number; drain: () => void }>;
  /** Failures of `before`, `after` and of their `each` forms, which uvu does not always report. */
  hookFailures: string[];
}

let registered: Registered = fresh();
let wanted: readonly string[] = [];

/** From now on registers only tests whose name contains one of these; all, when there are none. */
export function wantNames(names: readonly string[]): void {
  wanted = names.map((name) => name.toLowerCase());
}

/**
 * Forgets the previous file. Tests that it never ran are thrown away, so that they cannot appear
 * under the next one.
 */
export function beginFile(): Registered {
  for (const { drain } of registered.waiting.values()) drain();
  registered = fresh();
  return registered;
}

/** uvu's `suite`, counted. */
export function suite<T = Context>(title = "", context?: T): Test<T> {
  return counted(context === undefined ? uvuSuite<T>(title) : uvuSuite<T>(title, context), title);
}

/** uvu's `test`, counted. */
export const test: Test = counted(uvuTest, "");

export { exec } from "uvu";

function fresh(): Registered {
  return { tests: 0, only: 0, skipped: 0, unnamed: 0, waiting: new Map(), hookFailures: [] };
}

/** Wraps one suite of uvu. */
function counted<T>(inner: Test<T>, title: string): Test<T> {
  const label = (name: string): string => (title === "" ? name : `${title} › ${name}`);
  let group = { tests: 0 };
  const add = (name: string, handler: Callback<T>, kind: "all" | "only"): void => {
    if (!isWanted(label(name))) {
      registered.unnamed++;
      return;
    }
    group.tests++;
    noteTest(inner, title, kind);
    const watched = watchTest(label(name), handler);
    if (kind === "only") inner.only(name, watched);
    else inner(name, watched);
  };
  const hook =
    (name: string, register: (callback: Callback<T>) => void) =>
    (handler: Callback<T>): void => {
      register(watchHook(label(name), handler, group));
    };
  const skip = (name?: string): void => {
    if (name !== undefined && !isWanted(label(name))) {
      registered.unnamed++;
      return;
    }
    registered.skipped++;
    inner.skip();
  };
  const run = (): void => {
    registered.waiting.delete(inner);
    group = { tests: 0 };
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
  const all = (name: string, handler: Callback<T>): void => {
    add(name, handler, "all");
  };
  const only = (name: string, handler: Callback<T>): void => {
    add(name, handler, "only");
  };
  return Object.assign(all, { only, skip, run, before, after });
}

function isWanted(label: string): boolean {
  const name = label.toLowerCase();
  return wanted.length === 0 || wanted.some((part) => name.includes(part));
}

/** Counts a test that is given to a suite. */
function noteTest<T>(inner: Test<T>, title: string, kind: "all" | "only"): void {
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
}

/** A test that says when it starts and when it passes. */
function watchTest<T>(label: string, handler: Callback<T>): Callback<T> {
  return async (state) => {
    report({ kind: "start", name: label });
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
}

/**
 * A hook that says when it starts, and whose failure is kept. In a group without wanted tests
 * nothing is set up; what follows them still runs, as it may free what the file made while loading,
 * and may fail for want of the set-up.
 */
function watchHook<T>(
  label: string,
  handler: Callback<T>,
  group: { readonly tests: number },
): Callback<T> {
  return async (state) => {
    const isUnwanted = wanted.length > 0 && group.tests === 0;
    if (isUnwanted && label.endsWith("before")) return;
    report({ kind: "start", name: label });
    try {
      await handler(state);
    } catch (error) {
      if (isUnwanted) return;
      registered.hookFailures.push(`${label}: ${describe(error)}`);
      throw error;
    }
  };
}

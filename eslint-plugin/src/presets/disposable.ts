/**
 * The `disposable` preset: anything with `[Symbol.dispose]` or `[Symbol.asyncDispose]`. Used by
 * `settings.ts`. Nobody agreed on a protocol for arguments here, so passing a value on counts as
 * handing it over, and only values that are clearly new, and owed an end (`owed.ts`), are tracked.
 */
import type { OwnerSettings } from "../owner.ts";

/** Anything that is disposable. */
export const disposable: readonly OwnerSettings[] = [
  {
    noun: "resource",
    types: { disposable: "any" },
    dispose: {
      methods: [
        "dispose",
        "close",
        "destroy",
        "end",
        "disposeAsync",
        "asyncDispose",
        "release",
        "terminate",
      ],
      functions: [],
    },
    calls: "unknown",
    fresh: ["create*", "open*", "acquire*", "make*", "connect*", "spawn*", "new*"],
    args: "transfer",
    keep: { methods: ["move"], functions: ["use", "adopt"] },
    safeAfterDispose: ["disposed", "isDisposed", "closed", "destroyed"],
    policy: "generic",
  },
];

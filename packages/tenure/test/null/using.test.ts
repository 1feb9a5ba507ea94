/**
 * What `using` becomes in the compiled package does what the host's own does: compared with the
 * lowering that runs these tests.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { __addDisposableResource, __disposeResources } from "../../src/base/using.ts";

const test = suite("lowered using");

/** What happens, in words: things named by a letter are disposed of, capital ones throw. */
interface Told {
  readonly order: string[];
  readonly thrown: string;
}

function told(run: (made: (name: string) => Disposable) => void): Told {
  const order: string[] = [];
  const say = (error: unknown): string => {
    if (!(error instanceof Error) || error.name !== "SuppressedError") return String(error);
    const { error: newer, suppressed: older } = error as Error & Record<string, unknown>;
    return `(${say(newer)} over ${say(older)})`;
  };
  const made = (name: string): Disposable => ({
    [Symbol.dispose]() {
      order.push(name);
      if (name === name.toUpperCase()) throw name;
    },
  });
  try {
    run(made);
    return { order, thrown: "" };
  } catch (error) {
    return { order, thrown: say(error) };
  }
}

/** A block as TypeScript compiles it. */
function lowered(names: readonly (string | null)[], body: () => void): Told {
  return told((made) => {
    const block = { stack: [], error: undefined as unknown, hasError: false };
    try {
      for (const name of names) __addDisposableResource(block, name === null ? null : made(name));
      body();
    } catch (error) {
      block.error = error;
      block.hasError = true;
    } finally {
      __disposeResources(block);
    }
  });
}

/** The same with `using`. */
function native([a, b, c]: readonly (string | null)[], body: () => void): Told {
  return told((made) => {
    using _first = typeof a === "string" ? made(a) : null;
    using _second = typeof b === "string" ? made(b) : null;
    using _third = typeof c === "string" ? made(c) : undefined;
    body();
  });
}

test("values, none, and errors of the block and of disposals, in every mixture", () => {
  const fine = (): void => undefined;
  const fails = (): void => {
    throw "body";
  };
  const kinds = [(name: string) => name, (name: string) => name.toUpperCase(), () => null];
  for (const a of kinds)
    for (const b of kinds)
      for (const c of kinds)
        for (const body of [fine, fails]) {
          const names = [a("a"), b("b"), c("c")];
          assert.equal(lowered(names, body), native(names, body), names.join());
        }
});

test("a declaration gives its value", () => {
  const value = { [Symbol.dispose]: () => undefined };
  const block = { stack: [], error: undefined, hasError: false };
  assert.is(__addDisposableResource(block, value), value);
  assert.is(__addDisposableResource(block, undefined), undefined);
});

test.run();

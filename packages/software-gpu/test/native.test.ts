/** Environment variables of the process, set from where `process` is a copy, as in Jest's tests. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { setVariables } from "../src/native.ts";

const test = suite("setVariables");
const real = process;

test("sets and removes in a copied process and in the real one", async () => {
  const name = "TENURE_TEST_VARIABLE";
  // Jest's `process` answers for the module as well; the main context alone has the real one.
  const modules = (id: string): unknown => {
    if (id === "node:process") return copy;
    return id === "node:vm" ? { runInThisContext: () => real } : real.getBuiltinModule(id);
  };
  const copy = Object.create(real, {
    env: { value: { ...real.env } },
    getBuiltinModule: { value: modules },
  }) as NodeJS.Process;
  const inCopy = async (value: string | undefined): Promise<(string | undefined)[]> => {
    globalThis.process = copy;
    try {
      await setVariables({ [name]: value });
    } finally {
      globalThis.process = real;
    }
    return [copy.env[name], real.env[name]];
  };
  assert.equal(await inCopy("set"), ["set", "set"]);
  assert.equal(await inCopy(undefined), [undefined, undefined]);
});

test.run();

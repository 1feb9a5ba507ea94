/**
 * The part of the library that runs programs comes when a device is asked for: once, again after it
 * did not come, and not at all where the program brings it. Asking for a device while the former
 * one is given back waits for that.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { DeviceLostError, TenureError, deviceInfo, init, shutdown, tensor } from "tenure";
import type { EngineLoader } from "../../src/runtime/device-life.ts";
import { Engine } from "../../src/runtime/engine.ts";
import { EngineWithParts } from "../../src/runtime/parts/engine-part.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import { everyPart } from "../../src/runtime/every-part.ts";
import { rejects } from "../helpers.ts";

const test = suite("loading the engine");
test.after(shutdown);

/** Loads as often as it is asked to, and fails at first. */
function loader(failures: number): { readonly load: EngineLoader; readonly calls: () => number } {
  let calls = 0;
  const load: EngineLoader = () => {
    calls++;
    return calls > failures
      ? Promise.resolve(EngineWithParts)
      : Promise.reject(new TypeError("Failed to fetch dynamically imported module"));
  };
  return { load, calls: () => calls };
}

test("what was asked for at once is loaded once, and kept after a shutdown", async () => {
  const { load, calls } = loader(0);
  const runtime = new Runtime(load);
  assert.is(calls(), 0);
  const [first, second] = await Promise.all([runtime.init({ device: "null" }), runtime.init()]);
  assert.is(first, second);
  await runtime.shutdown();
  await runtime.init({ device: "null" });
  assert.is(calls(), 1);
  await runtime.shutdown();
});

test("what could not be loaded says what to do, and is loaded by the next init", async () => {
  const { load, calls } = loader(1);
  const runtime = new Runtime(load);
  const refused =
    /^init: expected to load .* got TypeError: Failed to fetch.*; call init\(\) again/;
  const attempts = [1, 2].map(() =>
    rejects(() => runtime.init({ device: "null" }), DeviceLostError, refused),
  );
  await Promise.all(attempts);
  assert.is(calls(), 1);
  assert.is((await runtime.init({ device: "null" })).kind, "null");
  assert.is(calls(), 2);
  await runtime.shutdown();
});

test("an engine that cannot be made is no network error", async () => {
  const broken = class extends Engine {
    constructor(options: ConstructorParameters<typeof Engine>[0]) {
      super(options);
      throw new TenureError("test", "expected to be told");
    }
  };
  const runtime = new Runtime(() => Promise.resolve(broken));
  await rejects(() => runtime.init({ device: "null" }), TenureError, /^test: expected to be told/);
});

test("a program that brings the engine loads none", async () => {
  const { load, calls } = loader(9);
  const runtime = new Runtime(load);
  runtime.bring(Engine, everyPart);
  await runtime.init({ device: "null" });
  assert.is(calls(), 0);
  await runtime.shutdown();
});

test("init during a shutdown waits for it, and its device stays", async () => {
  await init({ device: "null" });
  const ending = shutdown();
  const { kind } = await init({ device: "null", flush: "auto" });
  await ending;
  assert.equal([kind, deviceInfo()?.kind], ["null", "null"]);
  using x = tensor([1, 2]);
  assert.is((await x.data()).length, 2);
});

test("shutdown, init and shutdown at once leave no device", async () => {
  await init({ device: "null" });
  await Promise.all([shutdown(), init({ device: "null" }), shutdown()]);
  assert.is(deviceInfo(), undefined);
});

test.run();

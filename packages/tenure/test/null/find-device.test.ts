/**
 * What is said where no device is found, and that a device is what `deviceInfo()` says of it. The
 * packages that bring devices are made up here.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { whenExiting } from "../../src/base/env.ts";
import { DeviceFinder } from "../../src/device/acquire.ts";
import { HostDevices, type Loader } from "../../src/device/host-devices.ts";

const test = suite("finding a device");

/** A `webgpu` whose one adapter has this name. */
const webgpu = (description: string): object => ({
  globals: {},
  create: () => ({
    requestAdapter: () =>
      Promise.resolve({
        info: { vendor: "", architecture: "", device: "", description, isFallbackAdapter: false },
        features: new Set(),
        limits: {},
        requestDevice: () =>
          Promise.resolve({
            limits: { maxStorageBufferBindingSize: 1024, maxBufferSize: 1024 },
            destroy: () => undefined,
          }),
      }),
  }),
});
const softwareGPU = (pointedAt: boolean): object => ({
  installSoftwareVulkan: () => Promise.resolve({ restore: () => Promise.resolve() }),
  hasSystemVulkan: () => true,
  usesPackagedDriver: () => pointedAt,
});
const loader =
  (packages: Readonly<Record<string, object>>): Loader =>
  (name) => {
    const found = packages[name] ?? new Error(`Cannot find package '${name}' imported from x.js`);
    return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
  };

/** Finds what some packages bring. */
const finder = (packages: Readonly<Record<string, object>>): DeviceFinder =>
  new DeviceFinder(() => Promise.resolve(new HostDevices(loader(packages))));

/** What `init` would say. */
async function refusal(error: Error | undefined, choice: "auto" | "gpu" = "auto"): Promise<string> {
  const packages = error === undefined ? {} : { webgpu: error };
  try {
    await finder(packages).acquire(choice);
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return assert.unreachable() as never;
}

test("without the package webgpu, says how to install it", async () => {
  const said = await refusal(undefined);
  assert.match(said, /got none; `npm install webgpu`, which/);
  assert.match(said, /outputFileTracingIncludes/); // installed, and not copied
});

const library = "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.38' not found (required by d)";
const reasons: readonly (readonly [string, RegExp])[] = [
  [
    library,
    /needs GLIBC_2\.38, which this .* have; use webgpu 0\.6\.2, .* GLIBC_2\.34, or a newer Linux/,
  ],
  ["libX11.so.6: cannot open shared object file: No such file", /lacks libX11\.so\.6; install/],
  ["Cannot load native addon because loading addons is disabled.", /without `--no-addons`, or/],
  ["Cannot find module '/a/node_modules/webgpu/dist/linux-x64/dawn.node'", /install it anew/],
  ["/a/node_modules/webgpu/dist/dawn.node: invalid ELF header", /install it anew/],
];
for (const [reason, expected] of reasons)
  test(`a webgpu that fails with "${reason}" is named with its reason`, async () => {
    const message = await refusal(new Error(reason));
    assert.match(message, expected);
    assert.ok(message.includes(reason), message);
    assert.not.match(message, /`npm install webgpu`/);
  });

test("device software is the packaged adapter, or throws", async () => {
  const find = (name: string): DeviceFinder =>
    finder({ webgpu: webgpu(name), "tenure-software-gpu": softwareGPU(false) });
  const { info } = await find("SwiftShader driver 5.0.0").acquire("software");
  assert.equal([info.kind, info.source], ["software", "packaged SwiftShader"]);
  try {
    await find("llvmpipe (LLVM 15)").acquire("software");
    assert.unreachable();
  } catch (error) {
    assert.match(String(error), /the system's driver answered instead, with llvmpipe/);
  }
  try {
    await find("Real GPU").acquire("software");
    assert.unreachable();
  } catch (error) {
    assert.match(String(error), /only the GPU adapter Real GPU/);
  }
});

test("a system's adapter is not called packaged, wherever the environment points", async () => {
  const find = (name: string): DeviceFinder =>
    finder({ webgpu: webgpu(name), "tenure-software-gpu": softwareGPU(true) });
  const system = await find("llvmpipe (LLVM 15)").acquire("auto");
  assert.equal([system.info.kind, system.info.source], ["software", "system driver"]);
  const own = await find("SwiftShader driver 5.0.0").acquire("auto");
  assert.is(own.info.source, "packaged SwiftShader");
});

test("all devices of a process share one listener for its end", () => {
  const before = process.listenerCount("exit");
  const stops = Array.from({ length: 20 }, () => whenExiting(() => undefined));
  assert.ok(process.listenerCount("exit") <= before + 1);
  for (const stop of stops) stop();
  assert.ok(process.listenerCount("exit") <= before + 1);
});

test.run();

// node: --expose-gc
/**
 * The device's life: what init takes and refuses, the null device, shutting down and starting
 * again, pool and staging rings, and that a process ends by itself whatever its user does. In a
 * process of its own, since it takes the device away.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DeviceLostError,
  deviceInfo,
  init,
  memory,
  scoped,
  shutdown,
  sync,
  tensor,
  zeros,
} from "tenure";
import { assertClose } from "tenure/testing";
import { deviceChoice } from "../../src/device/device-choice.ts";
import { CounterSet } from "../../src/device/counters.ts";
import { BufferPool, sizeClass } from "../../src/device/buffer-pool.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import { pattern, rejects, setup } from "../helpers.ts";

const info = await setup();
const test = suite("device");

// === init ===

test("init says what it found, and finds the same again", async () => {
  assert.ok(["gpu", "software"].includes(info.kind));
  assert.ok(info.name.length > 0 && info.source.length > 0);
  assert.ok(info.maxTensorBytes >= 2 ** 27);
  assert.is(await init(), info);
  assert.is(deviceInfo(), info);
  assert.is(await init({ device: "auto" }), info);
});

test("unknown options and values are refused by name", async () => {
  await rejects(
    () => init({ devcie: "gpu" } as never),
    ArgumentError,
    pattern`^init: expected the options device, gpuDevice, powerPreference, deterministic,
      flush, got "devcie"; did you mean device\?`,
  );
  await rejects(
    () => init(null as never),
    ArgumentError,
    /^init: expected an options object, got null; write \{ device: … \}/,
  );
  await rejects(
    () => init("gpu" as never),
    ArgumentError,
    /^init: expected an options object, got "gpu"; write \{ device: … \}/,
  );
  await rejects(
    () => init({ device: "cuda" as never }),
    ArgumentError,
    /^init: expected device to be one of auto, gpu, software, null, got "cuda"; correct the option/,
  );
  await rejects(
    () => init({ flush: "never" as never }),
    ArgumentError,
    /^init: expected flush to be "auto" or "eachOp", got "never"/,
  );
  await rejects(
    () => init({ powerPreference: "max" as never }),
    ArgumentError,
    /^init: expected powerPreference to be "low-power" or "high-performance", got "max"/,
  );
  await rejects(
    () => init({ device: "null" }),
    ArgumentError,
    /^init: expected the device that is in use \(.*\), got device "null"; call shutdown\(\) first/,
  );
});

test("TENURE_DEVICE chooses where the option is silent", () => {
  const before = process.env["TENURE_DEVICE"];
  try {
    for (const choice of ["auto", "gpu", "software", "null"]) {
      process.env["TENURE_DEVICE"] = choice;
      assert.is(deviceChoice(undefined), choice);
      assert.is(deviceChoice("software"), "software");
    }
    process.env["TENURE_DEVICE"] = "vulkan";
    assert.throws(
      () => deviceChoice(undefined),
      (e: Error) =>
        e instanceof ArgumentError &&
        /got "vulkan"; correct the environment variable TENURE_DEVICE/.test(e.message),
    );
    delete process.env["TENURE_DEVICE"];
    assert.is(deviceChoice(undefined), "auto");
  } finally {
    if (before === undefined) delete process.env["TENURE_DEVICE"];
    else process.env["TENURE_DEVICE"] = before;
  }
});

// === Shutting down ===

test("after shutdown tensors say that their contents are gone, on a new device too", async () => {
  const kept = tensor([1, 2, 3]),
    half = kept.add(1);
  await sync();
  const pending = half.data(),
    recorded = kept.mul(2);
  const lost = rejects(() => pending, DeviceLostError, /shut down/);
  await shutdown();
  await lost;
  assert.is(deviceInfo(), undefined);
  await shutdown(); // a second one does nothing
  await rejects(() => kept.data(), DeviceLostError, /contents|device/);
  const again = await init();
  assert.is(again.name, info.name);
  assert.is(again.source, info.source, "the packaged driver stays the packaged driver");
  await rejects(() => kept.data(), DeviceLostError, /shut down; make it again after init/);
  await rejects(() => recorded.data(), DeviceLostError, /shut down|contents/);
  await rejects(
    async () => {
      using x = kept.add(1);
      await x.data();
    },
    DeviceLostError,
    /shut down|contents/,
  );
  for (const t of [kept, half, recorded]) t.dispose();
  using a = tensor([1, 2]),
    b = a.add(a);
  await assertClose(b, [2, 4], 0);
  assert.is(memory.stats().deviceBytes - memory.stats().poolBytes > 0, true);
  assert.equal(runtime().device?.errorLog, []);
});

test("a software adapter in between does not hide the system's drivers", async () => {
  const driver = (): (string | undefined)[] =>
    ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map((name) => process.env[name]);
  await shutdown();
  const first = await init();
  await shutdown();
  const software = await init({ device: "software" });
  await shutdown();
  const again = await init();
  assert.equal([again.kind, again.name, again.source], [first.kind, first.name, first.source]);
  if (software.source === "packaged SwiftShader") {
    await shutdown();
    await init({ device: "software" });
    const { out } = await child(
      `import { init } from "tenure"; console.log((await init({ device: "auto" })).source);`,
    );
    assert.is(out, "packaged SwiftShader\n");
    await shutdown();
    await init({ device: "gpu" }).catch(() => undefined); // whether there is one or not
    assert.equal(
      driver().some((value) => value?.includes("swiftshader-")),
      false,
    );
    await shutdown();
    await init();
  }
});

test("a lost device rejects reads, and init replaces it", async () => {
  using x = tensor([1, 2]);
  await sync();
  runtime().device!.gpu.destroy();
  while (runtime().device!.lost === null)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  await rejects(() => x.data(), DeviceLostError, /lost|shut down/);
  await rejects(() => sync(), DeviceLostError, /call init\(\) again/);
  await init();
  await rejects(() => x.data(), DeviceLostError, /make it again after init/);
  using a = tensor([1, 2]),
    b = a.add(a);
  await assertClose(b, [2, 4], 0);
});

test("the null device counts and computes nothing", async () => {
  await shutdown();
  try {
    const nothing = await init({ device: "null" });
    assert.is(nothing.kind, "null");
    assert.is(nothing.source, "null device");
    using x = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    using loss = scoped(() => x.matmul(x).relu().sum());
    loss.backward();
    assert.is(await loss.item(), 0);
    using g = x.grad!;
    assert.equal([...(await g.data())], [0, 0, 0, 0]);
    using big = zeros([2 ** 14, 2 ** 14]);
    await sync();
    assert.ok(memory.stats().deviceBytes >= 2 ** 30, "a gigabyte costs nothing here");
    assert.is(big.size, 2 ** 28);
  } finally {
    await shutdown();
    await init();
  }
});

// === Pool and staging ===

test("size classes waste at most an eighth", () => {
  let before = 0;
  for (let bytes = 1; bytes < 1e6; bytes += Math.ceil(bytes / 50)) {
    const size = sizeClass(bytes);
    assert.ok(size >= bytes && size % 16 === 0 && size >= before);
    assert.ok(bytes <= 256 ? size === 256 : size <= bytes * 1.125 + 32, `${bytes} take ${size}`);
    assert.is(sizeClass(size), size);
    before = size;
  }
});

test("the pool lends, takes back, reuses the oldest first and trims what is idle", () => {
  const made: { size: number; destroyed: boolean }[] = [];
  const create = ({ size }: GPUBufferDescriptor): GPUBuffer => {
    const b = {
      size,
      destroyed: false,
      destroy() {
        b.destroyed = true;
      },
    };
    made.push(b);
    return b as unknown as GPUBuffer;
  };
  const pool = new BufferPool({
    counters: new CounterSet(),
    create,
    destroy: (buffer) => {
      buffer.destroy();
    },
  });
  const a = pool.acquire(1000),
    b = pool.acquire(1000),
    c = pool.acquire(5000);
  assert.is(pool.deviceBytes, 2 * sizeClass(1000) + sizeClass(5000));
  assert.is(pool.freeBytes, 0);
  pool.release(b);
  pool.release(a);
  assert.is(pool.freeBytes, 2 * sizeClass(1000));
  assert.is(pool.acquire(990).id, a.id, "the lowest number first");
  pool.clock = 10;
  assert.is(pool.acquire(1010).id, b.id);
  pool.release(a);
  pool.release(b);
  pool.release(c);
  assert.is(
    pool.trim(5),
    sizeClass(1000) + sizeClass(5000),
    "what was not used in the last 5 flushes",
  );
  assert.equal(
    made.map((m) => m.destroyed),
    [true, false, true],
  );
  assert.ok(pool.has(b.id) && !pool.has(a.id));
  assert.is(pool.trim(), sizeClass(1000));
  assert.is(pool.deviceBytes, 0);
  assert.is(pool.freeBytes, 0);
});

test("staging buffers are made once and used again, large uploads included", async () => {
  const large = new Float32Array(100_000).map((_, i) => i % 1000);
  const round = async (): Promise<void> => {
    using x = tensor(large),
      y = x.add(1);
    const got = await y.data();
    assert.is(got[99_999], 1000);
  };
  for (let i = 0; i < 4; i++) await round();
  const before = memory.debug(),
    bytes = memory.stats().deviceBytes;
  for (let i = 0; i < 10; i++) await round();
  const after = memory.debug();
  assert.is(after.buffers, before.buffers);
  assert.is(after.uploadBytes - before.uploadBytes, 10 * large.byteLength);
  assert.ok(after.readBytes - before.readBytes >= 10 * large.byteLength);
  assert.is(memory.stats().deviceBytes, bytes);
});

test("more uploads at once than the ring is deep", async () => {
  const read = scoped(() =>
    Array.from({ length: 8 }, (_, i) => tensor(new Float32Array(20_000).fill(i)).sum().data()),
  );
  assert.equal(
    (await Promise.all(read)).map((r) => r[0]),
    [0, 1, 2, 3, 4, 5, 6, 7].map((i) => i * 20_000),
  );
});

test("reads of one size at the same time get a buffer each", async () => {
  using x = tensor([1, 2, 3]);
  await sync();
  const first = x.data();
  await Promise.resolve();
  using y = x.add(1);
  const second = y.data();
  assert.equal(
    [[...(await first)], [...(await second)]],
    [
      [1, 2, 3],
      [2, 3, 4],
    ],
  );
});

// === A process and its end ===

const here = fileURLToPath(new URL("../..", import.meta.url));
interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in a child that must end by itself. */
function child(
  source: string,
  environment: Record<string, string | undefined> = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment };
    for (const [key, value] of Object.entries(environment))
      if (value === undefined) Reflect.deleteProperty(env, key);
    const process_ = spawn(
      process.execPath,
      ["--import", "tsx", "--conditions=tenure:source", "--input-type=module", "-e", source],
      { cwd: here, env, stdio: ["ignore", "pipe", "pipe"] },
    );
    let out = "",
      err = "";
    const timer = setTimeout(() => {
      process_.kill("SIGKILL");
    }, 60_000);
    process_.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    process_.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    process_.once("error", reject);
    process_.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, out, err });
    });
  });
}

const head = `import { init, shutdown, sync, tensor, zeros, deviceInfo } from "tenure";\n`;
const work =
  "const x = tensor([1, 2, 3], { requiresGrad: true }); const y = x.mul(x).sum(); " +
  "y.backward(); const value = await y.item();\n";
const endings: readonly (readonly [string, string, number, RegExp, RegExp?])[] = [
  [
    "after success, without shutdown",
    `${work}console.log("value", value);`,
    0,
    /^value 14\n$/,
    /tenure: running on .+\n$/,
  ],
  ["after shutdown", `${work}await shutdown(); console.log("value", value);`, 0, /^value 14\n$/],
  ["after an exception", `${work}throw new RangeError("mine");`, 1, /^$/, /RangeError: mine/],
  [
    "after a rejection nobody handles",
    `${work}void Promise.reject(new RangeError("mine"));`,
    1,
    /^$/,
    /RangeError: mine/,
  ],
  [
    "with a read pending",
    `${work}void y.add(1).data().then((d) => console.log("late", d[0]));`,
    0,
    /^late 15\n$/,
  ],
  ["with recorded work nobody asks for", `${work}x.add(1).exp();`, 0, /^$/],
  ["after process.exit with a read pending", `${work}void y.data(); process.exit(3);`, 3, /^$/],
  [
    "when the first read makes the device",
    `const p = tensor([1, 2]).sum().item(); console.log(deviceInfo()); console.log(await p);`,
    0,
    /^undefined\n3\n$/,
  ],
  ["with init alone", "await init();", 0, /^$/],
  ["without any use", "", 0, /^$/, /^$/],
];

for (const [label, source, code, out, err] of endings) {
  test(`a process ends by itself ${label}`, async () => {
    const ended = await child(head + source);
    assert.is(ended.signal, null, `killed; it printed ${ended.out}${ended.err}`);
    assert.is(ended.code, code, ended.err);
    assert.match(ended.out, out);
    if (err !== undefined) assert.match(ended.err, err);
  });
}

test("TENURE_DEVICE in a process", async () => {
  const program = `${head}console.log((await init()).kind);`;
  const [nothing, software, wrong, gpu] = await Promise.all([
    child(program, { TENURE_DEVICE: "null" }),
    child(program, { TENURE_DEVICE: "software" }),
    child(program, { TENURE_DEVICE: "quantum" }),
    child(program, { TENURE_DEVICE: "gpu" }),
  ]);
  assert.is(nothing.out, "null\n");
  assert.is(software.out, "software\n");
  assert.is(wrong.code, 1);
  assert.match(
    wrong.err,
    pattern`ArgumentError: init: expected device to be one of auto, gpu, software, null, got
      "quantum"; correct the environment variable TENURE_DEVICE`,
  );
  if (gpu.code === 0) assert.is(gpu.out, "gpu\n");
  else
    assert.match(
      gpu.err,
      pattern`DeviceLostError: init: expected a WebGPU device of kind "gpu", got none; install
        .*Tried:\n {2}- `,
    );
});

test("the package folder is where the tests think", () => {
  assert.ok(existsSync(join(here, "package.json")));
});

test.run();

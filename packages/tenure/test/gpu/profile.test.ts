/**
 * `profile`: every kernel with a time, bytes and FLOPs, by timestamps and by the host's clock, as a
 * table and as a trace; results as without it, nothing left behind, and bad calls refused.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DeviceError,
  DeviceLostError,
  KernelProfile,
  TenureError,
  init,
  manualSeed,
  memory,
  newDisposeScope,
  ones,
  profile,
  randn,
  shutdown,
  tensor,
} from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler, trace } from "tenure/scheduler";
import { runtime } from "../../src/runtime/runtime.ts";
import { rejects, setup } from "../helpers.ts";

const test = suite("profile");
test.before(async () => {
  await setup();
});

const product = (): Promise<number> => {
  using _scope = newDisposeScope();
  return ones([64, 32])
    .matmul(ones([32, 16]))
    .sum()
    .item();
};

test("kernels have times, bytes and FLOPs, in order and in rows", async () => {
  await product();
  const { held } = runtime().device!;
  const [bytes, tensors] = [held.bytes, memory.stats().threadTotalLiveCount];
  const got = await profile(product);
  assert.is(got.value, 64 * 16 * 32);
  assert.ok(got instanceof KernelProfile);
  assert.is(got.clock, "timestamps");
  const matmul = got.kernels.find(({ name }) => name.startsWith("matmul"))!;
  assert.is(matmul.flops, 2 * 64 * 32 * 16);
  assert.is(matmul.bytes, 4 * (64 * 32 + 32 * 16 + 64 * 16));
  assert.is(matmul.phase, "forward");
  for (const { seconds, from } of got.kernels) assert.ok(seconds >= 0 && from > 0);
  for (let i = 1; i < got.kernels.length; i++)
    assert.ok(got.kernels[i]!.from >= got.kernels[i - 1]!.from);
  assert.ok(got.seconds > 0 && got.wallSeconds >= got.seconds * 0.1);
  assert.is(
    got.rows.reduce((n, { count }) => n + count, 0),
    got.kernels.length,
  );
  assert.ok(Math.abs(got.rows.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
  const row = got.rows.find(({ name }) => name === matmul.name)!;
  assert.ok(
    Math.abs(row.copyShare! - row.bytes / row.seconds / got.rates.copyBytesPerSecond) < 1e-9,
  );
  assert.ok(Math.abs(row.flopShare! - row.flops / row.seconds / got.rates.flopsPerSecond) < 1e-9);
  assert.ok(got.rates.copyBytesPerSecond > 1e6 && got.rates.flopsPerSecond > 1e6);
  assert.is(held.bytes, bytes);
  assert.is(memory.stats().threadTotalLiveCount, tensors);
  assert.is(runtime().device!.queue.watch, null);
});

test("the table and the trace show them", async () => {
  const got = await profile(product);
  const [head, best, names, ...rows] = got.toString().split("\n");
  assert.match(head ?? "", /\d+ kernels in [\d.]+ ms, .* timed by timestamp queries$/);
  assert.match(best ?? "", /at best it copies [\d.]+ GB\/s .* [\d.]+ GFLOP\/s in float32/);
  assert.match(
    names ?? "",
    /^kernel +phase +runs +ms +time +MB +MFLOP +of copy rate +of FLOP rate$/,
  );
  assert.is(rows.length, got.rows.length);
  assert.match(rows.join("\n"), /^matmul\S* +forward +1 +[\d.]+ .*%/m);
  const { traceEvents } = JSON.parse(JSON.stringify(got.chromeTrace())) as ReturnType<
    typeof got.chromeTrace
  >;
  const matmul = got.kernels.find(({ name }) => name.startsWith("matmul"))!;
  const event = traceEvents.find((e) => e.cat === "op" && e.ts === matmul.from * 1000)!;
  assert.is(event.name, matmul.name);
  assert.ok(Math.abs((event.dur ?? NaN) - matmul.seconds * 1e6) < 1);
  assert.is(event.args?.["flops"], matmul.flops);
});

test("a training step under a scheduler, by phase and layer, with the same bits", async () => {
  const train = async (profiled: boolean): Promise<number[]> => {
    manualSeed(1);
    using model = new Linear(4, 2);
    using optimizer = new SGD(model.parameters(), { lr: 0.1 });
    using scheduler = new Scheduler();
    using x = ones([3, 4]);
    const step = (): Promise<void> =>
      scheduler.step(() => {
        optimizer.zeroGrad();
        model.call(x).square().mean().backward();
        optimizer.step();
      });
    if (profiled) {
      const { kernels } = await profile(step);
      assert.ok(kernels.some(({ phase }) => phase === "apply"));
      assert.ok(kernels.some(({ phase, layer }) => phase === "forward" && layer === "Linear"));
    } else await step();
    return Array.from(await model.weight.data());
  };
  assert.equal(await train(true), await train(false));
});

test("without timestamp queries, the host's clock, and it is said so", async () => {
  const { gpu } = runtime().device!;
  const features = Object.getOwnPropertyDescriptor(gpu, "features");
  Object.defineProperty(gpu, "features", { value: new Set<string>(), configurable: true });
  try {
    const got = await profile(product);
    assert.is(got.value, 64 * 16 * 32);
    assert.is(got.clock, "host");
    const names = got.kernels.filter(({ seconds }) => seconds > 0).map(({ name }) => name);
    assert.match(names.join(), /matmul/);
    assert.match(got.toString(), /timed by the host, which waits for each/);
  } finally {
    if (features === undefined) delete (gpu as { features?: unknown }).features;
    else Object.defineProperty(gpu, "features", features);
  }
});

test("bad calls are refused, and errors leave nothing behind", async () => {
  using _scope = newDisposeScope({ root: true });
  const x = randn([4]);
  await rejects(() => profile(3 as never), ArgumentError, /^profile: expected a function, got 3/);
  await rejects(
    () =>
      profile(() => {
        x.exp();
        throw new RangeError("on purpose");
      }),
    RangeError,
    /on purpose/,
  );
  assert.is(runtime().device!.queue.watch, null);
  await profile(async () => {
    await rejects(() => profile(product), TenureError, /one profile at a time/);
  });
  let inside: Promise<unknown> | undefined;
  trace(() => {
    inside = profile(product).catch((error: unknown) => error);
    return tensor([1]);
  });
  assert.match(String(await inside), /outside trace\(\)/);
  using scheduler = new Scheduler();
  await scheduler.step(() => {
    inside = profile(product).catch((error: unknown) => error);
  });
  assert.match(String(await inside), /profile the whole step/);
  const none = await profile(() => 7);
  assert.is(none.value, 7);
  assert.equal(none.rows, []);
  await init();
});

test("a device that is lost meanwhile: a typed error, and the next one works", async () => {
  const losing: readonly (() => unknown)[] = [
    () => shutdown(),
    () => {
      runtime().device!.gpu.destroy();
    },
  ];
  for (const lose of losing) {
    await rejects(
      () =>
        profile(async () => {
          await product();
          await lose();
        }),
      DeviceLostError,
    );
    await setup();
    assert.ok((await profile(product)).kernels.length > 0);
  }
  const { gpu } = runtime().device!;
  const make = gpu.createComputePipeline.bind(gpu);
  gpu.createComputePipeline = () => {
    throw new TypeError("on purpose");
  };
  await rejects(() => profile(() => 1), DeviceError, /^profile: .*on purpose.*profile again/);
  gpu.createComputePipeline = make;
});

test.run();

/**
 * A GPUDevice of the program: buffers in and out without the host, who owns them, and what is left
 * when either side ends. Each test that spoils a device makes one of its own.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  DeviceError,
  DeviceLostError,
  compile,
  deviceInfo,
} from "tenure";
import {
  TenureError,
  init,
  memory,
  scoped,
  shutdown,
  sync,
  tensor,
  tensorFromBuffer,
  zeros,
} from "tenure";
import { Scheduler, trace } from "tenure/scheduler";
import { runtime } from "../../src/runtime/runtime.ts";
import { rejects, setup, takeDeviceErrors } from "../helpers.ts";

await setup();
const test = suite("buffers of the program");

const host = (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
const gpu = host ?? (await import("webgpu")).create([]);

/** A device that Tenure did not make. */
async function ownDevice(): Promise<GPUDevice> {
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new Error("no adapter");
  return adapter.requestDevice({ label: "mine" });
}

let device: GPUDevice;
test.before(async () => {
  await shutdown();
  device = await ownDevice();
  await init({ gpuDevice: device });
});
test.after(async () => {
  await shutdown();
  device.destroy();
  await init();
});

const { COPY_SRC, COPY_DST, MAP_READ, STORAGE, VERTEX } = GPUBufferUsage;

function bufferOf(values: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>): GPUBuffer {
  const usage = COPY_SRC | COPY_DST | VERTEX;
  const buffer = device.createBuffer({ size: values.byteLength, usage });
  device.queue.writeBuffer(buffer, 0, values);
  return buffer;
}

async function contents(buffer: GPUBuffer, from = device): Promise<number[]> {
  const staging = from.createBuffer({ size: buffer.size, usage: COPY_DST | MAP_READ });
  const encoder = from.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  from.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const values = [...new Float32Array(staging.getMappedRange())];
  staging.destroy();
  return values;
}

test("init takes a device, says so, and knows it again", async () => {
  assert.is(deviceInfo()?.source, "init({ gpuDevice })");
  assert.is((await init({ gpuDevice: device })).source, "init({ gpuDevice })");
  assert.is(await init(), deviceInfo());
  const other = await ownDevice();
  await rejects(
    () => init({ gpuDevice: other }),
    ArgumentError,
    /got another gpuDevice; call shut/,
  );
  await rejects(
    () => init({ gpuDevice: device, device: "auto" }),
    ArgumentError,
    /gpuDevice alone/,
  );
  await rejects(() => init({ gpuDevice: {} as GPUDevice }), ArgumentError, /to be a GPUDevice/);
  other.destroy();
});

test("init asks for the constants of WebGPU where the host lacks them", async () => {
  const flags = GPUBufferUsage;
  await shutdown();
  Reflect.deleteProperty(globalThis, "GPUBufferUsage");
  await rejects(() => init({ gpuDevice: device }), DeviceLostError, /GPUBufferUsage among the/);
  Object.assign(globalThis, { GPUBufferUsage: flags });
  await init({ gpuDevice: device });
});

test("a tensor is a copy of a buffer, as it was at the call", async () => {
  const buffer = bufferOf(new Float32Array([0, 1, 2, 3, 4, 5, 6, 7]));
  using t = tensorFromBuffer(buffer, { shape: [2, 3], offset: 8, name: "particles" });
  using y = t.mul(10);
  device.queue.writeBuffer(buffer, 0, new Float32Array(8).fill(-1));
  using later = tensorFromBuffer(buffer, { shape: [2] });
  buffer.destroy();
  assert.equal(await y.toArray(), [[20, 30, 40], [50, 60, 70]]); // prettier-ignore
  assert.equal(await later.toArray(), [-1, -1]);
  assert.is(t.name, "particles");
  using words = tensorFromBuffer(bufferOf(new Uint32Array([7, 2 ** 32 - 1])), {
    shape: [2],
    dtype: "uint32",
  });
  assert.equal(await words.toArray(), [7, 2 ** 32 - 1]);
});

test("gradients flow to a tensor from a buffer", async () => {
  const buffer = bufferOf(new Float32Array([1, 2]));
  using w = tensorFromBuffer(buffer, { shape: [2], requiresGrad: true });
  using loss = scoped(() => w.square().sum());
  loss.backward();
  using grad = w.grad;
  assert.equal(await grad?.toArray(), [2, 4]);
  buffer.destroy();
});

test("copyToBuffer writes what the tensor is at the call", async () => {
  const target = bufferOf(new Float32Array(8).fill(9));
  const other = bufferOf(new Float32Array(6));
  using x = tensor([[1, 2, 3], [4, 5, 6]]); // prettier-ignore
  const y = x.add(0);
  const turned = y.transpose(0, 1);
  const copied = turned.copyToBuffer(target, { offset: 4 });
  const whole = y.copyToBuffer(other);
  y.mul_(100).dispose();
  turned.dispose();
  y.dispose();
  await copied;
  await whole;
  assert.equal(await contents(other), [1, 2, 3, 4, 5, 6]);
  assert.equal(await contents(target), [9, 1, 4, 2, 5, 3, 6, 9]);
  using last = x.select(0, 1); // a view that lies elsewhere
  await last.copyToBuffer(target);
  assert.equal((await contents(target)).slice(0, 4), [4, 5, 6, 2]);
  target.destroy();
});

test("buffers of the program are neither kept, used again nor counted", async () => {
  const buffer = bufferOf(new Float32Array([1, 2, 3, 4]));
  await sync();
  await memory.trim();
  const before = memory.stats();
  for (let i = 0; i < 20; i++) {
    using t = tensorFromBuffer(buffer, { shape: [4] });
    using u = t.tanh();
    await u.copyToBuffer(buffer);
  }
  await sync();
  const { made } = runtime().device!.pool;
  for (let i = 0; i < 20; i++) {
    using t = tensorFromBuffer(buffer, { shape: [4] });
    using u = t.mul(0);
    await u.copyToBuffer(buffer);
  }
  assert.is(runtime().device!.pool.made, made); // a frame takes no memory more
  await memory.trim();
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
  assert.is(after.liveBytes, before.liveBytes);
  assert.is(after.deviceBytes, before.deviceBytes);
  assert.equal(await contents(buffer), [0, 0, 0, 0]);
  buffer.destroy();
});

test("wrong buffers are refused at once", async () => {
  const good = bufferOf(new Float32Array(4));
  const no = device.createBuffer({ size: 16, usage: STORAGE });
  const mapped = device.createBuffer({ size: 16, usage: COPY_SRC, mappedAtCreation: true });
  using t = zeros([4]);
  const from =
    (buffer: unknown, options = {}) =>
    (): unknown =>
      tensorFromBuffer(buffer as GPUBuffer, { shape: [4], ...options });
  const to =
    (buffer: unknown, options = {}) =>
    (): unknown =>
      t.copyToBuffer(buffer as GPUBuffer, options);
  await rejects(from(null), ArgumentError, /tensorFromBuffer: expected a GPUBuffer, got null/);
  await rejects(from(new Float32Array(4)), ArgumentError, /expected a GPUBuffer/);
  await rejects(from(no), ArgumentError, /GPUBufferUsage.COPY_SRC, got one with usage 0x80; add/);
  await rejects(to(no), ArgumentError, /GPUBufferUsage.COPY_DST/);
  await rejects(from(mapped), ArgumentError, /an unmapped buffer, got a mapped one; unmap/);
  await rejects(from(good, { shape: [5] }), ArgumentError, /at least 20 bytes, got one of 16/);
  await rejects(to(good, { offset: 4 }), ArgumentError, /at least 20 bytes, got one of 16/);
  await rejects(to(good, { offset: 2 }), ArgumentError, /multiple of 4, got 2/);
  await rejects(to(good, { offset: -4 }), ArgumentError, /offset/);
  await rejects(to(good, { at: 4 }), ArgumentError, /at/);
  await rejects(from(good, { dtype: "bool" }), DTypeError, /take "uint32", and compare with ne/);
  await rejects(from(good, { dtype: "int32", requiresGrad: true }), DTypeError);
  await rejects(from({ usage: 255, mapState: "unmapped", size: 99 }), ArgumentError, /it refuses/);
  mapped.destroy();
  no.destroy();
  good.destroy();
  await sync();
});

test("what the device refuses of a copy spoils nothing else", async () => {
  const gone = bufferOf(new Float32Array(4));
  gone.destroy();
  using x = tensor([1, 2]);
  using y = x.add(1);
  await rejects(() => y.copyToBuffer(gone), DeviceError, /copyToBuffer/);
  assert.equal(await y.toArray(), [2, 3]); // it was made in the same flush
  await sync();
  using bad = tensorFromBuffer(gone, { shape: [4] });
  using worse = bad.add(1);
  await rejects(() => worse.data(), DeviceError, /tensorFromBuffer/);
  using fine = x.mul(3);
  assert.equal(await fine.toArray(), [3, 6]);
  await rejects(() => bad.data(), DeviceError, /tensorFromBuffer/);
  await rejects(() => worse.data(), DeviceError, /tensorFromBuffer/);
  takeDeviceErrors();
});

test("the program's own errors are its own", async () => {
  const heard: string[] = [];
  const listen = (event: GPUUncapturedErrorEvent): void => {
    event.preventDefault();
    heard.push(event.error.message);
  };
  device.addEventListener("uncapturederror", listen);
  device.createBuffer({ label: "my mistake", size: 4, usage: MAP_READ | STORAGE });
  await device.queue.onSubmittedWorkDone();
  await sync();
  device.removeEventListener("uncapturederror", listen);
  assert.is(heard.length, 1);
});

test("steps, compiled functions and traces", async () => {
  const buffer = bufferOf(new Float32Array([1, 2]));
  using scheduler = new Scheduler();
  using w = tensor([1, 1]);
  for (let i = 0; i < 2; i++)
    await scheduler.step(async () => {
      using t = tensorFromBuffer(buffer, { shape: [2] });
      using sum = w.add_(t);
      await sum.copyToBuffer(buffer);
    });
  assert.equal(await contents(buffer), [4, 6]);
  using half = compile(() => scoped(() => tensorFromBuffer(buffer, { shape: [2] }).mul(0.5)));
  for (let i = 0; i < 3; i++) {
    using y = half();
    await y.copyToBuffer(buffer);
  }
  assert.equal(await contents(buffer), [0.5, 0.75]); // never repeated with what it was
  await init({ flush: "eachOp" });
  using one = tensorFromBuffer(buffer, { shape: [1], offset: 4 });
  using four = one.add(3.25);
  await four.copyToBuffer(buffer);
  await init({ flush: "auto" });
  assert.equal(await contents(buffer), [4, 0.75]);
  const traced = (): unknown => trace(() => void tensorFromBuffer(buffer, { shape: [2] }));
  await rejects(traced, TenureError, /outside trace\(\)/);
  buffer.destroy();
});

test("a device that Tenure found has no buffers of the program", async () => {
  const buffer = bufferOf(new Float32Array(2));
  await shutdown();
  await rejects(() => tensorFromBuffer(buffer, { shape: [2] }), DeviceLostError, /got none; make/);
  await init();
  using t = zeros([2]);
  await rejects(
    () => t.copyToBuffer(buffer),
    DeviceLostError,
    /one that Tenure found \(.+\); make/,
  );
  await shutdown();
  await init({ gpuDevice: device });
});

test("shutdown leaves the device, and nothing of its own on it", async () => {
  await shutdown();
  const made = new Set<GPUBuffer>();
  const create = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = create(descriptor);
    made.add(buffer);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      made.delete(buffer);
      destroy();
    };
    return buffer;
  };
  const kept = bufferOf(new Float32Array([5, 6]));
  await init({ gpuDevice: device });
  const t = tensorFromBuffer(kept, { shape: [2] });
  using up = tensor(new Float32Array(100_000));
  using sum = up.sum();
  await sum.item();
  assert.ok(made.size > 3, `${made.size}`);
  await shutdown();
  device.createBuffer = create;
  assert.equal([...made], [kept]);
  assert.equal(await contents(kept), [5, 6]);
  kept.destroy();
  await init({ gpuDevice: device });
  await rejects(() => t.data(), DeviceLostError, /was shut down/);
  t.dispose();
});

test("the program destroys its device under Tenure", async () => {
  await shutdown();
  const brief = await ownDevice();
  await init({ gpuDevice: brief });
  const buffer = brief.createBuffer({ size: 8, usage: COPY_SRC | COPY_DST });
  using t = zeros([2]);
  await t.copyToBuffer(buffer);
  brief.destroy();
  await brief.lost;
  await rejects(() => t.copyToBuffer(buffer), DeviceLostError, /got a lost one/);
  await rejects(() => tensorFromBuffer(buffer, { shape: [2] }), DeviceLostError, /got a lost one/);
  await rejects(() => init({ gpuDevice: brief }), DeviceLostError, /working gpuDevice, got a lost/);
  assert.is(deviceInfo(), undefined);
  await init({ gpuDevice: device });
  using u = zeros([2]);
  assert.equal(await u.toArray(), [0, 0]);
});

test.run();

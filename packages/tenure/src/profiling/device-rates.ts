/**
 * What a device can do at best, measured: bytes per second of a copy between two of its buffers,
 * and float32 operations per second of a kernel that does nothing but multiply and add. Called by
 * profile.ts, once per device. Frees its buffers.
 */
import type { Device } from "../device/device.ts";

/** What a device does at best. */
export interface DeviceRates {
  /** Bytes read and written per second by a copy in its memory. */
  readonly copyBytesPerSecond: number;
  /** Float32 operations per second; a fused multiply-add counts as two. */
  readonly flopsPerSecond: number;
}

/** Bytes that are copied at a time. */
const copyBytes = 2 ** 23;
/** Threads of the kernel, vectors each works on, rounds, and operations of a round per thread. */
const threads = 2 ** 14;
const rounds = 64;
const perRound = 4 * 4 * 2;
/** Work is repeated until it takes so long, in ms. */
const longEnough = 8;
/** Tries; the best counts. */
const tries = 3;

const busy = `@group(0) @binding(0) var<storage, read_write> out: array<vec4f>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let k = vec4f(0.999, 0.998, 0.997, 0.996);
  var a = vec4f(f32(id.x)); var b = a + 1.0; var c = a + 2.0; var d = a + 3.0;
  for (var i = 0; i < ${rounds}; i++) {
    a = fma(a, k, k); b = fma(b, k, k); c = fma(c, k, k); d = fma(d, k, k);
  }
  out[id.x] = a + b + c + d;
}`;

/** Measures a device. Waits for whatever it does now. */
export async function measureRates(device: Device): Promise<DeviceRates> {
  const { gpu, queue } = device;
  queue.submit();
  const buffers: GPUBuffer[] = [];
  const buffer = (size: number): GPUBuffer => {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const made = gpu.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST });
    buffers.push(made);
    return made;
  };
  try {
    const [from, to, out] = [buffer(copyBytes), buffer(copyBytes), buffer(16 * threads)];
    const copies = await perSecond(device, (encoder, times) => {
      for (let i = 0; i < times; i++) encoder.copyBufferToBuffer(from, 0, to, 0, copyBytes);
    });
    const module = gpu.createShaderModule({ code: busy, label: "tenure rates" });
    const own = gpu.createBindGroupLayout({
      entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } }],
    });
    const layout = gpu.createPipelineLayout({ bindGroupLayouts: [own] });
    const pipeline = gpu.createComputePipeline({ layout, compute: { module } });
    const entries = [{ binding: 0, resource: { buffer: out } }];
    const group = gpu.createBindGroup({ layout: own, entries });
    const runs = await perSecond(device, (encoder, times) => {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      for (let i = 0; i < times; i++) pass.dispatchWorkgroups(threads / 64);
      pass.end();
    });
    return {
      copyBytesPerSecond: 2 * copyBytes * copies,
      flopsPerSecond: threads * rounds * perRound * runs,
    };
  } finally {
    for (const made of buffers) made.destroy();
  }
}

/** How often per second something is done, best of some tries that each take long enough. */
async function perSecond(
  device: Device,
  encode: (encoder: GPUCommandEncoder, times: number) => void,
): Promise<number> {
  const milliseconds = async (times: number): Promise<number> => {
    const encoder = device.gpu.createCommandEncoder();
    encode(encoder, times);
    const commands = encoder.finish();
    await device.idle();
    const start = performance.now();
    device.gpu.queue.submit([commands]);
    await device.idle();
    return Math.max(performance.now() - start, 1e-3);
  };
  await milliseconds(1);
  let times = 1;
  let best = await milliseconds(times);
  while (best < longEnough && times < 4096) {
    times *= 4;
    best = await milliseconds(times);
  }
  for (let i = 1; i < tries; i++) best = Math.min(best, await milliseconds(times));
  return (times * 1000) / best;
}

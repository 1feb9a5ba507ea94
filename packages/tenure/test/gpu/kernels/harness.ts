/**
 * Runs one Kernel on raw WebGPU: no runtime in between, so a wrong answer is the generator's.
 * Outputs are filled with NaN beforehand, buffers are exactly as long as their data, and any
 * validation error fails the run. Tests only.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import type { DType } from "../../../src/base/dtype.ts";
import { type Layout, contiguousLayout } from "../../../src/base/layout.ts";
import type { Shape } from "../../../src/base/shape.ts";
import type { DeviceCaps, Kernel, View } from "../../../src/kernels/kernel.ts";

export type Data = Float32Array | Int32Array | Uint32Array;

export interface Gpu {
  readonly device: GPUDevice;
  readonly adapter: string;
  readonly caps: DeviceCaps;
  /** Fails when a validation error came since the last call. */
  check(): void;
}

/** Fills `process.env` and the loader with SwiftShader out of @sparticuz/chromium. */
function unpackSwiftShader(): void {
  const installer = createRequire(import.meta.url).resolve("tenure-software-gpu");
  const bin = join(
    dirname(createRequire(installer).resolve("@sparticuz/chromium")),
    "..",
    "..",
    "bin",
    "swiftshader.tar.br",
  );
  const target = join(tmpdir(), "tenure-swiftshader-test");
  if (!existsSync(join(target, "vk_swiftshader_icd.json"))) {
    const fresh = `${target}-${process.pid}`;
    mkdirSync(fresh, { recursive: true });
    const tar = brotliDecompressSync(readFileSync(bin));
    for (let at = 0; at + 512 <= tar.length;) {
      const name = tar.toString("utf8", at, at + 100).replace(/\0.*$/, ""),
        size = parseInt(tar.toString("utf8", at + 124, at + 136), 8) || 0;
      if (name === "") break;
      if (tar[at + 156] === 0x30 || tar[at + 156] === 0)
        writeFileSync(
          join(fresh, name.replace(/^.*\//, "")),
          tar.subarray(at + 512, at + 512 + size),
          { mode: 0o755 },
        );
      at += 512 + Math.ceil(size / 512) * 512;
    }
    try {
      renameSync(fresh, target);
    } catch {
      /* another process was first */
    }
  }
  process.env["VK_DRIVER_FILES"] = join(target, "vk_swiftshader_icd.json");
  try {
    process.dlopen(
      { exports: {} },
      join(target, "libvulkan.so.1"),
      constants.dlopen.RTLD_NOW | constants.dlopen.RTLD_GLOBAL | 0x1000,
    );
  } catch {
    /* no module: it stays loaded */
  }
}

let opened: Promise<Gpu> | undefined;
const kept: unknown[] = [];

export function openGpu(): Promise<Gpu> {
  return (opened ??= open());
}

async function open(): Promise<Gpu> {
  const { create, globals } = (await import("webgpu")) as unknown as {
    create(flags: string[]): GPU;
    globals: object;
  };
  Object.assign(globalThis, globals);
  let gpu = create([]);
  let adapter = await gpu.requestAdapter();
  if (adapter === null) {
    unpackSwiftShader();
    gpu = create([]);
    adapter = await gpu.requestAdapter();
  }
  if (adapter === null) throw new Error("no adapter");
  kept.push(gpu);
  const limits = adapter.limits,
    f16 = adapter.features.has("shader-f16"),
    subgroups = adapter.features.has("subgroups");
  const device = await adapter.requestDevice({
    requiredFeatures: (["shader-f16", "subgroups"] as const).filter((f) => adapter.features.has(f)),
    requiredLimits: {
      maxBufferSize: limits.maxBufferSize,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
      maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
      maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
    },
  });
  const errors: string[] = [];
  device.addEventListener("uncapturederror", (e) => {
    errors.push(e.error.message);
  });
  const info = adapter.info;
  return {
    device,
    adapter: [info.vendor, info.architecture, info.device, info.description]
      .filter((s) => s !== "")
      .join(" "),
    caps: {
      software: /swiftshader|llvmpipe|lavapipe/i.test(
        `${info.architecture} ${info.device} ${info.description}`,
      ),
      contracts: true,
      f16,
      subgroups,
      subgroupLanes: subgroups ? (device.adapterInfo.subgroupMinSize ?? 4) : 1,
      maxInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      maxWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
      maxWorkgroupStorageBytes: limits.maxComputeWorkgroupStorageSize,
      maxWorkgroupsPerDimension: 65535,
      maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
    },
    check: () => {
      if (errors.length > 0) throw new Error(errors.splice(0).join("\n"));
    },
  };
}

const pipelines = new Map<string, { pipeline: GPUComputePipeline; wgsl: string }>();

/** The pipeline of a kernel; equal keys must mean equal text. */
export function pipelineOf(gpu: Gpu, kernel: Kernel): GPUComputePipeline {
  const known = pipelines.get(kernel.key);
  if (known !== undefined) {
    if (known.wgsl !== kernel.wgsl) throw new Error(`two texts under the key ${kernel.key}`);
    return known.pipeline;
  }
  const entries: GPUBindGroupLayoutEntry[] = kernel.bindings.map((b, i) => ({
    binding: i,
    visibility: 4,
    buffer: { type: b === "read" ? "read-only-storage" : "storage" },
  }));
  if (kernel.params.length > 0)
    entries.push({ binding: kernel.bindings.length, visibility: 4, buffer: { type: "uniform" } });
  const layout = gpu.device.createPipelineLayout({
    bindGroupLayouts: [gpu.device.createBindGroupLayout({ entries })],
  });
  const pipeline = gpu.device.createComputePipeline({
    layout,
    compute: { module: gpu.device.createShaderModule({ code: kernel.wgsl }), entryPoint: "main" },
  });
  pipelines.set(kernel.key, { pipeline, wgsl: kernel.wgsl });
  return pipeline;
}

export function bufferOf(gpu: Gpu, data: Data | number): GPUBuffer {
  const bytes = Math.max(4, typeof data === "number" ? data : data.byteLength);
  const buffer = gpu.device.createBuffer({
    size: bytes,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
  });
  if (typeof data !== "number" && data.byteLength > 0)
    gpu.device.queue.writeBuffer(buffer, 0, data as Float32Array<ArrayBuffer>);
  return buffer;
}

/** A bind group over `buffers`, with the kernel's params in a uniform of their own. */
export function bindGroupOf(
  gpu: Gpu,
  kernel: Kernel,
  buffers: readonly GPUBuffer[],
  scalars: readonly number[] = [],
): GPUBindGroup {
  const entries: GPUBindGroupEntry[] = buffers.map((buffer, binding) => ({
    binding,
    resource: { buffer },
  }));
  if (kernel.params.length > 0) {
    const words = Uint32Array.from(kernel.params);
    kernel.dynamic?.forEach((d) => {
      words[d.word] = scalars[d.scalar]!;
    });
    const uniform = gpu.device.createBuffer({
      size: Math.ceil(words.byteLength / 16) * 16,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    gpu.device.queue.writeBuffer(uniform, 0, words);
    entries.push({ binding: buffers.length, resource: { buffer: uniform } });
  }
  return gpu.device.createBindGroup({
    layout: pipelineOf(gpu, kernel).getBindGroupLayout(0),
    entries,
  });
}

export function dispatch(gpu: Gpu, kernel: Kernel, group: GPUBindGroup, times = 1): void {
  const encoder = gpu.device.createCommandEncoder(),
    pass = encoder.beginComputePass();
  pass.setPipeline(pipelineOf(gpu, kernel));
  pass.setBindGroup(0, group);
  for (let i = 0; i < times; i++) pass.dispatchWorkgroups(...kernel.workgroups);
  pass.end();
  gpu.device.queue.submit([encoder.finish()]);
}

/**
 * Runs a kernel. `buffers` has one entry per binding: data to upload, or a dtype and length to be
 * filled with NaN (or 0xffffffff for integers).
 * @returns the contents of the bindings named in `read` (default: every read_write binding), in
 *   order.
 */
export async function run(
  kernel: Kernel,
  buffers: readonly (Data | { dtype: DType; length: number })[],
  options: { scalars?: readonly number[]; read?: readonly number[] } = {},
): Promise<Data[]> {
  const gpu = await openGpu();
  const host = buffers.map((b) => {
    if (!("dtype" in b)) return b;
    return b.dtype === "int32"
      ? new Int32Array(b.length).fill(-1)
      : b.dtype === "float32"
        ? new Float32Array(b.length).fill(NaN)
        : new Uint32Array(b.length).fill(0xffffffff);
  });
  const gpuBuffers = host.map((d) => bufferOf(gpu, d));
  if (kernel.workgroups.every((n) => n > 0))
    dispatch(gpu, kernel, bindGroupOf(gpu, kernel, gpuBuffers, options.scalars));
  const read = options.read ?? kernel.bindings.flatMap((b, i) => (b === "read_write" ? [i] : []));
  const out: Data[] = [];
  for (const i of read) out.push(await readBack(gpu, gpuBuffers[i]!, host[i]!));
  gpuBuffers.forEach((b) => {
    b.destroy();
  });
  gpu.check();
  return out;
}

export async function readBack(gpu: Gpu, buffer: GPUBuffer, like: Data): Promise<Data> {
  const staging = gpu.device.createBuffer({
    size: buffer.size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const encoder = gpu.device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  gpu.device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const bytes = staging.getMappedRange().slice(0, like.byteLength);
  staging.unmap();
  staging.destroy();
  return like instanceof Float32Array
    ? new Float32Array(bytes)
    : like instanceof Int32Array
      ? new Int32Array(bytes)
      : new Uint32Array(bytes);
}

// === Data and references ===

/** A small deterministic generator: mulberry32. */
export function random(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomData(n: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: n }, () => next() * 2 - 1);
}

export function view(layout: Layout | Shape, dtype: DType = "float32"): View {
  return { layout: "shape" in layout ? layout : contiguousLayout(layout), dtype };
}

/** The elements of a view in row-major order. */
export function elements(data: ArrayLike<number>, l: Layout): number[] {
  const out: number[] = [];
  const walk = (k: number, at: number): void => {
    if (k === l.shape.length) {
      out.push(data[at]!);
      return;
    }
    for (let i = 0; i < l.shape[k]!; i++) walk(k + 1, at + i * l.strides[k]!);
  };
  walk(0, l.offset);
  return out;
}

/**
 * Fails unless every element is within `rel·|want| + abs`, NaN matching NaN and infinities
 * themselves.
 */
export function close(
  got: ArrayLike<number>,
  want: ArrayLike<number>,
  rel = 1e-5,
  abs = 1e-6,
  label = "",
): void {
  if (got.length !== want.length)
    throw new Error(`${label} length ${got.length}, wanted ${want.length}`);
  for (let i = 0; i < want.length; i++) {
    const g = got[i]!,
      w = want[i]!;
    const ok = Number.isNaN(w)
      ? Number.isNaN(g)
      : Number.isFinite(w)
        ? Math.abs(g - w) <= rel * Math.abs(w) + abs
        : g === w;
    if (!ok) throw new Error(`${label} [${i}]: got ${g}, wanted ${w}`);
  }
}

/** Compares text with a golden file; `UPDATE_GOLDEN=1` writes it. */
export function golden(name: string, text: string): void {
  const file = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "golden", `${name}.wgsl`);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  const want = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (want !== text)
    throw new Error(`golden ${name} differs; run with UPDATE_GOLDEN=1 and read the diff\n${text}`);
}

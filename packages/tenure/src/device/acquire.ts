/**
 * Finding a device: `navigator.gpu` in browsers, the `webgpu` package in Node, the packaged
 * software adapter where no driver works, or the null device. The only file that names `webgpu` or
 * `tenure-software-gpu`, both loaded dynamically. Called by `init()`; the caller owns the device it
 * gets.
 */
import { isNode } from "../base/env.ts";
import { DeviceLostError } from "../base/errors.ts";
import type { DeviceChoice } from "./device-choice.ts";
import { nullGPU } from "./null.ts";
import type { GPUDevice, GPUPowerPreference } from "./webgpu.ts";

/** What `init` chose. */
export interface DeviceInfo {
  readonly kind: "gpu" | "software" | "null";
  /** The adapter's own name. */
  readonly name: string;
  readonly vendor: string;
  readonly architecture: string;
  /**
   * How it was reached: `navigator.gpu`, `system driver`, `packaged SwiftShader` or `null device`.
   */
  readonly source: string;
  /** Granted optional features that Tenure uses. */
  readonly features: readonly string[];
  /** Largest tensor the device can bind, in bytes. */
  readonly maxTensorBytes: number;
}

/** A device that was found. */
export interface Acquired {
  readonly device: GPUDevice;
  readonly info: DeviceInfo;
}

interface WebGPUModule {
  create(flags: string[]): GPU;
  readonly globals: Record<string, unknown>;
}
interface SoftwareModule {
  installSoftwareVulkan(options?: { force?: boolean }): Promise<{ restore: () => Promise<void> }>;
  hasSystemVulkan(): boolean;
  usesPackagedDriver(): boolean;
}

const wantedFeatures: readonly GPUFeatureName[] = ["shader-f16", "timestamp-query", "subgroups"];
const wantedLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** Finds devices, and keeps alive what they depend on. One per runtime. */
export class DeviceFinder {
  /**
   * Undoes the choice of the packaged driver, which stays in the environment for worker threads, so
   * that the system's drivers are found again.
   */
  #restoreDrivers: (() => Promise<void>) | undefined;
  /** Dawn's instances: once one is collected, its pending promises never settle. */
  readonly #kept: GPU[] = [];
  readonly #load: Loader;

  /** @param load how packages are imported; tests give their own */
  constructor(load: Loader = importPackage) {
    this.#load = load;
  }

  /** @throws DeviceLostError that lists what was tried and what to install. */
  async acquire(choice: DeviceChoice, powerPreference?: GPUPowerPreference): Promise<Acquired> {
    if (choice === "null") return open(nullGPU(), {}, "null device", "null");
    const tried: string[] = [];
    const adapterOptions: GPURequestAdapterOptions =
      powerPreference === undefined ? {} : { powerPreference };
    const browser = (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
    if (browser !== undefined) {
      const found = await attempt(tried, "navigator.gpu", () =>
        open(
          browser,
          choice === "software"
            ? { ...adapterOptions, forceFallbackAdapter: true }
            : adapterOptions,
          "navigator.gpu",
          choice,
        ),
      );
      if (found !== undefined) return found;
    } else if (isNode) {
      const webgpu = await this.#try<WebGPUModule>("webgpu", tried);
      if (webgpu !== undefined) {
        const found = await this.#acquireInNode(webgpu, choice, adapterOptions, tried);
        if (found !== undefined) return found;
      }
    } else
      tried.push(
        "navigator.gpu: this browser has no WebGPU, " +
          "or the page is not served over https or from localhost",
      );
    const kind = choice === "auto" ? "" : ` of kind "${choice}"`;
    const remedy = remedyFor(choice, tried, isNode && browser === undefined);
    throw new DeviceLostError(
      "init",
      `expected a WebGPU device${kind}, got none; ${remedy}. Tried:\n` +
        tried.map((t) => `  - ${t}`).join("\n"),
    );
  }

  async #acquireInNode(
    webgpu: WebGPUModule,
    choice: DeviceChoice,
    options: GPURequestAdapterOptions,
    tried: string[],
  ): Promise<Acquired | undefined> {
    for (const [name, value] of Object.entries(webgpu.globals))
      if (!(name in globalThis))
        Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    if (choice !== "software") {
      await this.#restoreDrivers?.();
      this.#restoreDrivers = undefined;
    }
    const software =
      choice === "gpu" ? undefined : await this.#try<SoftwareModule>("tenure-software-gpu", tried);
    // Without a Vulkan loader on Linux, asking Dawn would only print a warning.
    const hopeless = software !== undefined && !software.hasSystemVulkan();
    if (hopeless) tried.push("system driver: no libvulkan.so.1 on this machine");
    if (choice !== "software" && !hopeless) {
      const found = await attempt(tried, "system driver", () =>
        open(this.#keep(webgpu.create([])), options, "system driver", choice),
      );
      if (
        found !== undefined &&
        software?.usesPackagedDriver() === true &&
        isSwiftShader(found.info)
      )
        return { ...found, info: { ...found.info, source: packaged } };
      if (found !== undefined) return found;
    }
    if (software === undefined) return undefined;
    return attempt(tried, packaged, async () => {
      const { restore } = await software.installSoftwareVulkan({ force: true });
      this.#restoreDrivers ??= restore;
      const found = await open(this.#keep(webgpu.create([])), options, packaged, choice);
      if (typeof found === "string" || isSwiftShader(found.info)) return found;
      found.device.destroy();
      return (
        `the system's driver answered instead, with ${found.info.name}; in a worker thread, call ` +
        "init() on the main thread first, or start the worker with env: SHARE_ENV"
      );
    });
  }

  async #try<T>(name: string, tried: string[]): Promise<T | undefined> {
    try {
      return (await this.#load(name)) as T;
    } catch (error) {
      tried.push(`${name}: ${firstLine(error)}`);
      return undefined;
    }
  }

  #keep(gpu: GPU): GPU {
    this.#kept.push(gpu);
    return gpu;
  }
}

/** `DeviceInfo.source` of the adapter in `tenure-software-gpu`. */
const packaged = "packaged SwiftShader";

/** Whether the adapter is SwiftShader, the packaged one or another. */
export function isSwiftShader({ name, architecture }: DeviceInfo): boolean {
  return /swiftshader/i.test(`${name} ${architecture}`);
}

/** What to do where no device was found. */
function remedyFor(choice: DeviceChoice, tried: readonly string[], inNode: boolean): string {
  if (!inNode)
    return "use a browser with WebGPU switched on, on a page served over https or from localhost";
  const unloaded = tried.find((t) => t.startsWith("webgpu:"));
  if (unloaded !== undefined) return remedyForWebGPU(unloaded);
  if (choice === "gpu")
    return (
      "install a Vulkan driver for your GPU, " + 'or accept a software adapter with device "auto"'
    );
  return (
    "install a Vulkan driver for your GPU (or Mesa 24 and newer for a software one), " +
    "or `npm install tenure-software-gpu` for the packaged software adapter"
  );
}

/** What to do where the package `webgpu` did not load, by what it said. */
function remedyForWebGPU(said: string): string {
  if (/Cannot find (package|module) ['"]webgpu['"]/.test(said))
    return "`npm install webgpu`, which brings WebGPU to Node";
  const library = /\b(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+/.exec(said)?.[0];
  if (library !== undefined)
    return (
      `the package webgpu is installed and needs ${library}, which this system does not have; ` +
      "use webgpu 0.6.2, which needs GLIBC_2.34, or a newer Linux distribution or container image"
    );
  const missing = /([\w.+-]+\.so[\w.]*): cannot open shared object/.exec(said)?.[1];
  if (/loading addons is disabled/.test(said))
    return (
      "the package webgpu is a native addon; start Node without `--no-addons`, " +
      "or with `--permission` with `--allow-addons`"
    );
  if (missing !== undefined)
    return `the package webgpu is installed and lacks ${missing}; install the library`;
  return (
    "the package webgpu is installed and does not load, as told below; install it anew " +
    "(`npm install --force webgpu`), on the platform on which it runs"
  );
}

/** Imports a package by its name. */
export type Loader = (name: string) => Promise<unknown>;

const importPackage: Loader = (name) =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ name) as Promise<unknown>;

async function attempt(
  tried: string[],
  what: string,
  fn: () => Promise<Acquired | string>,
): Promise<Acquired | undefined> {
  try {
    const result = await fn();
    if (typeof result !== "string") return result;
    tried.push(`${what}: ${result}`);
  } catch (error) {
    tried.push(`${what}: ${firstLine(error)}`);
  }
  return undefined;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0]!;
}

async function open(
  gpu: GPU,
  options: GPURequestAdapterOptions,
  source: string,
  choice: "null",
): Promise<Acquired>;
async function open(
  gpu: GPU,
  options: GPURequestAdapterOptions,
  source: string,
  choice: DeviceChoice,
): Promise<Acquired | string>;
async function open(
  gpu: GPU,
  options: GPURequestAdapterOptions,
  source: string,
  choice: DeviceChoice,
): Promise<Acquired | string> {
  const adapter = await gpu.requestAdapter(options);
  if (adapter === null) return "no adapter";
  const { vendor, architecture, device, description } = adapter.info;
  const name =
    description !== "" ? description : device !== "" ? device : `${vendor} ${architecture}`.trim();
  const software =
    adapter.info.isFallbackAdapter ||
    /swiftshader|llvmpipe|lavapipe|basic render/i.test(
      `${vendor} ${architecture} ${device} ${description}`,
    );
  if (choice === "gpu" && software)
    return `only the software adapter ${name}; ask for device "auto" to accept it`;
  if (choice === "software" && !software) return `only the GPU adapter ${name}`;
  const requiredFeatures = wantedFeatures.filter((f) => adapter.features.has(f));
  const requiredLimits = Object.fromEntries(wantedLimits.map((l) => [l, adapter.limits[l]]));
  const gpuDevice = await adapter.requestDevice({
    label: "tenure",
    requiredFeatures,
    requiredLimits,
  });
  const maxTensorBytes = Math.min(
    gpuDevice.limits.maxStorageBufferBindingSize,
    gpuDevice.limits.maxBufferSize,
  );
  return {
    device: gpuDevice,
    info: {
      kind: choice === "null" ? "null" : software ? "software" : "gpu",
      name,
      vendor,
      architecture,
      source,
      features: requiredFeatures,
      maxTensorBytes,
    },
  };
}

/**
 * Finding a device: `navigator.gpu` in browsers; elsewhere, and for the null device, whatever
 * host-devices.ts has, which is loaded then. Called by `init()`; the caller owns the device it
 * gets.
 */
import { isNode } from "../base/env.ts";
import { DeviceLostError } from "../base/errors.ts";
import type { DeviceChoice } from "./device-choice.ts";
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

/** How a device is opened, and what is said where none is found. */
export interface Opening {
  readonly open: typeof open;
  readonly attempt: typeof attempt;
  readonly notFound: typeof notFound;
  readonly isSwiftShader: typeof isSwiftShader;
}

/** Devices where there is no `navigator.gpu`. */
export interface OtherDevices {
  /** @throws DeviceLostError that lists what was tried and what to install. */
  acquire(choice: DeviceChoice, options: GPURequestAdapterOptions): Promise<Acquired>;
}

/** Finds devices. One per runtime. */
export class DeviceFinder {
  readonly #loadOthers: (opening: Opening) => Promise<OtherDevices>;
  #others: OtherDevices | undefined;

  /** @param loadOthers brings what finds devices outside browsers */
  constructor(loadOthers: (opening: Opening) => Promise<OtherDevices>) {
    this.#loadOthers = loadOthers;
  }

  /** @throws DeviceLostError that lists what was tried and what to install. */
  async acquire(choice: DeviceChoice, powerPreference?: GPUPowerPreference): Promise<Acquired> {
    const options: GPURequestAdapterOptions =
      powerPreference === undefined ? {} : { powerPreference };
    const { gpu } = (globalThis as { navigator?: { gpu?: GPU } }).navigator ?? {};
    if (choice === "null" || (gpu === undefined && isNode)) {
      this.#others ??= await this.#loadOthers({ open, attempt, notFound, isSwiftShader });
      return this.#others.acquire(choice, options);
    }
    const tried: string[] = [];
    if (gpu === undefined)
      tried.push(
        "navigator.gpu: this browser has no WebGPU, " +
          "or the page is not served over https or from localhost",
      );
    else {
      const asked = choice === "software" ? { ...options, forceFallbackAdapter: true } : options;
      const found = await attempt(tried, "navigator.gpu", () =>
        open(gpu, asked, "navigator.gpu", choice),
      );
      if (found !== undefined) return found;
    }
    throw notFound(
      choice,
      "use a browser with WebGPU switched on, on a page served over https or from localhost",
      tried,
    );
  }
}

/** The error where nothing that was tried has a device. */
function notFound(choice: DeviceChoice, remedy: string, tried: readonly string[]): DeviceLostError {
  const kind = choice === "auto" ? "" : ` of kind "${choice}"`;
  return new DeviceLostError(
    "init",
    `expected a WebGPU device${kind}, got none; ${remedy}. Tried:\n` +
      tried.map((t) => `  - ${t}`).join("\n"),
  );
}

/** Whether the adapter is SwiftShader, the packaged one or another. */
export function isSwiftShader({ name, architecture }: DeviceInfo): boolean {
  return /swiftshader/i.test(`${name} ${architecture}`);
}

/** What `fn` finds; else notes in `tried` what it says instead, or why it failed. */
async function attempt<T extends object>(
  tried: string[],
  what: string,
  fn: () => Promise<T | string>,
): Promise<T | undefined> {
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

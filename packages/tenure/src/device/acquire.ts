/**
 * Finding a device: `navigator.gpu` in browsers; elsewhere, and for the null device, whatever
 * host-devices.ts has, which is loaded then. Called by `init()`; the caller owns the device it
 * gets.
 */
import { isNode } from "../base/env.ts";
import { DeviceLostError } from "../base/errors.ts";
import type { DeviceChoice } from "./device-choice.ts";
import type { Lending } from "./lending.ts";
import type { Patience } from "./patience.ts";
import type { GPU, GPUDevice, GPUPowerPreference, GPURequestAdapterOptions } from "./webgpu.ts";

/** What `init` chose. */
export interface DeviceInfo {
  readonly kind: "gpu" | "software" | "null";
  /** The adapter's own name. */
  readonly name: string;
  readonly vendor: string;
  readonly architecture: string;
  /**
   * How it was reached: `navigator.gpu`, `system driver`, `packaged SwiftShader`, `null device`, or
   * `init({ gpuDevice })`.
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
  /** For one that stays the program's. */
  readonly lending?: Lending;
  /** How to wait for one that computes on the host's cores. */
  readonly patience?: Patience;
}

/** Optional features that Tenure uses. */
export const wantedFeatures = [
  "shader-f16",
  "timestamp-query",
  "subgroups",
] as const satisfies readonly GPUFeatureName[];
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

/** Devices where there is no `navigator.gpu`. */
export interface OtherDevices {
  /** @throws DeviceLostError that lists what was tried and what to install. */
  acquire(choice: DeviceChoice, options: GPURequestAdapterOptions): Promise<Acquired>;
}

/** Finds devices. One per runtime. */
export class DeviceFinder {
  readonly #loadOthers: () => Promise<OtherDevices>;
  #others: OtherDevices | undefined;

  /** @param loadOthers brings what finds devices outside browsers */
  constructor(loadOthers: () => Promise<OtherDevices>) {
    this.#loadOthers = loadOthers;
  }

  /** @throws DeviceLostError that lists what was tried and what to install. */
  async acquire(choice: DeviceChoice, powerPreference?: GPUPowerPreference): Promise<Acquired> {
    const options: GPURequestAdapterOptions =
      powerPreference === undefined ? {} : { powerPreference };
    const gpu = hostGPU();
    if (choice === "null" || (gpu === undefined && isNode)) {
      this.#others ??= await this.#loadOthers();
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
export function notFound(
  choice: DeviceChoice,
  remedy: string,
  tried: readonly string[],
): DeviceLostError {
  const kind = choice === "auto" ? "" : ` of kind "${choice}"`;
  return new DeviceLostError(
    "init",
    `expected a WebGPU device${kind}, got none; ${remedy}. Tried:\n` +
      tried.map((t) => `  - ${t}`).join("\n"),
  );
}

/** The host's own WebGPU; undefined where a package brings one, as in Node. */
export function hostGPU(): GPU | undefined {
  return (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
}

/** Whether the adapter is SwiftShader, the packaged one or another. */
export function isSwiftShader({ name, architecture }: DeviceInfo): boolean {
  return /swiftshader/i.test(`${name} ${architecture}`);
}

/** What `fn` finds; else notes in `tried` what it says instead, or why it failed. */
export async function attempt<T extends object>(
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

/** Opens a device of the kind that is asked for. @returns why not, where it has none */
export async function open(
  gpu: GPU,
  options: GPURequestAdapterOptions,
  source: string,
  choice: "null",
): Promise<Acquired>;
/** Opens a device of the kind that is asked for. @returns why not, where it has none */
export async function open(
  gpu: GPU,
  options: GPURequestAdapterOptions,
  source: string,
  choice: DeviceChoice,
): Promise<Acquired | string>;
/** Opens a device of the kind that is asked for. @returns why not, where it has none */
export async function open(
  gpu: GPU,
  options: GPURequestAdapterOptions,
  source: string,
  choice: DeviceChoice,
): Promise<Acquired | string> {
  const adapter = await gpu.requestAdapter(options);
  if (adapter === null) return "no adapter";
  const facts = factsOf(adapter.info);
  const { name, software } = facts;
  if (choice === "gpu" && software)
    return `only the software adapter ${name}; ask for device "auto" to accept it`;
  if (choice === "software" && !software) return `only the GPU adapter ${name}`;
  const features = wantedFeatures.filter((f) => adapter.features.has(f));
  const requiredLimits = Object.fromEntries(wantedLimits.map((l) => [l, adapter.limits[l]]));
  const device = await adapter.requestDevice({
    label: "tenure",
    requiredFeatures: features,
    requiredLimits,
  });
  const kind = choice === "null" ? "null" : software ? "software" : "gpu";
  return { device, info: infoOf(device, { ...facts, kind, source, features }) };
}

/** What an adapter says of itself. */
interface AdapterFacts {
  readonly name: string;
  readonly vendor: string;
  readonly architecture: string;
  readonly software: boolean;
}

/** Of WebGPU's `GPUAdapterInfo`, which declarations may not name. */
interface ToldFacts {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  readonly isFallbackAdapter: boolean;
}

/** The facts of an adapter. */
export function factsOf({
  vendor,
  architecture,
  device,
  description,
  isFallbackAdapter,
}: ToldFacts): AdapterFacts {
  const all = `${vendor} ${architecture} ${device} ${description}`;
  const software = isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|basic render/i.test(all);
  const named = [description, device, `${vendor} ${architecture}`.trim()];
  const name = named.find((text) => text !== "") ?? "";
  return { name, vendor, architecture, software };
}

/** What a device says of its tensors. */
interface DeviceLimits {
  readonly maxStorageBufferBindingSize: number;
  readonly maxBufferSize: number;
}

/** What there is to say of a device. */
export function infoOf(
  { limits }: { readonly limits: DeviceLimits },
  told: AdapterFacts & Pick<DeviceInfo, "kind" | "source" | "features">,
): DeviceInfo {
  const { kind, name, vendor, architecture, source, features } = told;
  const maxTensorBytes = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  return { kind, name, vendor, architecture, source, features, maxTensorBytes };
}

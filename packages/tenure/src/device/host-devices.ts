/**
 * Devices where there is no `navigator.gpu`: the `webgpu` package in Node, with the packaged
 * software adapter where no driver works, and the null device. A part of the engine, which pages
 * load only for the null device. The only file that names `webgpu` or `tenure-software-gpu`, both
 * loaded dynamically. Called by acquire.ts; the caller owns the device it gets.
 */
import {
  type Acquired,
  type OtherDevices,
  attempt,
  isSwiftShader,
  notFound,
  open,
} from "./acquire.ts";
import type { DeviceChoice } from "./device-choice.ts";
import { keepHostTurns } from "./host-turns.ts";
import { nullGPU } from "./null.ts";
import { Patience } from "./patience.ts";
import type { GPU, GPURequestAdapterOptions } from "./webgpu.ts";

interface WebGPUModule {
  create(flags: string[]): GPU;
  readonly globals: Record<string, unknown>;
}
interface SoftwareModule {
  installSoftwareVulkan(options?: { force?: boolean }): Promise<{ restore: () => Promise<void> }>;
  hasSystemVulkan(): boolean;
  usesPackagedDriver(): boolean;
}

/** Finds them, and keeps alive what they depend on. One per runtime. */
export class HostDevices implements OtherDevices {
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
  async acquire(choice: DeviceChoice, options: GPURequestAdapterOptions): Promise<Acquired> {
    if (choice === "null") return open(nullGPU(), {}, "null device", "null");
    const tried: string[] = [];
    const webgpu = await this.#try<WebGPUModule>("webgpu", tried);
    const found =
      webgpu === undefined ? undefined : await this.#withPackage(webgpu, choice, options, tried);
    if (found?.info.kind === "software") return { ...found, patience: new Patience(true) };
    if (found !== undefined) return found;
    throw notFound(choice, remedyFor(choice, tried), tried);
  }

  async #withPackage(
    webgpu: WebGPUModule,
    choice: DeviceChoice,
    options: GPURequestAdapterOptions,
    tried: string[],
  ): Promise<Acquired | undefined> {
    for (const [name, value] of Object.entries(webgpu.globals))
      if (!(name in globalThis))
        Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    keepHostTurns(webgpu.globals);
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

  #try<T extends object>(name: string, tried: string[]): Promise<T | undefined> {
    return attempt(tried, name, () => this.#load(name) as Promise<T>);
  }

  #keep(gpu: GPU): GPU {
    this.#kept.push(gpu);
    return gpu;
  }
}

/** `DeviceInfo.source` of the adapter in `tenure-software-gpu`. */
const packaged = "packaged SwiftShader";

/** What to do where no device was found. */
function remedyFor(choice: DeviceChoice, tried: readonly string[]): string {
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
    return (
      "`npm install webgpu`, which brings WebGPU to Node; where it is installed, what copied the " +
      "files of this output did not see that it is needed: name it there, as in Next.js' " +
      "outputFileTracingIncludes or Vercel's includeFiles"
    );
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

/**
 * The life of the device: found at the first need, announced once, given back by `shutdown`. Used
 * by the runtime, which owns it. Owns the device, and the engine, which it loads to find one.
 */
import { isNode } from "../base/env.ts";
import { ArgumentError, DeviceLostError, internal } from "../base/errors.ts";
import type { DeviceInfo } from "../device/acquire.ts";
import type { DeviceChoice } from "../device/device-choice.ts";
import type { Device } from "../device/device.ts";
import type { GPUDevice, GPUPowerPreference } from "../device/webgpu.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { notLoaded } from "./engine-parts.ts";

/** Makes the engine of a runtime. */
export type EngineClass = new (options: EngineOptions) => Engine;

/** Brings the part of the library that runs programs. */
export type EngineLoader = () => Promise<EngineClass>;

const loadEngine: EngineLoader = async () =>
  (await import("./parts/engine-part.ts")).EngineWithParts;

/** The device of a runtime, or its absence. */
export class DeviceLife {
  device: Device | null = null;
  readonly #options: EngineOptions;
  #load: EngineLoader;
  #engine: Engine | null = null;
  #finding: Promise<DeviceInfo> | null = null;
  readonly #announced = new Set<string>();

  /** @param load how the engine is loaded; tests give their own */
  constructor(options: EngineOptions, load: EngineLoader = loadEngine) {
    this.#options = options;
    this.#load = load;
  }

  /** Takes the engine from whoever has it already, so that it is not loaded. */
  bring(engine: EngineClass): void {
    this.#load = () => Promise.resolve(engine);
  }

  /** Whether there is a device, or soon will be. */
  get hasBegun(): boolean {
    return this.#finding !== null;
  }

  /**
   * Finds a device, or returns the one there is. `choice`: what to look for, or the program's own;
   * `insists`: whether the caller asked for it by name. @throws DeviceLostError when there is none,
   * ArgumentError when there is another one
   */
  async find(
    choice: DeviceChoice | GPUDevice,
    insists: boolean,
    powerPreference?: GPUPowerPreference,
  ): Promise<DeviceInfo> {
    if (this.#finding === null) {
      const finding = this.#acquire(choice, powerPreference);
      this.#finding = finding;
      finding.catch(() => {
        this.#finding = null;
      });
      return finding;
    }
    const info = await this.#finding;
    const isOther =
      typeof choice === "string"
        ? insists && choice !== "auto" && choice !== info.kind
        : choice !== this.device?.gpu;
    if (isOther)
      throw new ArgumentError(
        "init",
        `the device that is in use (${info.kind}: ${info.name})`,
        typeof choice === "string" ? `device "${choice}"` : "another gpuDevice",
        "call shutdown() first",
      );
    return info;
  }

  async #acquire(
    choice: DeviceChoice | GPUDevice,
    powerPreference?: GPUPowerPreference,
  ): Promise<DeviceInfo> {
    this.#engine ??= new (await this.#loaded())(this.#options);
    const parts = this.#options.parts.begin(this.#engine.parts);
    const device = await this.#engine.find(choice, powerPreference);
    await parts;
    this.device = device;
    this.#announce(device.info);
    return device.info;
  }

  async #loaded(): Promise<EngineClass> {
    try {
      return await this.#load();
    } catch (cause) {
      throw notLoaded(
        "init",
        "the part of tenure that runs on devices",
        "call init() again",
        cause,
      );
    }
  }

  /** What runs programs; there once a device was found. */
  get engine(): Engine {
    if (this.#engine === null) throw internal("the engine is used before a device was found");
    return this.#engine;
  }

  #announce({ name, kind, source }: DeviceInfo): void {
    const text = `tenure: running on ${name} (${kind}, ${source})`;
    if (this.#announced.has(text)) return;
    this.#announced.add(text);
    if (isNode) console.error(text);
    // eslint-disable-next-line no-console -- said once, on request of whoever called init()
    else console.info(text);
  }

  /** Resolves once a search under way has ended, with or without a device. */
  async found(): Promise<void> {
    await this.#finding?.catch(() => undefined);
  }

  /** Forgets the device, for the next `find`. @returns it */
  end(): Device | null {
    const { device } = this;
    this.#finding = null;
    this.device = null;
    return device;
  }

  /** The device. @throws DeviceLostError before one was found, or after it was lost */
  require(op: string): Device {
    if (this.device === null) throw noDevice(op);
    if (this.device.lost !== null) throw this.device.lost;
    return this.device;
  }
}

/** The error of work that came before a device. */
export function noDevice(op: string): DeviceLostError {
  return new DeviceLostError(op, "expected a device, got none; call `await init()` first");
}

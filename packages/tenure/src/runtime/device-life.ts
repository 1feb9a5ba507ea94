/**
 * The life of the device: found at the first need, announced once, given back by `shutdown`. Used
 * by the runtime, which owns it. Owns the device, and the engine, which it loads to find one.
 */
import { isNode } from "../base/env.ts";
import { ArgumentError, DeviceLostError, internal } from "../base/errors.ts";
import type { DeviceInfo } from "../device/acquire.ts";
import type { DeviceChoice } from "../device/device-choice.ts";
import type { Device } from "../device/device.ts";
import type { GPUPowerPreference } from "../device/webgpu.ts";
import type { Engine, EngineOptions } from "./engine.ts";

/** The device of a runtime, or its absence. */
export class DeviceLife {
  device: Device | null = null;
  readonly #options: EngineOptions;
  #engine: Engine | null = null;
  #finding: Promise<DeviceInfo> | null = null;
  readonly #announced = new Set<string>();

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Whether there is a device, or soon will be. */
  get hasBegun(): boolean {
    return this.#finding !== null;
  }

  /**
   * Finds a device, or returns the one there is. `choice`: what to look for; `insists`: whether the
   * caller asked for it by name. @throws DeviceLostError when there is none, ArgumentError when
   * there is another one
   */
  async find(
    choice: DeviceChoice,
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
    if (insists && choice !== "auto" && choice !== info.kind)
      throw new ArgumentError(
        "init",
        `the device that is in use (${info.kind}: ${info.name})`,
        `device "${choice}"`,
        "call shutdown() first",
      );
    return info;
  }

  async #acquire(choice: DeviceChoice, powerPreference?: GPUPowerPreference): Promise<DeviceInfo> {
    this.#engine ??= await this.#load();
    const { info } = (this.device = await this.#engine.find(choice, powerPreference));
    this.#announce(info);
    return info;
  }

  async #load(): Promise<Engine> {
    try {
      const { Engine } = await import("./engine.ts");
      return new Engine(this.#options);
    } catch (cause) {
      throw new DeviceLostError(
        "init",
        `expected to load the part of tenure that runs on devices, got ${String(cause)}; ` +
          "serve all files that the bundler made, and load the page again",
        { cause },
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

/**
 * The engine: all that finds a device and runs programs on it. A page loads it, with the kernels
 * and the planner, when it first asks for a device; until then programs are only recorded. Loaded
 * and owned by device-life.ts. Owns the finder, which keeps a driver alive, and the plans of
 * everything outside schedulers.
 */
import { type Acquired, DeviceFinder } from "../device/acquire.ts";
import type { DeviceChoice } from "../device/device-choice.ts";
import { Device, type DeviceOptions } from "../device/device.ts";
import type { GPUDevice, GPUPowerPreference } from "../device/webgpu.ts";
import { Compiler } from "./compile.ts";
import { DirectPolicy } from "./direct-policy.ts";
import { Execution, type ExecutionTools } from "./execution/execution.ts";
import type { ExecutionPolicy } from "./execution/policy.ts";
import { Poison } from "./execution/slot-buffers.ts";
import type { EngineParts, PartLoaders } from "./engine-parts.ts";
import type { Inspector } from "./inspector.ts";
import type { OpenProgram } from "./open-program.ts";
import { type TunedStore, adapterKey, tunedStore } from "./tuned-store.ts";

/** What the engine shares with its runtime. */
export interface EngineOptions {
  readonly device: DeviceOptions;
  readonly tools: Omit<ExecutionTools, "poison" | "parts">;
  readonly parts: EngineParts;
  readonly inspector: Inspector;
}

/** Finds a device, compiles, executes. One per runtime. */
export class Engine {
  /** How to load what not every program needs; null where all of it is there. */
  readonly parts: PartLoaders | null = null;
  readonly compiler: Compiler;
  /** How programs run outside schedulers. */
  readonly direct: ExecutionPolicy;
  /** Where choices of kernels are kept between processes. */
  tuned: TunedStore | undefined;
  readonly #device: DeviceOptions;
  readonly #tools: ExecutionTools;
  readonly #parts: EngineParts;
  readonly #finder: DeviceFinder;

  constructor({ device, tools, parts, inspector }: EngineOptions) {
    const { settings, counters, caches } = tools;
    this.#device = device;
    this.#parts = parts;
    this.#tools = { ...tools, parts, poison: new Poison() };
    this.#finder = new DeviceFinder(async () => {
      const { HostDevices } = await parts.loaded("devices");
      return new HostDevices();
    });
    this.compiler = new Compiler(settings, counters, inspector, parts);
    this.direct = new DirectPolicy(caches.open(), this.compiler, inspector);
  }

  /**
   * Finds a device, or takes the program's. @throws DeviceLostError that lists what was tried and
   * what to install
   */
  async find(
    choice: DeviceChoice | GPUDevice,
    powerPreference?: GPUPowerPreference,
  ): Promise<Device> {
    const acquired: Acquired =
      typeof choice === "string"
        ? await this.#finder.acquire(choice, powerPreference)
        : await (await this.#parts.loaded("lending")).openGiven(choice);
    this.tuned ??= await tunedStore(async () => (await this.#parts.loaded("devices")).fileStore());
    const device = new Device(acquired, this.#device);
    if (device.caps.software) this.#parts.wantEveryWay();
    return device;
  }

  /** Takes the ways of writing kernels that `tune` found best on this adapter before. */
  async useTuned({ info, choices }: Device): Promise<void> {
    const tuned = (await this.tuned?.load(adapterKey(info))) ?? [];
    if (tuned.length > 0) this.#parts.wantEveryWay();
    for (const [key, name] of tuned) choices.set(key, name);
  }

  /** One run of a program. */
  execution(device: Device, policy: ExecutionPolicy, work: OpenProgram): Execution {
    return new Execution(this.#tools, device, policy, work);
  }
}

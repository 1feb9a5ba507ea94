/**
 * How programs run outside schedulers: one plan per structure, without a budget; what fails is told
 * to reads and to the next `sync()`. Made by the runtime. Owns the plans of everything that is not
 * recorded in a scheduler's step.
 */
import { type OutOfMemoryError, type TenureError } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import type { Compiler } from "./compile.ts";
import type { Executable } from "./executable.ts";
import type { RunFigures } from "./execution/figures.ts";
import { logRun } from "./execution/run-log.ts";
import type { Inspector } from "./inspector.ts";
import { HostArrays } from "./execution/host-arrays.ts";
import type { ExecutionPolicy } from "./execution/policy.ts";
import type { OpenProgram } from "./open-program.ts";
import type { PlanCache } from "./plan-cache.ts";

/** The runtime's own policy. */
export class DirectPolicy implements ExecutionPolicy {
  readonly op = "flush";
  readonly profile = "off";
  readonly saveHostMemory = false;
  readonly host: HostArrays = new HostArrays();
  readonly replans = false;
  readonly #plans: PlanCache;
  readonly #compiler: Compiler;
  readonly #inspector: Inspector;

  constructor(plans: PlanCache, compiler: Compiler, inspector: Inspector) {
    this.#plans = plans;
    this.#inspector = inspector;
    this.#compiler = compiler;
  }

  /** The plan of a program: a cached one, or a new one. */
  choose(device: Device, work: OpenProgram): Executable {
    return this.#plans.find(device, work, () => this.#compiler.compile(work, device));
  }

  /** There is no other plan to try. */
  replan(_: Device, __: OpenProgram, ___: Executable, refused: OutOfMemoryError): never {
    throw refused;
  }

  /** Nothing is timed. */
  isTimed(): boolean {
    return false;
  }

  /** Nothing is asked of the device beforehand. */
  isNew(): boolean {
    return false;
  }

  /** Nothing is learned; the plan is kept for whoever looks inside. */
  ran(_: Device, { plan }: Executable, figures: RunFigures): void {
    this.#inspector.ran(plan);
    logRun(plan, figures, null, null);
  }

  /** Tells the next read or sync. */
  failed(device: Device, failure: TenureError): void {
    device.report(failure);
  }
}

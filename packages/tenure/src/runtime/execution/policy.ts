/**
 * What decides how programs run: the runtime itself, which makes one plan per structure, or the
 * scheduler whose step is under way, which plans under a budget and learns from every run. Asked
 * and told by executions. A policy owns its plans and its arrays for host copies.
 */
import type { OutOfMemoryError, TenureError } from "../../base/errors.ts";
import type { Device } from "../../device/device.ts";
import type { Executable } from "../executable.ts";
import type { PartName } from "../engine-parts.ts";
import type { OpenProgram } from "../open-program.ts";
import type { Profile, RunFigures } from "./figures.ts";
import type { HostArrays } from "./host-arrays.ts";

/** Chooses plans, and hears how they ran. It runs nothing. */
export interface ExecutionPolicy {
  /** What errors name as the operation. */
  readonly op: string;
  readonly profile: Profile;
  readonly saveHostMemory: boolean;
  readonly host: HostArrays;
  /**
   * Whether a refused allocation is answered with another plan: the run then waits until the device
   * has said that it has every buffer.
   */
  readonly replans: boolean;
  /** Parts of the engine that it chooses with, where they do not all come with the engine. */
  readonly parts?: readonly PartName[];
  /** The plan for a sealed program. @throws BudgetError and whatever compiling throws */
  choose(device: Device, work: OpenProgram): Executable;
  /**
   * The plan to try after the device refused memory for `exe`. @throws OutOfMemoryError when there
   * is none
   */
  replan(device: Device, work: OpenProgram, exe: Executable, refused: OutOfMemoryError): Executable;
  /** Whether a run of the plan is to be timed as a whole, by waiting for the device. */
  isTimed(exe: Executable): boolean;
  /** Whether the plan has never run. */
  isNew(exe: Executable): boolean;
  /** A plan ran. `seconds`: how long, if it was timed. */
  ran(device: Device, exe: Executable, figures: RunFigures, seconds: number | null): void;
  /** A program did not run, or not to its end. */
  failed(device: Device, failure: TenureError): void;
}

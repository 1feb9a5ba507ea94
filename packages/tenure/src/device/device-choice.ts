/**
 * Which device to look for, checked before anything is loaded for it. Called by the runtime. Owns
 * nothing.
 */
import { env } from "../base/env.ts";
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";

/** Which device `init` should use. `auto`: the best that works, a real GPU before software. */
export type DeviceChoice = "auto" | "gpu" | "software" | "null";

/** A device is the program's own, or found. @throws ArgumentError for anything else */
export function checkGiven(op: string, value: unknown): void {
  if (typeof value === "object" && value !== null && "createBuffer" in value && "queue" in value)
    return;
  throw new ArgumentError(
    op,
    "gpuDevice to be a GPUDevice",
    describeValue(value),
    "pass what `await adapter.requestDevice()` gave you",
  );
}

const choices: readonly string[] = ["auto", "gpu", "software", "null"] satisfies DeviceChoice[];

/**
 * What was asked for: the option, else the environment variable `TENURE_DEVICE`, else `auto`.
 * @throws ArgumentError for an unknown name.
 */
export function deviceChoice(option: string | undefined): DeviceChoice {
  const choice = option ?? env("TENURE_DEVICE") ?? "auto";
  if (!choices.includes(choice))
    throw new ArgumentError(
      "init",
      `device to be one of ${choices.join(", ")}`,
      describeValue(choice),
      option === undefined
        ? "correct the environment variable TENURE_DEVICE"
        : "correct the option",
    );
  return choice as DeviceChoice;
}

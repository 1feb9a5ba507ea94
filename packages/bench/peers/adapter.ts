/**
 * Points this process at one adapter, before anything asks for it: all libraries look where the
 * Vulkan loader says. Called by `main.ts` and by each worker. The environment is the process's.
 */
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { installSoftwareVulkan } from "tenure-software-gpu";

const drivers = "/usr/share/vulkan/icd.d";

/**
 * `swiftshader` from npm, `lavapipe` from Mesa (the one that VK_DRIVER_FILES names, or the
 * system's; 24 or newer), or whatever the system has.
 */
export type AdapterName = "swiftshader" | "lavapipe" | "system";

/** All of them. */
export const adapterNames: readonly AdapterName[] = ["swiftshader", "lavapipe", "system"];

/** @throws Error where there is no lavapipe, SoftwareGpuError where SwiftShader does not run */
export async function useAdapter(name: AdapterName): Promise<void> {
  if (name === "swiftshader") await installSoftwareVulkan({ force: true });
  process.env["XDG_RUNTIME_DIR"] ??= tmpdir(); // or Mesa complains
  if (name !== "lavapipe" || process.env["VK_DRIVER_FILES"]?.includes("lvp") === true) return;
  const manifest = readdirSync(drivers).find((f) => f.startsWith("lvp_icd"));
  if (manifest === undefined)
    throw new Error(`peers: expected lavapipe in ${drivers}, got none; install Mesa's drivers`);
  process.env["VK_DRIVER_FILES"] = `${drivers}/${manifest}`;
}
